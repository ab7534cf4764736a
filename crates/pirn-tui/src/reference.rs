//! `docs/terminal.md`, made of the tables of commands and keys.

use std::fmt::Write as _;
use std::path::Path;

use crate::commands::COMMANDS;
use crate::keys::ACTIONS;

/// What stands before the tables.
const HEAD: &str = "\
<!-- Made of the tables in crates/pirn-tui; a test finds it stale. -->
# The terminal interface

`pirn` without arguments opens it, where all standard streams are a terminal; elsewhere it says in a few lines what to type. It
needs a model, as [`pirn -p`](agent.md) does; see [Models](models.md).

What is finished goes into the terminal's own history once and stays there, as after any command: scroll, select and search it with
the terminal. Below it stand what still changes, the messages that wait, the editor, and two rows with the folder, tokens, cost and
the model. Nothing before Pirn is erased, and a new size draws only the rows below again.

- **Enter** sends. While the model works, the message is said before the model is asked again; **alt+enter** says it when the model
  would stop. **Escape** stops what goes on and puts messages that wait back into the editor.
- A pasted text of more than ten lines or a thousand characters stands as one mark until it is sent.
- A script shows its source, its calls as a tree with time and size, and what it gave: how much went to the model, and how much was
  kept from it. While a call runs or waits, the line that made it is marked, where only one line names the tool. **ctrl+t** shows the
  whole conversation with all arguments and results, nothing left out: `/` searches, also what is folded, `[` and `]` go from block to
  block, and enter folds one or opens it.
- A question pauses the script that asks. It never takes keys from the editor: **tab** goes to it once it was on the screen for half
  a second, and a yes counts when all of it was shown, the exact arguments, the program that asks with the line that does, and what it
  did already. One more question starts the half second again.
- `/tui` shows the conversation otherwise, at any time: **inline** as above, **fullscreen** on a screen of its own, where page up and
  page down scroll, or **plain** as lines that are never changed, without animation, for screen readers. The setting `tui.mode` says
  how it begins; with `ACCESSIBLE` set, and on a terminal that takes lines only (`TERM=dumb`), it is plain.
- What is written and what waits to be said is on the disk within half a second: after a crash the next `pirn` in the folder has it in
  its editor. What was said before, in all sessions, is found with **ctrl+r**. **ctrl+g** opens the text in the editor that `VISUAL` or
  `EDITOR` names.
- The terminal is left as it was after any end, a kill included: a small process waits for the end of Pirn and sets it back. While the
  window has no keyboard, it rings when the model is done or asks something. `pirn doctor terminal` shows what this terminal says of
  itself and sends for keys.
- `/export` writes the conversation to one HTML page that loads and runs nothing, after a list of the private things it would show.
- `NO_COLOR` takes all colours away; `COLORTERM=truecolor` gives all of them. The keys are those of pi: `keybindings.json` in
  Pirn's folder changes them, an object from the names below to a key or a list of keys.

";

fn reference() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("## Commands\n\n| Command | What it does |\n| --- | --- |\n");
    for row in COMMANDS {
        let arguments = if row.arguments.is_empty() {
            String::new()
        } else {
            format!(" {}", row.arguments)
        };
        writeln!(text, "| `/{}{arguments}` | {} |", row.name, row.help).unwrap();
    }
    text.push_str("| `!COMMAND` | Run a command; the model reads what it prints |\n");
    text.push_str("| `!!COMMAND` | Run a command for yourself only |\n");
    text.push_str("| `@FILE` | Name a file of the project |\n");
    text.push_str("\n## Keys\n\n| Name | Keys | What it does |\n| --- | --- | --- |\n");
    for row in ACTIONS {
        let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        writeln!(
            text,
            "| `{}` | {} | {} |",
            row.id,
            keys.join(", "),
            row.help
        )
        .unwrap();
    }
    text
}

#[test]
fn the_reference_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminal.md");
    let wanted = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/terminal.md is stale; `UPDATE=1 cargo nextest run -p pirn-tui reference` writes it"
    );
}

#[test]
fn every_key_of_the_table_is_a_key() {
    for row in ACTIONS {
        for key in row.keys {
            assert!(key.parse::<pirn_terminal::KeyPress>().is_ok(), "{key}");
        }
    }
}
