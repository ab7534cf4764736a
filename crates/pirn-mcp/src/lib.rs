//! The Model Context Protocol for Pirn: a client for every real server, the life cycle of the servers, and OAuth.
//!
//! The protocol's types come from `rmcp`; the bytes do not reach it. Below it lies a layer of JSON values that repairs what
//! servers get wrong and answers in their place what they never answer, so that no call waits for ever and no bad tool costs
//! the others. This crate never prints and never reads the process environment or the home folder: all of that is passed in.
//!
//! It is no server, and no front end: whoever embeds it shows states and questions. [`load`] reads `mcp.json`; an [`McpManager`]
//! owns the servers of a session and puts their tools into a registry, where the pipeline of `pirn-tool` calls them; [`OAuth`]
//! signs in to servers that want it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! use pirn_mcp::{ConfigEnvironment, ManagerFolders, ManagerOptions, McpManager, Scope, ServerState, SpillFolder, Tracing};
//!
//! let text = r#"{"mcpServers": {"time": {"command": "no-such-program", "startTimeout": 5}}}"#;
//! let config = pirn_mcp::parse_config(Scope::User, "mcp.json".as_ref(), text);
//! assert_eq!(config.problems, []);
//!
//! let registry = pirn_tool::Registry::new();
//! let manager = McpManager::new(ManagerOptions {
//!     registry: registry.clone(),
//!     environment: ConfigEnvironment::new(Vec::new(), None, "/".into()),
//!     folders: ManagerFolders { logs: None, protocol_cache: None, spill: SpillFolder::none() },
//!     client_name: "example".to_owned(),
//!     client_version: "1.0".to_owned(),
//!     elicitor: None,
//!     oauth: None,
//!     interaction: None,
//!     http: pirn_mcp::http_client_without_certificates("example/1.0")?,
//!     tracing: Tracing::Off,
//! });
//! manager.set_configuration(config.servers);
//! assert_eq!(manager.servers()[0].state, ServerState::Disconnected);
//!
//! // The program does not exist, so there is nothing to call; the status says why.
//! assert!(manager.reconnect("time").await.is_err());
//! assert_eq!(manager.servers()[0].state, ServerState::Failed);
//! manager.shutdown().await;
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

mod authorization;
mod config;
mod connection;
mod elicitation;
mod error;
mod manager;
mod oauth;
mod secret;
mod tools;
mod transport;
mod wire;

pub use authorization::{Authorizer, Challenge, Next};
pub use config::{
    ALLOWED_VARIABLES, ALLOWED_VARIABLES_WINDOWS, AnnotationTrust, ClientRegistration,
    CommandRunner, ConfigEnvironment, ConfigFile, Edit, EditOutcome, EffectRules, HttpEntry,
    HttpKind, HttpServer, LoadedConfig, McpExposure, NewServer, OAuthSettings, ParsedConfig,
    ResolvedServer, SandboxEntry, Scope, ServerEntry, ServerOrigin, Setting, ShellRunner,
    StartMode, StdioEntry, StdioServer, Timeouts, ToolExposures, Transport, TransportEntry,
    WhenMissing, config_schema, edit_config, load, names_clash, parse_config,
};
pub use connection::ServerFacts;
pub use elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest, Elicitor};
pub use error::{Error, ErrorKind};
pub use manager::{
    CallOptions, Enablement, FindReachedTools, ManagerFolders, ManagerOptions, McpManager, Problem,
    ReachedTools, Registration, ServerEvent, ServerSelection, ServerState, ServerStatus, ToolName,
    Tracing, TransportKind, TransportSummary, WaitHook, WaitOutcome,
};
pub use oauth::{
    Clock, CredentialStatus, Interaction, OAuth, OAuthAuthorizer, OAuthOptions, OAuthServer,
    Revocation, SignInOptions, SignInResult, SignInStart, SignInWay, SignOutResult,
};
pub use secret::Secret;
pub use tools::{RESOURCE_TOOL_NAMES, SectionTools, ServerSummary, SpillFolder, servers_section};
pub use transport::{http_client, http_client_without_certificates};
#[cfg(feature = "fuzzing")]
pub use wire::fuzz_wire;
pub use wire::{TraceDirection, TraceLine, read_trace};
