//! Confined servers of MCP.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::mcp::SERVER;
use crate::place::Place;

/// What a server with this `sandbox` can do.
fn can(place: &Place, sandbox: &Value) -> String {
    // Somebody to connect to, outside.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let script = place.write("server.py", SERVER);
    let folder = place.home().join(".ssh");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("key"), "secret").unwrap();
    let places = json!({
        "outside": place.home().join("outside"),
        "secret": folder.join("key"),
        "port": listener.local_addr().unwrap().port(),
    });
    let mut entry =
        json!({"command": "python3", "args": [script], "env": {"PLACES": places.to_string()}});
    if !sandbox.is_null() {
        entry["sandbox"] = sandbox.clone();
    }
    place.write_user_config(&json!({"mcpServers": {"toy": entry}}));
    let done = place
        .run(&["mcp", "call", "toy", "echo", r#"{"text": ""}"#])
        .good();
    done.trim().to_owned()
}

#[test]
fn a_confined_server_stays_in_its_place() {
    let place = Place::lasting();
    let home = place.home();
    for (sandbox, expected) in [
        (Value::Null, "inside outside secret network"),
        (json!(false), "inside outside secret network"),
        (json!(true), "inside network"),
        (json!({"network": "off"}), "inside"),
        (json!({"network": "allow-list"}), "inside"),
        (json!({"profile": "read-only"}), "network"),
        (json!({"writeRoots": [home]}), "inside outside network"),
    ] {
        assert_eq!(can(&place, &sandbox), expected, "{sandbox}");
    }
    place.write_settings(r#"{"sandbox": {"unreadable": ["~/.aws"], "homeReadable": ["~/.ssh"]}}"#);
    assert_eq!(can(&place, &json!(true)), "inside secret network");
}

#[test]
fn lists_and_traces_tell_the_confinement() {
    let place = Place::lasting();
    can(&place, &json!({"network": "off"}));
    let trace = place.run(&["mcp", "trace", "toy"]).good();
    assert!(
        trace.contains("confined: ") && trace.contains("seccomp"),
        "{trace}"
    );
    let list = place.run(&["mcp", "list"]).good();
    assert!(
        list.contains("  confined: workspace-write, network off, level "),
        "{list}"
    );
    let list = place.run(&["mcp", "list", "--json"]).json();
    let sandbox = &list["servers"][0]["sandbox"];
    assert_eq!(
        (&sandbox["profile"], &sandbox["network"]),
        (&json!("workspace-write"), &json!("off"))
    );
    assert!(
        sandbox["layers"]
            .as_array()
            .unwrap()
            .contains(&json!("seccomp")),
        "{sandbox}"
    );
}

#[test]
fn confined_servers_are_added() {
    let place = Place::new();
    let added = |flags: &[&str]| {
        let mut arguments = vec!["mcp", "add", "s"];
        arguments.extend(flags);
        arguments.extend(["--", "x"]);
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let text = std::fs::read_to_string(place.pirn_home().join("mcp.json")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        config["mcpServers"]["s"]["sandbox"].clone()
    };
    assert_eq!(added(&[]), Value::Null);
    assert_eq!(added(&["--sandbox", "workspace-write"]), json!(true));
    assert_eq!(
        added(&["--sandbox", "read-only", "--network", "off"]),
        json!({"profile": "read-only", "network": "off"})
    );
    assert_eq!(
        added(&["--sandbox", "workspace-write", "--allow-host", "a,*.b:1"]),
        json!({"profile": "workspace-write", "network": "allow-list", "allowedHosts": ["a", "*.b:1"]})
    );
    for flags in [
        &["--network", "off", "--", "x"][..],
        &["--sandbox", "off", "--", "x"],
        &[
            "--sandbox",
            "read-only",
            "--network",
            "on",
            "--allow-host",
            "a",
            "--",
            "x",
        ],
        &["--sandbox", "read-only", "--url", "https://x"],
    ] {
        let mut arguments = vec!["mcp", "add", "s"];
        arguments.extend(flags);
        assert_eq!(place.run(&arguments).code, Some(2), "{flags:?}");
    }
}
