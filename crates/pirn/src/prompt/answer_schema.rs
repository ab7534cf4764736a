//! Answers that have to fit a JSON Schema.

use std::path::Path;

use pirn_codemode::fenced_code;
use pirn_tool::SchemaCheck;
use serde_json::Value;

use crate::failure::Failure;

/// Bytes of a schema; the model reads it whole.
const SCHEMA_BYTES_MAX: u64 = 256 << 10;

/// What an answer has to fit.
#[derive(Debug)]
pub(crate) struct AnswerSchema {
    text: String,
    check: SchemaCheck,
}

impl AnswerSchema {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let because = |error: anyhow::Error| {
            Failure::usage_because(error, format!("{} is not a JSON Schema", path.display()))
        };
        let text = pirn_jsonc::read_bounded(path, SCHEMA_BYTES_MAX)
            .map_err(|error| because(error.into()))?;
        let schema: Value = serde_json::from_str(&text).map_err(|error| because(error.into()))?;
        let check = SchemaCheck::new(&schema);
        if !check.is_usable() {
            return Err(because(anyhow::anyhow!("it cannot be checked against")));
        }
        Ok(Self {
            text: schema.to_string(),
            check,
        })
    }

    /// What the model is told from the beginning.
    pub(crate) fn instruction(&self) -> String {
        format!(
            "Your last answer, after all calls, is read by a program. It is one JSON value that fits this JSON Schema, without \
             anything before or after it:\n{}",
            self.text
        )
    }

    /// The answer as JSON, or what is wrong with it.
    pub(crate) fn read_answer(&self, answer: &str) -> Result<Value, String> {
        let answer = answer.trim();
        let text = fenced_code(answer).map_or(answer, |(code, _)| code.trim());
        let value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let complaints = self.check.complaints(&value);
        if complaints.is_empty() {
            Ok(value)
        } else {
            Err(complaints.join("; "))
        }
    }

    /// What the model is told once when its answer does not fit.
    pub(crate) fn repair(why: &str) -> String {
        format!(
            "Your answer does not fit the JSON Schema: {why}. Give the whole answer again, as one JSON value and nothing else."
        )
    }
}
