//! Case files, fixtures and the list of deviations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder of case files.
#[derive(Debug)]
pub(crate) struct CaseFolder {
    path: PathBuf,
}

/// One case, as recorded.
#[derive(Debug)]
pub(crate) struct Case {
    /// The topic, and the file with the name in it.
    pub(crate) label: String,
    /// What the case is run with.
    pub(crate) kind: String,
    /// The input, and everything else the file says.
    pub(crate) value: Value,
    /// The result that was recorded.
    pub(crate) expect: Value,
}

fn test_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

impl CaseFolder {
    /// The folder named by `PIRN_CASES`, from the current folder or from the workspace's, else the one beside this file.
    pub(crate) fn find() -> Self {
        let path = match std::env::var_os("PIRN_CASES").map(PathBuf::from) {
            None => test_folder().join("cases"),
            // Test runners start tests in the package's folder, people think of the one they type in.
            Some(path) if !path.exists() => test_folder().join("../../..").join(path),
            Some(path) => path,
        };
        Self { path }
    }

    /// The case files in the order of their names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).unwrap_or_else(|error| {
            panic!("cannot list the cases in {}: {error}", self.path.display())
        });
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("a readable folder entry").path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        files.sort();
        assert!(
            !files.is_empty(),
            "no case files in {}",
            self.path.display()
        );
        files
    }

    /// Reads a fixture: from `fixtures` beside the cases, else from the crate.
    pub(crate) fn fixture(&self, name: &str) -> Value {
        let beside = self.path.join("..").join("fixtures").join(name);
        let path = if beside.exists() {
            beside
        } else {
            test_folder().join("fixtures").join(name)
        };
        read_json(&path)
    }
}

impl Case {
    /// Whether the recording names this field, or everything, as depending on the engine or the Unicode data.
    pub(crate) fn depends_on_engine(&self, path: &str) -> bool {
        let fields = self.value.get("engine").and_then(Value::as_array);
        fields
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|field| {
                let field = field.replace('.', "/");
                field == "*"
                    || path == field
                    || path
                        .strip_prefix(&field)
                        .is_some_and(|rest| rest.starts_with('/'))
            })
    }
}

/// The cases of one file.
pub(crate) fn load_file(path: &Path) -> Vec<Case> {
    let mut file = read_json(path);
    let topic = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let kind = file
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or("script")
        .to_owned();
    let cases = file
        .get_mut("cases")
        .and_then(Value::as_array_mut)
        .map(std::mem::take);
    let cases = cases.unwrap_or_else(|| panic!("{} has no list \"cases\"", path.display()));
    cases
        .into_iter()
        .map(|value| {
            let name = value
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("unnamed");
            let expect = value.get("expect").cloned();
            let expect = expect.unwrap_or_else(|| panic!("{topic}/{name} has no \"expect\""));
            Case {
                label: format!("{topic}/{name}"),
                kind: kind.clone(),
                value,
                expect,
            }
        })
        .collect()
}

/// The cases of a list beside this file, each with the text under `key`.
pub(crate) fn load_list(file: &str, key: &str) -> BTreeMap<String, String> {
    let list = read_json(&test_folder().join(file));
    let text = |entry: &Value, key: &str| {
        let value = entry.get(key).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("{file}: an entry without \"{key}\""))
            .to_owned()
    };
    let entries = list
        .as_array()
        .unwrap_or_else(|| panic!("{file} holds no list"));
    entries
        .iter()
        .map(|entry| (text(entry, "case"), text(entry, key)))
        .collect()
}

/// A text, or the list of its lines.
pub(crate) fn script_text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(lines) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            Ok(lines.ok_or("a line is not a string")?.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("neither a text nor a list of lines".to_owned())
        }
    }
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{} is not JSON: {error}", path.display()))
}
