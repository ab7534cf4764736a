use pirn_codemode::{
    GlobalDeclaration, INPUT_TYPE_CHARS_MAX, ToolDeclaration, render_declarations, schema_to_type,
    tool_sample, tool_signature,
};
use serde_json::{Value, json};

use super::{count, text};
use crate::cases::CaseFolder;

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let chars_max = count(case, "max_chars")?;
    let rendered = match text(case, "render")? {
        "type" => schema_to_type(case.get("schema").unwrap_or(&Value::Null), chars_max),
        "signature" => tool_signature(
            &tool(&case["tool"])?,
            chars_max.unwrap_or(INPUT_TYPE_CHARS_MAX),
        ),
        "sample" => tool_sample(&tool(&case["tool"])?),
        "declarations" => {
            let tools: Vec<_> = list(case, "tool_list")
                .iter()
                .map(tool)
                .collect::<Result<_, _>>()?;
            let globals: Vec<_> = list(case, "global_list")
                .iter()
                .map(global)
                .collect::<Result<_, _>>()?;
            render_declarations(&tools, &globals)
        }
        other => return Err(format!("unknown render \"{other}\"")),
    };
    Ok(json!({ "text": rendered }))
}

fn list<'a>(case: &'a Value, key: &str) -> &'a [Value] {
    case.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn tool(value: &Value) -> Result<ToolDeclaration<'_>, String> {
    Ok(ToolDeclaration {
        name: text(value, "name")?,
        identifier: None,
        description: value.get("description").and_then(Value::as_str),
        input_schema: value.get("inputSchema"),
        output_schema: value.get("outputSchema"),
    })
}

fn global(value: &Value) -> Result<GlobalDeclaration<'_>, String> {
    Ok(GlobalDeclaration {
        name: text(value, "name")?,
        description: value.get("description").and_then(Value::as_str),
        input_schema: value.get("inputSchema"),
        output_schema: value.get("outputSchema"),
        signature: value.get("signature").and_then(Value::as_str),
    })
}
