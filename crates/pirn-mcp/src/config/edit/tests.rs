use std::fs;

use pirn_sandbox::{NetworkMode, Profile};
use proptest::prelude::*;

use super::*;
use crate::config::{HttpEntry, HttpKind, OAuthSettings, SandboxEntry, StdioEntry, TransportEntry};
use crate::secret::Secret;

fn stdio(command: &str) -> NewServer {
    NewServer::new(TransportEntry::Stdio(StdioEntry {
        command: command.to_owned(),
        ..StdioEntry::default()
    }))
}

fn put(name: &str, server: NewServer) -> Edit {
    Edit::Put {
        name: name.to_owned(),
        server: Box::new(server),
    }
}

fn remove(name: &str) -> Edit {
    Edit::Remove {
        name: name.to_owned(),
    }
}

fn set(name: &str, setting: Setting) -> Edit {
    Edit::Set {
        name: name.to_owned(),
        setting,
        missing: WhenMissing::Fail,
    }
}

fn over(name: &str, setting: Setting) -> Edit {
    Edit::Set {
        name: name.to_owned(),
        setting,
        missing: WhenMissing::Override,
    }
}

fn tool(tool: &str, exposure: Option<McpExposure>) -> Setting {
    Setting::ToolExposure {
        tool: tool.to_owned(),
        exposure,
    }
}

fn after(before: &str, edit: &Edit) -> (String, EditOutcome) {
    edited(Path::new("F"), before, edit).unwrap_or_else(|error| panic!("{before}: {error}"))
}

#[track_caller]
fn check(before: &str, edit: &Edit, expected: &str) {
    let (text, _) = after(before, edit);
    assert_eq!(text, expected, "before:\n{before}");
}

#[test]
fn a_server_is_added_behind_everything_else() {
    let x = || put("x", stdio("y"));
    for (before, expected) in [
        (
            "",
            "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}\n",
        ),
        (
            "// mine\r\n",
            "// mine\r\n{\r\n  \"mcpServers\": {\r\n    \"x\": {\r\n      \"command\": \"y\"\r\n    }\r\n  }\r\n}\r\n",
        ),
        (
            "{}",
            "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}",
        ),
        (
            "{\n\t\"a\": 1\n}\n",
            "{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"y\"\n\t\t}\n\t}\n}\n",
        ),
        (
            "{\n    \"mcpServers\": {\n        \"a\": { \"url\": \"u\" } // a\n        // \"b\": {}\n    }\n}\n",
            "{\n    \"mcpServers\": {\n        \"a\": { \"url\": \"u\" }, // a\n        // \"b\": {}\n        \"x\": {\n            \
             \"command\": \"y\"\n        }\n    }\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {},\n  },\n}\n",
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"x\": {\n      \"command\": \"y\"\n    },\n  },\n}\n",
        ),
        (
            "\u{feff}{\"mcpServers\": {\"a\": {}}}",
            "\u{feff}{\"mcpServers\": {\"a\": {}, \"x\": { \"command\": \"y\" }}}",
        ),
        (
            "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // none yet\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    \"x\": { \"url\": \"u\" }, // mine\n    \"z\": {}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }, // mine\n    \"z\": {}\n  }\n}\n",
        ),
    ] {
        check(before, &x(), expected);
    }
}

#[test]
fn a_server_is_written_in_the_order_of_the_keys() {
    let http = NewServer {
        enabled: false,
        exposure: McpExposure::Direct,
        timeouts: crate::config::Timeouts {
            request: std::time::Duration::from_mins(15),
            total: std::time::Duration::from_mins(15),
            start: std::time::Duration::from_millis(2500),
        },
        description: Some("\"quoted\"".to_owned()),
        ..NewServer::new(TransportEntry::Http(HttpEntry {
            url: "https://h/${X}".to_owned(),
            kind: HttpKind::Sse,
            headers: vec![
                ("B".to_owned(), "1".to_owned()),
                ("A".to_owned(), "2".to_owned()),
            ],
            oauth: OAuthSettings {
                client_id: Some("c".to_owned()),
                client_secret: Some(Secret::new("$S")),
                ..OAuthSettings::default()
            },
        }))
    };
    check(
        "{\"mcpServers\": {\n}}",
        &put("x", http),
        r#"{"mcpServers": {
  "x": {
    "type": "sse",
    "url": "https://h/${X}",
    "headers": {
      "B": "1",
      "A": "2"
    },
    "oauth": {
      "clientId": "c",
      "clientSecret": "$S"
    },
    "exposure": "direct",
    "enabled": false,
    "timeout": 900,
    "startTimeout": 2.5,
    "description": "\"quoted\""
  }
}}"#,
    );
    let stdio = NewServer::new(TransportEntry::Stdio(StdioEntry {
        command: "npx".to_owned(),
        args: vec!["-y".to_owned(), "x".to_owned()],
        env: vec![("A".to_owned(), "1".to_owned())],
        cwd: Some("~".to_owned()),
        inherit_env: true,
        sandbox: None,
    }));
    check(
        "{\"mcpServers\": {\n}}",
        &put("x", stdio),
        r#"{"mcpServers": {
  "x": {
    "command": "npx",
    "args": ["-y", "x"],
    "env": {
      "A": "1"
    },
    "inheritEnv": true,
    "cwd": "~"
  }
}}"#,
    );
}

#[test]
fn a_server_is_removed_with_its_line() {
    for (name, before, expected) in [
        (
            "a",
            "{\"mcpServers\": {\n  // about a\n  \"a\": {}, // a\n  \"b\": {}\n}}",
            "{\"mcpServers\": {\n  // about a\n  \"b\": {}\n}}",
        ),
        (
            "b",
            "{\"mcpServers\": {\n  \"a\": {}, // a\n  \"b\": {} // b\n  // end\n}}",
            "{\"mcpServers\": {\n  \"a\": {} // a\n  // end\n}}",
        ),
        (
            "b",
            "{\"mcpServers\": {\n  \"a\": {},\n  \"b\": {},\n}}",
            "{\"mcpServers\": {\n  \"a\": {},\n}}",
        ),
        (
            "a",
            "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
            "{\"mcpServers\": {\"b\": {}}}",
        ),
        (
            "b",
            "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
            "{\"mcpServers\": {\"a\": {}}}",
        ),
        (
            "a",
            "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\"\n  }}}",
            "{\"mcpServers\": {\n}}",
        ),
        (
            "a",
            "{\"mcpServers\": {\n    \"a\": {}\n  , \"b\": {}\n}}",
            "{\"mcpServers\": {\n    \"b\": {}\n}}",
        ),
    ] {
        check(before, &remove(name), expected);
    }
}

#[test]
fn defaults_are_written_by_removing_the_key() {
    let file = |entry: &str| format!("{{\"mcpServers\": {{\"a\": {{{entry}}}}}}}");
    let own = |rest: &str| file(&format!("\"command\": \"x\"{rest}"));
    for (before, setting, expected, outcome) in [
        (
            own(""),
            Setting::Disable,
            own(", \"enabled\": false"),
            EditOutcome::Changed,
        ),
        (
            own(", \"enabled\": false"),
            Setting::Enable,
            own(""),
            EditOutcome::Changed,
        ),
        (
            own(", \"disabled\": true"),
            Setting::Enable,
            own(""),
            EditOutcome::Changed,
        ),
        (
            own(", \"disabled\": true"),
            Setting::Disable,
            own(", \"disabled\": true"),
            EditOutcome::Unchanged,
        ),
        (
            own(", \"disabled\": false"),
            Setting::Disable,
            own(", \"enabled\": false"),
            EditOutcome::Changed,
        ),
        (own(""), Setting::Enable, own(""), EditOutcome::Unchanged),
        (
            file("\"enabled\": false"),
            Setting::Enable,
            file("\"enabled\": true"),
            EditOutcome::Changed,
        ),
        (
            own(""),
            Setting::Exposure(McpExposure::Hidden),
            own(", \"exposure\": \"hidden\""),
            EditOutcome::Changed,
        ),
        (
            own(", \"exposure\": \"hidden\""),
            Setting::Exposure(McpExposure::Codemode),
            own(""),
            EditOutcome::Changed,
        ),
        (
            file(""),
            Setting::Exposure(McpExposure::Codemode),
            "{\"mcpServers\": {\"a\": {\n  \"exposure\": \"codemode\"\n}}}".to_owned(),
            EditOutcome::Changed,
        ),
        (
            own(""),
            tool("t*", Some(McpExposure::Direct)),
            own(", \"toolExposure\": { \"t*\": \"direct\" }"),
            EditOutcome::Changed,
        ),
        (
            own(", \"toolExposure\": { \"t\": \"direct\" }"),
            tool("u", Some(McpExposure::Hidden)),
            own(", \"toolExposure\": { \"t\": \"direct\", \"u\": \"hidden\" }"),
            EditOutcome::Changed,
        ),
        (
            own(", \"toolExposure\": { \"t\": \"direct\", \"u\": \"hidden\" }"),
            tool("t", None),
            own(", \"toolExposure\": { \"u\": \"hidden\" }"),
            EditOutcome::Changed,
        ),
        (
            own(", \"toolExposure\": { \"t\": \"direct\" }"),
            tool("t", None),
            own(""),
            EditOutcome::Changed,
        ),
        (own(""), tool("t", None), own(""), EditOutcome::Unchanged),
    ] {
        assert_eq!(after(&before, &set("a", setting)), (expected, outcome));
    }
}

#[test]
fn a_missing_entry_becomes_an_override_where_that_is_wanted() {
    check(
        "{\"mcpServers\": {\n}}",
        &over("a", Setting::Disable),
        "{\"mcpServers\": {\n  \"a\": {\n    \"enabled\": false\n  }\n}}",
    );
    check(
        "{\"mcpServers\": {\n}}",
        &over("a", tool("t", Some(McpExposure::Hidden))),
        "{\"mcpServers\": {\n  \"a\": {\n    \"toolExposure\": {\n      \"t\": \"hidden\"\n    }\n  }\n}}",
    );
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let x = || put("x", stdio("y"));
    for (before, edit, expected) in [
        (
            "{",
            x(),
            "F:1 cannot be changed: it is not valid JSON: unterminated object",
        ),
        ("[]", x(), "F:1 cannot be changed: must hold an object"),
        (
            "{\n\"mcpServers\": 1}",
            x(),
            "F:2 cannot be changed: mcpServers must be an object",
        ),
        (
            "{\"mcpServers\": {\"a-b\": {}}}",
            put("a_b", stdio("y")),
            "has the same name as the server \"a-b\" for scripts, where - is written _; rename one of them",
        ),
        (
            "",
            put("a b", stdio("y")),
            "the name may hold only letters, digits, _ and -",
        ),
        ("", remove("a"), "is not in F"),
        ("{}", set("a", Setting::Disable), "is not in F"),
        (
            "{\"mcpServers\": {\"a\": []}}",
            set("a", Setting::Disable),
            "F:1 cannot be changed: the entry must be an object",
        ),
    ] {
        let error = edited(Path::new("F"), before, &edit).unwrap_err();
        assert_eq!(error.message(), expected, "{before}");
    }
}

#[test]
fn the_file_and_its_folder_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/mcp.json");
    let edit = put("x", stdio("y"));
    assert_eq!(edit_config(&path, &edit).unwrap(), EditOutcome::Added);
    assert_eq!(edit_config(&path, &edit).unwrap(), EditOutcome::Replaced);
    assert_eq!(
        edit_config(&path, &set("x", Setting::Enable)).unwrap(),
        EditOutcome::Unchanged
    );
    assert_eq!(
        edit_config(&path, &remove("x")).unwrap(),
        EditOutcome::Removed
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"mcpServers\": {\n  }\n}\n"
    );
    let names: Vec<_> = fs::read_dir(folder.path().join("new"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["mcp.json"]);
}

#[cfg(unix)]
#[test]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let [link, file] = ["link.json", "real/mcp.json"].map(|name| folder.path().join(name));
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    std::os::unix::fs::symlink("real/mcp.json", &link).unwrap();
    edit_config(&link, &put("x", stdio("y"))).unwrap();
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    edit_config(&link, &put("z", stdio("y"))).unwrap();
    assert_eq!(mode(), 0o644);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_file_that_changes_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, "theirs").unwrap();
    assert!(!replace(&path, b"ours", || false).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}

/// A file with one server per element, written in every way that is allowed. Server `n` is `sN`; comments hold their number.
fn file() -> impl Strategy<Value = (String, usize)> {
    let entry = prop_oneof![
        Just("{}"),
        Just("{\"command\": \"x\"}"),
        Just("{ \"command\": \"x\", /* in */ \"enabled\": false, }"),
        Just("{\n\"url\" : \"https://x\" // in\n,\"env\":{\"}\":\"{,\"}\n\t}"),
    ];
    let space = prop_oneof![Just(""), Just(" "), Just("\n"), Just("\n    ")];
    let comment = prop_oneof![
        Just(""),
        Just(""),
        Just("/* , \" # */"),
        Just("// }, # \" \n"),
        Just("\n  // #\n  "),
    ];
    let member = (
        space.clone(),
        comment.clone(),
        entry,
        space.clone(),
        comment.clone(),
        comment.clone(),
    );
    let members = prop::collection::vec(member, 0..4);
    (members, any::<[bool; 3]>(), comment, space).prop_map(
        |(members, [comma, extra, crlf], comment, space)| {
            let count = members.len();
            let mut text = format!("{comment}{{{space}\"mcpServers\":{space}{{");
            for (index, (space, above, entry, gap, before, behind)) in members.iter().enumerate() {
                let last = index + 1 == count;
                let comma = if last && !comma { "" } else { "," };
                let member =
                    format!("{space}{above}\"s{index}\":{gap}{entry}{before}{comma}{behind}");
                text.push_str(&member);
            }
            let extra = if extra { ", \"other\": [1, \"#\"]" } else { "" };
            let end = format!("{space}{comment}}}{extra}{space}}}{comment}");
            text.push_str(&end);
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            for number in 0.. {
                if !text.contains('#') {
                    break;
                }
                text = text.replacen('#', &format!("<{number}>"), 1);
            }
            (text, count)
        },
    )
}

/// All comments of a text but those in a server's entry and behind it on its line.
fn comments(text: &str) -> Vec<String> {
    let numbers = text.split('<').skip(1);
    numbers
        .filter_map(|rest| rest.split_once('>').map(|(number, _)| number.to_owned()))
        .collect()
}

proptest! {
    #[test]
    fn edits_keep_everything_else((before, count) in file(), which in 0..5_usize, kind in 0..4_usize) {
        let name = format!("s{which}");
        let edit = match kind {
            0 => put(&name, stdio("new")),
            1 => remove(&name),
            2 => over(&name, Setting::Disable),
            _ => over(&name, tool("t", Some(McpExposure::Direct))),
        };
        let path = Path::new("F");
        // What is not there cannot be removed; everything else has to work.
        let Ok((after, outcome)) = edited(path, &before, &edit) else {
            prop_assert!(kind == 1 && which >= count, "{before}");
            return Ok(());
        };
        let editor = Editor { path, edit: &edit };
        let (before_root, after_root) = (editor.parse(&before).unwrap().unwrap(), editor.parse(&after).unwrap().unwrap());
        prop_assert_eq!(others(&before_root, &name), others(&after_root, &name));
        let (had, has) = (comments(&before), comments(&after));
        if outcome == EditOutcome::Removed {
            // Only comments in it, and behind it before the next one, may go with it.
            let (above, from_it) = before.split_at(before.find(&format!("\"{name}\"")).unwrap());
            let next = format!("\"s{}\"", which + 1);
            let behind = from_it.split_once(&next).map_or("", |(_, rest)| rest);
            let stay: Vec<String> = [comments(above), comments(behind)].concat();
            prop_assert!(stay.iter().all(|comment| has.contains(comment)), "{before}\n{after}");
            prop_assert!(has.iter().all(|comment| had.contains(comment)));
        } else {
            prop_assert_eq!(had, has, "{}\n{}", before, after);
            // Adding again what was added changes nothing.
            if kind == 0 {
                prop_assert_eq!(&edited(path, &after, &edit).unwrap().0, &after);
                if outcome == EditOutcome::Added && count > 0 {
                    let gone = edited(path, &after, &remove(&name)).unwrap().0;
                    let plain = |text: &str| text.replace([' ', '\n', '\r', '\t', ','], "");
                    prop_assert_eq!(plain(&gone), plain(&before));
                }
            }
        }
    }
}

#[test]
fn a_confinement_is_written() {
    let confined = |sandbox: SandboxEntry| {
        NewServer::new(TransportEntry::Stdio(StdioEntry {
            command: "x".to_owned(),
            sandbox: Some(sandbox),
            ..StdioEntry::default()
        }))
    };
    check(
        "{\"mcpServers\": { \"a\": {} }}",
        &put("a", confined(SandboxEntry::default())),
        "{\"mcpServers\": { \"a\": { \"command\": \"x\", \"sandbox\": true } }}",
    );
    let sandbox = SandboxEntry {
        profile: Profile::ReadOnly,
        network: NetworkMode::AllowList,
        write_roots: vec!["~/out".to_owned()],
        read_roots: Some(Vec::new()),
        allowed_hosts: vec!["*.example.com:443".parse().unwrap()],
    };
    check(
        "{\"mcpServers\": { \"a\": {} }}",
        &put("a", confined(sandbox)),
        "{\"mcpServers\": { \"a\": { \"command\": \"x\", \"sandbox\": { \"profile\": \"read-only\", \"network\": \"allow-list\", \
         \"writeRoots\": [\"~/out\"], \"readRoots\": [], \"allowedHosts\": [\"*.example.com:443\"] } } }}",
    );
}
