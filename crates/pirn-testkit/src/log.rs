//! What a fake server has seen, for tests to look at and for rules to wait for.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

/// One message or HTTP request that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The HTTP method; empty without HTTP.
    pub verb: String,
    /// The method of a request or notification, `answer` for an answer, `GET` and so on for HTTP without a message, `hang up`
    /// for a client that closed a connection on which something was pending. What came to the neighbour begins with
    /// `neighbour `.
    pub method: String,
    /// The path of the HTTP request; empty without HTTP.
    pub path: String,
    /// The headers, names in lower case; empty without HTTP.
    pub headers: Vec<(String, String)>,
    /// The message; null where there is none.
    pub message: Value,
}

impl Seen {
    /// A message that came without HTTP.
    pub(crate) fn message(message: Value) -> Self {
        Self {
            verb: String::new(),
            method: method_of(&message),
            path: String::new(),
            headers: Vec::new(),
            message,
        }
    }

    /// The end of a connection by the client.
    pub(crate) fn hang_up() -> Self {
        Self {
            method: "hang up".to_owned(),
            ..Self::message(Value::Null)
        }
    }

    /// The first header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether an answer is wanted.
    pub(crate) fn is_request(&self) -> bool {
        self.message.get("id").is_some() && self.message.get("method").is_some()
    }

    /// The tool that a call names.
    pub fn tool(&self) -> Option<&str> {
        if self.method == "tools/call" {
            self.message.pointer("/params/name").and_then(Value::as_str)
        } else {
            None
        }
    }
}

pub(crate) fn method_of(message: &Value) -> String {
    match message.get("method").and_then(Value::as_str) {
        Some(method) => method.to_owned(),
        None => "answer".to_owned(),
    }
}

/// What a fake server has seen. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    file: Option<Mutex<File>>,
    count: watch::Sender<usize>,
}

impl Log {
    pub(crate) fn in_memory() -> Self {
        Self::new(None)
    }

    /// A log that is also appended to a file, a line of JSON each: all processes of one server write into the same one.
    pub(crate) fn in_file(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self::new(Some(Mutex::new(file))))
    }

    fn new(file: Option<Mutex<File>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                seen: Mutex::default(),
                file,
                count: watch::Sender::new(0),
            }),
        }
    }

    /// Reads what processes wrote with [`serve_stdio`](crate::serve_stdio).
    pub fn read(path: &Path) -> io::Result<Vec<Seen>> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        text.lines()
            .map(|line| {
                serde_json::from_str::<Value>(line)
                    .map(Seen::message)
                    .map_err(io::Error::other)
            })
            .collect()
    }

    /// Everything so far, oldest first.
    pub fn all(&self) -> Vec<Seen> {
        self.lock().clone()
    }

    pub(crate) fn push(&self, seen: Seen) {
        if let Some(file) = &self.shared.file {
            let line = if seen.message.is_null() {
                format!("{}\n", json!({"method": seen.method}))
            } else {
                format!("{}\n", seen.message)
            };
            // A test that needs the line fails without it.
            let _unwritten = file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write_all(line.as_bytes());
        }
        self.lock().push(seen);
        self.shared.count.send_modify(|count| *count += 1);
    }

    /// Waits until `count` entries match.
    pub async fn wait_for(&self, count: usize, matches: impl Fn(&Seen) -> bool + Send) {
        let mut changes = self.shared.count.subscribe();
        let enough = |_: &usize| self.lock().iter().filter(|seen| matches(seen)).count() >= count;
        // The sender lives as long as this log.
        let _closed = changes.wait_for(enough).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        self.shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
