//! What a call of `eval` says.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::TIMEOUT_DEFAULT;
use crate::limits::{CODE_BYTES_MAX, TIMEOUT_MAX};
use crate::request::Language;

/// The shortest time that a program can be given.
const TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// What happens to the state before a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StateBefore {
    /// The program finds what earlier ones left.
    #[default]
    Kept,
    /// It is forgotten, in every language.
    Forgotten,
}

/// One program to evaluate, as a call says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalArguments {
    /// The language of the program.
    pub language: Language,
    /// The source of the program, as the model wrote it.
    pub code: String,
    /// How long it may run; `None` for the default.
    pub timeout: Option<Duration>,
    /// What happens to the state first.
    pub state: StateBefore,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    language: String,
    code: String,
    timeout_seconds: Option<f64>,
    reset: Option<bool>,
}

pub(super) fn schema() -> Value {
    let languages = Language::ALL.map(Language::as_str);
    json!({
        "type": "object",
        "properties": {
            "language": {"enum": languages, "description": "The language of the code"},
            "code": {
                "type": "string",
                "minLength": 1,
                "description": format!("The program, at most {CODE_BYTES_MAX} bytes")
            },
            "timeoutSeconds": {
                "type": "number",
                "minimum": TIMEOUT_MIN.as_secs(),
                "maximum": TIMEOUT_MAX.as_secs(),
                "description": format!("How long it may run (default: {})", TIMEOUT_DEFAULT.as_secs())
            },
            "reset": {
                "type": "boolean",
                "description": "Forget `state` first, in both languages (default: false)"
            }
        },
        "required": ["language", "code"],
        "additionalProperties": false
    })
}

/// Reads arguments. What the schema says is said again for callers without a pipeline.
pub(super) fn parse(arguments: &Value) -> Result<EvalArguments, String> {
    let typed =
        Typed::deserialize(arguments).map_err(|error| format!("Invalid arguments: {error}"))?;
    let language = Language::from_name(&typed.language).ok_or_else(|| {
        format!(
            "Invalid arguments: there is no language {:?}; the languages are {}",
            typed.language,
            Language::ALL.map(Language::as_str).join(" and ")
        )
    })?;
    let timeout = typed.timeout_seconds.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(TIMEOUT_MAX)
            .max(TIMEOUT_MIN)
    });
    let state = match typed.reset {
        Some(true) => StateBefore::Forgotten,
        Some(false) | None => StateBefore::Kept,
    };
    Ok(EvalArguments {
        language,
        code: typed.code,
        timeout,
        state,
    })
}
