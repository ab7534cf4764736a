//! Lists that come in pages, and what is read from them.

use std::collections::HashSet;

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, ServerResult, Tool,
};
use serde_json::{Map, Value};

use super::pages::{After, Pages};
use super::{Connection, Page, RequestOptions};
use crate::error::{Error, ErrorKind};

/// The JSON-RPC code of a method that the server does not have.
const METHOD_NOT_FOUND: i64 = -32_601;

/// What can be listed.
#[derive(Debug, Clone, Copy)]
enum List {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl List {
    /// The member of the result that has the entries.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest {
                params,
                ..Default::default()
            }),
            Self::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest {
                params,
                ..Default::default()
            }),
            Self::ResourceTemplates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                    params,
                    ..Default::default()
                })
            }
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest {
                params,
                ..Default::default()
            }),
        }
    }
}

impl Connection {
    /// Every tool of every page, as JSON after repair. Empty where the server has no tools.
    pub(crate) async fn list_tools(&self) -> Result<Vec<Value>, Error> {
        if !self.facts.has_tools {
            return Ok(Vec::new());
        }
        self.all_pages(List::Tools, &RequestOptions::default())
            .await
    }

    /// One page of resources.
    pub(crate) async fn list_resources(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> Result<Page, Error> {
        self.page(List::Resources, cursor, &options).await
    }

    /// One page of resource templates; a server that does not know the method has none.
    pub(crate) async fn list_resource_templates(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> Result<Page, Error> {
        match self.page(List::ResourceTemplates, cursor, &options).await {
            Err(error)
                if *error.kind()
                    == (ErrorKind::Server {
                        code: METHOD_NOT_FOUND,
                    }) =>
            {
                Ok(Page::default())
            }
            result => result,
        }
    }

    /// The contents of a resource: `{contents: [...]}`.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        options: RequestOptions,
    ) -> Result<Value, Error> {
        let uri = uri.to_owned();
        self.ask(&options, |input| {
            let mut params = ReadResourceRequestParams::new(uri.clone());
            params.input_responses = input.responses;
            params.request_state = input.state;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        })
        .await
    }

    /// Every prompt of every page.
    pub(crate) async fn list_prompts(&self, options: RequestOptions) -> Result<Vec<Value>, Error> {
        if !self.facts.has_prompts {
            return Ok(Vec::new());
        }
        self.all_pages(List::Prompts, &options).await
    }

    /// One prompt, filled in: `{description?, messages: [...]}`.
    pub(crate) async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> Result<Value, Error> {
        let name = name.to_owned();
        self.ask(&options, |input| {
            let mut params = GetPromptRequestParams::new(name.clone());
            params.arguments = Some(arguments.clone());
            params.input_responses = input.responses;
            params.request_state = input.state;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        })
        .await
    }

    async fn all_pages(&self, list: List, options: &RequestOptions) -> Result<Vec<Value>, Error> {
        let mut pages = Pages::default();
        let mut cursor = None;
        loop {
            let page = self.page(list, cursor, options).await?;
            match pages.add(page.items, page.next_cursor) {
                After::Page(next) => cursor = Some(next),
                After::End => return Ok(pages.into_items()),
                // What there is so far is worth more than an error.
                After::Stopped(why) => {
                    self.wire.warn(format!(
                        "the list of {} is not complete: {why}",
                        list.member()
                    ));
                    return Ok(pages.into_items());
                }
            }
        }
    }

    /// Over HTTP the library takes out tools whose `x-mcp-header` annotations are of no use: they must not be called.
    fn leave_out_refused(&self, items: &mut Vec<Value>, usable: &[Tool]) {
        let usable: HashSet<&str> = usable.iter().map(|tool| tool.name.as_ref()).collect();
        items.retain(|item| {
            let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_usable = usable.contains(name);
            if !is_usable {
                self.wire.warn(format!(
                    "tool \"{name}\" is left out: its x-mcp-header annotations cannot be used"
                ));
            }
            is_usable
        });
    }

    async fn page(
        &self,
        list: List,
        cursor: Option<String>,
        options: &RequestOptions,
    ) -> Result<Page, Error> {
        let (mut result, typed) = self.run_typed(list.request(cursor), options).await?;
        let mut items = match result.get_mut(list.member()).map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        if let ServerResult::ListToolsResult(tools) = typed {
            self.leave_out_refused(&mut items, &tools.tools);
        }
        let next_cursor = result
            .get("nextCursor")
            .and_then(Value::as_str)
            .filter(|cursor| !cursor.is_empty())
            .map(str::to_owned);
        Ok(Page { items, next_cursor })
    }
}
