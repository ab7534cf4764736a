use std::sync::Arc;

use pirn_codemode::{CatalogMode, CatalogOptions, prepare_loadout};
use pirn_tool::{Exposure, Loadout, Namespace, Tool, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

use super::{count, text};
use crate::cases::CaseFolder;

const EXEC: &str = "exec";

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let registered: Vec<Tool> = case["tool_list"]
        .as_array()
        .ok_or("\"tool_list\" must be a list")?
        .iter()
        .map(tool)
        .collect::<Result<_, _>>()?;
    let active = active_names(case, &registered);
    let is_active = |tool: &Tool| active.contains(&tool.spec().name);
    let mut declared: Vec<Tool> = registered
        .iter()
        .filter(|tool| is_active(tool))
        .cloned()
        .collect();
    declared.push(uncallable(
        ToolSpec::new(EXEC, "").exposure(Exposure::ModelOnly),
    ));
    let callable = registered.iter().filter(|tool| match tool.spec().exposure {
        Exposure::Direct => is_active(tool),
        Exposure::Codemode | Exposure::Deferred => true,
        Exposure::ModelOnly | Exposure::Hidden => false,
    });
    let loadout = Loadout {
        declared,
        callable: callable.cloned().collect(),
        registered: registered.clone(),
    };
    let defaults = CatalogOptions::default();
    let options = CatalogOptions {
        mode: match case.get("mode").and_then(Value::as_str) {
            None | Some("on") => CatalogMode::On,
            Some("only") => CatalogMode::Only,
            Some(other) => return Err(format!("unknown mode \"{other}\"")),
        },
        inline_budget_tokens: count(case, "inline_budget")?
            .unwrap_or(defaults.inline_budget_tokens),
        exec_tool_name: EXEC.to_owned(),
        ..defaults
    };
    let changes = prepare_loadout(&loadout, &options);
    Ok(structure(case, &changes))
}

/// Reduces the changes to what the recordings hold.
fn structure(case: &Value, changes: &pirn_tool::LoadoutChanges) -> Value {
    let own = changes.descriptions.get(EXEC).map_or("", String::as_str);
    let listing = own.find("Nested tools:").map_or("", |start| &own[start..]);
    let headings: Vec<&str> = listing
        .lines()
        .filter(|line| line.starts_with("##"))
        .collect();
    let mut result = json!({"headings": headings, "hidden": changes.hidden_declarations});
    if case
        .get("listing")
        .is_some_and(|wanted| wanted == &Value::Bool(true))
    {
        result["listing"] = listing.into();
    }
    let resolves: Map<String, Value> = changes
        .descriptions
        .iter()
        .filter(|(name, _)| *name != EXEC)
        .map(|(name, description)| {
            let what = description
                .split_once("resolves to ")
                .and_then(|(_, what)| what.strip_suffix('.'));
            (name.clone(), what.into())
        })
        .collect();
    if !resolves.is_empty() {
        result["resolves"] = resolves.into();
    }
    result
}

fn active_names(case: &Value, registered: &[Tool]) -> Vec<String> {
    if let Some(names) = case.get("active").and_then(Value::as_array) {
        return names
            .iter()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect();
    }
    let direct = registered
        .iter()
        .filter(|tool| tool.spec().exposure == Exposure::Direct);
    direct.map(|tool| tool.spec().name.clone()).collect()
}

fn tool(value: &Value) -> Result<Tool, String> {
    let mut spec = ToolSpec::new(
        text(value, "name")?,
        value["description"].as_str().unwrap_or_default(),
    )
    .input_schema(value["parameters"].clone());
    spec.output_schema = value
        .get("outputSchema")
        .filter(|schema| !schema.is_null())
        .cloned();
    if let Some(exposure) = value.get("exposure") {
        spec.exposure =
            serde_json::from_value(exposure.clone()).map_err(|error| error.to_string())?;
    }
    if let Some(namespace) = value.get("namespace") {
        let namespace: Namespace =
            serde_json::from_value(namespace.clone()).map_err(|error| error.to_string())?;
        spec.namespace = Some(Arc::new(namespace));
    }
    let guidelines = value
        .get("guidelines")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    spec.guidelines = guidelines
        .filter_map(Value::as_str)
        .map(ToOwned::to_owned)
        .collect();
    Ok(uncallable(spec))
}

fn uncallable(spec: ToolSpec) -> Tool {
    Tool::from_fn(spec, |_arguments, _context| async {
        ToolResult::error("not called here")
    })
}
