//! Waiting for the servers that somebody is about to use.

use futures_util::future::join_all;
use pirn_tool::mcp_namespace;
use tokio_util::sync::CancellationToken;

use super::McpManager;
use super::handle::Contact;
use crate::config::{McpExposure, ServerEntry};
use crate::tools::{RESOURCE_TOOL_NAMES, exposures_used};

/// Words by which a script reaches tools that it does not name: the functions and tools that search, and the list of all
/// tools.
const SEARCH_WORDS: [&str; 6] = [
    "searchTools",
    "describeTool",
    "describeNamespace",
    "search_tools",
    "tool_search",
    "ALL_TOOLS",
];
/// The object of all tools. Used in any way but `tools.name` and `tools["name"]` it may reach every tool.
const TOOLS_WORD: &str = "tools";
/// Characters of a namespace that are certain to stand in the name of each of its tools; longer tool names are cut.
const NAMESPACE_CHARS_MAX: usize = 50;

/// Which servers to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSelection<'a> {
    /// All of them.
    All,
    /// All but those whose tools and resources nobody sees.
    Visible,
    /// Those that this source text of a script names; every visible one where it searches, reads resources, or reaches tools
    /// by names that it computes.
    Words(&'a str),
    /// This one.
    Server(&'a str),
}

/// How waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// Each server is connected, failed, waits for a sign-in, is switched off, or took longer than it may to start.
    Settled,
    /// The caller cancelled.
    Cancelled,
}

impl McpManager {
    /// Waits until the tools of some servers are known, or it is clear that they will not be. Connects those that were not
    /// connected yet. No server is waited for longer than its start limit.
    pub async fn wait_for(
        &self,
        waiting: ServerSelection<'_>,
        cancel: &CancellationToken,
    ) -> WaitOutcome {
        let contacts: Vec<Contact> = self
            .server_set()
            .handles()
            .filter(|handle| waiting.is_for(&handle.entry()))
            .map(|handle| handle.contact.clone())
            .collect();
        tokio::select! {
            biased;
            () = cancel.cancelled() => WaitOutcome::Cancelled,
            _ = join_all(contacts.iter().map(Contact::settle)) => WaitOutcome::Settled,
        }
    }
}

impl ServerSelection<'_> {
    /// Whether a server of this name is one of them.
    pub fn includes(&self, server: &str) -> bool {
        match self {
            Self::All | Self::Visible => true,
            Self::Words(source) => reaches_all(source) || names(source, server),
            Self::Server(name) => *name == server,
        }
    }

    fn is_for(&self, entry: &ServerEntry) -> bool {
        let reaches_hidden = match self {
            Self::All | Self::Server(_) => true,
            Self::Visible | Self::Words(_) => false,
        };
        (reaches_hidden || is_visible(entry)) && self.includes(&entry.name)
    }
}

/// Whether scripts can see any of a server's tools.
fn is_visible(entry: &ServerEntry) -> bool {
    exposures_used(entry.exposure, &entry.tool_exposures)
        .any(|exposure| exposure != McpExposure::Hidden)
}

/// Whether one of the source's words holds the server's namespace, or its name as a whole.
fn names(source: &str, server: &str) -> bool {
    let namespace = mcp_namespace(server);
    let namespace = namespace.get(..NAMESPACE_CHARS_MAX).unwrap_or(&namespace);
    words(source).any(|(word, _)| word.contains(namespace) || holds_whole(word, server))
}

/// Whether `word` holds `name` with neither a letter nor a digit beside it: `git` in `git_status`, not in `digits`.
fn holds_whole(word: &str, name: &str) -> bool {
    word.match_indices(name).any(|(start, found)| {
        let before = word.get(..start).and_then(|text| text.chars().next_back());
        let after = word
            .get(start + found.len()..)
            .and_then(|text| text.chars().next());
        [before, after]
            .into_iter()
            .flatten()
            .all(|character| !character.is_alphanumeric())
    })
}

fn reaches_all(source: &str) -> bool {
    words(source).any(|(word, rest)| {
        SEARCH_WORDS.contains(&word)
            || RESOURCE_TOOL_NAMES.contains(&word)
            || (word == TOOLS_WORD && !is_followed_by_name(rest))
    })
}

/// Whether what follows `tools` is `.name` or `["name"]`.
fn is_followed_by_name(rest: &str) -> bool {
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('?').unwrap_or(rest);
    if let Some(member) = rest.strip_prefix('.') {
        let member = member.trim_start();
        if member.starts_with(is_word_character) {
            return true;
        }
        return is_literal_index(member);
    }
    is_literal_index(rest)
}

fn is_literal_index(text: &str) -> bool {
    let Some(index) = text.strip_prefix('[') else {
        return false;
    };
    let index = index.trim_start();
    let Some(quote) = index
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))
    else {
        return false;
    };
    let name = index.strip_prefix(quote).unwrap_or(index);
    name.split_once(quote)
        .is_some_and(|(_, rest)| rest.trim_start().starts_with(']'))
}

/// The words of a source text that could be names, each with the text after it. A `-` joins, because names of servers hold
/// it.
fn words(source: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = source;
    std::iter::from_fn(move || {
        let start = rest.find(is_word_character)?;
        let from = rest.get(start..)?;
        let end = from
            .find(|character| !is_word_character(character))
            .unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        rest = after;
        Some((word, after))
    })
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | '-')
}
