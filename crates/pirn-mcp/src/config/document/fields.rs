//! Reading the values of one object of a configuration file, and reporting those that are wrong.

use std::path::Path;
use std::time::Duration;

use pirn_jsonc::Node;
use pirn_settings::table::{
    Key, NameFinding, Place, Problem, Severity, check_name, choice, elements, filled, find_key,
    flag, object, seconds, text, whole,
};
use pirn_tool::Effects;

use crate::config::keys::{self, EFFECTS, EXPOSURES, PORT_MAX};
use crate::config::{McpExposure, ToolExposures};

/// Reads the values of one object of a file: of one server, or of the file itself.
pub(crate) struct Fields<'a> {
    pub(crate) file: &'a Path,
    /// The server, where it is about one.
    pub(crate) server: Option<&'a str>,
    pub(crate) problems: Vec<Problem>,
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
        self.report(Severity::Error, Some(line), field, message.into());
    }

    /// Reports what is ignored.
    pub(crate) fn note(&mut self, line: u32, field: &str, message: impl Into<String>) {
        self.report(Severity::Note, Some(line), field, message.into());
    }

    pub(crate) fn report(
        &mut self,
        severity: Severity,
        line: Option<u32>,
        field: &str,
        message: String,
    ) {
        self.problems.push(Problem {
            severity,
            place: Place::File {
                path: self.file.to_path_buf(),
                line,
            },
            server: self.server.map(str::to_owned),
            key: (!field.is_empty()).then(|| field.to_owned()),
            message,
        });
    }

    /// Reports names that are written twice, and unknown ones that look like slips.
    pub(crate) fn check_names(&mut self, object: &Node, known: &'static [Key], prefix: &str) {
        let members = object.members();
        for (index, member) in members.iter().enumerate() {
            let is_known = |name: &str| find_key(known, name).is_some();
            let message = match check_name(members, index, is_known) {
                Some(NameFinding::Repeated { first_line }) => {
                    format!("is ignored: line {first_line} has it already")
                }
                Some(NameFinding::Unknown) => match keys::meant_by(known, &member.name) {
                    Some(meant) => {
                        format!("is not a setting and is ignored; did you mean \"{meant}\"?")
                    }
                    None => continue,
                },
                None => continue,
            };
            self.note(member.line, &format!("{prefix}{}", member.name), message);
        }
    }

    /// The value of a key, where it is there and right.
    pub(crate) fn value<'n, T>(
        &mut self,
        object: &'n Node,
        prefix: &str,
        name: &str,
        read: impl FnOnce(&'n Node) -> Result<T, String>,
    ) -> Option<T> {
        self.node(object.get(name)?, &format!("{prefix}{name}"), read)
    }

    /// A value that is there.
    fn node<'n, T>(
        &mut self,
        node: &'n Node,
        field: &str,
        read: impl FnOnce(&'n Node) -> Result<T, String>,
    ) -> Option<T> {
        read(node)
            .map_err(|message| self.error(node.line, field, message))
            .ok()
    }

    pub(crate) fn text(&mut self, object: &Node, prefix: &str, name: &str) -> Option<String> {
        self.value(object, prefix, name, text).map(str::to_owned)
    }

    /// A string that is not empty.
    pub(crate) fn filled(&mut self, object: &Node, prefix: &str, name: &str) -> Option<String> {
        self.value(object, prefix, name, filled).map(str::to_owned)
    }

    /// Strings in an array.
    pub(crate) fn texts(&mut self, object: &Node, prefix: &str, name: &str) -> Vec<String> {
        let elements = self.value(object, prefix, name, elements);
        let elements = elements.unwrap_or_default().iter().enumerate();
        elements
            .filter_map(|(index, element)| {
                self.node(element, &format!("{prefix}{name}[{index}]"), text)
                    .map(str::to_owned)
            })
            .collect()
    }

    /// An object of strings. Of equal names the first counts.
    pub(crate) fn text_map(&mut self, object: &Node, name: &str) -> Vec<(String, String)> {
        let Some(node) = self.object(object, name, "an object of strings") else {
            return Vec::new();
        };
        let mut entries: Vec<(String, String)> = Vec::new();
        for (index, member) in node.members().iter().enumerate() {
            let field = format!("{name}.{}", member.name);
            if check_name(node.members(), index, |_| true).is_some() {
                self.note(member.line, &field, "is ignored: it is written twice");
            } else if let Some(text) = self.node(&member.node, &field, text) {
                entries.push((member.name.clone(), text.to_owned()));
            }
        }
        entries
    }

    pub(crate) fn object<'n>(
        &mut self,
        parent: &'n Node,
        name: &str,
        what: &str,
    ) -> Option<&'n Node> {
        self.value(parent, "", name, |node| object(node, what))
    }

    pub(crate) fn flag(&mut self, object: &Node, prefix: &str, name: &str) -> Option<bool> {
        self.value(object, prefix, name, flag)
    }

    pub(crate) fn seconds(&mut self, object: &Node, name: &str) -> Option<Duration> {
        self.value(object, "", name, seconds)
    }

    pub(crate) fn port(&mut self, object: &Node, prefix: &str, name: &str) -> Option<u16> {
        let port = self.value(object, prefix, name, |node| whole(node, 1, PORT_MAX))?;
        u16::try_from(port).ok()
    }

    /// One of a few words.
    pub(crate) fn choice<T>(
        &mut self,
        object: &Node,
        field: (&str, &str),
        words: &[&str],
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let (prefix, name) = field;
        self.value(object, prefix, name, |node| choice(node, words, read))
    }

    pub(crate) fn exposure(&mut self, object: &Node) -> Option<McpExposure> {
        self.choice(object, ("", "exposure"), SPOKEN_EXPOSURES, exposure)
    }

    pub(crate) fn exposures(&mut self, object: &Node) -> Option<ToolExposures> {
        let node = self.object(object, "toolExposure", "an object of exposures by tool")?;
        let exposures = node.members().iter().filter_map(|member| {
            let field = format!("toolExposure.{}", member.name);
            let read = |node| choice(node, SPOKEN_EXPOSURES, exposure);
            let value = self.node(&member.node, &field, read)?;
            Some((member.name.clone(), value))
        });
        Some(ToolExposures(exposures.collect()))
    }

    pub(crate) fn effects(&mut self, object: &Node) -> Vec<(String, Effects)> {
        let Some(node) = self.object(object, "effects", "an object of effects by tool") else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        for member in node.members() {
            let field = format!("effects.{}", member.name);
            let Ok(elements) = elements(&member.node) else {
                self.error(member.line, &field, "must be an array of effects");
                continue;
            };
            // What is wrong is reported, and costs the entry.
            let all = elements.iter().fold(Effects::NONE, |all, element| {
                let one = self.node(element, &field, |node| {
                    choice(node, EFFECTS, |word| {
                        EFFECTS.contains(&word).then(|| Effects::from_name(word))?
                    })
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
