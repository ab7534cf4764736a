//! From one text of a server to messages.

use rmcp::model::{RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest};
use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value};

use super::repair::{Repairs, peer};
use super::requests::{Open, integer};
use super::{Shared, errors, lenient, results};

/// How much of a text an error shows.
const EXCERPT_CHARACTERS_MAX: usize = 200;

/// One text on its way.
pub(super) struct Reading<'a> {
    wire: &'a Shared,
    /// How long the text is.
    bytes: usize,
    /// The request whose answer this is, where the transport knows it.
    expected: Option<&'a RequestId>,
    messages: Vec<ServerJsonRpcMessage>,
    /// For the trace: what messages look like after repair.
    repaired: Vec<String>,
    /// For the trace: what else happened.
    notes: Vec<String>,
}

impl<'a> Reading<'a> {
    /// Reads a text; everything that it means for the connection is done.
    pub(super) fn read(
        wire: &'a Shared,
        text: &[u8],
        expected: Option<&'a RequestId>,
    ) -> Vec<ServerJsonRpcMessage> {
        let mut reading = Self {
            wire,
            bytes: text.len(),
            expected,
            messages: Vec::new(),
            repaired: Vec::new(),
            notes: Vec::new(),
        };
        reading.text(text);
        if wire.trace.is_on() {
            wire.trace.received(text, &reading.repaired);
            for note in &reading.notes {
                wire.trace.note(note);
            }
        }
        reading.messages
    }

    fn text(&mut self, text: &[u8]) {
        let parsed = lenient::parse(text);
        if let Some(problem) = &parsed.problem {
            if parsed.values.is_empty() {
                self.damaged(text, problem);
                return;
            }
            self.note(|| format!("what follows is not valid JSON: {problem}"));
        }
        for value in parsed.values {
            match value {
                Value::Array(values) => self.batch(values, parsed.altered),
                Value::Object(message) => self.message(message, parsed.altered),
                value => self.no_message(&value),
            }
        }
    }

    /// What says what it answers comes first, so that the rest is not taken for that.
    fn batch(&mut self, values: Vec<Value>, is_altered: bool) {
        let (named, unnamed): (Vec<Value>, Vec<Value>) = values.into_iter().partition(|value| {
            value.get("method").is_some() || value.get("id").is_some_and(|id| !id.is_null())
        });
        for value in named.into_iter().chain(unnamed) {
            if let Value::Object(message) = value {
                self.message(message, is_altered);
            }
        }
    }

    /// A text that is no JSON. Somebody may wait for it.
    fn damaged(&mut self, text: &[u8], problem: &str) {
        if text.trim_ascii().is_empty() {
            return;
        }
        let named = lenient::is_value_start(text)
            .then(|| lenient::id_of_damaged(text))
            .flatten()
            .map(RequestId::into_json_value);
        let open = {
            let mut requests = self.wire.requests();
            let named = named.and_then(|id| requests.close_answered(Some(&id), None));
            named.or_else(|| requests.close(self.expected?))
        };
        match open {
            Some(open) => {
                let excerpt = excerpt(text);
                self.fail(
                    &open,
                    format!("the server's answer is not valid JSON ({problem}): {excerpt}"),
                );
            }
            None => self.note(|| format!("no message: {problem}")),
        }
    }

    fn message(&mut self, message: Map<String, Value>, is_altered: bool) {
        let mut repairs = Repairs::default();
        if is_altered {
            repairs.change();
        }
        let has_error = message.get("error").is_some_and(errors::is_error);
        let is_answer = message.contains_key("result") || has_error;
        match message.get("method") {
            Some(Value::String(method)) if !is_answer => {
                let method = method.clone();
                self.asked_or_told(&method, message, &mut repairs);
            }
            _ => self.answer(message, repairs),
        }
    }

    /// A value that is no message. It may still be all that the server answers.
    fn no_message(&mut self, value: &Value) {
        let expected = self.expected;
        let open = expected.and_then(|expected| self.wire.requests().close(expected));
        match open {
            Some(open) => {
                let excerpt = excerpt(value.to_string().as_bytes());
                self.fail(
                    &open,
                    format!("the server's answer is not a JSON-RPC message: {excerpt}"),
                );
            }
            None => self.note(|| "no message: neither an object nor a batch".to_owned()),
        }
    }

    fn answer(&mut self, mut message: Map<String, Value>, mut repairs: Repairs) {
        let id = message.get("id");
        let open = self.wire.requests().close_answered(id, self.expected);
        let Some(open) = open else {
            self.note(|| "ignored: it answers no request that is still open".to_owned());
            return;
        };
        let is_exact = match (id, &open.id) {
            (Some(Value::Number(sent)), RequestId::Number(id)) => sent.as_i64() == Some(*id),
            (Some(Value::String(sent)), RequestId::String(id)) => **sent == **id,
            (_, RequestId::Number(_) | RequestId::String(_)) => false,
        };
        let has_version = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let result = message.get_mut("result").map(Value::take);
        let error = message.get_mut("error").map(Value::take);
        if !is_exact || !has_version || (result.is_some() && error.is_some()) {
            repairs.change();
        }
        match (error.filter(errors::is_error), result) {
            (Some(error), _) => self.error(&open, error, repairs),
            (None, Some(result)) => self.result(open, result, repairs),
            (None, None) => self.no_outcome(&open, message),
        }
    }

    fn no_outcome(&mut self, open: &Open, message: Map<String, Value>) {
        let excerpt = excerpt(Value::Object(message).to_string().as_bytes());
        self.fail(
            open,
            format!("the server's answer has neither a result nor an error: {excerpt}"),
        );
    }

    fn error(&mut self, open: &Open, error: Value, mut repairs: Repairs) {
        let error = errors::of_server(error, &mut repairs);
        let message = ServerJsonRpcMessage::error(error, Some(open.id.clone()));
        self.note_repaired(&repairs, &message);
        self.messages.push(message);
    }

    fn result(&mut self, open: Open, mut result: Value, mut repairs: Repairs) {
        let typed = results::typed(&open, self.bytes, &mut result, &mut repairs);
        self.note_repaired(
            &repairs,
            &Repaired {
                jsonrpc: "2.0",
                id: &open.id,
                result: &result,
            },
        );
        self.wire.warn(repairs.into_warnings());
        match typed {
            Ok(typed) => {
                if results::is_kept(&typed) {
                    self.wire.requests().keep_result(open.id.clone(), result);
                }
                self.messages
                    .push(ServerJsonRpcMessage::response(typed, open.id));
            }
            Err(misfit) => {
                let method = open.method.name();
                self.fail(
                    &open,
                    format!("the server's answer to {method} does not fit the protocol: {misfit}"),
                );
            }
        }
    }

    /// A message of the server's own accord.
    fn asked_or_told(
        &mut self,
        method: &str,
        mut message: Map<String, Value>,
        repairs: &mut Repairs,
    ) {
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            repairs.change();
        }
        let id = message.get("id").filter(|id| !id.is_null());
        let typed = match id {
            // Notifications are known by their name, whatever else they carry.
            Some(id) if !method.starts_with("notifications/") => {
                let id = peer_id(id);
                peer::request(method, &mut message, repairs);
                id.and_then(|id| asked(message, id))
            }
            Some(_) | None => {
                peer::notification(method, &mut message, repairs);
                told(message)
            }
        };
        match typed {
            Some(message) => {
                self.note_repaired(repairs, &message);
                self.messages.push(message);
            }
            None => self.note(|| format!("ignored: {method} does not fit the protocol")),
        }
    }

    /// An error in the server's place.
    fn fail(&mut self, open: &Open, message: String) {
        self.note(|| format!("request {} fails: {message}", open.id));
        self.messages.push(ServerJsonRpcMessage::error(
            errors::own(message),
            Some(open.id.clone()),
        ));
    }

    fn note(&mut self, note: impl FnOnce() -> String) {
        if self.wire.trace.is_on() {
            self.notes.push(note());
        }
    }

    fn note_repaired(&mut self, repairs: &Repairs, message: &impl Serialize) {
        if repairs.has_changed()
            && self.wire.trace.is_on()
            && let Ok(text) = serde_json::to_string(message)
        {
            self.repaired.push(text);
        }
    }
}

/// A result after repair.
#[derive(Serialize)]
struct Repaired<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a Value,
}

/// The identifier of a server's request, to be echoed as it is.
fn peer_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(id) => Some(RequestId::String(id.as_str().into())),
        Value::Number(number) => integer(number).map(RequestId::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn asked(mut message: Map<String, Value>, id: RequestId) -> Option<ServerJsonRpcMessage> {
    message.retain(|name, _| matches!(name.as_str(), "method" | "params"));
    let request = ServerRequest::deserialize(Value::Object(message)).ok()?;
    Some(ServerJsonRpcMessage::request(request, id))
}

fn told(mut message: Map<String, Value>) -> Option<ServerJsonRpcMessage> {
    message.retain(|name, _| matches!(name.as_str(), "method" | "params"));
    let notification = ServerNotification::deserialize(Value::Object(message)).ok()?;
    Some(ServerJsonRpcMessage::notification(notification))
}

/// The beginning of a text, on one line.
fn excerpt(text: &[u8]) -> String {
    let start = text.get(..EXCERPT_CHARACTERS_MAX * 4).unwrap_or(text);
    let start = String::from_utf8_lossy(start);
    let mut excerpt: String = start
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(EXCERPT_CHARACTERS_MAX)
        .collect();
    if excerpt.len() < text.trim_ascii().len() {
        excerpt.push('…');
    }
    excerpt
}
