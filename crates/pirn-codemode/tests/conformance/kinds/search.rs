use serde_json::Value;
use crate::cases::CaseFolder;
pub(super) fn run(_case: &Value, _folder: &CaseFolder) -> Result<Value, String> { Err("todo".to_owned()) }
