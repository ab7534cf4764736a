//! Asking servers for something: tools, prompts and resources.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pirn_tool::CallContext;
use serde_json::{Map, Value};

use super::actor::Command;
use super::link::Link;
use super::options::CallOptions;
use super::status::{Problem, ServerEvent, ServerState, ServerStatus};
use super::wait::ServerSelection;
use super::{Inner, McpManager};
use crate::config::McpExposure;
use crate::connection::{Page, RequestOptions};
use crate::error::{Error, ErrorKind, is_transient};
use crate::tools::{ResourceList, ResourceSource, ToolCaller, progress_sink};

/// Whether a request may be sent again after a failure that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    /// Once: reading twice does no harm.
    Once,
    /// Never: it may have taken effect although the answer was lost.
    Never,
}

impl McpManager {
    /// Calls a tool by the server's own name for it, connecting first where that is needed. Gives the whole
    /// `CallToolResult`; a result with `isError` is no error here. A call that may have reached the server is never repeated.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<Value, Error> {
        self.request(server, options, Repetition::Never, |link, options| {
            link.call_tool(tool.to_owned(), arguments.clone(), options)
        })
        .await
    }

    /// Every prompt of a server.
    pub async fn list_prompts(
        &self,
        server: &str,
        options: CallOptions,
    ) -> Result<Vec<Value>, Error> {
        self.request(server, options, Repetition::Once, |link, options| {
            link.list_prompts(options)
        })
        .await
    }

    /// One prompt, filled in: `{description?, messages: [...]}`.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<Value, Error> {
        self.request(server, options, Repetition::Never, |link, options| {
            link.get_prompt(name.to_owned(), arguments.clone(), options)
        })
        .await
    }

    /// One page of a server's resources or resource templates. Repeated once after a failure that may pass.
    pub(crate) async fn list_resources(
        &self,
        server: &str,
        what: ResourceList,
        cursor: Option<String>,
        options: CallOptions,
    ) -> Result<Page, Error> {
        self.request(
            server,
            options,
            Repetition::Once,
            |link, options| match what {
                ResourceList::Resources => link.list_resources(cursor.clone(), options),
                ResourceList::Templates => link.list_resource_templates(cursor.clone(), options),
            },
        )
        .await
    }

    /// The contents of a resource: `{contents: [...]}`. Repeated once after a failure that may pass.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        options: CallOptions,
    ) -> Result<Value, Error> {
        self.request(server, options, Repetition::Once, |link, options| {
            link.read_resource(uri.to_owned(), options)
        })
        .await
    }

    async fn request<T>(
        &self,
        server: &str,
        options: CallOptions,
        repetition: Repetition,
        send: impl for<'a> Fn(&'a dyn Link, RequestOptions) -> BoxFuture<'a, Result<T, Error>>,
    ) -> Result<T, Error> {
        let contact = self.server_set().contact(server)?;
        let options = RequestOptions::from(options);
        let mut may_repeat = repetition == Repetition::Once;
        let mut may_resend = true;
        loop {
            let lease = contact.lease(&options.cancel).await?;
            let outcome = send(lease.link(), options.clone()).await;
            for message in lease.link().take_warnings() {
                let server = server.to_owned();
                self.tell(ServerEvent::Warning { server, message });
            }
            let error = match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if *error.kind() == ErrorKind::NeedsAuthorization {
                let uses = Arc::clone(lease.uses());
                contact.tell(Command::Unauthorized(uses, Problem::from(&error)));
            }
            let is_worth_it = is_transient(error.kind()) && !options.cancel.is_cancelled();
            if may_resend && error.is_unsent() && !options.cancel.is_cancelled() {
                may_resend = false;
                continue;
            }
            if !(may_repeat && is_worth_it) {
                return Err(error);
            }
            may_repeat = false;
        }
    }
}

/// The way from a tool in the registry to its server. Does not keep the servers alive.
pub(super) struct ServerCaller {
    manager: Weak<Inner>,
    server: String,
}

impl ServerCaller {
    pub(super) fn new(manager: Weak<Inner>, server: &str) -> Self {
        Self {
            manager,
            server: server.to_owned(),
        }
    }
}

impl ToolCaller for ServerCaller {
    fn call<'a>(
        &'a self,
        tool_name: &'a str,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let manager = alive(&self.manager, &self.server)?;
            let options = options_of(context);
            manager
                .call_tool(&self.server, tool_name, arguments, options)
                .await
        })
    }
}

/// The resources of all servers. Does not keep the servers alive.
pub(super) struct ManagerResources {
    manager: Weak<Inner>,
}

impl ManagerResources {
    pub(super) fn new(manager: Weak<Inner>) -> Self {
        Self { manager }
    }
}

impl ResourceSource for ManagerResources {
    fn servers<'a>(&'a self, context: &'a CallContext) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let Ok(manager) = alive(&self.manager, "") else {
                return Vec::new();
            };
            let _waited = manager
                .wait_for(ServerSelection::Visible, &context.cancel)
                .await;
            manager
                .servers()
                .into_iter()
                .filter(offers_resources)
                .map(|server| server.name)
                .collect()
        })
    }

    fn list<'a>(
        &'a self,
        server: &'a str,
        what: ResourceList,
        cursor: Option<String>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Page, Error>> {
        Box::pin(async move {
            let manager = alive(&self.manager, server)?;
            manager
                .list_resources(server, what, cursor, options_of(context))
                .await
        })
    }

    fn read<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let manager = alive(&self.manager, server)?;
            manager
                .read_resource(server, uri, options_of(context))
                .await
        })
    }
}

/// Whether a server's resources can be read: now, or because the next request connects it again.
fn offers_resources(server: &ServerStatus) -> bool {
    let is_reachable = match server.state {
        ServerState::Connected | ServerState::Disconnected => true,
        ServerState::Connecting
        | ServerState::NeedsAuth
        | ServerState::Failed
        | ServerState::Disabled => false,
    };
    is_reachable && server.has_resources && server.exposure != McpExposure::Hidden
}

fn options_of(context: &CallContext) -> CallOptions {
    CallOptions {
        cancel: context.cancel.clone(),
        progress: progress_sink(context),
        timeout: None,
        clock: context.clock().clone(),
        call_id: Some(context.call_id.clone()),
    }
}

fn alive(manager: &Weak<Inner>, server: &str) -> Result<McpManager, Error> {
    match manager.upgrade() {
        Some(inner) => Ok(McpManager { inner }),
        None => Err(Error::new(
            ErrorKind::Closed,
            server,
            "was closed because the session ended",
        )),
    }
}
