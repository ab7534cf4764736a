use pirn_codemode::{SourceError, parse_source};
use serde_json::{Map, Value, json};

use crate::cases::{CaseFolder, script_text};
use crate::encode::encode;

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let input = script_text(case.get("input").ok_or("\"input\" is missing")?)?;
    let result = match parse_source(&input) {
        Ok(source) => {
            let fields = [
                ("max_output_tokens", source.options.max_output_tokens),
                ("timeout_ms", source.options.timeout_ms),
                ("yield_time_ms", source.options.yield_time_ms),
            ];
            let options: Map<String, Value> = fields
                .into_iter()
                .filter_map(|(name, value)| {
                    value.map(|value| (name.to_owned(), Value::from(value)))
                })
                .collect();
            json!({"ok": true, "code": source.code, "options": options})
        }
        Err(error) => {
            json!({"ok": false, "error": {"name": SourceError::NAME, "message": error.to_string()}})
        }
    };
    Ok(encode(result))
}
