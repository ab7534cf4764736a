//! `mcp.json`: which servers there are and how they are reached.
//!
//! [`load`] reads and merges the files into entries as they were written; [`ServerEntry::resolve`] fills one in;
//! [`edit_config`] changes a file.

mod confinement;
mod document;
mod edit;
mod entry;
mod keys;
mod load;
mod new_server;
mod resolve;
mod schema;

pub use confinement::SandboxEntry;
pub use document::{ParsedConfig, names_clash, parse_config};
pub(crate) use document::{clash_message, is_server_name};
pub use edit::{Edit, EditOutcome, Setting, WhenMissing, edit_config};
pub use entry::{
    AnnotationTrust, ClientRegistration, EffectRules, HttpEntry, HttpKind, HttpServer, McpExposure,
    OAuthSettings, ResolvedServer, Scope, ServerEntry, ServerOrigin, StartMode, StdioEntry,
    StdioServer, Timeouts, ToolExposures, Transport, TransportEntry,
};
pub use load::{ConfigFile, LoadedConfig, load};
pub use new_server::NewServer;
pub use resolve::{
    ALLOWED_VARIABLES, ALLOWED_VARIABLES_WINDOWS, CommandRunner, ConfigEnvironment, ShellRunner,
};
pub use schema::config_schema;
