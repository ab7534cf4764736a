//! Questions of MCP servers, answered on a terminal.

use serde_json::{Value, json};

use crate::mcp::place;
use crate::place::Place;
use crate::session::Session;

/// Calls the tool that asks, answers, and returns what the server got.
fn asked(place: &Place, question: &Value, dialogue: &[(&str, &str)]) -> Value {
    let question = question.to_string();
    let mut session = Session::start(place, &["mcp", "call", "toy", "ask", &question]);
    for (prompt, answer) in dialogue {
        session.until(prompt);
        session.answer(answer);
    }
    let (code, stdout, seen) = session.end();
    assert_eq!(code, Some(0), "{stdout} {seen}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn forms_are_filled_in() {
    let place = place();
    let form = json!({"message": "Who are you?", "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2},
            "age": {"type": "integer", "minimum": 0},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "keep": {"type": "boolean", "default": true},
        },
        "required": ["name", "colour"],
    }});
    let filling = [
        ("MCP server toy asks", ""),
        ("  | Who are you?", ""),
        ("Your name (at least 2 characters): ", "x\n"),
        ("at least 2 characters are needed", ""),
        ("Your name (at least 2 characters): ", "Ada\n"),
        ("age (whole number of at least 0; may stay empty): ", "\n"),
        ("colour. Number or name: ", "green\n"),
        ("keep (yes or no) [yes]: ", "\n"),
        ("[y]es, [e]dit, [n]o, [c]ancel: ", "y\n"),
    ];
    assert_eq!(
        asked(&place, &form, &filling),
        json!({"action": "accept", "content": {"name": "Ada", "colour": "g", "keep": true}})
    );
    let empty =
        json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
    for (answer, action) in [("n\n", "decline"), ("c\n", "cancel"), ("\u{4}", "cancel")] {
        let dialogue = [("Say yes to toy? [y]es, [n]o, [c]ancel: ", answer)];
        assert_eq!(
            asked(&place, &empty, &dialogue),
            json!({"action": action}),
            "{answer:?}"
        );
    }
}

#[test]
fn pages_are_opened_after_a_yes() {
    let place = place();
    let opened = place.path().join("opened");
    assert!(
        place
            .program("mkfifo")
            .arg(&opened)
            .status()
            .unwrap()
            .success()
    );
    let page = json!({"mode": "url", "message": "Pay", "url": "https://pay.example/x?a=b", "elicitationId": "1"});
    let question = page.to_string();
    let script = place.write(
        "browser",
        format!("#!/bin/sh\necho \"$1 $2\" > {}\n", opened.display()),
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let browser = format!("{} --new", script.display());
    let mut session = Session::start_with(
        &place,
        &["mcp", "call", "toy", "ask", &question],
        &[("PIRN_BROWSER", &browser)],
    );
    session.until("MCP server toy wants you to visit pay.example\r\n  | Pay\r\n");
    session.until("  | page:\r\n  | https://pay.example/x?a=b\r\n");
    session.until("Open the page? [y]es, [n]o, [c]ancel: ");
    session.answer("y\n");
    let (code, stdout, seen) = session.end();
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "{\"action\": \"accept\"}\n"),
        "{seen}"
    );
    assert_eq!(
        std::fs::read_to_string(opened).unwrap(),
        "--new https://pay.example/x?a=b\n"
    );
    let bad =
        json!({"mode": "url", "message": "Pay", "url": "file:///etc/passwd", "elicitationId": "1"});
    assert_eq!(asked(&place, &bad, &[]), json!({"action": "decline"}));
}

#[test]
fn questions_of_servers_and_about_permissions_come_one_after_the_other() {
    let place = place();
    let code = "const form = {message: 'Sure?', requestedSchema: {type: 'object', properties: {}}}; \
                const ask = () => tools.mcp__toy__ask(form).then((result) => result.content[0].text); \
                const write = (path) => tools.write({path, content: ''}).then(() => path); \
                return Promise.all([write('a'), ask(), write('b')])";
    let mut session = Session::start(&place, &["exec", "-q", "--yes=network", "-e", code]);
    for _ in 0..3 {
        session.until("[y]es, [n]o, ");
        session.until(": ");
        session.answer("y\n");
    }
    let (code, stdout, seen) = session.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(
        serde_json::from_str::<Value>(&stdout).unwrap(),
        json!(["a", "{\"action\": \"accept\", \"content\": {}}", "b"]),
        "{seen}"
    );
}
