//! Makes the page `docs/rpc.md` of the tables.

use std::fmt::Write as _;

use super::commands::{COMMANDS, Data};
use super::events::EVENTS;
use super::samples;
use super::shape::{Member, Shape};

const BEGINNING: &str = r#"# JSON and RPC

This page is made from the program's tables; a test sends every example.

`pirn -p --mode json "..."` prints one JSON object a line: the header of the session, then events. `pirn --mode rpc` reads
commands from standard input, one JSON object a line, and writes answers, events and questions to standard output. Each line is
valid against [json.schema.json](json.schema.json) or [rpc.schema.json](rpc.schema.json); commands against `#/$defs/command` of the
latter. Ignore members that you do not know: later versions add some.

```sh
printf '%s\n' '{"type":"prompt","message":"What is here?"}' | pirn --mode rpc
```

- Lines end with LF only. A command is at most 64 MiB.
- An `id` of whatever kind comes back in the answer. Commands that take time are answered when they are done, others in order.
- `prompt` is answered at once. A run is over with `agent_settled`, which comes once for each run, whatever was tried again.
- The end of standard input stops what goes on, and ends the process with 0. SIGTERM ends it with 143, SIGHUP with 129.
- Standard error is for people.

## Questions

A client that declares the capability `ui` is asked before something that needs consent:

```json
{"type":"extension_ui_request","id":"q1","method":"select","title":"Call write with {\"path\":\"../x\"}?","options":["Allow once","Deny"],"timeout":300000,"approval":{"id":"q1","subject":{"kind":"tool","name":"write"},"arguments":{"path":"../x"},"reason":"","choices":[]}}
```

It answers with one of the options, with `"confirmed":true` to `confirm`, with the text to `editor`, or with `"cancelled":true`:

```json
{"type":"extension_ui_response","id":"q1","value":"Deny"}
```

Without an answer within `timeout` milliseconds it is a no. A client without `ui` is never asked: what would be asked is denied within
a second, and the model is told which flag allows it.

## Commands

Each may have an `id` besides `type` and what the table says. One that fails is answered with `"success":false` and `error`.
"#;

/// The whole page as Markdown.
pub(super) fn page() -> String {
    let mut page = BEGINNING.to_owned();
    for command in COMMANDS {
        add(
            &mut page,
            &format!("\n### {}\n\n{}\n", command.name, command.help),
        );
        members(&mut page, command.members);
        add(
            &mut page,
            &format!("\n```json\n{}\n{}\n```\n", command.example, command.answer),
        );
        if let Data::Value(Shape::Object(data)) = command.data {
            members(&mut page, data);
        }
    }
    add(&mut page, "\n## Events\n");
    let events = samples::events();
    for event in EVENTS {
        add(
            &mut page,
            &format!("\n### {}\n\n{}\n", event.name, event.help),
        );
        members(&mut page, event.members);
        add(&mut page, "\n```json\n");
        for sample in &events {
            let line = serde_json::to_value(sample).expect("an event can be written");
            if line["type"] == event.name {
                add(&mut page, &format!("{line}\n"));
            }
        }
        add(&mut page, "```\n");
    }
    page
}

fn members(page: &mut String, members: &[Member]) {
    if members.is_empty() {
        return;
    }
    add(
        page,
        "\n| member | value | meaning |\n| --- | --- | --- |\n",
    );
    for member in members {
        let optional = if member.is_required {
            ""
        } else {
            ", may be missing"
        };
        let words = member.shape.words().replace('|', "\\|");
        add(
            page,
            &format!(
                "| `{}` | {words}{optional} | {} |\n",
                member.name, member.help
            ),
        );
    }
}

fn add(page: &mut String, text: &str) {
    write!(page, "{text}").expect("writing to a string cannot fail");
}
