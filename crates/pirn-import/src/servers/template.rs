//! Variables as other programs write them, in our writing.

use std::path::{MAIN_SEPARATOR_STR, Path};

use pirn_jsonc::Node;

/// How a program writes variables in its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Literal,
    Braces,
    Dollar,
    /// `${env:NAME}`, `${input:id}`, `${workspaceFolder}`, `${userHome}`.
    Editor,
    Curly,
}

/// Where a value goes: which characters mean something there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Command, arguments, folder, address: `${NAME}`.
    Plain,
    /// Environment, headers, secrets: `$NAME` and a leading `!` too.
    Value,
}

/// Converts values of one server and remembers what is to be said about them.
pub(super) struct Values<'a> {
    /// How variables are written.
    pub(super) dialect: Dialect,
    /// What stands for the workspace's folder.
    pub(super) project: &'a Path,
    /// The list of inputs, where the file has one.
    pub(super) inputs: Option<&'a Node>,
    /// What could not be converted.
    pub(super) notes: Vec<String>,
    /// What the user has to set.
    pub(super) needs: Vec<String>,
}

/// A piece of a value.
enum Part<'t> {
    Literal(&'t str),
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
    Input(&'t str),
    Workspace,
    WorkspaceName,
    Home,
    Separator,
    /// Something that has no counterpart.
    Unknown(&'t str),
}

impl<'a> Values<'a> {
    pub(super) fn new(dialect: Dialect, project: &'a Path) -> Self {
        Self {
            dialect,
            project,
            inputs: None,
            notes: Vec::new(),
            needs: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes a setting that has no counterpart.
    pub(super) fn leave_out(&mut self, setting: &str) {
        self.note(format!("\"{setting}\" has no counterpart and is left out"));
    }

    /// The value in our writing.
    pub(super) fn convert(&mut self, place: Place, text: &str) -> String {
        let mut converted = String::new();
        for part in parts(self.dialect, text) {
            let part = self.part(place, &part);
            converted.push_str(&part);
        }
        // In a value it would begin a command.
        if place == Place::Value && text.starts_with('!') {
            converted.insert(0, '$');
        }
        converted
    }

    fn part(&mut self, place: Place, part: &Part<'_>) -> String {
        match part {
            Part::Literal(text) => escaped(place, text),
            Part::Variable { name, default } => match default {
                Some(default) => format!("${{{name}:-{default}}}"),
                None => format!("${{{name}}}"),
            },
            Part::Input(id) => self.input(id),
            Part::Workspace => {
                let folder = self.project.display().to_string();
                self.note(format!("the workspace folder is written as {folder}"));
                escaped(place, &folder)
            }
            Part::WorkspaceName => {
                let name = self.project.file_name().unwrap_or_default();
                escaped(place, &name.to_string_lossy())
            }
            Part::Home => "${HOME}".to_owned(),
            Part::Separator => MAIN_SEPARATOR_STR.to_owned(),
            Part::Unknown(text) => {
                self.note(format!("{text} has no counterpart and stays as it is"));
                escaped(place, text)
            }
        }
    }

    /// What a program asks its user for becomes a variable.
    fn input(&mut self, id: &str) -> String {
        let upper = |character: char| match character {
            letter if letter.is_ascii_alphanumeric() => letter.to_ascii_uppercase(),
            _ => '_',
        };
        let mut name: String = id.chars().map(upper).collect();
        if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            name.insert(0, '_');
        }
        let inputs = self.inputs.map_or(&[][..], Node::items);
        let input = inputs
            .iter()
            .find(|input| input.get("id").and_then(Node::text) == Some(id));
        let field = |key: &str| input.and_then(|input| input.get(key)).and_then(Node::text);
        let default = field("default").filter(|default| !default.contains('}'));
        if let Some(default) = default {
            self.note(format!("the input \"{id}\" is the variable {name} now"));
            return format!("${{{name}:-{default}}}");
        }
        let what = field("description").map(|what| format!(" ({what})"));
        let need = format!(
            "set the variable {name}: it stands for the input \"{id}\"{}",
            what.unwrap_or_default()
        );
        if !self.needs.contains(&need) {
            self.needs.push(need);
        }
        format!("${{{name}}}")
    }
}

/// The text with what would mean something to us made literal.
fn escaped(place: Place, text: &str) -> String {
    match place {
        Place::Plain => text.replace("${", "$${"),
        Place::Value => text.replace('$', "$$"),
    }
}

/// The pieces of a value.
fn parts(dialect: Dialect, text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let opening = match dialect {
        Dialect::Literal => return vec![Part::Literal(text)],
        Dialect::Braces | Dialect::Dollar | Dialect::Editor => '$',
        Dialect::Curly => '{',
    };
    let mut rest = text;
    let mut start = 0;
    while let Some(found) = rest.get(start..).and_then(|behind| behind.find(opening)) {
        let (before, after) = rest.split_at(start + found);
        match reference(dialect, after) {
            Some((part, behind)) => {
                parts.push(Part::Literal(before));
                parts.push(part);
                rest = behind;
                start = 0;
            }
            None => start += found + 1,
        }
    }
    parts.push(Part::Literal(rest));
    parts
}

/// What the text begins with, and what stands behind it.
fn reference(dialect: Dialect, text: &str) -> Option<(Part<'_>, &str)> {
    let inner = match dialect {
        Dialect::Literal => return None,
        Dialect::Curly => text.strip_prefix('{'),
        Dialect::Braces | Dialect::Dollar | Dialect::Editor => text.strip_prefix("${"),
    };
    let Some(inner) = inner else {
        return bare_variable(dialect, text);
    };
    let (inner, behind) = inner.split_once('}')?;
    let whole = text.get(..text.len() - behind.len()).unwrap_or(text);
    let part = match dialect {
        Dialect::Braces | Dialect::Dollar => {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            is_name(name).then_some(Part::Variable { name, default })
        }
        Dialect::Editor => Some(match (inner, inner.split_once(':')) {
            (_, Some(("env", name))) if is_name(name) => Part::Variable {
                name,
                default: None,
            },
            (_, Some(("input", id))) => Part::Input(id),
            ("workspaceFolder", _) => Part::Workspace,
            ("workspaceFolderBasename", _) => Part::WorkspaceName,
            ("userHome", _) => Part::Home,
            ("pathSeparator" | "/", _) => Part::Separator,
            _ => Part::Unknown(whole),
        }),
        Dialect::Curly => match inner.split_once(':') {
            Some(("env", name)) if is_name(name) => Some(Part::Variable {
                name,
                // There, a variable that is not set is empty.
                default: Some(""),
            }),
            Some(("env" | "file", _)) => Some(Part::Unknown(whole)),
            _ => None,
        },
        Dialect::Literal => None,
    };
    part.map(|part| (part, behind))
}

fn bare_variable(dialect: Dialect, text: &str) -> Option<(Part<'_>, &str)> {
    if dialect != Dialect::Dollar {
        return None;
    }
    let text = text.strip_prefix('$')?;
    let end = text
        .find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
        .unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    let default = None;
    is_name(name).then_some((Part::Variable { name, default }, behind))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}
