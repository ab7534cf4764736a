//! A conversation as a page, for people and for programs that drive a conversation.

use std::path::{Path, PathBuf};

use pirn_session::{PrivateParts, html_page, private_parts, write_html_page};

use crate::agent::Agent;

/// Writes the page, to the file that is named or to one in the folder that is named after the session. Gives its path.
pub fn write_session_page(
    agent: &Agent,
    cwd: &Path,
    name: Option<&str>,
) -> Result<PathBuf, String> {
    let (page, id) = agent.with_session(|session| {
        let page = html_page(session.header(), session.tree());
        (page, session.header().id.clone())
    });
    let path = session_page_path(cwd, name, &id);
    write_html_page(&path, &page)
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    Ok(path)
}

/// Where the page of this session would be written.
pub fn session_page_path(cwd: &Path, name: Option<&str>, id: &str) -> PathBuf {
    match name {
        Some(name) => cwd.join(name),
        None => cwd.join(format!("pirn-session-{id}.html")),
    }
}

/// What the page would show that its owner may want to keep to themselves, in words; `None` for nothing.
pub fn private_words(agent: &Agent) -> Option<String> {
    let PrivateParts {
        results,
        commands,
        images,
        thoughts,
    } = agent.with_session(|session| private_parts(session.tree()));
    let counted = [
        (
            results,
            "results of tools, with contents of files and output of commands",
        ),
        (commands, "commands of yours with their output"),
        (images, "pictures"),
        (thoughts, "replies with the model's thoughts"),
    ];
    let parts: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
