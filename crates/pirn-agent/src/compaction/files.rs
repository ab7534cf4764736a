//! The files that a conversation read and changed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pirn_model::Message;
use serde_json::{Value, json};

/// Paths as calls named them.
#[derive(Debug, Default)]
pub(super) struct FileLists {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl FileLists {
    /// The lists that an earlier compaction kept.
    pub(super) fn of_details(details: &Value) -> Self {
        let list = |key: &str| -> BTreeSet<String> {
            let paths = details[key].as_array();
            paths
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        Self {
            read: list("readFiles"),
            modified: list("modifiedFiles"),
        }
    }

    /// Adds what the calls of messages named, those that scripts made included.
    pub(super) fn add(&mut self, messages: &[Message]) {
        for message in messages {
            match message {
                Message::Assistant(reply) => {
                    for call in reply.tool_calls() {
                        self.add_call(&call.name, &call.arguments);
                    }
                }
                Message::ToolResult(result) => {
                    let calls = result
                        .nested_calls
                        .as_ref()
                        .and_then(|nested| nested["calls"].as_array());
                    for call in calls.into_iter().flatten() {
                        if let Some(name) = call["name"].as_str() {
                            self.add_call(name, &call["arguments"]);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add_call(&mut self, name: &str, arguments: &Value) {
        let Some(path) = arguments["path"].as_str() else {
            return;
        };
        match name {
            "read" => self.read.insert(path.to_owned()),
            "write" | "edit" => self.modified.insert(path.to_owned()),
            _ => false,
        };
    }

    fn only_read(&self) -> Vec<&str> {
        self.read
            .difference(&self.modified)
            .map(String::as_str)
            .collect()
    }

    /// The lists as the model reads them, after the summary.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let modified: Vec<&str> = self.modified.iter().map(String::as_str).collect();
        for (name, paths) in [
            ("read-files", self.only_read()),
            ("modified-files", modified),
        ] {
            if !paths.is_empty() {
                // Writing to a string cannot fail.
                let _infallible = write!(text, "\n\n<{name}>\n{}\n</{name}>", paths.join("\n"));
            }
        }
        text
    }

    /// The lists as the session keeps them.
    pub(super) fn details(&self) -> Value {
        json!({"readFiles": self.only_read(), "modifiedFiles": self.modified})
    }
}
