//! Reading single values of a configuration file, and reporting those that are wrong.

use std::path::Path;
use std::time::Duration;

use pirn_jsonc::{Node, Tree};
use pirn_tool::Effects;

use crate::config::keys::{self, EFFECTS, EXPOSURES, Key};
use crate::config::{ConfigProblem, McpExposure, Severity, ToolExposures};

/// A week: longer is a slip of units.
const SECONDS_MAX: f64 = 604_800.0;

/// Reads the values of one object of a file: of one server, or of the file itself.
pub(crate) struct Fields<'a> {
    pub(crate) file: &'a Path,
    /// The server, where it is about one.
    pub(crate) server: Option<&'a str>,
    pub(crate) problems: Vec<ConfigProblem>,
}

impl<'a> Fields<'a> {
    /// A reader that has found nothing yet.
    pub(crate) fn new(file: &'a Path, server: Option<&'a str>) -> Self {
        Self {
            file,
            server,
            problems: Vec::new(),
        }
    }

    /// Whether something was found that costs the entry.
    pub(crate) fn failed(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Reports what costs the entry. An empty field is the entry itself.
    pub(crate) fn error(&mut self, line: u32, field: &str, message: impl Into<String>) {
        self.report(Severity::Error, line, field, message.into());
    }

    /// Reports what is ignored.
    pub(crate) fn note(&mut self, line: u32, field: &str, message: impl Into<String>) {
        self.report(Severity::Note, line, field, message.into());
    }

    fn report(&mut self, severity: Severity, line: u32, field: &str, message: String) {
        self.problems.push(ConfigProblem {
            severity,
            file: self.file.to_path_buf(),
            line: Some(line),
            server: self.server.map(str::to_owned),
            field: (!field.is_empty()).then(|| field.to_owned()),
            message,
        });
    }

    /// Reports names that are written twice, and unknown ones that look like slips.
    pub(crate) fn check_names(&mut self, object: &Node, known: &'static [Key], prefix: &str) {
        for (index, member) in object.members().iter().enumerate() {
            let field = format!("{prefix}{}", member.name);
            let earlier = object.members().iter().take(index);
            if let Some(first) = earlier.into_iter().find(|m| m.name == member.name) {
                let message = format!("is ignored: line {} has it already", first.line);
                self.note(member.line, &field, message);
            } else if keys::find(known, &member.name).is_none()
                && let Some(meant) = keys::meant_by(known, &member.name)
            {
                let message = format!("is not a setting and is ignored; did you mean \"{meant}\"?");
                self.note(member.line, &field, message);
            }
        }
    }

    pub(crate) fn text(&mut self, object: &Node, prefix: &str, name: &str) -> Option<String> {
        let node = object.get(name)?;
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            self.error(
                node.line,
                &format!("{prefix}{name}"),
                "must be a string, in quotes",
            );
        }
        text
    }

    /// A string that is not empty.
    pub(crate) fn filled(&mut self, object: &Node, prefix: &str, name: &str) -> Option<String> {
        let text = self.text(object, prefix, name)?;
        if text.trim().is_empty() {
            let line = object.get(name).map_or(object.line, |node| node.line);
            self.error(line, &format!("{prefix}{name}"), "must not be empty");
            return None;
        }
        Some(text)
    }

    /// Strings in an array.
    pub(crate) fn texts(&mut self, object: &Node, prefix: &str, name: &str) -> Vec<String> {
        let Some(node) = object.get(name) else {
            return Vec::new();
        };
        let field = format!("{prefix}{name}");
        let Tree::List(elements) = &node.value else {
            self.error(node.line, &field, "must be an array of strings");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            match element.text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.error(
                    element.line,
                    &format!("{field}[{index}]"),
                    "must be a string, in quotes",
                ),
            }
        }
        texts
    }

    /// An object of strings. Of equal names the first counts.
    pub(crate) fn text_map(&mut self, object: &Node, name: &str) -> Vec<(String, String)> {
        let Some(node) = self.object(object, name, "an object of strings") else {
            return Vec::new();
        };
        let mut entries: Vec<(String, String)> = Vec::new();
        for member in node.members() {
            let field = format!("{name}.{}", member.name);
            if entries.iter().any(|(name, _)| *name == member.name) {
                self.note(member.line, &field, "is ignored: it is written twice");
                continue;
            }
            match member.node.text() {
                Some(text) => entries.push((member.name.clone(), text.to_owned())),
                None => self.error(member.node.line, &field, "must be a string, in quotes"),
            }
        }
        entries
    }

    pub(crate) fn object<'n>(
        &mut self,
        object: &'n Node,
        name: &str,
        what: &str,
    ) -> Option<&'n Node> {
        let node = object.get(name)?;
        if matches!(node.value, Tree::Object(_)) {
            return Some(node);
        }
        self.error(node.line, name, format!("must be {what}"));
        None
    }

    pub(crate) fn flag(&mut self, object: &Node, prefix: &str, name: &str) -> Option<bool> {
        let node = object.get(name)?;
        let flag = node.flag();
        if flag.is_none() {
            self.error(
                node.line,
                &format!("{prefix}{name}"),
                "must be true or false, without quotes",
            );
        }
        flag
    }

    pub(crate) fn seconds(&mut self, object: &Node, name: &str) -> Option<Duration> {
        let node = object.get(name)?;
        match node.value {
            Tree::Number(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => {
                Some(Duration::from_secs_f64(seconds))
            }
            Tree::Number(seconds) if seconds > SECONDS_MAX => {
                self.error(
                    node.line,
                    name,
                    format!("must be at most {SECONDS_MAX} seconds; is it in milliseconds?"),
                );
                None
            }
            Tree::Null
            | Tree::Bool(_)
            | Tree::Number(_)
            | Tree::Text(_)
            | Tree::List(_)
            | Tree::Object(_) => {
                self.error(node.line, name, "must be a number of seconds above 0");
                None
            }
        }
    }

    pub(crate) fn port(&mut self, object: &Node, prefix: &str, name: &str) -> Option<u16> {
        let node = object.get(name)?;
        if let Tree::Number(number) = node.value {
            let port = (1..=u16::MAX).find(|port| f64::from(*port).total_cmp(&number).is_eq());
            if port.is_some() {
                return port;
            }
        }
        let message = "must be a whole number from 1 to 65535, without quotes";
        self.error(node.line, &format!("{prefix}{name}"), message);
        None
    }

    /// One of a few words.
    pub(crate) fn choice<T>(
        &mut self,
        object: &Node,
        field: (&str, &str),
        words: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let (prefix, name) = field;
        let node = object.get(name)?;
        self.word(node, &format!("{prefix}{name}"), words, read)
    }

    fn word<T>(
        &mut self,
        node: &Node,
        field: &str,
        words: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let value = node.text().and_then(read);
        if value.is_none() {
            self.error(node.line, field, format!("must be {}", one_of(words)));
        }
        value
    }

    pub(crate) fn exposure(&mut self, object: &Node) -> Option<McpExposure> {
        self.choice(object, ("", "exposure"), SPOKEN_EXPOSURES, exposure)
    }

    pub(crate) fn exposures(&mut self, object: &Node) -> Option<ToolExposures> {
        let node = self.object(object, "toolExposure", "an object of exposures by tool")?;
        let mut exposures = Vec::new();
        for member in node.members() {
            let field = format!("toolExposure.{}", member.name);
            if let Some(value) = self.word(&member.node, &field, SPOKEN_EXPOSURES, exposure) {
                exposures.push((member.name.clone(), value));
            }
        }
        Some(ToolExposures(exposures))
    }
}

impl Fields<'_> {
    pub(crate) fn effects(&mut self, object: &Node) -> Vec<(String, Effects)> {
        let Some(node) = self.object(object, "effects", "an object of effects by tool") else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        for member in node.members() {
            let field = format!("effects.{}", member.name);
            let Tree::List(elements) = &member.node.value else {
                self.error(member.line, &field, "must be an array of effects");
                continue;
            };
            // What is wrong is reported, and costs the entry.
            let all = elements.iter().fold(Effects::NONE, |all, element| {
                let one = self.word(element, &field, EFFECTS, |word| {
                    EFFECTS.contains(&word).then(|| Effects::from_name(word))?
                });
                all | one.unwrap_or(Effects::NONE)
            });
            effects.push((member.name.clone(), all));
        }
        effects
    }
}

/// The exposures without the old name.
const SPOKEN_EXPOSURES: &[&str] = EXPOSURES.split_at(4).0;

/// The exposure of this name.
pub(super) fn exposure(word: &str) -> Option<McpExposure> {
    match word {
        // The second is what it was called once.
        "codemode" | "codemode-deferred" => Some(McpExposure::Codemode),
        "deferred" => Some(McpExposure::Deferred),
        "direct" => Some(McpExposure::Direct),
        "hidden" => Some(McpExposure::Hidden),
        _ => None,
    }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
