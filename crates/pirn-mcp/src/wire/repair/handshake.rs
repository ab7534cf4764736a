//! What a server says about itself.

use serde_json::{Map, Value};

use super::lists::icons;
use super::{Kind, Repairs, drop_odd, drop_unless, force_string, set};

/// What the specification takes a peer to speak that does not say so.
const VERSION_UNSAID: &str = "2025-03-26";

const OPTIONAL: &[(&str, Kind)] = &[("instructions", Kind::String), ("_meta", Kind::Object)];

/// The result of `initialize`.
pub(in crate::wire) fn initialize(result: &mut Value, repairs: &mut Repairs) {
    let Value::Object(result) = result else {
        return;
    };
    if !result.get("protocolVersion").is_some_and(Value::is_string) {
        set(result, "protocolVersion", VERSION_UNSAID, repairs);
    }
    capabilities(result, repairs);
    server_info(result, repairs);
    drop_odd(result, OPTIONAL, repairs);
}

/// The result of `server/discover`. The versions are not made up: who names none is of the older kind, whatever it answers.
pub(in crate::wire) fn discover(result: &mut Value, repairs: &mut Repairs) {
    let Value::Object(result) = result else {
        return;
    };
    match result.get_mut("supportedVersions") {
        Some(Value::Array(versions)) => {
            let before = versions.len();
            versions.retain(Value::is_string);
            if versions.len() != before {
                repairs.change();
            }
        }
        Some(version @ Value::String(_)) => {
            *version = Value::Array(vec![version.take()]);
            repairs.change();
        }
        Some(_) | None => {}
    }
    if !result.get("resultType").is_some_and(Value::is_string) {
        set(result, "resultType", "complete", repairs);
    }
    if !result.get("ttlMs").is_some_and(Value::is_u64) {
        set(result, "ttlMs", 0, repairs);
    }
    let scope = result.get("cacheScope").and_then(Value::as_str);
    if !matches!(scope, Some("public" | "private")) {
        set(result, "cacheScope", "private", repairs);
    }
    capabilities(result, repairs);
    drop_odd(result, OPTIONAL, repairs);
}

fn capabilities(result: &mut Map<String, Value>, repairs: &mut Repairs) {
    const FLAGS: &[(&str, Kind)] = &[("listChanged", Kind::Bool), ("subscribe", Kind::Bool)];
    let Some(Value::Object(capabilities)) = result.get_mut("capabilities") else {
        set(result, "capabilities", Map::new(), repairs);
        return;
    };
    for name in ["tools", "resources", "prompts", "logging", "completions"] {
        capability(capabilities, name, repairs);
        if let Some(Value::Object(capability)) = capabilities.get_mut(name) {
            drop_odd(capability, FLAGS, repairs);
        }
    }
    for name in ["experimental", "extensions"] {
        drop_unless(capabilities, name, Kind::Object, repairs);
        if let Some(Value::Object(members)) = capabilities.get_mut(name) {
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                capability(members, &name, repairs);
            }
        }
    }
}

/// One capability: an object says that it is there. Tools that are `null` are looked for all the same, because a list too many
/// costs less than a server without tools; anything else that is `null` or `false` is not there.
fn capability(capabilities: &mut Map<String, Value>, name: &str, repairs: &mut Repairs) {
    match capabilities.get(name) {
        None | Some(Value::Object(_)) => {}
        Some(Value::Null) if name == "tools" => set(capabilities, name, Map::new(), repairs),
        Some(Value::Null | Value::Bool(false)) => {
            capabilities.shift_remove(name);
            repairs.change();
        }
        Some(Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            set(capabilities, name, Map::new(), repairs);
        }
    }
}

fn server_info(result: &mut Map<String, Value>, repairs: &mut Repairs) {
    const OPTIONAL: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("description", Kind::String),
        ("websiteUrl", Kind::String),
    ];
    let name = match result.get_mut("serverInfo") {
        Some(Value::Object(info)) => {
            force_string(info, "name", "", repairs);
            force_string(info, "version", "", repairs);
            drop_odd(info, OPTIONAL, repairs);
            icons(info, repairs);
            return;
        }
        Some(Value::String(name)) => std::mem::take(name),
        Some(_) | None => String::new(),
    };
    let mut info = Map::new();
    info.insert("name".to_owned(), name.into());
    info.insert("version".to_owned(), "".into());
    set(result, "serverInfo", info, repairs);
}
