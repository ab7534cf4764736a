use pirn_tool::{mcp_namespace, mcp_tool_name, to_identifier};
use serde_json::{Value, json};

use super::text;
use crate::cases::CaseFolder;

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let input = text(case, "input")?;
    let name = match text(case, "of")? {
        "identifier" => to_identifier(input),
        "mcp-namespace" => mcp_namespace(input),
        "mcp-tool" => {
            let taken = case.get("taken").and_then(Value::as_array);
            let is_taken =
                |name: &str| taken.is_some_and(|taken| taken.iter().any(|other| other == name));
            mcp_tool_name(text(case, "server")?, input, is_taken)
        }
        other => return Err(format!("unknown name \"{other}\"")),
    };
    Ok(json!({ "text": name }))
}
