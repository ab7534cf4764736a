//! The Model Context Protocol for Pirn: a client for every real server, the life cycle of the servers, and OAuth.
//!
//! The protocol's types come from `rmcp`; the bytes do not reach it. Below it lies a layer of JSON values that repairs what
//! servers get wrong and answers in their place what they never answer, so that no call waits for ever and no bad tool costs
//! the others. This crate never prints and never reads the process environment or the home folder: all of that is passed in.

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
    ALLOWED_VARIABLES, ALLOWED_VARIABLES_WINDOWS, ClientRegistration, CommandRunner,
    ConfigEnvironment, ConfigFile, ConfigProblem, Edit, EditOutcome, HttpEntry, HttpKind,
    HttpServer, LoadedConfig, McpExposure, NewServer, OAuthSettings, ParsedConfig, ResolvedServer,
    SandboxEntry, Scope, ServerEntry, ServerOrigin, Setting, Severity, ShellRunner, StartMode,
    StdioEntry, StdioServer, Timeouts, ToolExposures, Transport, TransportEntry, WhenMissing,
    config_schema, edit_config, load, names_clash, parse_config,
};
pub use connection::ServerFacts;
pub use elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest, Elicitor};
pub use error::{Error, ErrorKind};
pub use manager::{
    CallOptions, Enablement, ManagerFolders, ManagerOptions, McpManager, Problem, Registration,
    ServerEvent, ServerSelection, ServerState, ServerStatus, ToolName, Tracing, TransportKind,
    TransportSummary, WaitHook, WaitOutcome,
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
