//! One file of settings: what it gives, and what is wrong in it.

use std::path::{Path, PathBuf};

use pirn_jsonc::{Member, Node, Tree};
use pirn_sandbox::HostRule;
use pirn_tool::closest;

use crate::rows::{FORMER_WORDS, Form, GROUPS, Kind, ROWS, Row, is_group, row};
use crate::settings::{FILE_BYTES_MAX, Loaded, Paths};
use crate::source::{Layer, Source};
use crate::table::{
    NameFinding, Place, Problem, Severity, check_name, choice, elements, flag, must_be,
    read_file_root, whole,
};
use crate::values::{Settings, THE_DEFAULTS};

/// What one file gives.
#[derive(Debug)]
pub(crate) struct Document {
    path: PathBuf,
    /// Settings with their values, in the order written.
    pub(crate) given: Vec<Given>,
}

/// A setting that a file gives.
pub(crate) struct Given {
    pub(crate) row: &'static Row,
    pub(crate) node: Node,
}

impl Given {
    /// Puts the word of today in the place of a former one, and tells both.
    fn rename(&mut self) -> Option<(&'static str, &'static str)> {
        let given = self.node.text()?;
        let (_, former, word) = FORMER_WORDS
            .iter()
            .find(|(key, former, _)| *key == self.row.key && *former == given)?;
        self.node.value = Tree::Text((*word).to_owned());
        Some((former, word))
    }
}

impl std::fmt::Debug for Given {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.row.key)
    }
}

impl Document {
    /// A problem with what is given for a setting.
    pub(crate) fn problem(&self, severity: Severity, given: &Given, message: &str) -> Problem {
        self.problem_at(severity, Some(given.node.line), given.row.key, message)
    }

    /// Where a setting is given.
    pub(crate) fn source(&self, layer: Layer, given: &Given) -> Source {
        Source::File {
            layer,
            path: self.path.clone(),
            line: given.node.line,
        }
    }

    fn problem_at(
        &self,
        severity: Severity,
        line: Option<u32>,
        key: &str,
        message: &str,
    ) -> Problem {
        Problem {
            severity,
            place: Place::File {
                path: self.path.clone(),
                line,
            },
            server: None,
            key: (!key.is_empty()).then(|| key.to_owned()),
            message: message.to_owned(),
        }
    }
}

/// Reads a file. A missing one gives nothing.
pub(crate) fn read(path: &Path, problems: &mut Vec<Problem>) -> Document {
    let mut document = Document {
        path: path.to_owned(),
        given: Vec::new(),
    };
    match read_file_root(path, FILE_BYTES_MAX, "{\"sandbox\": {…}}") {
        Ok(Some(root)) => document.take_group("", root.members(), problems),
        Ok(None) => {}
        Err(error) if error.is_missing() => {}
        Err(error) => {
            let (line, message) = error.into_parts();
            problems.push(document.problem_at(Severity::Error, line, "", &message));
        }
    }
    document
}

impl Document {
    /// Takes what is written in a group; `prefix` is its key with a point, or nothing.
    fn take_group(&mut self, prefix: &str, members: &[Member], problems: &mut Vec<Problem>) {
        for (index, member) in members.iter().enumerate() {
            let key = format!("{prefix}{}", member.name);
            if let Some(NameFinding::Repeated { first_line }) = check_name(members, index, |_| true)
            {
                // The later one may be the one that was meant.
                let message = format!("is given twice; line {first_line} has it already");
                problems.push(self.problem_at(Severity::Error, Some(member.line), &key, &message));
                continue;
            }
            // A key with a point in it is written as the name of a group and what is in it.
            let row = row(&key).filter(|_| !member.name.contains('.'));
            match (row, &member.node.value) {
                (Some(_), Tree::Null) => {}
                (Some(row), _) => {
                    let mut given = Given {
                        row,
                        node: member.node.clone(),
                    };
                    if let Some((former, word)) = given.rename() {
                        let message = format!("\"{former}\" is called \"{word}\" now");
                        problems.push(self.problem(Severity::Note, &given, &message));
                    }
                    self.given.push(given);
                }
                (None, Tree::Null) if is_group(&key) => {}
                (None, Tree::Object(below)) if is_group(&key) => {
                    self.take_group(&format!("{key}."), below, problems);
                }
                (None, _) if is_group(&key) => {
                    let line = Some(member.line);
                    problems.push(self.problem_at(
                        Severity::Error,
                        line,
                        &key,
                        "must be an object",
                    ));
                }
                (None, _) if key == "$schema" => {}
                (None, _) => problems.push(self.unknown(member.line, &key)),
            }
        }
    }

    fn unknown(&self, line: u32, key: &str) -> Problem {
        let message = match meant_by(key) {
            Some(meant) if meant == key => {
                let (group, name) = meant.split_once('.').unwrap_or((meant, ""));
                format!("is not a setting here; it is written {{\"{group}\": {{\"{name}\": …}}}}")
            }
            Some(meant) => format!("is not a setting and is ignored; did you mean {meant}?"),
            None => "is not a setting and is ignored".to_owned(),
        };
        self.problem_at(Severity::Note, Some(line), key, &message)
    }
}

/// The setting or group that was probably meant.
pub(crate) fn meant_by(key: &str) -> Option<&'static str> {
    if let Some(row) = row(key) {
        return Some(row.key);
    }
    let groups = GROUPS.iter().map(|(group, _)| *group);
    let Some((group, name)) = key.rsplit_once('.') else {
        let outside = ROWS.iter().map(|row| row.key);
        let outside = outside.filter(|key| !key.contains('.'));
        return closest(key, groups.chain(outside)).or_else(|| in_any_group(key));
    };
    // In its own group first.
    closest(group, groups)
        .and_then(|group| {
            let names = ROWS.iter().filter_map(|row| name_in(group, row.key));
            let meant = closest(name, names)?;
            ROWS.iter()
                .map(|row| row.key)
                .find(|key| name_in(group, key) == Some(meant))
        })
        .or_else(|| in_any_group(name))
}

fn name_in(group: &str, key: &'static str) -> Option<&'static str> {
    key.strip_prefix(group)?.strip_prefix('.')
}

/// A name in the wrong group, or without one.
fn in_any_group(name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    ROWS.iter().map(|row| row.key).find(|key| {
        key.rsplit_once('.')
            .is_some_and(|(_, known)| plain(known) == plain(name))
    })
}

/// Sets what the file gives.
pub(crate) fn apply(document: &Document, paths: &Paths<'_>, loaded: &mut Loaded) {
    for given in &document.given {
        match set(given, Layer::User, paths, &mut loaded.settings) {
            Ok(()) => {
                let source = document.source(Layer::User, given);
                loaded.sources.replace(given.row.key, source);
            }
            Err(message) => {
                let problem = document.problem(Severity::Error, given, &message);
                loaded.problems.push(problem);
            }
        }
    }
}

/// Sets one setting, or says what its value must be.
pub(crate) fn set(
    given: &Given,
    layer: Layer,
    paths: &Paths<'_>,
    settings: &mut Settings,
) -> Result<(), String> {
    let node = &given.node;
    match &given.row.kind {
        Kind::Word(words, set, _) => choice(node, words, |word| set(settings, word)),
        Kind::Flag(place) => {
            *place(settings) = flag(node)?;
            Ok(())
        }
        Kind::Whole(bounded) => {
            bounded.set(settings, whole(node, bounded.least, bounded.most)?);
            Ok(())
        }
        Kind::Program(program) => {
            let text = node.text().ok_or("must be a path or a name, in quotes")?;
            if text.trim().is_empty() {
                return Err("must be a path or a name".to_owned());
            }
            *program(settings) = Some(text.to_owned());
            Ok(())
        }
        Kind::Texts(form, list) => {
            *list(settings) = each(node, |text| checked(*form, text))?;
            Ok(())
        }
        Kind::Paths(list) => {
            *list(settings) = each(node, |text| path(text, layer, paths))?;
            Ok(())
        }
    }
}

/// A list whose elements are read one by one.
fn each<T>(node: &Node, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    elements(node)?
        .iter()
        .map(|element| {
            let text = element.text().ok_or_else(|| {
                format!(
                    "must hold strings; line {} has something else",
                    element.line
                )
            })?;
            read(text)
        })
        .collect()
}

fn checked(form: Form, text: &str) -> Result<String, String> {
    match form {
        Form::Host => {
            let rule = text
                .parse::<HostRule>()
                .map_err(|error| error.to_string())?;
            Ok(rule.to_string())
        }
        Form::Pattern => {
            let is_good = text == THE_DEFAULTS
                || text.starts_with("~/")
                || text.starts_with("**/")
                || Path::new(text).is_absolute();
            is_good.then(|| text.to_owned()).ok_or_else(|| {
                format!("\"{text}\" must be absolute, begin with ~/ or **/, or be ...")
            })
        }
        Form::Variable => {
            let is_good = !text.is_empty() && !text.contains(['=', '\0']);
            is_good
                .then(|| text.to_owned())
                .ok_or_else(|| format!("\"{text}\" is not a name of a variable"))
        }
        Form::Word(words) => {
            let known = words.contains(&text).then(|| text.to_owned());
            known.ok_or_else(|| format!("\"{text}\" {}", must_be(words, Some(text))))
        }
    }
}

/// A path as it is written in a file.
fn path(text: &str, layer: Layer, paths: &Paths<'_>) -> Result<PathBuf, String> {
    // It may lead to another place than it seems to, and out of what it is compared with.
    if text.split('/').any(|part| part == "..") {
        return Err(format!("\"{text}\" must be written without .."));
    }
    if let Some(rest) = text.strip_prefix("~/") {
        let home = paths
            .home
            .ok_or("~ stands for nothing: there is no home folder")?;
        return Ok(home.join(rest));
    }
    let written = Path::new(text);
    match layer {
        _ if text.is_empty() => Err("must not hold an empty path".to_owned()),
        _ if written.is_absolute() => Ok(written.to_owned()),
        Layer::Project => Ok(paths.folder.join(written)),
        Layer::User => Err(format!("\"{text}\" must be absolute or begin with ~/")),
    }
}
