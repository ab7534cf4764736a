//! `docs/settings.md` and `docs/settings.schema.json`, made from the table of settings. Tests compare them with the files.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::rows::{Form, GROUPS, Kind, ProjectRule, ROWS, Row};
use crate::table::{Key, Shape};

const OPENING: &str = "\
# Settings

Settings are in `settings.json` in Pirn's folder: `~/.pirn`, or what `PIRN_HOME` names. A project may have its own in
`.pirn/settings.json`; they count only when the project is trusted, see `pirn trust`. This page is made from the program;
`UPDATE=1 cargo nextest run -p pirn-settings` writes it anew.

The files are JSON with comments and trailing commas. `\"$schema\"` may name [the schema](settings.schema.json), for editors.

```jsonc
{
  \"sandbox\": {
    \"network\": \"allow-list\",
    // What builds need
    \"allowedHosts\": [\"index.crates.io\", \"static.crates.io\"],
    \"writeRoots\": [\"~/.cargo/registry\"],
  },
}
```

- Flags of a command win over variables of the environment, those over the project's settings, those over the user's, and those
  over the defaults. `PIRN_SHELL` stands for `bash.shell`. What is said about a value names its file and line, the flag or the
  variable.
- `null` stands for the default.
- An unknown setting is ignored with a note. A wrong value is an error, and nothing is run: what was meant to be safe may not be.
- **A project can make things stricter, never weaker.** The last column says what a value in a project's file does. What it
  asks for beyond that is ignored with a note, which names the line.
- Paths are absolute or begin with `~/`; in a project's file they may be relative to the project. They hold no `..`.
- `pirn config list` shows all settings with their values and where these come from; `pirn config set` and `unset` change
  a file and keep its comments.
- An answer \"always\" to the question about a host is added to `sandbox.allowedHosts` of the user's file. Comments stay.

What the settings of `sandbox` do is told in [Running commands safely](sandbox.md).
";

fn page() -> String {
    let mut text = OPENING.to_owned();
    for (group, about) in [("", "What is in no group")]
        .into_iter()
        .chain(GROUPS.iter().copied())
    {
        let title = if group.is_empty() { "General" } else { group };
        line(&mut text, &format!("\n## {title}\n\n{about}.\n"));
        line(
            &mut text,
            "| setting | values | default | meaning | in a project |\n| --- | --- | --- | --- | --- |",
        );
        for row in rows_of(group) {
            let default = match row.default {
                "null" => "none".to_owned(),
                default => format!("`{default}`"),
            };
            line(
                &mut text,
                &format!(
                    "| `{}` | {} | {default} | {} | {} |",
                    row.key,
                    values(row),
                    escaped(row.help),
                    in_project(row)
                ),
            );
        }
    }
    text
}

fn rows_of(group: &str) -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
        .filter(move |row| row.key.rsplit_once('.').map_or("", |(of, _)| of) == group)
}

fn values(row: &Row) -> String {
    let words = |words: &[&str]| {
        let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
        quoted.join(", ")
    };
    match &row.kind {
        Kind::Word(allowed, ..) => words(allowed),
        Kind::Flag(_) => "`true`, `false`".to_owned(),
        Kind::Whole(whole) => format!("{} to {}", whole.least, whole.most),
        Kind::Program(_) => "a path or name".to_owned(),
        Kind::Texts(Form::Host, _) => "hosts".to_owned(),
        Kind::Texts(Form::Pattern, _) => "paths and patterns".to_owned(),
        Kind::Texts(Form::Variable, _) => "names of variables".to_owned(),
        Kind::Texts(Form::Word(allowed), _) => format!("a list of {}", words(allowed)),
        Kind::Paths(_) => "paths".to_owned(),
    }
}

fn in_project(row: &Row) -> &'static str {
    match row.project {
        ProjectRule::Free => "counts",
        ProjectRule::User => "is ignored",
        ProjectRule::Strictness(_) => "counts if it is not weaker",
        ProjectRule::Adds => "is added",
        ProjectRule::Covered(_) => "can only take away",
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}

fn schema() -> Value {
    let mut properties = Map::new();
    properties.insert(
        "$schema".to_owned(),
        json!({"type": "string", "description": "Where this schema lies, for editors."}),
    );
    for row in rows_of("") {
        properties.insert(row.key.to_owned(), property(row));
    }
    for (group, about) in GROUPS {
        let rows: Map<String, Value> = rows_of(group)
            .filter_map(|row| {
                let (_, name) = row.key.split_once('.')?;
                Some((name.to_owned(), property(row)))
            })
            .collect();
        properties.insert(
            (*group).to_owned(),
            json!({"type": "object", "description": format!("{about}."), "properties": rows}),
        );
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "settings.json of Pirn",
        "type": "object",
        "properties": properties,
    })
}

fn property(row: &Row) -> Value {
    let shape = match &row.kind {
        Kind::Word(words, ..) => Shape::Choice(words),
        Kind::Flag(_) => Shape::Flag,
        Kind::Whole(whole) => Shape::Whole {
            least: whole.least,
            most: whole.most,
        },
        Kind::Program(_) => Shape::Filled,
        Kind::Texts(Form::Word(words), _) => Shape::Choices(words),
        Kind::Texts(Form::Host | Form::Pattern | Form::Variable, _) | Kind::Paths(_) => {
            Shape::List(&Shape::Filled)
        }
    };
    let key = Key {
        name: row.key,
        only_with: None,
        shape,
        default: Some(row.default),
        help: row.help,
    };
    Value::Object(key.schema())
}

fn check_fresh(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/{name} is stale; `UPDATE=1 cargo nextest run -p pirn-settings` writes it"
    );
}

#[test]
fn the_page_is_fresh() {
    check_fresh("settings.md", &page());
}

#[test]
fn the_schema_is_fresh() {
    check_fresh("settings.schema.json", &format!("{:#}\n", schema()));
}
