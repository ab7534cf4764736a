//! pi: the same file as ours, but for variables in fewer places and servers that get the whole environment.

use std::path::Path;

use super::{Converted, Found};
use pirn_mcp::{NewServer, Scope, TransportEntry, parse_config};

/// Converts the servers of a file.
pub(super) fn convert(file: &Path, text: &str) -> Converted {
    // As a project's file, so that its overrides are understood; they are nothing to take over.
    let document = parse_config(Scope::Project, file, text);
    let mut converted = Converted::default();
    for problem in &document.problems {
        if problem.is_error() {
            let message = problem.what();
            let name = problem.server.clone().unwrap_or_default();
            let line = problem.line().unwrap_or_default();
            converted.failed.push((line, name, message));
        }
    }
    for entry in document.servers {
        let notes = document
            .problems
            .iter()
            .filter(|problem| problem.server.as_ref() == Some(&entry.name))
            .map(|problem| {
                let field = problem.key.as_deref().unwrap_or_default();
                format!("{field} {}", problem.message)
            });
        converted.found.push(Found {
            line: entry.origin.line.unwrap_or_default(),
            notes: notes.collect(),
            needs: Vec::new(),
            server: NewServer {
                transport: transport(entry.transport),
                enabled: entry.enabled,
                exposure: entry.exposure,
                tool_exposures: entry.tool_exposures,
                timeouts: entry.timeouts,
                start: entry.start,
                idle_timeout: entry.idle_timeout,
                description: entry.description,
            },
            name: entry.name,
        });
    }
    converted
}

/// What is a variable for us and was none there is made literal.
fn transport(transport: TransportEntry) -> TransportEntry {
    let literal = |text: String| text.replace("${", "$${");
    match transport {
        TransportEntry::Stdio(mut stdio) => {
            stdio.command = literal(stdio.command);
            stdio.args = stdio.args.into_iter().map(literal).collect();
            stdio.cwd = stdio.cwd.map(literal);
            TransportEntry::Stdio(stdio)
        }
        TransportEntry::Http(mut http) => {
            http.url = literal(http.url);
            TransportEntry::Http(http)
        }
    }
}
