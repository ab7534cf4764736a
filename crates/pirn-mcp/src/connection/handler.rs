//! What a server may ask and tell the client.

#![expect(
    deprecated,
    reason = "roots and logging are deprecated since 2026-07-28, but servers of the older protocol use them"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ListRootsRequestMethod, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use super::open_calls::{OpenCallGuard, OpenCalls};
use super::{Changed, ConnectOptions, ProgressSink, RequestOptions};
use crate::elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest, Elicitor};
use crate::tools::progress_text;
use crate::wire::Trace;

/// Changes that may wait for a reader; a reader that lags reads the lists anew in any case.
const CHANGES_MAX: usize = 16;

/// Progress kept for requests that nobody watches yet. More would be a server that makes tokens up.
const EARLY_PROGRESS_MAX: usize = 32;

/// What a connection and its handler share.
pub(super) struct HandlerState {
    server: String,
    client: Implementation,
    elicitor: Option<Arc<dyn Elicitor>>,
    trace: Trace,
    pub(super) changes: broadcast::Sender<Changed>,
    progress: Mutex<Watches>,
    calls: Arc<OpenCalls>,
}

/// Who hears of which request's progress.
#[derive(Default)]
struct Watches {
    watched: HashMap<ProgressToken, Progress>,
    /// Progress that came before anybody could ask for it: the token is made while the request is sent.
    early: VecDeque<ProgressNotificationParam>,
}

struct Progress {
    beat: Arc<Notify>,
    sink: Option<ProgressSink>,
}

impl Progress {
    fn tell(&self, params: &ProgressNotificationParam) {
        self.beat.notify_one();
        if let Some(sink) = &self.sink {
            let message = params.message.as_deref();
            sink(progress_text(params.progress, params.total, message));
        }
    }
}

/// Hears of the progress of one request, for as long as it lives.
pub(super) struct ProgressWatch {
    handler: Arc<HandlerState>,
    token: ProgressToken,
    beat: Arc<Notify>,
}

impl ProgressWatch {
    /// Waits for the next progress.
    pub(super) async fn progressed(&self) {
        self.beat.notified().await;
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        let mut progress = self
            .handler
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        progress.watched.remove(&self.token);
    }
}

impl HandlerState {
    pub(super) fn new(options: &ConnectOptions) -> Arc<Self> {
        Arc::new(Self {
            server: options.server.name.clone(),
            client: Implementation::new(&options.client_name, &options.client_version),
            elicitor: options.elicitor.clone(),
            trace: options.trace.clone(),
            changes: broadcast::channel(CHANGES_MAX).0,
            progress: Mutex::default(),
            calls: Arc::default(),
        })
    }

    /// Registers a request for progress.
    pub(super) fn watch_progress(
        self: &Arc<Self>,
        token: &ProgressToken,
        sink: Option<ProgressSink>,
    ) -> ProgressWatch {
        let beat = Arc::new(Notify::new());
        let entry = Progress {
            beat: Arc::clone(&beat),
            sink,
        };
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.early.retain(|params| {
            let is_for_it = params.progress_token == *token;
            if is_for_it {
                entry.tell(params);
            }
            !is_for_it
        });
        progress.watched.insert(token.clone(), entry);
        ProgressWatch {
            handler: Arc::clone(self),
            token: token.clone(),
            beat,
        }
    }

    /// Counts a request among those whose limits stand still while the server asks.
    pub(super) fn open_call(&self, options: &RequestOptions) -> OpenCallGuard {
        self.calls.open(options)
    }

    pub(super) fn has_elicitor(&self) -> bool {
        self.elicitor.is_some()
    }

    /// Tells the connection's owner of a change. With nobody listening it is dropped.
    pub(super) fn changed(&self, changed: Changed) {
        let _unheard = self.changes.send(changed);
    }

    /// Asks the user, or says that nobody can be asked. Meanwhile the limits of every request that is open stand still: which of
    /// them the server asks for is not known to all forms of the protocol.
    pub(super) async fn elicit(
        &self,
        message: String,
        kind: ElicitationKind,
        cancel: CancellationToken,
    ) -> ElicitationAnswer {
        let Some(elicitor) = &self.elicitor else {
            return ElicitationAnswer::Cancel;
        };
        let call_id = self.calls.only_call_id();
        let _open = self.calls.ask();
        let schema = match &kind {
            ElicitationKind::Form { schema } => Some(schema.clone()),
            ElicitationKind::Url { .. } => None,
        };
        let request = ElicitationRequest {
            server: self.server.clone(),
            call_id,
            message,
            kind,
        };
        let answer = tokio::select! {
            answer = elicitor.elicit(request, cancel.clone()) => answer,
            () = cancel.cancelled() => ElicitationAnswer::Cancel,
        };
        match (answer, schema) {
            (ElicitationAnswer::Accept(content), Some(schema)) => {
                ElicitationAnswer::Accept(Some(with_defaults(content, &schema)))
            }
            (answer, _) => answer,
        }
    }
}

/// Fills in what the form has defaults for and the answer leaves out (SEP-1034).
fn with_defaults(content: Option<Value>, schema: &Value) -> Value {
    let mut values = match content {
        Some(Value::Object(values)) => values,
        Some(_) | None => Map::new(),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default")
            && !values.contains_key(name)
        {
            values.insert(name.clone(), default.clone());
        }
    }
    Value::Object(values)
}

/// The client as rmcp sees it.
pub(super) struct Handler(pub(super) Arc<HandlerState>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.0.has_elicitor() {
            capabilities.elicitation = Some(
                ElicitationCapability::new()
                    .with_form(FormElicitationCapability::default())
                    .with_url(UrlElicitationCapability::default()),
            );
        }
        ClientConfig::new(capabilities, self.0.client.clone())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (message, kind) = match request {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                (message, ElicitationKind::Form { schema })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, ElicitationKind::Url { url })
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
        };
        Ok(match self.0.elicit(message, kind, context.ct).await {
            ElicitationAnswer::Accept(content) => {
                let mut result = ElicitResult::new(ElicitationAction::Accept);
                result.content = content;
                result
            }
            ElicitationAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        // Not advertised; an empty list would let some servers forget the folders of their command line.
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut progress = self
            .0
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = progress.watched.get(&params.progress_token) {
            watched.tell(&params);
            return;
        }
        if progress.early.len() == EARLY_PROGRESS_MAX {
            progress.early.pop_front();
        }
        progress.early.push_back(params);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.trace.note(&format!(
            "{:?} {}: {}",
            params.level,
            params.logger.as_deref().unwrap_or("log"),
            params.data
        ));
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed(Changed::Tools);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed(Changed::Resources);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed(Changed::Prompts);
    }
}
