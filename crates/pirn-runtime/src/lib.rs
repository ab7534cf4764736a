//! The one assembly of Pirn: what the agent, the gateway, the terminal and every command share.
//!
//! A [`Runtime`] is put together once for a project, by [`Runtime::builder`]: settings, tools, servers, hooks, and the queue of
//! questions. It owns the registry, the confinement of commands, the MCP servers, the script engine and the kernel of evals,
//! and ends them in order. Each front end is a [`Client`] of it, with a view of the tools and a policy of its own;
//! through the client it makes calls, runs scripts and evaluates programs.
//!
//! What has to be asked, about calls, hosts and what servers want to know, goes into one queue, [`Runtime::approvals`], which
//! front ends answer. What happens, to calls, questions and servers, comes out as one stream, [`Runtime::events`].
//!
//! This crate does not print, exit, or read the environment or the home folder: a [`HostEnv`] says all of it.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod agent_policy;
mod attended_policy;
mod builder;
mod client;
mod confinement;
mod effect_policy;
mod engine;
mod error;
mod eval_tool;
mod evals;
mod grants;
mod host_questions;
mod permissions;
mod runtime;
mod script_limits;
mod script_tools;
mod scripts;
mod server_questions;
mod servers;
mod tool_filter;
mod tool_search;
mod whole_results;

pub use agent_policy::{AgentPolicy, Commands, Programs};
pub use attended_policy::{Attendance, AttendedPolicy};
pub use builder::{BuiltinTools, RuntimeBuilder};
pub use client::{Client, ClientOptions, StartingServers};
pub use confinement::{Confinement, Preparation, policy_spec};
pub use effect_policy::{EffectPolicy, Otherwise};
pub use error::{Error, ErrorKind};
pub use evals::{EvalOptions, EvalRun, ProjectInterpreter, eval_sandbox};
pub use grants::FileGrants;
pub use permissions::{Permissions, Reach};
pub use pirn_mcp::{McpExposure, SectionTools, ServerSelection, http_client};
pub use pirn_settings::{CodemodeMode, HostEnv};
pub use pirn_tools::{PICTURE_HELPER_ARGUMENT, picture_helper};
pub use runtime::Runtime;
pub use script_limits::{engine_options, script_limits};
pub use script_tools::ScriptTools;
pub use scripts::{RunningScript, SavedScript, ScriptEnd, ScriptRun};
pub use servers::{
    LOGIN_COMMAND, ServerOptions, Servers, config_environment, is_missing, problem_text,
    servers_of, sign_in_service, trace_file,
};
pub use tool_filter::ToolFilter;
pub use tool_search::TOOL_SEARCH_NAME;
pub use whole_results::{
    WHOLE_RESULT_BYTES_MAX, WHOLE_RESULTS_BYTES_MAX, WholeResult, WholeResults,
};
