//! `models.json`: models of the user's own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config_value::ConfigValue;
use crate::model::Model;
use crate::task::{TaskApi, TaskModel};

/// Far beyond what anybody writes by hand.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What `models.json` says of providers and models.
#[derive(Debug, Clone, Default)]
pub struct ModelsFile {
    /// The models that talk, in the order of the file.
    pub models: Vec<Model>,
    /// Classifiers and image models, in the order of the file.
    pub task_models: Vec<TaskModel>,
    /// Keys of providers, as written.
    pub keys: BTreeMap<String, ConfigValue>,
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    providers: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProviderEntry {
    api_key: Option<String>,
    #[serde(default)]
    models: Vec<Map<String, Value>>,
    /// What all its models have.
    #[serde(flatten)]
    shared: Map<String, Value>,
}

/// What models take over from their provider.
const INHERITED: &[&str] = &["api", "baseUrl", "headers", "compat"];

/// Reads `models.json`, if it is there. The error names the file and what is wrong.
pub fn read_models_file(path: &Path) -> Result<ModelsFile, String> {
    let Some(value) = read(path)? else {
        return Ok(ModelsFile::default());
    };
    let wrong = |what: String| format!("{}: {what}", path.display());
    let file: File = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    let mut found = ModelsFile::default();
    for (id, entry) in file.providers {
        let place = |what: String| wrong(format!("providers.{id}: {what}"));
        let entry: ProviderEntry =
            serde_json::from_value(entry).map_err(|error| place(error.to_string()))?;
        if let Some(key) = entry.api_key {
            found.keys.insert(id.clone(), ConfigValue::new(key));
        }
        for mut model in entry.models {
            for key in INHERITED {
                if let (None, Some(value)) = (model.get(*key), entry.shared.get(*key)) {
                    model.insert((*key).to_owned(), value.clone());
                }
            }
            model.insert("provider".to_owned(), id.as_str().into());
            let wrong = |error: serde_json::Error| place(format!("models: {error}"));
            let api = model.get("api").and_then(Value::as_str);
            if api.and_then(TaskApi::from_name).is_some() {
                let model = serde_json::from_value(Value::Object(model)).map_err(wrong)?;
                found.task_models.push(model);
            } else {
                let model = serde_json::from_value(Value::Object(model)).map_err(wrong)?;
                found.models.push(model);
            }
        }
    }
    Ok(found)
}

/// A file of JSON with comments; `None` where there is none.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let text = match pirn_jsonc::read_bounded(path, FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    let root = pirn_jsonc::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(root.map(|root| with_whole_numbers(root.to_json())))
}

/// Numbers without a fraction as whole ones: limits of models are counts.
fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, with_whole_numbers(value)))
            .collect(),
        Value::Number(number) => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").unwrap_or(&text);
            match whole.parse::<u64>() {
                Ok(whole) => whole.into(),
                Err(_) => Value::Number(number),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
