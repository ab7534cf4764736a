//! The reference of the command line, made from the definitions it describes. A test compares it with `docs/cli.md`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::arguments::CommandLine;
use crate::failure::Exit;
use crate::variables;

const OPENING: &str = "\
# Command line

Everything `pirn` understands. This page is made from the program; `UPDATE=1 cargo nextest run -p pirn reference`
writes it anew.
";

const BEHAVIOUR: &str = "
## Behaviour

- Data goes to standard output, everything else to standard error. A program that reads only the start of the
  output, like `head`, is no failure; the script runs to its end all the same.
- What a script prints on a terminal has its control characters replaced, so that it can neither hide nor forge a
  question. In files and pipes it is as the script made it.
- A tool that can do more than read needs permission: `--yes` on the command line, or an answer on the terminal. The
  question goes to the terminal itself, so neither a script nor standard input can answer it. All of it has to have been on
  the screen before a yes counts; what others wrote in it stands behind a margin, and who asks stands on every page. `a`
  allows all further calls of that tool in this run. Output is held while a question is open.
- `--yes=process` covers commands, which are confined; it never covers tools of MCP servers that are not.
- `pirn -p` is `pirn prompt`: a model works until it has an answer. See [the agent](agent.md).
- `pirn FILE` runs a single `.js`, `.ts` or `.mjs` file that is there, as `pirn exec FILE` does.
- Commands are [confined](sandbox.md) by the [settings](settings.md) and the flags of one run, and the file tools keep to the
  same rules. What was in force is in the results, and a note says where the machine gives less than there could be.
- The first line of a script may set [options](scripting.md#options); flags win over them. `yield_time_ms` has no
  meaning here, since `pirn exec` waits for the script.
- The first Ctrl-C ends the script: its calls are cancelled, and what it put out is shown. The second ends `pirn` at
  once. A request to end (`SIGTERM`) and a closed terminal end the script like the first Ctrl-C, with exit code 130. Nothing
  that a script started outlives `pirn`, and nothing that confinement needed stays behind.
- A project's `.pirn/mcp.json` and `.pirn/settings.json` count only when the project is trusted: by `--approve`, by what
  `pirn trust` was told of the folder or one above it, or by an answer on the terminal. Otherwise they are left out, and a
  note says so.
- Servers of MCP start in the background while the script is read. The script waits for those it names; what they cannot
  do is told in notes that name the entry's file and line. They end with the script. See [MCP servers](mcp.md).
- A question of a server is asked on the terminal, in between calls; without one servers are told that nobody is there.
- A store is one JSON file, `{\"version\": 1, \"values\": {…}}`, for its owner alone. It is replaced as a whole after a
  script that succeeded. Scripts that run at the same time are merged key by key; a lock file lies beside the store.
";

fn reference() -> String {
    let mut text = OPENING.to_owned();
    let mut program = CommandLine::command();
    program.build();
    let commands = program.get_subcommands();
    for command in commands.filter(|command| command.get_name() != "help") {
        write_commands(&mut text, command);
    }
    line(
        &mut text,
        "\n## Exit codes\n\n| code | meaning |\n| --- | --- |",
    );
    for exit in Exit::ALL {
        line(
            &mut text,
            &format!("| {} | {} |", exit.code(), exit.meaning()),
        );
    }
    line(
        &mut text,
        "\n## Environment\n\n| variable | meaning |\n| --- | --- |",
    );
    for variable in variables::ALL {
        line(
            &mut text,
            &format!("| `{}` | {} |", variable.name, variable.help),
        );
    }
    for (name, key) in pirn_settings::setting_variables() {
        line(
            &mut text,
            &format!("| `{name}` | Stands for the setting [`{key}`](settings.md) in one run |"),
        );
    }
    text.push_str(BEHAVIOUR);
    text
}

/// A command, or those below it.
fn write_commands(text: &mut String, command: &Command) {
    if !command.has_subcommands() {
        write_command(text, command);
    }
    let own = command.get_subcommands();
    for below in own.filter(|below| below.get_name() != "help") {
        write_commands(text, below);
    }
}

fn write_command(text: &mut String, command: &Command) {
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage
        .trim_start_matches("Usage: ")
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\n");
    let about: Vec<String> = about
        .split("\n\n")
        .map(|paragraph| format!("{}.", paragraph.trim_end_matches('.')))
        .collect();
    line(
        text,
        &format!(
            "\n## {}\n\n{}\n",
            command.get_bin_name().unwrap_or_default(),
            about.join("\n\n")
        ),
    );
    line(
        text,
        &format!("```text\n{usage}\n```\n\n| argument | meaning |\n| --- | --- |"),
    );
    for argument in command
        .get_arguments()
        .filter(|argument| argument.get_id() != "help")
    {
        line(
            text,
            &format!("| {} | {} |", name(argument), meaning(argument)),
        );
    }
}

fn name(argument: &Arg) -> String {
    let value = argument.get_value_names().unwrap_or_default().join(" ");
    let takes_value = argument.get_action().takes_values();
    let Some(long) = argument.get_long() else {
        return format!("`{value}`");
    };
    let short = argument
        .get_short()
        .map(|short| format!("`-{short}`, "))
        .unwrap_or_default();
    match takes_value {
        true if argument.is_require_equals_set() => format!("{short}`--{long}[={value}]`"),
        true => format!("{short}`--{long} {value}`"),
        false => format!("{short}`--{long}`"),
    }
}

fn meaning(argument: &Arg) -> String {
    let help = argument
        .get_long_help()
        .or(argument.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let takes_value = argument.get_action().takes_values();
    let are_shown = takes_value && !argument.is_hide_possible_values_set();
    let values = if are_shown && !values.is_empty() {
        format!(" ({})", values.join(", "))
    } else {
        String::new()
    };
    format!(
        "{}{values}",
        help.replace("\n\n", ". ")
            .replace('\n', " ")
            .replace('|', "\\|")
    )
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}

#[test]
fn the_reference_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let wanted = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).expect("the reference can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/cli.md is stale; `UPDATE=1 cargo nextest run -p pirn reference` writes it"
    );
}

#[test]
fn the_definitions_are_sound() {
    CommandLine::command().debug_assert();
}
