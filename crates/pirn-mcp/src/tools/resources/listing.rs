//! Lists of resources and templates.

use futures_util::future::join_all;
use pirn_file::SpillFolder;
use pirn_tool::{CallContext, ContentBlock, ToolResult};
use serde_json::{Map, Value, json};

use super::{ResourceList, ResourceSource, known_server, sorted_servers};
use crate::connection::{After, Pages};
use crate::error::{Error, ErrorKind};
use crate::tools::cut::fit;
use crate::tools::handler::{error_result, with_hints};
use crate::tools::result::indented;

/// Entries of servers' interfaces for people, which no model can use.
const INTERFACE_SCHEME: &str = "ui://";
const INTERFACE_PROFILE: &str = "profile=mcp-app";

pub(super) async fn list(
    source: &dyn ResourceSource,
    what: ResourceList,
    arguments: &Value,
    context: &CallContext,
    spill: &SpillFolder,
) -> ToolResult {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    let answer = match (argument("server"), argument("cursor")) {
        (Some(server), cursor) => {
            one_page(source, what, server, cursor.map(ToOwned::to_owned), context).await
        }
        (None, Some(_)) => Err(ToolResult::error(
            "A cursor belongs to one server: name the server too.",
        )),
        (None, None) => Ok(all_servers(source, what, context).await),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    let spill = spill.clone();
    // A long list is written to a file.
    tokio::task::spawn_blocking(move || answer.into_result(what, &spill))
        .await
        .unwrap_or_else(|error| ToolResult::error(format!("The list could not be shown: {error}")))
}

#[derive(Default)]
struct Answer {
    server: Option<String>,
    entries: Vec<Value>,
    next_cursor: Option<String>,
    errors: Vec<Value>,
}

impl Answer {
    fn into_result(self, what: ResourceList, spill: &SpillFolder) -> ToolResult {
        let nothing_worked = self.entries.is_empty() && !self.errors.is_empty();
        let mut structured = Map::new();
        if let Some(server) = self.server {
            structured.insert("server".into(), server.into());
        }
        let member = match what {
            ResourceList::Resources => "resources",
            ResourceList::Templates => "resourceTemplates",
        };
        structured.insert(member.into(), self.entries.into());
        if let Some(cursor) = self.next_cursor {
            structured.insert("nextCursor".into(), cursor.into());
        }
        if !self.errors.is_empty() {
            structured.insert("errors".into(), self.errors.into());
        }
        let structured = Value::Object(structured);
        let fitted = fit(vec![ContentBlock::text(indented(&structured))], spill);
        ToolResult {
            content: fitted.content,
            structured: Some(structured),
            is_error: nothing_worked,
            details: fitted
                .full_text
                .map(|path| json!({"full_output_path": path.to_string_lossy()})),
            ..ToolResult::default()
        }
    }
}

async fn one_page(
    source: &dyn ResourceSource,
    what: ResourceList,
    server: &str,
    cursor: Option<String>,
    context: &CallContext,
) -> Result<Answer, ToolResult> {
    known_server(source, server, context).await?;
    let page = source
        .list(server, what, cursor, context)
        .await
        .map_err(|error| error_result(&error))?;
    Ok(Answer {
        server: Some(server.to_owned()),
        entries: entries(server, what, page.items),
        next_cursor: page.next_cursor.filter(|cursor| !cursor.is_empty()),
        errors: Vec::new(),
    })
}

async fn all_servers(
    source: &dyn ResourceSource,
    what: ResourceList,
    context: &CallContext,
) -> Answer {
    let servers = sorted_servers(source, context).await;
    let lists = servers
        .iter()
        .map(|server| all_pages(source, what, server, context));
    let mut answer = Answer::default();
    for (server, (entries, error)) in servers.iter().zip(join_all(lists).await) {
        answer.entries.extend(entries);
        if let Some(error) = error {
            let text = with_hints(error.message().to_owned(), &error);
            answer.errors.push(json!({"server": server, "error": text}));
        }
    }
    answer
}

/// All entries of a server, and why there are no more of them.
async fn all_pages(
    source: &dyn ResourceSource,
    what: ResourceList,
    server: &str,
    context: &CallContext,
) -> (Vec<Value>, Option<Error>) {
    let mut pages = Pages::default();
    let mut cursor = None;
    let error = loop {
        let page = match source.list(server, what, cursor, context).await {
            Ok(page) => page,
            Err(error) => break Some(error),
        };
        match pages.add(page.items, page.next_cursor) {
            After::Page(next) => cursor = Some(next),
            After::End => break None,
            After::Stopped(why) => {
                break Some(stopped(server, why));
            }
        }
    };
    (entries(server, what, pages.into_items()), error)
}

fn stopped(server: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        server,
        format!("the list is not complete: {why}"),
    )
    .with_hint("Name the server to read its list page by page.")
}

/// The entries a model can use, with their server and without what only interfaces need.
fn entries(server: &str, what: ResourceList, items: Vec<Value>) -> Vec<Value> {
    let uri_member = match what {
        ResourceList::Resources => "uri",
        ResourceList::Templates => "uriTemplate",
    };
    items
        .into_iter()
        .filter_map(|item| entry(server, uri_member, item))
        .collect()
}

fn entry(server: &str, uri_member: &str, item: Value) -> Option<Value> {
    let Value::Object(members) = item else {
        return None;
    };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let uri = text(uri_member).filter(|uri| !uri.is_empty())?.to_owned();
    let is_interface = uri.starts_with(INTERFACE_SCHEME)
        || text("mimeType").is_some_and(|mime_type| {
            mime_type
                .split(';')
                .any(|part| part.trim().eq_ignore_ascii_case(INTERFACE_PROFILE))
        });
    if is_interface {
        return None;
    }
    let name = text("name").filter(|name| !name.is_empty()).unwrap_or(&uri);
    let mut entry = Map::new();
    entry.insert("server".into(), server.into());
    entry.insert(uri_member.into(), uri.clone().into());
    entry.insert("name".into(), name.into());
    for (member, value) in members {
        if !matches!(member.as_str(), "icons" | "_meta") {
            entry.entry(member).or_insert(value);
        }
    }
    Some(Value::Object(entry))
}
