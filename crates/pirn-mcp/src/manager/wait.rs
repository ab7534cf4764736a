//! Waiting for the servers that somebody is about to use.

use futures_util::future::join_all;
use pirn_tool::mcp_namespace;
use tokio_util::sync::CancellationToken;

use super::McpManager;
use super::handle::Contact;
use crate::config::{McpExposure, ServerEntry};
use crate::tools::{RESOURCE_TOOL_NAMES, exposures_used};

/// Tools that search all others.
const SEARCH_TOOLS: [&str; 2] = ["tool_search", "search_tools"];
/// Characters of a namespace that are certain to stand in the name of each of its tools; longer tool names are cut.
const NAMESPACE_CHARS_MAX: usize = 50;

/// Which servers to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSelection<'a> {
    /// Every configured server, hidden ones too.
    All,
    /// All but those whose tools and resources nobody sees.
    Visible,
    /// Those that may have tools which the model sees before it has asked for any.
    Direct,
    /// The visible ones that have tools of these names, written as a program writes them; every visible one where a name is that
    /// of a tool that searches or reads resources.
    Names(&'a [String]),
    /// The server with this name, also a hidden one.
    Server(&'a str),
}

/// Whether waiting for servers ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// Each server is connected, failed, waits for a sign-in, is switched off, or took longer than it may to start.
    Settled,
    /// Whoever waited cancelled before there was an outcome.
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
            Self::All | Self::Visible | Self::Direct => true,
            Self::Names(names) => names
                .iter()
                .any(|name| reaches_all(name) || is_of(name, server)),
            Self::Server(name) => *name == server,
        }
    }

    fn is_for(&self, entry: &ServerEntry) -> bool {
        let shows = match self {
            Self::All | Self::Server(_) => true,
            Self::Visible | Self::Names(_) => is_visible(entry),
            Self::Direct => exposures_used(entry.exposure, &entry.tool_exposures)
                .any(|exposure| exposure == McpExposure::Direct),
        };
        shows && self.includes(&entry.name)
    }
}

/// Whether scripts can see any of a server's tools.
fn is_visible(entry: &ServerEntry) -> bool {
    exposures_used(entry.exposure, &entry.tool_exposures)
        .any(|exposure| exposure != McpExposure::Hidden)
}

/// Whether a tool of this name is, or may be, the server's: the name holds its namespace, or its own name as a whole.
fn is_of(name: &str, server: &str) -> bool {
    let namespace = mcp_namespace(server);
    let namespace = namespace.get(..NAMESPACE_CHARS_MAX).unwrap_or(&namespace);
    name.contains(namespace) || holds_whole(name, server)
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

/// Whether a tool of this name reaches the tools or resources of all servers.
pub(super) fn reaches_all(name: &str) -> bool {
    SEARCH_TOOLS.contains(&name) || RESOURCE_TOOL_NAMES.contains(&name)
}
