//! The host functions of `script` cases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_codemode::{Abort, CallEnd, HostCall, ScriptHost};
use pirn_vm::{CallTarget, JsonText};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::script::{Log, stopped};

const PNG_1X1: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Everything the functions of one case share.
pub(super) struct Host {
    state: Arc<State>,
    abort: Abort,
    /// The call that aborts the run, and the reason.
    abort_on: Option<(String, String)>,
}

#[derive(Default)]
struct State {
    log: Log,
    received: Mutex<Vec<Value>>,
    count: Mutex<u64>,
    barrier: Mutex<Vec<oneshot::Sender<usize>>>,
    gates: Mutex<BTreeMap<String, Arc<Gate>>>,
}

#[derive(Default)]
struct Gate {
    opened: Notify,
    is_open: std::sync::atomic::AtomicBool,
    waiting: std::sync::atomic::AtomicUsize,
}

impl Host {
    pub(super) fn new(abort: Abort, options: &Value) -> Self {
        let on_call = |pointer: &str| {
            options
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let reason = on_call("/abort/reason").unwrap_or_default();
        let abort_on = on_call("/abort/on_call")
            .map(|name| (name, reason))
            .or_else(|| on_call("/close/on_call").map(|name| (name, "Sandbox closed".to_owned())));
        Self {
            state: Arc::default(),
            abort,
            abort_on,
        }
    }

    pub(super) fn is_spread(name: &str) -> bool {
        matches!(name, "listArgs" | "box.list")
    }

    pub(super) fn received(&self) -> Vec<Value> {
        self.state
            .received
            .lock()
            .expect("an unpoisoned list")
            .clone()
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.state.log.lock().expect("an unpoisoned log").clone()
    }
}

impl ScriptHost for Host {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        let arguments = call
            .arguments
            .as_ref()
            .map(|json| json.parse().expect("arguments are JSON"));
        let row = match &arguments {
            None => json!({"name": call.name}),
            Some(value) => json!({"name": call.name, "args": value}),
        };
        self.state
            .received
            .lock()
            .expect("an unpoisoned list")
            .push(row);
        if let Some((name, reason)) = &self.abort_on
            && *name == call.name
        {
            self.abort.abort(reason.clone());
        }
        let state = Arc::clone(&self.state);
        match call.target {
            CallTarget::Tool => Box::pin(state.tool(call, arguments)),
            CallTarget::Global => Box::pin(state.global(call, arguments)),
        }
    }
}

fn value(value: &Value) -> CallEnd {
    CallEnd::ok(Some(JsonText::from_value(value)))
}

impl State {
    async fn tool(self: Arc<Self>, call: HostCall, arguments: Option<Value>) -> CallEnd {
        let field = |name: &str| {
            arguments
                .as_ref()
                .and_then(|value| value.get(name))
                .cloned()
        };
        let text = |name: &str| {
            field(name)
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        match call.name.as_str() {
            // The argument's own text, so that nothing is lost on the way.
            "echo" => CallEnd::ok(call.arguments),
            "add" => {
                let number = |name: &str| {
                    field(name)
                        .and_then(|value| value.as_f64())
                        .unwrap_or(f64::NAN)
                };
                value(&json!(number("a") + number("b")))
            }
            "fail" => CallEnd::error(
                field("message").map_or("tool failed".to_owned(), |_| text("message")),
            ),
            "json" => CallEnd::ok(Some(JsonText::new(text("text")))),
            "nothing" => CallEnd::ok(None),
            "repeat" => {
                let count = field("count").and_then(|count| count.as_u64()).unwrap_or(0);
                value(&json!(
                    text("text").repeat(usize::try_from(count).expect("a small count"))
                ))
            }
            "count" => {
                let mut count = self.count.lock().expect("an unpoisoned count");
                *count += 1;
                value(&json!(*count))
            }
            "note" => {
                self.log
                    .lock()
                    .expect("an unpoisoned log")
                    .push(text("text"));
                CallEnd::ok(None)
            }
            "image_block" => {
                value(&json!({"type": "image", "data": PNG_1X1, "mimeType": "image/png"}))
            }
            "barrier" => {
                self.barrier(field("n").and_then(|n| n.as_u64()).unwrap_or(1))
                    .await
            }
            "gate" => self.gate(&text("name"), field("value"), &call.cancel).await,
            "open" => self.open(&text("name")),
            "hang" => {
                call.cancel.cancelled().await;
                stopped("hang", &self.log)
            }
            "slow" => {
                let ms = field("ms").and_then(|ms| ms.as_u64()).unwrap_or(0);
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(ms)) => value(&json!("slow")), // sleeps: the recorded tool does
                    () = call.cancel.cancelled() => stopped("slow", &self.log),
                }
            }
            _ => value(&json!({"tool": call.name, "args": arguments.unwrap_or_default()})),
        }
    }

    async fn global(self: Arc<Self>, call: HostCall, arguments: Option<Value>) -> CallEnd {
        match call.name.as_str() {
            "ping" => value(&json!({"pong": arguments.unwrap_or_default()})),
            "listArgs" | "box.list" => CallEnd::ok(call.arguments),
            "box.open" => value(&json!("opened")),
            "boom" => CallEnd::error("global failed"),
            "never" => {
                call.cancel.cancelled().await;
                stopped("never", &self.log)
            }
            _ => value(&json!({"global": call.name, "args": arguments.unwrap_or_default()})),
        }
    }

    /// Waits until `n` calls wait, then answers them in the order they came.
    async fn barrier(&self, n: u64) -> CallEnd {
        let (release, released) = oneshot::channel();
        {
            let mut waiting = self.barrier.lock().expect("an unpoisoned barrier");
            waiting.push(release);
            if waiting.len() as u64 >= n {
                for (index, release) in waiting.drain(..).enumerate() {
                    release.send(index).expect("the call waits");
                }
            }
        }
        value(&json!(released.await.expect("the barrier opens")))
    }

    fn gate_named(&self, name: &str) -> Arc<Gate> {
        Arc::clone(
            self.gates
                .lock()
                .expect("unpoisoned gates")
                .entry(name.to_owned())
                .or_default(),
        )
    }

    async fn gate(&self, name: &str, answer: Option<Value>, cancel: &CancellationToken) -> CallEnd {
        let gate = self.gate_named(name);
        gate.waiting
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let opened = gate.opened.notified();
        if !gate.is_open.load(std::sync::atomic::Ordering::SeqCst) {
            tokio::select! {
                () = opened => {}
                () = cancel.cancelled() => return stopped(&format!("gate {name}"), &self.log),
            }
        }
        value(&answer.unwrap_or_else(|| json!(name)))
    }

    fn open(&self, name: &str) -> CallEnd {
        let gate = self.gate_named(name);
        gate.is_open
            .store(true, std::sync::atomic::Ordering::SeqCst);
        gate.opened.notify_waiters();
        value(&json!(
            gate.waiting.load(std::sync::atomic::Ordering::SeqCst)
        ))
    }
}
