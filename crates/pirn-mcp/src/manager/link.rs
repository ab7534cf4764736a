//! The seam between the life cycle and the wire: how a server is reached, and what can be asked of it once it is.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::ServerEntry;
use crate::connection::{Changed, Connection, Page, RequestOptions, ServerFacts};
use crate::error::{Error, ErrorKind};

/// How long requests get to notice that their connection is being closed.
const REQUESTS_END_WAIT: Duration = Duration::from_secs(1);

/// Receives every line of a process's standard error.
pub(super) type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// One attempt to reach a server.
#[derive(Clone)]
pub(super) struct ConnectRequest {
    pub(super) entry: Arc<ServerEntry>,
    pub(super) standard_error: LineSink,
}

pub(super) trait Connector: Send + Sync + 'static {
    /// Connects to one server. Dropping the future ends the attempt and its process.
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Arc<dyn Link>, Error>>;
}

/// A server that was reached. Dropping the last handle ends the connection.
pub(super) trait Link: Send + Sync + 'static {
    fn facts(&self) -> ServerFacts;
    fn changes(&self) -> broadcast::Receiver<Changed>;
    /// Waits until the connection has ended by itself, and says why.
    fn closed(&self) -> BoxFuture<'_, Error>;
    fn is_closed(&self) -> bool;
    /// What was odd about the server's messages since the last look, for people.
    fn take_warnings(&self) -> Vec<String>;
    /// Ends the connection and waits for that; requests that are open fail.
    fn close(&self) -> BoxFuture<'_, ()>;

    fn list_tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Error>>;
    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>>;
    fn list_resources(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>>;
    fn list_resource_templates(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>>;
    fn read_resource(
        &self,
        uri: String,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>>;
    fn list_prompts(&self, options: RequestOptions) -> BoxFuture<'_, Result<Vec<Value>, Error>>;
    fn get_prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>>;
}

/// How long a request may still learn how its connection ended: somewhat more than a child's end takes to be known.
const LAST_ANSWER_WAIT: Duration = Duration::from_millis(500);

/// A [`Connection`] that can be closed while others use it.
pub(super) struct ConnectionLink {
    server: String,
    connection: std::sync::Mutex<Option<Arc<Connection>>>,
    facts: ServerFacts,
    changes: broadcast::Receiver<Changed>,
    closing: CancellationToken,
    requests: TaskTracker,
}

impl ConnectionLink {
    pub(super) fn new(server: impl Into<String>, connection: Connection) -> Self {
        Self {
            server: server.into(),
            facts: connection.facts().clone(),
            changes: connection.changes(),
            connection: std::sync::Mutex::new(Some(Arc::new(connection))),
            closing: CancellationToken::new(),
            requests: TaskTracker::new(),
        }
    }

    fn connection(&self) -> Option<Arc<Connection>> {
        self.connection
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }

    fn closing_error(&self) -> Error {
        Error::new(
            ErrorKind::Closed,
            &self.server,
            "the connection was closed on this side",
        )
    }

    /// Runs one request, unless the connection is closed meanwhile.
    fn request<'a, T, F>(
        &'a self,
        run: impl FnOnce(Arc<Connection>) -> F + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Error>>
    where
        T: Send + 'a,
        F: Future<Output = Result<T, Error>> + Send + 'a,
    {
        Box::pin(async move {
            // Declared first, so that it goes last: who waits for it finds the connection unused.
            let _token = self.requests.token();
            let Some(connection) = self.connection() else {
                return Err(self.closing_error());
            };
            let run = run(Arc::clone(&connection));
            tokio::pin!(run);
            tokio::select! {
                biased;
                answer = &mut run => return answer,
                () = self.closing.cancelled() => {}
            }
            if !connection.is_closed() {
                return Err(self.closing_error());
            }
            // It is closed because it had ended by itself. An answer may just be on its way, and the request learns by itself
            // how it ended.
            match tokio::time::timeout(LAST_ANSWER_WAIT, run).await {
                Ok(answer) => answer,
                Err(_late) => Err(self.closing_error()),
            }
        })
    }
}

impl Link for ConnectionLink {
    fn facts(&self) -> ServerFacts {
        self.facts.clone()
    }

    fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.resubscribe()
    }

    fn closed(&self) -> BoxFuture<'_, Error> {
        Box::pin(async move {
            let ended = self.request(|connection| async move { Ok(connection.closed().await) });
            ended.await.unwrap_or_else(|error| error)
        })
    }

    fn is_closed(&self) -> bool {
        self.connection()
            .is_none_or(|connection| connection.is_closed())
    }

    fn take_warnings(&self) -> Vec<String> {
        self.connection()
            .map(|connection| connection.take_warnings())
            .unwrap_or_default()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.closing.cancel();
            self.requests.close();
            let _late = tokio::time::timeout(REQUESTS_END_WAIT, self.requests.wait()).await;
            let connection = self
                .connection
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take();
            // Whoever still holds it ends it by dropping it.
            if let Some(connection) = connection.and_then(Arc::into_inner) {
                connection.close().await;
            }
        })
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        self.request(|connection| async move { connection.list_tools().await })
    }

    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        self.request(
            |connection| async move { connection.call_tool(&name, arguments, options).await },
        )
    }

    fn list_resources(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>> {
        self.request(|connection| async move { connection.list_resources(cursor, options).await })
    }

    fn list_resource_templates(
        &self,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Page, Error>> {
        self.request(|connection| async move {
            connection.list_resource_templates(cursor, options).await
        })
    }

    fn read_resource(
        &self,
        uri: String,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        self.request(|connection| async move { connection.read_resource(&uri, options).await })
    }

    fn list_prompts(&self, options: RequestOptions) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        self.request(|connection| async move { connection.list_prompts(options).await })
    }

    fn get_prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        self.request(
            |connection| async move { connection.get_prompt(&name, arguments, options).await },
        )
    }
}
