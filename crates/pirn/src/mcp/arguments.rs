//! What can be typed after `pirn mcp`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use pirn_sandbox::{HostRule, NetworkMode, Profile};

use crate::arguments::ApprovalArguments;
use crate::confinement::network_parser;

/// Seconds that one sign-in may take at most: whoever has not finished after an hour has left.
const SIGN_IN_SECONDS_MAX: u64 = 3_600;
/// Seconds of a call at most, as long as a script may run.
const CALL_SECONDS_MAX: u64 = 86_400;

/// The arguments of `pirn mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// The commands below `pirn mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server, or replace one
    ///
    /// The server is not connected; run `pirn mcp list` to test it. Values of --env and --header may hold `${NAME}` for a variable of the
    /// environment, and one that starts with `!` is the output of a command.
    #[command(
        override_usage = "pirn mcp add [OPTIONS] <NAME> -- <CMD> [ARGS]...\n       pirn mcp add [OPTIONS] <NAME> --url <URL>"
    )]
    Add(Box<AddArguments>),
    /// Remove a server; its credentials are kept
    Remove(NamedArguments),
    /// Enable a server that was disabled
    Enable(NamedArguments),
    /// Disable a server; its entry is kept
    Disable(NamedArguments),
    /// Connect to all servers and show their status
    ///
    /// Ends with 1 when an entry is invalid or an enabled server is not connected.
    List(ListArguments),
    /// List the tools of servers
    Tools(ToolsArguments),
    /// Call a tool of a server
    Call(CallArguments),
    /// List the prompts of a server, or fill one in
    Prompt(PromptArguments),
    /// Sign in to a server
    ///
    /// The address of the sign-in page is printed and opened in the browser. Where the browser runs on another machine, the
    /// address it ends at can be pasted here.
    Login(LoginArguments),
    /// Delete the credentials of a server
    Logout(LogoutArguments),
    /// Show the messages exchanged with a server
    Trace(TraceArguments),
    /// Import servers configured in other programs
    ///
    /// Shows what would be added and asks; without a terminal --yes is needed. Servers of the same name are left alone. What
    /// is in the project's files of other programs is imported by --local only.
    Import(ImportArguments),
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigurationArguments {
    /// Use the MCP servers of this file, too; they win over others of the same name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "MCP servers")]
    pub(crate) mcp_config: Option<PathBuf>,
}

/// Which files count, for a command that works in the current folder.
#[derive(Debug, Args)]
pub(crate) struct FilesArguments {
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,

    /// Trust in the project.
    #[command(flatten)]
    pub(crate) approval: ApprovalArguments,
}

/// Whose configuration is changed.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArguments {
    /// Change the project's file, `.pirn/mcp.json`, instead of your own
    #[arg(short, long)]
    pub(crate) local: bool,
}

/// The arguments of commands that change one entry.
#[derive(Debug, Args)]
pub(crate) struct NamedArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: TargetArguments,
}

/// The arguments of `pirn mcp add`.
#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Name of the server: letters, digits, `_` and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Command that starts the server, with its arguments
    #[arg(
        value_name = "CMD",
        value_hint = ValueHint::CommandWithArguments,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        num_args = 0..
    )]
    pub(crate) command: Vec<String>,

    #[command(flatten)]
    pub(crate) target: TargetArguments,

    /// One line that describes the server, for prompts and search
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Who sees its tools [default: codemode]
    #[arg(long, value_name = "EXPOSURE")]
    pub(crate) exposure: Option<ExposureWord>,

    /// When it is started [default: eager]
    #[arg(long, value_name = "MODE")]
    pub(crate) start: Option<StartWord>,

    /// Seconds that a request may take without progress [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=CALL_SECONDS_MAX))]
    pub(crate) timeout: Option<u64>,

    /// Variable of the server's environment
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Programs")]
    pub(crate) env: Vec<String>,

    /// Folder of the server; relative to the session's
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Programs")]
    pub(crate) cwd: Option<String>,

    /// Give the server the whole environment instead of a few harmless variables
    #[arg(long, help_heading = "Programs")]
    pub(crate) inherit_env: bool,

    /// Confine the server: what it may write
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = PossibleValuesParser::new([Profile::WorkspaceWrite, Profile::ReadOnly].map(Profile::as_str))
            .map(|name| Profile::from_name(&name).unwrap_or_default()),
        help_heading = "Programs"
    )]
    pub(crate) sandbox: Option<Profile>,

    /// Confine the server: what it may reach [default: on]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = network_parser(),
        requires = "sandbox",
        help_heading = "Programs"
    )]
    pub(crate) network: Option<NetworkMode>,

    /// Confine the server: host of an allow-list
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        requires = "sandbox",
        help_heading = "Programs"
    )]
    pub(crate) allow_host: Vec<HostRule>,

    /// URL of the server
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "URLs")]
    pub(crate) url: Option<String>,

    /// Transport to use for the URL [default: what works]
    #[arg(long = "type", value_name = "TYPE", help_heading = "URLs")]
    pub(crate) kind: Option<KindWord>,

    /// Header of every request
    #[arg(long, value_name = "NAME=VALUE", help_heading = "URLs")]
    pub(crate) header: Vec<String>,

    /// Variable that holds a bearer token
    #[arg(long, value_name = "NAME", help_heading = "URLs")]
    pub(crate) bearer_token_env_var: Option<String>,

    /// Sign-in: id of an already registered client
    #[arg(long, value_name = "ID", help_heading = "URLs")]
    pub(crate) oauth_client_id: Option<String>,

    /// Sign-in: its secret, best as `${NAME}`
    #[arg(long, value_name = "SECRET", help_heading = "URLs")]
    pub(crate) oauth_client_secret: Option<String>,

    /// Sign-in: scopes to ask for, separated by spaces
    #[arg(long, value_name = "SCOPES", help_heading = "URLs")]
    pub(crate) oauth_scope: Option<String>,

    /// Sign-in: name shown on the sign-in page
    #[arg(long, value_name = "NAME", help_heading = "URLs")]
    pub(crate) oauth_client_name: Option<String>,

    /// Sign-in: local port that the sign-in page redirects to
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "URLs")]
    pub(crate) oauth_callback_port: Option<u16>,

    /// Sign-in: how Pirn registers itself [default: auto]
    #[arg(long, value_name = "WAY", help_heading = "URLs")]
    pub(crate) oauth_client_registration: Option<RegistrationWord>,
}

/// Who sees a server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExposureWord {
    /// Scripts see and call them
    Codemode,
    /// Found by whoever searches
    Deferred,
    /// Declared to the model itself
    Direct,
    /// Nobody sees or calls them
    Hidden,
}

/// When a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartWord {
    /// At once, in the background
    Eager,
    /// When something first needs it
    Lazy,
}

/// How a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindWord {
    /// Streamable HTTP, of 2025 and later
    Http,
    /// HTTP with events, of 2024
    Sse,
}

/// How Pirn makes itself known to an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RegistrationWord {
    /// Whatever works, in the protocol's order
    Auto,
    /// Dynamic registration with the sign-in service
    Dcr,
    /// A client-id metadata document
    Cimd,
}

/// The arguments of `pirn mcp list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print everything as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// The server [default: all]
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,

    /// Print everything about the tools as a JSON array
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp call`.
#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// The tool, by the server's name of it
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,

    /// Arguments as a JSON object; `-` reads them from standard input [default: none]
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,

    /// Print the whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Seconds that the call may take, instead of the server's own limits
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=CALL_SECONDS_MAX))]
    pub(crate) timeout: Option<u64>,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp prompt`.
#[derive(Debug, Args)]
pub(crate) struct PromptArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// The prompt; without it all are listed
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// What to fill in
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<String>,

    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp login`.
#[derive(Debug, Args)]
pub(crate) struct LoginArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Print the address of the page without opening it
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Seconds for the whole sign-in
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=SIGN_IN_SECONDS_MAX)
    )]
    pub(crate) timeout: u64,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp logout`.
#[derive(Debug, Args)]
pub(crate) struct LogoutArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) files: FilesArguments,
}

/// The arguments of `pirn mcp trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// Name of the server in `mcp.json`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Print where the trace lies instead
    #[arg(long)]
    pub(crate) path: bool,
}

/// The arguments of `pirn mcp import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Only from this program
    #[arg(long, value_name = "CLIENT")]
    pub(crate) from: Option<String>,

    /// Show what would be added, and add nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Add the servers without asking first
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: TargetArguments,
}
