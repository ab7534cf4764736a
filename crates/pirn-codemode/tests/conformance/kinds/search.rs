use std::collections::HashMap;
use std::sync::Arc;

use pirn_tool::{Namespace, SearchDocument, ToolSpec, rank, to_identifier, tokenize};
use serde_json::{Value, json};

use super::{count, text};
use crate::cases::CaseFolder;
use crate::encode::encode;

const LIMIT_DEFAULT: usize = 8;

pub(super) fn run(case: &Value, folder: &CaseFolder) -> Result<Value, String> {
    if let Some(input) = case.get("tokenize").and_then(Value::as_str) {
        return Ok(encode(json!({ "tokens": tokenize(input) })));
    }
    let fixture = folder.fixture(text(case, "fixture")?);
    let wanted = case
        .get("namespace")
        .and_then(Value::as_str)
        .map(to_identifier);
    let specs: Vec<ToolSpec> = tools(&fixture)?
        .into_iter()
        .filter(|spec| {
            wanted
                .as_ref()
                .is_none_or(|wanted| is_in_namespace(spec, wanted))
        })
        .collect();
    let documents: Vec<SearchDocument> = specs.iter().map(SearchDocument::new).collect();
    let limit = count(case, "limit")?.unwrap_or(LIMIT_DEFAULT);
    let ranked = rank(text(case, "query")?, &documents, limit);
    let names: Vec<&str> = ranked
        .iter()
        .map(|hit| specs[hit.index].name.as_str())
        .collect();
    let scores: Vec<f64> = ranked.iter().map(|hit| hit.score).collect();
    Ok(encode(json!({ "names": names, "scores": scores })))
}

fn tools(fixture: &Value) -> Result<Vec<ToolSpec>, String> {
    let namespaces: Vec<Namespace> =
        serde_json::from_value(fixture["namespaces"].clone()).map_err(|error| error.to_string())?;
    let namespaces: HashMap<String, Arc<Namespace>> = namespaces
        .into_iter()
        .map(|namespace| (namespace.name.clone(), Arc::new(namespace)))
        .collect();
    let tools = fixture["tools"]
        .as_array()
        .ok_or("the fixture has no list \"tools\"")?;
    tools
        .iter()
        .map(|tool| {
            let mut spec = ToolSpec::new(
                text(tool, "name")?,
                tool["description"].as_str().unwrap_or_default(),
            );
            if let Some(parameters) = tool.get("parameters") {
                spec.input_schema = parameters.clone();
            }
            let namespace = tool.get("namespace").and_then(Value::as_str);
            spec.namespace = namespace.and_then(|name| namespaces.get(name)).cloned();
            Ok(spec)
        })
        .collect()
}

fn is_in_namespace(spec: &ToolSpec, wanted: &str) -> bool {
    let Some(namespace) = spec.namespace.as_deref() else {
        return false;
    };
    std::iter::once(&namespace.name)
        .chain(&namespace.aliases)
        .any(|name| to_identifier(name) == wanted)
}
