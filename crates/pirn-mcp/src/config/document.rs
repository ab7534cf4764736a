//! One `mcp.json` as it was written: its entries, and what is wrong with it.

mod fields;
mod oauth;
mod sandbox;
mod server;

use std::path::Path;

use fields::Fields;
use pirn_jsonc::Member;
use pirn_settings::table::{Problem, Severity, read_root};
pub(crate) use server::check_url;

use crate::config::keys::FILE_KEYS;
use crate::config::{McpExposure, Scope, ServerEntry, ToolExposures};

/// What one file holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Document {
    /// Its valid entries, in the order written.
    pub(crate) servers: Vec<Written>,
    /// Everything that is wrong.
    pub(crate) problems: Vec<Problem>,
    /// `autoEnableCodemode`, where it is written.
    pub(crate) auto_enable_codemode: Option<bool>,
}

/// An entry of a file.
#[derive(Debug, PartialEq)]
pub(crate) enum Written {
    /// A server of its own.
    Server(Box<ServerEntry>),
    /// Changes to a server that is written elsewhere.
    Override(Override),
}

/// Changes to a server that is written elsewhere.
#[derive(Debug, PartialEq)]
pub(crate) struct Override {
    pub(crate) name: String,
    /// The line of the name.
    pub(crate) line: u32,
    /// Instead of the server's own.
    pub(crate) enabled: Option<bool>,
    /// Instead of the server's own.
    pub(crate) exposure: Option<McpExposure>,
    /// Instead of all of the server's own.
    pub(crate) tool_exposures: Option<ToolExposures>,
}

/// The text of one file, read by itself.
#[derive(Debug, Default, PartialEq)]
pub struct ParsedConfig {
    /// Its own servers, in the order written; what it changes of others is left out.
    pub servers: Vec<ServerEntry>,
    /// Everything that is wrong with it.
    pub problems: Vec<Problem>,
}

/// Reads the text of a file by itself. Nothing is read from `file`, which is for messages.
pub fn parse_config(scope: Scope, file: &Path, text: &str) -> ParsedConfig {
    let document = parse_document(scope, file, text);
    let own = |written| match written {
        Written::Server(entry) => Some(*entry),
        Written::Override(_) => None,
    };
    ParsedConfig {
        servers: document.servers.into_iter().filter_map(own).collect(),
        problems: document.problems,
    }
}

impl Written {
    /// The name of the server.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Server(entry) => &entry.name,
            Self::Override(change) => &change.name,
        }
    }
}

/// Reads the text of a file.
pub(crate) fn parse_document(scope: Scope, file: &Path, text: &str) -> Document {
    let mut document = Document::default();
    let mut fields = Fields::new(file, None);
    let root = match read_root(text, "{\"mcpServers\": {…}}") {
        Ok(Some(root)) => root,
        Ok(None) => return document,
        Err(error) => {
            let (line, message) = error.into_parts();
            fields.report(Severity::Error, line, "", message);
            document.problems = fields.problems;
            return document;
        }
    };
    fields.check_names(&root, FILE_KEYS, "");
    document.auto_enable_codemode = fields.flag(&root, "", "autoEnableCodemode");
    let servers = fields.object(&root, "mcpServers", "an object of servers by name");
    document.problems = fields.problems;
    for member in servers.map_or(&[][..], |node| node.members()) {
        read_server(&mut document, scope, file, member);
    }
    document
}

fn read_server(document: &mut Document, scope: Scope, file: &Path, member: &Member) {
    let mut fields = Fields::new(file, Some(&member.name));
    let clashing = document
        .servers
        .iter()
        .find(|other| names_clash(other.name(), &member.name));
    if !is_server_name(&member.name) {
        fields.error(
            member.line,
            "",
            "the name may hold only letters, digits, _ and -",
        );
    } else if let Some(other) = clashing {
        fields.error(member.line, "", clash_message(other.name(), &member.name));
    } else if let Some(written) = server::read(&mut fields, scope, member) {
        document.servers.push(written);
    }
    document.problems.append(&mut fields.problems);
}

/// Whether a server may have this name: tool names are made of it.
pub(crate) fn is_server_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Whether two servers would have the same name in scripts.
pub fn names_clash(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace('-', "_");
    plain(one) == plain(other)
}

/// What to say about the second of two names that clash.
pub(crate) fn clash_message(first: &str, second: &str) -> String {
    if first == second {
        "is defined twice; the first counts".to_owned()
    } else {
        format!(
            "has the same name as the server \"{first}\" for scripts, where - is written _; rename one of them"
        )
    }
}

#[cfg(test)]
mod tests;
