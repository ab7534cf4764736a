//! The three tools through which models and scripts reach servers' resources.

mod listing;
mod reading;
mod specs;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_file::SpillFolder;
use pirn_tool::{CallContext, Exposure, Tool, ToolResult};
use serde_json::Value;

use super::text::quoted;
use crate::connection::Page;
use crate::error::Error;

pub use specs::RESOURCE_TOOL_NAMES;

#[cfg(test)]
mod tests;

/// Reaches the resources of all servers of a session.
pub(crate) trait ResourceSource: Send + Sync + 'static {
    /// The names of the connected servers that have resources and are not hidden. May wait for servers that are still starting.
    fn servers<'a>(&'a self, context: &'a CallContext) -> BoxFuture<'a, Vec<String>>;

    /// One page of a server's resources or templates; the first without a cursor.
    fn list<'a>(
        &'a self,
        server: &'a str,
        what: ResourceList,
        cursor: Option<String>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Page, Error>>;

    /// The contents of a resource: `{contents: [...]}`.
    fn read<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ResourceList {
    Resources,
    Templates,
}

/// The three tools. All are exposed alike; registered as [`Exposure::Hidden`] they are withdrawn.
pub(crate) fn resource_tools(
    exposure: Exposure,
    source: &Arc<dyn ResourceSource>,
    spill: &SpillFolder,
) -> Vec<Tool> {
    let list = |what| {
        let (source, spill) = (Arc::clone(source), spill.clone());
        Tool::from_fn(
            specs::list_spec(what).exposure(exposure),
            move |arguments, context| {
                let (source, spill) = (Arc::clone(&source), spill.clone());
                async move { listing::list(&*source, what, &arguments, &context, &spill).await }
            },
        )
    };
    let (read_source, read_spill) = (Arc::clone(source), spill.clone());
    let read = Tool::from_fn(
        specs::read_spec().exposure(exposure),
        move |arguments, context| {
            let (source, spill) = (Arc::clone(&read_source), read_spill.clone());
            async move { reading::read(&*source, &arguments, &context, &spill).await }
        },
    );
    vec![
        list(ResourceList::Resources),
        list(ResourceList::Templates),
        read,
    ]
}

/// The servers that have resources, sorted; or the error for a server that is none of them.
async fn known_server(
    source: &dyn ResourceSource,
    server: &str,
    context: &CallContext,
) -> Result<(), ToolResult> {
    let servers = sorted_servers(source, context).await;
    if servers.iter().any(|known| known == server) {
        return Ok(());
    }
    let known = if servers.is_empty() {
        "No connected server has resources.".to_owned()
    } else {
        format!("Servers with resources: {}.", servers.join(", "))
    };
    Err(ToolResult::error(format!(
        "There is no MCP server {} with resources. {known}",
        quoted(server)
    )))
}

async fn sorted_servers(source: &dyn ResourceSource, context: &CallContext) -> Vec<String> {
    let mut servers = source.servers(context).await;
    servers.sort();
    servers.dedup();
    servers
}
