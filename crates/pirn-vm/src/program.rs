//! What a VM is given to run.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::limits::Limits;
use crate::text::JsonText;
use crate::tools::ToolTable;

/// A script and its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// JavaScript; the body of an async function with the parameters `tools` and `console` (and one that only the wrapper
    /// uses).
    pub source: String,
    /// The name that stack frames carry.
    pub file_name: String,
    /// The tools; the same table may serve many scripts.
    pub tools: ToolTable,
    /// Host functions outside `tools`.
    pub globals: Vec<GlobalBinding>,
    /// What `load()` finds at the start: key and JSON text.
    pub store: Vec<(String, JsonText)>,
    /// Tools that would be there if their server were up.
    pub missing: Vec<MissingTools>,
    /// Says in the script's words what an error of the engine is about.
    pub explainer: Option<Explainer>,
}

/// Tools that cannot be called, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingTools {
    /// How their identifiers begin.
    pub prefix: String,
    /// A sentence about their server.
    pub why: String,
}

/// An error of the engine, about to be thrown by the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineError<'a> {
    /// The line in the script, from 1.
    pub line: u32,
    /// The column in UTF-16 units, from 1.
    pub column: u32,
    /// Whether a built-in function that the script called throws it.
    pub is_from_builtin: bool,
    /// What the engine says.
    pub message: &'a str,
    /// What it is about, such as `a string`: what was called or gone over. Empty where the engine does not say.
    pub value: &'a str,
    /// On what it was called; `undefined` where on nothing.
    pub receiver: &'a str,
}

/// Makes the message of an [`EngineError`]; `None` leaves the engine's own.
#[derive(Clone)]
pub struct Explainer(pub Arc<dyn Fn(EngineError<'_>) -> Option<String> + Send + Sync>);

impl fmt::Debug for Explainer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Explainer")
    }
}

/// A host function outside `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalBinding {
    /// `name` or `namespace.name`, both identifiers.
    pub name: String,
    /// Which arguments the host gets.
    pub arguments: GlobalArguments,
}

/// Which arguments of a global the host gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalArguments {
    /// Only the first one.
    First,
    /// All of them, as a list.
    Spread,
}

/// The settings the prelude reads, as it reads them.
#[derive(Serialize)]
struct Settings<'a> {
    limits: SettingsLimits,
    down: &'a [MissingTools],
    globals: Vec<(&'a str, bool)>,
    store: Vec<(&'a str, &'a str)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettingsLimits {
    characters: u32,
    items: u32,
    store_value: u32,
    store_total: u32,
}

impl Program {
    /// The entry that starts the script: file name, settings and wrapped source, each with its length and a NUL.
    pub(crate) fn start_entry(&self, limits: &Limits) -> Vec<u8> {
        let settings = Settings {
            limits: SettingsLimits {
                characters: limits.output_characters,
                items: limits.output_items,
                store_value: limits.store_value_characters,
                store_total: limits.store_total_characters,
            },
            down: &self.missing,
            globals: self
                .globals
                .iter()
                .map(|global| {
                    (
                        global.name.as_str(),
                        global.arguments == GlobalArguments::Spread,
                    )
                })
                .collect(),
            store: self
                .store
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
        };
        // Plain data always serialises.
        let settings = serde_json::to_string(&settings).unwrap_or_default();
        let file_name = self.file_name.replace('\0', "");
        let mut entry = Vec::with_capacity(self.source.len() + settings.len() + 128);
        for part in [file_name.as_bytes(), settings.as_bytes()] {
            entry.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            entry.extend_from_slice(part);
            entry.push(0);
        }
        // The wrapper has a line of its own, so that the script's first line is line 1 and its columns are true.
        entry.extend_from_slice(b"(async (tools, console, $lastStatement) => {\n");
        entry.extend_from_slice(self.source.as_bytes());
        // Tells a script that reaches its last statement from one that returns.
        entry.extend_from_slice(b"\nreturn $lastStatement})");
        entry
    }
}
