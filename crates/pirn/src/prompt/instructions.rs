//! The system prompt: what the model is told about its work and the project.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::PromptArguments;
use super::tools::Sections;
use crate::failure::Failure;
use crate::invocation::Invocation;

const PREAMBLE: &str = "\
You are Pirn, a coding agent. You work in the user's project with the tools you are given, and you do what was asked: no more, no \
less.

Look before you change something, and check what you did. When several calls are needed, write one program for `exec`: it calls \
tools as async functions, in loops and in parallel, and only what it returns or prints comes back to you. Nobody watches while you \
work. A call that is denied stays denied: go on without it, and say in your answer what you could not do and which flag allows \
it. Answer briefly, with the result first.";

/// Names of files with instructions; of each folder the first one counts.
const CONTEXT_FILES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];
/// A file of instructions; more would leave a model no room to work.
const CONTEXT_FILE_BYTES_MAX: u64 = 256 << 10;

/// The sections that stay the same for a whole run.
pub(super) fn sections(
    cwd: &Path,
    invocation: &Invocation,
    arguments: &PromptArguments,
) -> Result<Sections, Failure> {
    let preamble = arguments.system_prompt.as_deref().unwrap_or(PREAMBLE);
    let mut sections = vec![("preamble".to_owned(), preamble.to_owned())];
    if !arguments.append_system_prompt.is_empty() {
        let text = arguments.append_system_prompt.join("\n\n");
        sections.push(("addendum".to_owned(), text));
    }
    if !arguments.no_context_files {
        let context = project_context(cwd, invocation)?;
        if !context.is_empty() {
            sections.push(("project_context".to_owned(), context));
        }
    }
    sections.push(("cwd".to_owned(), cwd.to_string_lossy().into_owned()));
    Ok(sections)
}

/// The instructions of the user, and of the folders from the outermost to the one that is worked in.
fn project_context(cwd: &Path, invocation: &Invocation) -> Result<String, Failure> {
    let mut folders: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
    folders.extend(invocation.host.pirn_home.clone());
    folders.reverse();
    let mut text = String::new();
    for folder in folders {
        let found = CONTEXT_FILES
            .iter()
            .map(|name| folder.join(name))
            .find(|file| file.is_file());
        if let Some(path) = found {
            let content =
                pirn_jsonc::read_bounded(&path, CONTEXT_FILE_BYTES_MAX).map_err(|error| {
                    Failure::usage(format!("{} cannot be read: {error}", path.display()))
                        .hint("--no-context-files leaves such files out")
                })?;
            let content = content.trim_start_matches('\u{feff}').trim_end();
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                text,
                "<project_instructions path=\"{}\">\n{content}\n</project_instructions>",
                path.display()
            );
        }
    }
    Ok(text.trim_end().to_owned())
}
