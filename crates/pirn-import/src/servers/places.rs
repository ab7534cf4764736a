//! Where other programs keep their servers.

use std::path::{Path, PathBuf};

use super::{ImportProgram, ImportSource};
use pirn_mcp::Scope;

/// Where a file is looked for.
enum Root {
    Home,
    Project,
    /// Each of the platform's configuration folders.
    Configuration,
}

/// The places, in the order in which they are reported.
const PLACES: &[(ImportProgram, Root, &str)] = &[
    (ImportProgram::ClaudeCode, Root::Home, ".claude.json"),
    (ImportProgram::ClaudeCode, Root::Project, ".mcp.json"),
    (
        ImportProgram::ClaudeDesktop,
        Root::Configuration,
        "Claude/claude_desktop_config.json",
    ),
    (ImportProgram::Cursor, Root::Home, ".cursor/mcp.json"),
    (ImportProgram::Cursor, Root::Project, ".cursor/mcp.json"),
    (
        ImportProgram::VsCode,
        Root::Configuration,
        "Code/User/mcp.json",
    ),
    (ImportProgram::VsCode, Root::Project, ".vscode/mcp.json"),
    (ImportProgram::Codex, Root::Home, ".codex/config.toml"),
    (ImportProgram::Codex, Root::Project, ".codex/config.toml"),
    // The same folder on every platform, and where XDG_CONFIG_HOME says.
    (
        ImportProgram::OpenCode,
        Root::Home,
        ".config/opencode/opencode.json",
    ),
    (
        ImportProgram::OpenCode,
        Root::Home,
        ".config/opencode/opencode.jsonc",
    ),
    (
        ImportProgram::OpenCode,
        Root::Configuration,
        "opencode/opencode.json",
    ),
    (
        ImportProgram::OpenCode,
        Root::Configuration,
        "opencode/opencode.jsonc",
    ),
    (ImportProgram::OpenCode, Root::Project, "opencode.json"),
    (ImportProgram::OpenCode, Root::Project, "opencode.jsonc"),
    (ImportProgram::Pi, Root::Home, ".pi/agent/mcp.json"),
    (ImportProgram::Pi, Root::Project, ".pi/mcp.json"),
    (ImportProgram::Gemini, Root::Home, ".gemini/settings.json"),
    (
        ImportProgram::Gemini,
        Root::Project,
        ".gemini/settings.json",
    ),
];

/// The files of other programs that exist. `configuration_directories` are the platform's folders for configuration:
/// `~/.config` or what `XDG_CONFIG_HOME` says, `~/Library/Application Support`, `%APPDATA%`. Whether the project's files may
/// be used is the caller's to decide.
pub fn discover_imports(
    home: &Path,
    project_directory: &Path,
    configuration_directories: &[PathBuf],
) -> Vec<ImportSource> {
    let mut sources: Vec<ImportSource> = Vec::new();
    for (program, root, path) in PLACES {
        let (folders, scope): (&[PathBuf], _) = match root {
            Root::Home => (&[home.to_path_buf()], Scope::User),
            Root::Project => (&[project_directory.to_path_buf()], Scope::Project),
            Root::Configuration => (configuration_directories, Scope::User),
        };
        for folder in folders {
            let file = folder.join(path);
            // In a session in the home folder, the user's and the project's file may be one.
            let known = sources
                .iter()
                .any(|source| source.program == *program && source.file == file);
            if file.is_file() && !known {
                sources.push(ImportSource {
                    program: *program,
                    file,
                    scope,
                });
            }
        }
    }
    sources
}
