//! The section of the system prompt about MCP servers: which there are, what for, and how their tools are reached.

use pirn_tool::mcp_namespace;

use super::text::{one_line, start_within};
use crate::config::McpExposure;

#[cfg(test)]
mod tests;

/// Characters of one server's summary; recorded from pi 1.6, as is the next.
const SUMMARY_CHARS_MAX: usize = 250;
/// Characters of the whole section.
const SECTION_CHARS_MAX: usize = 4_096;
/// Shorter summaries say nothing; they are left out.
const SUMMARY_CHARS_MIN: usize = 20;

/// A server as the section needs it. Only enabled servers belong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSummary {
    /// The name of the server in the configuration.
    pub name: String,
    /// The line about it in the configuration.
    pub description: Option<String>,
    /// What it says about its use, once that is known.
    pub instructions: Option<String>,
    /// How its tools are exposed; each exposure that one of them can have.
    pub exposures: Vec<McpExposure>,
}

/// The tools through which servers' tools are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionTools {
    /// The name of the tool that runs scripts, where there is one.
    pub script: Option<String>,
    /// The name of the tool that finds and activates tools, where there is one.
    pub search: Option<String>,
}

/// The text of the section: the same for the same servers, whatever their order. `None` when no server has tools that are
/// reached through others.
pub fn servers_section(servers: &[ServerSummary], tools: &SectionTools) -> Option<String> {
    let mut servers: Vec<Listed<'_>> = servers
        .iter()
        .filter_map(|server| Listed::new(server, tools))
        .collect();
    if servers.is_empty() {
        return None;
    }
    servers.sort_by(|left, right| left.name.cmp(right.name));
    let introduction = introduction(&servers, tools);
    let budget = SECTION_CHARS_MAX.saturating_sub(length(&introduction));
    Some(format!("{introduction}{}", lines(&servers, budget)))
}

struct Listed<'a> {
    name: &'a str,
    has_script_tools: bool,
    has_search_tools: bool,
    start: String,
    summary: String,
}

impl<'a> Listed<'a> {
    fn new(server: &'a ServerSummary, tools: &SectionTools) -> Option<Self> {
        let has = |exposure| server.exposures.contains(&exposure);
        let has_search_tools = has(McpExposure::Deferred);
        // What one of the two tools would reach is reached by the other where that is missing.
        let has_script_tools =
            has(McpExposure::Codemode) || (has_search_tools && tools.search.is_none());
        let has_search_tools =
            has_search_tools || (has(McpExposure::Codemode) && tools.script.is_none());
        let mut ways: Vec<&str> = Vec::new();
        if has_script_tools {
            ways.extend(tools.script.as_deref());
        }
        if has_search_tools {
            ways.extend(tools.search.as_deref());
        }
        if ways.is_empty() {
            return None;
        }
        Some(Self {
            name: &server.name,
            has_script_tools: has_script_tools && tools.script.is_some(),
            has_search_tools: has_search_tools && tools.search.is_some(),
            start: format!("- {} ({})", mcp_namespace(&server.name), ways.join(", ")),
            summary: summary(server),
        })
    }

    /// The line, with a summary of at most so many characters.
    fn line(&self, summary_chars: usize) -> String {
        let summary = shortened(&self.summary, summary_chars);
        if summary.is_empty() {
            self.start.clone()
        } else {
            format!("{}: {summary}", self.start)
        }
    }
}

/// The first line of the description that says something, else of the instructions.
fn summary(server: &ServerSummary) -> String {
    let first_line = |text: &Option<String>| {
        text.as_deref()?
            .lines()
            .map(one_line)
            .find(|line| !line.is_empty())
    };
    first_line(&server.description)
        .or_else(|| first_line(&server.instructions))
        .unwrap_or_default()
}

fn introduction(servers: &[Listed<'_>], tools: &SectionTools) -> String {
    let mut sentences =
        vec!["These MCP servers are configured. Their tools are not declared to you.".to_owned()];
    if let Some(script) = &tools.script
        && servers.iter().any(|server| server.has_script_tools)
    {
        sentences.push(format!(
            "Those of servers marked ({script}) are called from `{script}` programs: find them with `searchTools(query, {{ \
             namespace }})`, and read how a server is meant to be used with `describeNamespace(namespace)`."
        ));
    }
    if let Some(search) = &tools.search
        && servers.iter().any(|server| server.has_search_tools)
    {
        sentences.push(format!(
            "Those of servers marked ({search}) are declared to you once `{search}` has found them."
        ));
    }
    sentences.join(" ") + "\n"
}

/// The servers' lines in at most `budget` characters: first the summaries shrink, all to the same length, then the last servers
/// become a number.
fn lines(servers: &[Listed<'_>], budget: usize) -> String {
    let lengths: Vec<(usize, usize)> = servers
        .iter()
        .map(|server| (1 + length(&server.start), length(&server.summary)))
        .collect();
    let total = |summary_chars: usize| -> usize {
        lengths
            .iter()
            .map(|(start, summary)| match (*summary).min(summary_chars) {
                0 => *start,
                shown => start + ": ".len() + shown,
            })
            .sum()
    };
    let summary_chars = (SUMMARY_CHARS_MIN..=SUMMARY_CHARS_MAX)
        .rev()
        .find(|summary_chars| total(*summary_chars) <= budget)
        .unwrap_or(0);
    if summary_chars > 0 || total(0) <= budget {
        return joined(servers.iter().map(|server| server.line(summary_chars)));
    }
    let mut left = budget.saturating_sub(length(&rest_line(servers.len())) + 1);
    let shown = servers
        .iter()
        .zip(&lengths)
        .take_while(|(_, (needed, _))| {
            let fits = *needed <= left;
            left = left.saturating_sub(*needed);
            fits
        })
        .count();
    joined(
        servers
            .iter()
            .take(shown)
            .map(|server| server.start.clone())
            .chain([rest_line(servers.len() - shown)]),
    )
}

fn rest_line(count: usize) -> String {
    format!("- and {count} more")
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + "\n" + &line)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in at most so many characters, with `…` where it was cut.
fn shortened(text: &str, chars: usize) -> String {
    if length(text) <= chars {
        return text.to_owned();
    }
    let Some(kept) = chars.checked_sub(1) else {
        return String::new();
    };
    let bytes = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(index, _)| index);
    format!("{}…", start_within(text, bytes).trim_end())
}
