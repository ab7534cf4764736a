//! Changing an `mcp.json` on disk, and nothing in it but what is to change.

use std::io;
use std::path::Path;

use pirn_jsonc::{Change, Node, Text, replace, whole};
use serde_json::{Map, Value, json};

use super::document::{clash_message, is_server_name, names_clash};
use super::load::read;
use super::new_server::exposure_word;
use super::{McpExposure, NewServer};
use crate::error::{Error, ErrorKind};

/// How often an edit starts over because somebody else wrote the file meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// A change to one server of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Adds a server, or replaces its whole entry.
    Put {
        /// The name of the entry in the file.
        name: String,
        /// The entry as it is to stand in the file.
        server: Box<NewServer>,
    },
    /// Removes an entry and its comments from the file.
    Remove {
        /// The name of the entry in the file.
        name: String,
    },
    /// Changes one setting of an entry. A default is written by removing the key, except in an override, where it may
    /// differ from what it overrides.
    Set {
        /// The name of the entry in the file.
        name: String,
        /// Which setting of the entry is changed, and to what.
        setting: Setting,
        /// What to do where the file has no such entry.
        missing: WhenMissing,
    },
}

/// A setting that can be changed alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// It is to be connected.
    Enable,
    /// It is kept without being connected.
    Disable,
    /// Who sees its tools.
    Exposure(McpExposure),
    /// Who sees one tool, or the tools that fit a pattern; `None` takes the exception back.
    ToolExposure {
        /// The tool's name at the server, or a pattern with `*`.
        tool: String,
        /// Who sees the tool.
        exposure: Option<McpExposure>,
    },
}

/// What to do where the file has no entry to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenMissing {
    /// Fail and leave the file as it is.
    Fail,
    /// Write an override of the user's server: for the project's file.
    Override,
}

/// What an edit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    /// There is a new entry.
    Added,
    /// An entry was replaced as a whole.
    Replaced,
    /// An entry is gone.
    Removed,
    /// A setting has another value.
    Changed,
    /// The file says so already and was not written.
    Unchanged,
}

impl Edit {
    /// The server it is about.
    pub fn server(&self) -> &str {
        match self {
            Self::Put { name, .. } | Self::Remove { name } | Self::Set { name, .. } => name,
        }
    }
}

/// Changes the file at `path`, and creates it and its folder where they are missing: a new file is readable by its owner
/// only, because entries may hold secrets. Comments, order, indentation and everything else in the file stay. The file is
/// replaced at once; symbolic links are followed. Fails with [`ErrorKind::Config`] on a file that is no valid JSON or cannot
/// be written, and on names that are none or clash, with [`ErrorKind::UnknownServer`] where there is nothing to change.
pub fn edit_config(path: &Path, edit: &Edit) -> Result<EditOutcome, Error> {
    let fail = |doing: &str, source: &io::Error| {
        let message = format!("{} cannot be {doing}: {source}", path.display());
        Error::new(ErrorKind::Config, edit.server(), message)
    };
    for _attempt in 0..ATTEMPTS_MAX {
        let before = match read(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail("read", &error)),
        };
        let text = before.as_deref().unwrap_or_default();
        let (after, outcome) = edited(path, text, edit)?;
        if outcome == EditOutcome::Unchanged {
            return Ok(outcome);
        }
        let is_current = || read(path).ok() == before;
        if replace(path, after.as_bytes(), is_current).map_err(|error| fail("written", &error))? {
            return Ok(outcome);
        }
    }
    let error = io::Error::other("somebody else keeps changing it");
    Err(fail("written", &error))
}

/// The text after the edit.
fn edited(path: &Path, text: &str, edit: &Edit) -> Result<(String, EditOutcome), Error> {
    let editor = Editor { path, edit };
    let body = pirn_jsonc::without_mark(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let (after, outcome) = editor.edit(body)?;
    editor.check(body, &after)?;
    Ok((format!("{mark}{after}"), outcome))
}

struct Editor<'e> {
    path: &'e Path,
    edit: &'e Edit,
}

impl Editor<'_> {
    fn edit(&self, text: &str) -> Result<(String, EditOutcome), Error> {
        let root = self.parse(text)?;
        let servers = match &root {
            Some(root) if !root.is_object() => {
                return Err(self.broken(root.line, "must hold an object"));
            }
            Some(root) => root.get("mcpServers"),
            None => None,
        };
        if let Some(servers) = servers
            && !servers.is_object()
        {
            return Err(self.broken(servers.line, "mcpServers must be an object"));
        }
        let entry = servers.and_then(|servers| servers.get(self.edit.server()));
        match self.edit {
            Edit::Put { name, server } => {
                check_name(servers, name)?;
                let outcome = if entry.is_some() {
                    EditOutcome::Replaced
                } else {
                    EditOutcome::Added
                };
                let after = self.put(text, server.to_json())?;
                Ok((after, outcome))
            }
            Edit::Remove { name } => {
                if entry.is_none() {
                    return Err(self.unknown(name));
                }
                let after = self.changed(text, &["mcpServers"], name, &Change::Remove)?;
                Ok((after, EditOutcome::Removed))
            }
            Edit::Set {
                name,
                setting,
                missing,
            } => match (entry, missing) {
                (Some(entry), _) => self.set(text, entry, name, setting),
                (None, WhenMissing::Fail) => Err(self.unknown(name)),
                (None, WhenMissing::Override) => {
                    check_name(servers, name)?;
                    let after = self.put(text, override_with(setting))?;
                    Ok((after, EditOutcome::Added))
                }
            },
        }
    }

    fn put(&self, text: &str, entry: Value) -> Result<String, Error> {
        let name = self.edit.server();
        let set = Change::Set(entry.clone());
        let parsed = self.text(text)?;
        if let Some(after) = parsed.changed(&["mcpServers"], name, &set) {
            return Ok(after);
        }
        let mut servers = Map::new();
        servers.insert(name.to_owned(), entry);
        let servers = Value::Object(servers);
        if parsed.is_blank() {
            return Ok(whole(text, &json!({ "mcpServers": servers })));
        }
        self.changed(text, &[], "mcpServers", &Change::Set(servers))
    }

    fn set(
        &self,
        text: &str,
        entry: &Node,
        name: &str,
        setting: &Setting,
    ) -> Result<(String, EditOutcome), Error> {
        if !entry.is_object() {
            return Err(self.broken(entry.line, "the entry must be an object"));
        }
        let own = ["command", "url", "type"];
        let is_override = own.iter().all(|key| entry.get(key).is_none());
        let mut after = text.to_owned();
        let mut apply = |path: &[&str], key: &str, value: Option<Value>| {
            let change = value.map_or(Change::Remove, Change::Set);
            let mut place = vec!["mcpServers", name];
            place.extend(path);
            after = self.changed(&after, &place, key, &change)?;
            Ok::<(), Error>(())
        };
        let unless_default =
            |value: Value, default: Value| (is_override || value != default).then_some(value);
        match setting {
            Setting::Enable | Setting::Disable => {
                let enabled = *setting == Setting::Enable;
                if is_enabled(entry) != enabled || is_override {
                    apply(&[], "disabled", None)?;
                    apply(&[], "enabled", unless_default(json!(enabled), json!(true)))?;
                }
            }
            Setting::Exposure(exposure) => {
                let default = json!(exposure_word(McpExposure::default()));
                let value = unless_default(json!(exposure_word(*exposure)), default);
                apply(&[], "exposure", value)?;
            }
            Setting::ToolExposure { tool, exposure } => {
                let value = exposure.map(|exposure| json!(exposure_word(exposure)));
                let tools = entry.get("toolExposure").filter(|tools| tools.is_object());
                let alone = tools
                    .is_none_or(|tools| tools.members().iter().all(|member| member.name == *tool));
                match (tools, value) {
                    (Some(_), None) if alone && !is_override => apply(&[], "toolExposure", None)?,
                    (Some(_), value) => apply(&["toolExposure"], tool, value)?,
                    (None, Some(value)) => {
                        apply(&[], "toolExposure", Some(json!({ tool.as_str(): value })))?;
                    }
                    (None, None) => {}
                }
            }
        }
        let outcome = if after == text {
            EditOutcome::Unchanged
        } else {
            EditOutcome::Changed
        };
        Ok((after, outcome))
    }

    fn changed(
        &self,
        text: &str,
        path: &[&str],
        name: &str,
        change: &Change,
    ) -> Result<String, Error> {
        let after = self.text(text)?.changed(path, name, change);
        after.ok_or_else(|| self.broken(1, &format!("{} must be an object", path.join("."))))
    }

    fn text<'t>(&self, text: &'t str) -> Result<Text<'t>, Error> {
        Text::parse(text).map_err(|error| {
            let message = format!("it is not valid JSON: {}", error.message);
            self.broken(error.line, &message)
        })
    }

    fn parse(&self, text: &str) -> Result<Option<Node>, Error> {
        pirn_jsonc::parse(text).map_err(|error| {
            let message = format!("it is not valid JSON: {}", error.message);
            self.broken(error.line, &message)
        })
    }

    /// Makes sure that the other servers and settings are what they were: a file that was damaged here would be worse than an
    /// edit that fails.
    fn check(&self, before: &str, after: &str) -> Result<(), Error> {
        let server = self.edit.server();
        let rest = |text: &str| Ok::<_, Error>(self.parse(text)?.map(|root| others(&root, server)));
        let (before, after) = (rest(before)?.unwrap_or_default(), rest(after)?);
        if after.as_ref() == Some(&before) {
            Ok(())
        } else {
            Err(self.broken(1, "the change would damage it; please change it by hand"))
        }
    }

    fn broken(&self, line: u32, message: &str) -> Error {
        let message = format!(
            "{}:{line} cannot be changed: {message}",
            self.path.display()
        );
        Error::new(ErrorKind::Config, self.edit.server(), message)
    }

    fn unknown(&self, name: &str) -> Error {
        let message = format!("is not in {}", self.path.display());
        Error::new(ErrorKind::UnknownServer, name, message)
    }
}

fn check_name(servers: Option<&Node>, name: &str) -> Result<(), Error> {
    if !is_server_name(name) {
        let message = "the name may hold only letters, digits, _ and -";
        return Err(Error::new(ErrorKind::Config, name, message));
    }
    let members = servers.map_or(&[][..], Node::members);
    let clashing = members
        .iter()
        .find(|member| member.name != name && names_clash(&member.name, name));
    match clashing {
        Some(other) => {
            let message = clash_message(&other.name, name);
            Err(Error::new(ErrorKind::Config, name, message))
        }
        None => Ok(()),
    }
}

/// Everything in a file but one server, in order.
fn others(root: &Node, server: &str) -> Vec<(String, Value)> {
    let mut others = Vec::new();
    for member in root.members() {
        if member.name == "mcpServers" {
            let servers = member.node.members().iter();
            let servers = servers.filter(|member| member.name != server);
            others.extend(servers.map(|m| (format!("mcpServers.{}", m.name), m.node.to_json())));
        } else {
            others.push((member.name.clone(), member.node.to_json()));
        }
    }
    others
}

fn is_enabled(entry: &Node) -> bool {
    let flag = |name: &str| entry.get(name).and_then(Node::flag);
    flag("enabled")
        .or(flag("disabled").map(|disabled| !disabled))
        .unwrap_or(true)
}

fn override_with(setting: &Setting) -> Value {
    match setting {
        Setting::Enable => json!({ "enabled": true }),
        Setting::Disable => json!({ "enabled": false }),
        Setting::Exposure(exposure) => json!({ "exposure": exposure_word(*exposure) }),
        Setting::ToolExposure {
            tool,
            exposure: Some(exposure),
        } => json!({ "toolExposure": { tool.as_str(): exposure_word(*exposure) } }),
        // Nothing to take back: an override that changes nothing.
        Setting::ToolExposure { exposure: None, .. } => json!({}),
    }
}

#[cfg(test)]
mod tests;
