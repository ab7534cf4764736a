//! Takes over what the user has in other programs: the MCP servers of Claude Code, Claude Desktop, Cursor, Visual Studio Code,
//! Codex, opencode, pi and Gemini CLI, and the conversations of pi, Codex and Claude Code.
//!
//! [`discover_imports`] finds their files, [`plan_import`] converts what is in them and says what taking each server over would
//! mean. Nothing is written here, and no variable or command in those files is evaluated: what they leave to their surroundings
//! is carried over in the notation of `mcp.json`, literally where it was literal there. [`discover_sessions`] finds conversations,
//! [`convert_session`] makes entries of one.
//!
//! ```
//! use pirn_import::{ImportAction, ImportProgram, ImportSource, plan_import};
//!
//! # fn main() -> std::io::Result<()> {
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("claude_desktop_config.json");
//! std::fs::write(&file, r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#)?;
//!
//! let program = ImportProgram::ClaudeDesktop;
//! let source = ImportSource { program, file, scope: pirn_mcp::Scope::User };
//! let plan = plan_import(&[source], folder.path(), &[]);
//! assert_eq!(plan.rows[0].name, "time");
//! assert_eq!(plan.rows[0].transport, "uvx mcp-server-time");
//! assert_eq!(plan.rows[0].action, ImportAction::Add);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod servers;
mod sessions;

pub use servers::{
    ImportAction, ImportPlan, ImportProgram, ImportRow, ImportSource, discover_imports, plan_import,
};
pub use sessions::{
    ForeignError, ForeignSession, SessionProgram, convert_session, discover_sessions,
    session_folder,
};
