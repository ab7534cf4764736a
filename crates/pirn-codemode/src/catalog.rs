//! What the model reads about the script tool: its description, and a catalog of the tools that scripts can call.

mod collation;
mod introduction;
mod listing;

use std::collections::HashMap;

use pirn_tool::{Exposure, Loadout, LoadoutChanges, ToolSpec, tool_identifiers};
use serde_json::{Value, json};

use crate::declarations::{ToolDeclaration, summarise, tool_sample};
use crate::javascript::trim;

/// Estimated tokens that the catalog may take by default.
pub const INLINE_BUDGET_TOKENS_DEFAULT: usize = 3_000;

/// Which tools the model calls how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CatalogMode {
    /// Directly declared tools stay declared and say what they resolve to in scripts; the catalog lists the others.
    #[default]
    On,
    /// Directly declared tools are left out of requests; the catalog lists every tool, and scripts are the only way to call
    /// one.
    Only,
}

/// How the catalog is made.
#[derive(Debug, Clone)]
pub struct CatalogOptions {
    /// Which tools the model calls how.
    pub mode: CatalogMode,
    /// Estimated tokens that listed tools may take; 0 lists namespaces only.
    pub inline_budget_tokens: usize,
    /// The registry name of the script tool.
    pub exec_tool_name: String,
    /// Lines for globals of the host beyond the contract, such as `models.classify(…)` and what it does.
    pub extra_globals: Vec<(String, String)>,
}

impl Default for CatalogOptions {
    fn default() -> Self {
        Self {
            mode: CatalogMode::On,
            inline_budget_tokens: INLINE_BUDGET_TOKENS_DEFAULT,
            exec_tool_name: "exec".to_owned(),
            extra_globals: Vec::new(),
        }
    }
}

/// Describes the script tool and the tools it can call. The same loadout gives the same text. Deferred tools are never listed,
/// so that servers that come and go do not change it.
pub fn prepare_loadout(loadout: &Loadout, options: &CatalogOptions) -> LoadoutChanges {
    let is_exec = |spec: &ToolSpec| spec.name == options.exec_tool_name;
    let callable: Vec<&ToolSpec> = loadout
        .callable
        .iter()
        .map(pirn_tool::Tool::spec)
        .filter(|spec| !is_exec(spec))
        .collect();
    let identifiers = tool_identifiers(callable.iter().map(|spec| spec.name.as_str()));
    let entries: Vec<Entry<'_>> = callable
        .iter()
        .zip(&identifiers)
        .map(|(spec, identifier)| Entry { spec, identifier })
        .collect();
    let listed: Vec<Entry<'_>> = entries
        .iter()
        .copied()
        .filter(|entry| options.mode.lists(entry.spec))
        .collect();

    let mut changes = LoadoutChanges::default();
    let listing = listing::render(&listed, options.inline_budget_tokens);
    let description = introduction::render(options, listing.as_deref());
    changes
        .descriptions
        .insert(options.exec_tool_name.clone(), description);

    let by_name: HashMap<&str, Entry<'_>> = entries
        .iter()
        .map(|entry| (entry.spec.name.as_str(), *entry))
        .collect();
    for spec in loadout
        .declared
        .iter()
        .map(pirn_tool::Tool::spec)
        .filter(|spec| !is_exec(spec))
    {
        match options.mode {
            CatalogMode::On => {
                if let Some(entry) = by_name.get(spec.name.as_str()) {
                    changes
                        .descriptions
                        .insert(spec.name.clone(), entry.extended_description());
                }
            }
            CatalogMode::Only => {
                if spec.exposure == Exposure::Direct {
                    changes.hidden_declarations.push(spec.name.clone());
                }
            }
        }
    }
    changes
}

/// What scripts read about one tool: description, guidelines, declaration. A tool without an output schema is declared as
/// resolving to a string.
pub fn describe_tool(spec: &ToolSpec, identifier: &str) -> String {
    let mut parts = vec![trim(&spec.description).to_owned()];
    let guidelines: Vec<String> = spec
        .guidelines
        .iter()
        .map(|guideline| trim(guideline))
        .filter(|guideline| !guideline.is_empty())
        .map(|guideline| format!("- {guideline}"))
        .collect();
    parts.push(guidelines.join("\n"));
    parts.retain(|part| !part.is_empty());
    let description = parts.join("\n\n");
    let sample = tool_sample(&ToolDeclaration {
        name: &spec.name,
        identifier: Some(identifier),
        description: Some(&description),
        input_schema: Some(&spec.input_schema),
        output_schema: Some(&script_output_schema(spec)),
    });
    trim(&sample).to_owned()
}

impl CatalogMode {
    fn lists(self, spec: &ToolSpec) -> bool {
        match spec.exposure {
            Exposure::Direct => self == Self::Only,
            Exposure::Codemode => true,
            Exposure::ModelOnly | Exposure::Deferred | Exposure::Hidden => false,
        }
    }
}

/// A callable tool and its member name in scripts.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    spec: &'a ToolSpec,
    identifier: &'a str,
}

impl Entry<'_> {
    /// The tool's description with what a call resolves to.
    fn extended_description(&self) -> String {
        let summary = summarise(&script_output_schema(self.spec), &self.spec.name);
        let line = format!(
            "Codemode: `tools.{}(args)` resolves to {summary}.",
            self.identifier
        );
        let description = self.spec.description.trim_end();
        if description.is_empty() {
            line
        } else {
            format!("{description}\n\n{line}")
        }
    }
}

/// The schema of what a call resolves to in scripts: without one of its own, a tool gives its text.
fn script_output_schema(spec: &ToolSpec) -> Value {
    spec.output_schema
        .clone()
        .unwrap_or_else(|| json!({"type": "string"}))
}

#[cfg(test)]
mod tests;
