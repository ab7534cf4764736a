//! How names are made: of tools that come from MCP servers, and of members of `tools` that would collide.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::identifier::to_identifier;

/// Longest name of an MCP tool; model providers refuse longer ones.
const MCP_NAME_CHARS_MAX: usize = 64;
/// Hex digits that tell names apart.
const HASH_CHARS: usize = 8;

/// The registry name of a tool of an MCP server: `mcp__SERVER__TOOL`, with everything but `[A-Za-z0-9_]` as `_`.
///
/// A name that is too long, or that `is_taken` says belongs to another tool, is cut and ends in a hash of both names, so that
/// it stays the same whatever else is registered. The rules are recorded from pi 1.6.
///
/// ```
/// assert_eq!(pirn_tool::mcp_tool_name("dev-docs", "read", |_| false), "mcp__dev_docs__read");
/// ```
pub fn mcp_tool_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = String::from("mcp__");
    push_word_characters(&mut name, server);
    name.push_str("__");
    push_word_characters(&mut name, tool);
    if name.len() <= MCP_NAME_CHARS_MAX && !is_taken(&name) {
        return name;
    }
    // ASCII only by now, so that every place is a character boundary.
    name.truncate(MCP_NAME_CHARS_MAX - HASH_CHARS - 1);
    name.push('_');
    name.push_str(&short_hash(&[server, tool]));
    name
}

/// The registry names of all tools of an MCP server, in the order given; the tools' names must differ. As [`mcp_tool_name`], with
/// two rules that make a name depend on nothing but its server:
///
/// - where tools would get the same name, all of them get the hash, so that none depends on the order;
/// - so do all tools of a server whose name holds `__` or ends in `_`, because a server with a shorter name could have a tool
///   that reads the same (`a` with `b__c`, and `a__b` with `c`).
///
/// ```
/// let names = pirn_tool::mcp_tool_names("docs", ["read", "a-b", "a.b"]);
/// assert_eq!(names[0], "mcp__docs__read");
/// assert!(names[1].starts_with("mcp__docs__a_b_") && names[2].starts_with("mcp__docs__a_b_") && names[1] != names[2]);
/// ```
pub fn mcp_tool_names<'a>(server: &str, tools: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut server_word = String::new();
    push_word_characters(&mut server_word, server);
    let is_ambiguous = server_word.contains("__") || server_word.ends_with('_');
    let plain: Vec<(&str, String)> = tools
        .into_iter()
        .map(|tool| (tool, mcp_tool_name(server, tool, |_| false)))
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, name) in &plain {
        *counts.entry(name).or_default() += 1;
    }
    plain
        .iter()
        .map(|(tool, name)| {
            let is_shared = counts.get(name.as_str()).is_some_and(|count| *count > 1);
            mcp_tool_name(server, tool, |_| is_ambiguous || is_shared)
        })
        .collect()
}

/// The name of an MCP server's namespace: `mcp__SERVER`, with `-` as `_`. The server's own name becomes an alias.
///
/// ```
/// assert_eq!(pirn_tool::mcp_namespace("dev-docs"), "mcp__dev_docs");
/// ```
pub fn mcp_namespace(server: &str) -> String {
    format!("mcp__{}", server.replace('-', "_"))
}

/// The identifiers of tools as members of `tools`, in the order of the names. Where [`to_identifier`] gives several names the
/// same identifier, all of them get a hash of their name, so that none depends on the order.
///
/// ```
/// let names = ["read", "a-b", "a_b"];
/// assert_eq!(pirn_tool::tool_identifiers(names), ["read", "a_b_d44362d6", "a_b_648fa9b3"]);
/// ```
pub fn tool_identifiers<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let plain: Vec<(&str, String)> = names
        .into_iter()
        .map(|name| (name, to_identifier(name)))
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, identifier) in &plain {
        *counts.entry(identifier).or_default() += 1;
    }
    let resolve = |(name, identifier): &(&str, String)| match counts.get(identifier.as_str()) {
        Some(1) | None => identifier.clone(),
        Some(_) => format!("{identifier}_{}", short_hash(&[name])),
    };
    plain.iter().map(resolve).collect()
}

/// Replaces what is no word character, once per UTF-16 unit, as recorded.
fn push_word_characters(name: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            name.push(character);
        } else {
            name.extend(std::iter::repeat_n('_', character.len_utf16()));
        }
    }
}

/// The first digits of the SHA-256 of the parts, with a NUL between them.
fn short_hash(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join("\0").as_bytes());
    let mut hash = String::with_capacity(HASH_CHARS);
    for byte in digest.iter().take(HASH_CHARS / 2) {
        let _infallible = write!(hash, "{byte:02x}");
    }
    hash
}
