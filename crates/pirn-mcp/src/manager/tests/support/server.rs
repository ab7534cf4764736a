//! A server in memory that does as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::{error, pause};
use crate::connection::{Changed, Page, RequestOptions, ServerFacts};
use crate::error::{Error, ErrorKind};
use crate::manager::link::Link;

/// A server in memory; clones share everything.
#[derive(Clone)]
pub(in crate::manager::tests) struct FakeServer {
    pub(in crate::manager::tests) state: Arc<ServerMemory>,
}

pub(in crate::manager::tests) struct ServerMemory {
    pub(in crate::manager::tests) facts: Mutex<ServerFacts>,
    pub(in crate::manager::tests) tools: Mutex<Result<Vec<Value>, ErrorKind>>,
    /// Milliseconds at which the tools were listed.
    pub(in crate::manager::tests) lists: Mutex<Vec<u128>>,
    pub(in crate::manager::tests) changes: broadcast::Sender<Changed>,
    /// Calls as they arrived.
    pub(in crate::manager::tests) requests: Mutex<Vec<String>>,
    /// Failures of the next requests; without one they succeed.
    pub(in crate::manager::tests) failures: Mutex<VecDeque<ErrorKind>>,
    /// How long a request takes.
    pub(in crate::manager::tests) pace: Mutex<Duration>,
    /// What is odd about its messages.
    pub(in crate::manager::tests) warnings: Mutex<Vec<String>>,
    /// How long closing takes.
    pub(in crate::manager::tests) close_pace: Mutex<Duration>,
    end: watch::Sender<Option<ErrorKind>>,
    pub(in crate::manager::tests) closed: Mutex<u32>,
    epoch: Instant,
}

impl FakeServer {
    pub(in crate::manager::tests) fn with_tools(names: &[&str]) -> Self {
        let server = Self {
            state: Arc::new(ServerMemory {
                facts: Mutex::new(ServerFacts {
                    name: "fake".to_owned(),
                    has_tools: true,
                    ..ServerFacts::default()
                }),
                tools: Mutex::new(Ok(Vec::new())),
                lists: Mutex::default(),
                changes: broadcast::channel(16).0,
                requests: Mutex::default(),
                failures: Mutex::default(),
                pace: Mutex::default(),
                warnings: Mutex::default(),
                close_pace: Mutex::default(),
                end: watch::channel(None).0,
                closed: Mutex::default(),
                epoch: Instant::now(),
            }),
        };
        server.set_tools(names);
        server
    }

    pub(in crate::manager::tests) fn with_resources() -> Self {
        let server = Self::with_tools(&["one"]);
        server.state.facts.lock().unwrap().has_resources = true;
        server
    }

    pub(in crate::manager::tests) fn set_tools(&self, names: &[&str]) {
        let tools = names
            .iter()
            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
            .collect();
        *self.state.tools.lock().unwrap() = Ok(tools);
    }

    pub(in crate::manager::tests) fn change(&self, changed: Changed) {
        let _unheard = self.state.changes.send(changed);
    }

    /// Ends the present connection from the server's side.
    pub(in crate::manager::tests) fn die(&self) {
        self.state.end.send_replace(Some(ErrorKind::Closed));
    }

    pub(in crate::manager::tests) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(in crate::manager::tests) fn fail_next(&self, kinds: impl IntoIterator<Item = ErrorKind>) {
        self.state.failures.lock().unwrap().extend(kinds);
    }

    pub(in crate::manager::tests) fn closed(&self) -> u32 {
        *self.state.closed.lock().unwrap()
    }

    /// A new connection, which is alive.
    pub(super) fn link(&self) -> FakeLink {
        self.state.end.send_replace(None);
        FakeLink {
            server: self.clone(),
            end: self.state.end.subscribe(),
        }
    }

    /// Who holds the server as a connection.
    pub(in crate::manager::tests) fn holders(&self) -> usize {
        self.state.end.receiver_count()
    }
}

/// A connection to the server.
pub(super) struct FakeLink {
    server: FakeServer,
    end: watch::Receiver<Option<ErrorKind>>,
}

impl FakeLink {
    fn request<T: Send + 'static>(
        &self,
        what: String,
        options: RequestOptions,
        answer: T,
    ) -> BoxFuture<'_, Result<T, Error>> {
        Box::pin(async move {
            let memory = &self.server.state;
            memory.requests.lock().unwrap().push(what);
            let pace = *memory.pace.lock().unwrap();
            let mut end = self.end.clone();
            tokio::select! {
                biased;
                () = options.cancel.cancelled() => return Err(error(ErrorKind::Cancelled)),
                _ = end.wait_for(Option::is_some) => return Err(error(ErrorKind::Closed)),
                () = pause(pace) => {}
            }
            if let Some(progress) = &options.progress {
                progress("half".to_owned());
            }
            match memory.failures.lock().unwrap().pop_front() {
                Some(kind) => Err(error(kind)),
                None => Ok(answer),
            }
        })
    }
}

impl Link for FakeLink {
    fn facts(&self) -> ServerFacts {
        self.server.state.facts.lock().unwrap().clone()
    }

    fn changes(&self) -> broadcast::Receiver<Changed> {
        self.server.state.changes.subscribe()
    }

    fn closed(&self) -> BoxFuture<'_, Error> {
        let mut end = self.end.clone();
        Box::pin(async move {
            let kind = end
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|kind| kind.clone());
            error(kind.unwrap_or(ErrorKind::Closed))
        })
    }

    fn is_closed(&self) -> bool {
        self.end.borrow().is_some()
    }

    fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.server.state.warnings.lock().unwrap())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            *self.server.state.closed.lock().unwrap() += 1;
            let pace = *self.server.state.close_pace.lock().unwrap();
            pause(pace).await;
        })
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        Box::pin(async move {
            let memory = &self.server.state;
            memory
                .lists
                .lock()
                .unwrap()
                .push(memory.epoch.elapsed().as_millis());
            memory.tools.lock().unwrap().clone().map_err(error)
        })
    }

    fn call_tool(
        &self,
        name: String,
        _arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        let answer = json!({"content": [{"type": "text", "text": format!("did {name}")}]});
        self.request(format!("call {name}"), options, answer)
    }

    fn list_resources(
        &self,
        _cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>> {
        self.request("resources".to_owned(), options, Page::default())
    }

    fn list_resource_templates(
        &self,
        _cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>> {
        self.request("templates".to_owned(), options, Page::default())
    }

    fn read_resource(
        &self,
        uri: String,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        let answer = json!({"contents": [{"uri": uri, "text": "content"}]});
        self.request(format!("read {uri}"), options, answer)
    }

    fn list_prompts(&self, options: RequestOptions) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        self.request("prompts".to_owned(), options, Vec::new())
    }

    fn get_prompt(
        &self,
        name: String,
        _arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        self.request(format!("prompt {name}"), options, json!({"messages": []}))
    }
}
