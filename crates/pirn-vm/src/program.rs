//! What a VM is given to run.

use serde::Serialize;

use crate::limits::Limits;
use crate::text::JsonText;

/// A script and its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// JavaScript; the body of an async function with the parameters `tools` and `console`.
    pub source: String,
    /// The name that stack frames carry.
    pub file_name: String,
    /// The tools, in the order of `ALL_TOOLS`.
    pub tools: Vec<ToolBinding>,
    /// Host functions outside `tools`.
    pub globals: Vec<GlobalBinding>,
    /// What `load()` finds at the start: key and JSON text.
    pub store: Vec<(String, JsonText)>,
}

/// A member of `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolBinding {
    /// The tool's own name; works in brackets.
    pub name: String,
    /// The member's name; `None` for a tool whose identifier another tool has.
    pub identifier: Option<String>,
    /// What `ALL_TOOLS` says about it.
    pub description: String,
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
    tools: Vec<(&'a str, Option<&'a str>, &'a str)>,
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
            tools: self
                .tools
                .iter()
                .map(|tool| {
                    (
                        tool.name.as_str(),
                        tool.identifier.as_deref(),
                        tool.description.as_str(),
                    )
                })
                .collect(),
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
        entry.extend_from_slice(b"(async (tools, console) => {\n");
        entry.extend_from_slice(self.source.as_bytes());
        entry.extend_from_slice(b"\n})");
        entry
    }
}
