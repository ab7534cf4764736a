//! Requests that the server answers with questions (2026-07-28): the questions are answered and the request is sent again.

use std::collections::BTreeMap;

use rmcp::model::ClientRequest;
use serde_json::{Value, json};

use super::{Connection, RequestOptions};
use crate::elicitation::{ElicitationAnswer, ElicitationKind};
use crate::error::{Error, ErrorKind};

/// How often a server may ask back before its request counts as endless. Other clients allow the same.
const ROUNDS_MAX: usize = 10;

/// What goes with a request that is sent again.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Answers by the server's keys.
    pub(super) responses: Option<BTreeMap<String, Value>>,
    /// The server's own note, unread.
    pub(super) state: Option<String>,
}

impl Connection {
    /// Sends a request until its result is complete.
    pub(super) async fn ask(
        &self,
        options: &RequestOptions,
        request: impl Fn(Input) -> ClientRequest,
    ) -> Result<Value, Error> {
        let mut input = Input::default();
        let _open = self.handler.open_call(options);
        for _ in 0..ROUNDS_MAX {
            let result = self.run(request(input), options).await?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            input = Input {
                responses: self.answer_all(&result, options).await?,
                state: result
                    .get("requestState")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            };
        }
        Err(Error::new(
            ErrorKind::Protocol,
            &self.server,
            format!("it asked for input {ROUNDS_MAX} times without an end"),
        ))
    }

    async fn answer_all(
        &self,
        result: &Value,
        options: &RequestOptions,
    ) -> Result<Option<BTreeMap<String, Value>>, Error> {
        let Some(requests) = result.get("inputRequests").and_then(Value::as_object) else {
            return Ok(None);
        };
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            responses.insert(key.clone(), self.answer_one(request, options).await?);
        }
        Ok(Some(responses))
    }

    async fn answer_one(&self, request: &Value, options: &RequestOptions) -> Result<Value, Error> {
        let method = request
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if method != "elicitation/create" {
            return Err(Error::new(
                ErrorKind::Protocol,
                &self.server,
                format!("it asks for {method}, which is not supported"),
            ));
        }
        let params = request.get("params").unwrap_or(&Value::Null);
        let text = |name: &str| {
            let value = params.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let kind = if params.get("mode").and_then(Value::as_str) == Some("url") {
            ElicitationKind::Url { url: text("url") }
        } else {
            let schema = params.get("requestedSchema").cloned();
            ElicitationKind::Form {
                schema: schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
            }
        };
        let answer = self
            .handler
            .elicit(text("message"), kind, options.cancel.child_token())
            .await;
        Ok(match answer {
            ElicitationAnswer::Accept(Some(content)) => {
                json!({"action": "accept", "content": content})
            }
            ElicitationAnswer::Accept(None) => json!({"action": "accept"}),
            ElicitationAnswer::Decline => json!({"action": "decline"}),
            ElicitationAnswer::Cancel => json!({"action": "cancel"}),
        })
    }
}
