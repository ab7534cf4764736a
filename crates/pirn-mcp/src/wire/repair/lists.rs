//! Pages of lists: resources, templates and prompts.

use rmcp::model::{Annotations, Icon};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{Kind, Repairs, drop_odd, drop_unless, set};

/// A result that holds a page of a list: the list itself is returned, made if there is none. A bare list is taken as the page.
pub(super) fn page<'a>(
    result: &'a mut Value,
    name: &str,
    repairs: &mut Repairs,
) -> Option<&'a mut Vec<Value>> {
    if !result.is_object() {
        let items = result.take();
        *result = Value::Object(Map::from_iter([(name.to_owned(), items)]));
        repairs.change();
    }
    let map = result.as_object_mut()?;
    if !map.get(name).is_some_and(Value::is_array) {
        set(map, name, Vec::<Value>::new(), repairs);
        repairs.warn(format!("the answer holds no list of {name}"));
    }
    match map.get("nextCursor") {
        None => {}
        Some(Value::String(cursor)) if !cursor.is_empty() => {}
        Some(Value::Number(number)) => {
            let cursor = number.to_string();
            set(map, "nextCursor", cursor, repairs);
        }
        Some(_) => {
            map.shift_remove("nextCursor");
            repairs.change();
        }
    }
    cache_members(map, repairs);
    drop_unless(map, "_meta", Kind::Object, repairs);
    drop_unless(map, "resultType", Kind::String, repairs);
    map.get_mut(name)?.as_array_mut()
}

/// How long a result may be kept, and for whom.
pub(super) fn cache_members(map: &mut Map<String, Value>, repairs: &mut Repairs) {
    if !map.get("ttlMs").is_none_or(Value::is_i64) {
        map.shift_remove("ttlMs");
        repairs.change();
    }
    let scope = map.get("cacheScope");
    if scope.is_some_and(|scope| !matches!(scope.as_str(), Some("public" | "private"))) {
        map.shift_remove("cacheScope");
        repairs.change();
    }
}

/// Drops icons that no client could show. True where there were some.
pub(super) fn icons(map: &mut Map<String, Value>, repairs: &mut Repairs) -> bool {
    if drop_unless(map, "icons", Kind::Array, repairs) {
        return true;
    }
    let Some(Value::Array(icons)) = map.get_mut("icons") else {
        return false;
    };
    let before = icons.len();
    icons.retain(|icon| Icon::deserialize(icon).is_ok());
    let is_odd = icons.len() != before;
    if is_odd {
        repairs.change();
    }
    is_odd
}

/// Drops annotations of content that no client could use.
pub(super) fn annotations(map: &mut Map<String, Value>, repairs: &mut Repairs) {
    let annotations = map.get("annotations");
    if annotations.is_some_and(|annotations| Annotations::deserialize(annotations).is_err()) {
        map.shift_remove("annotations");
        repairs.change();
    }
}

/// The result of `resources/list`.
pub(in crate::wire) fn resources(result: &mut Value, repairs: &mut Repairs) {
    if let Some(resources) = page(result, "resources", repairs) {
        retain_items(resources, "uri", "resource", repairs, repair_resource);
    }
}

/// The result of `resources/templates/list`.
pub(in crate::wire) fn resource_templates(result: &mut Value, repairs: &mut Repairs) {
    if let Some(templates) = page(result, "resourceTemplates", repairs) {
        retain_items(
            templates,
            "uriTemplate",
            "resource template",
            repairs,
            repair_resource,
        );
    }
}

/// The result of `prompts/list`.
pub(in crate::wire) fn prompts(result: &mut Value, repairs: &mut Repairs) {
    if let Some(prompts) = page(result, "prompts", repairs) {
        retain_items(prompts, "name", "prompt", repairs, repair_prompt);
    }
}

/// Keeps the items that have the member they are asked for by, and repairs them.
fn retain_items(
    items: &mut Vec<Value>,
    key: &'static str,
    what: &str,
    repairs: &mut Repairs,
    repair: fn(&mut Map<String, Value>, &'static str, &mut Repairs),
) {
    let mut number = 0;
    items.retain_mut(|item| {
        number += 1;
        if let Value::Object(item) = item
            && matches!(item.get(key), Some(Value::String(name)) if !name.is_empty())
        {
            repair(item, key, repairs);
            return true;
        }
        repairs.warn(format!(
            "{what} number {number} of the list has no {key} and was left out"
        ));
        false
    });
}

/// A resource or a template; one without a name is called by its URI, the member `key`.
pub(super) fn repair_resource(
    resource: &mut Map<String, Value>,
    key: &'static str,
    repairs: &mut Repairs,
) {
    const OPTIONAL: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("description", Kind::String),
        ("mimeType", Kind::String),
        ("size", Kind::Natural),
        ("_meta", Kind::Object),
    ];
    if !resource.get("name").is_some_and(Value::is_string) {
        let uri = resource.get(key).cloned().unwrap_or_default();
        set(resource, "name", uri, repairs);
    }
    drop_odd(resource, OPTIONAL, repairs);
    icons(resource, repairs);
    annotations(resource, repairs);
}

fn repair_prompt(prompt: &mut Map<String, Value>, _key: &'static str, repairs: &mut Repairs) {
    const OPTIONAL: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("description", Kind::String),
        ("arguments", Kind::Array),
        ("_meta", Kind::Object),
    ];
    const ARGUMENT_OPTIONAL: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("description", Kind::String),
        ("required", Kind::Bool),
    ];
    drop_odd(prompt, OPTIONAL, repairs);
    icons(prompt, repairs);
    let Some(Value::Array(arguments)) = prompt.get_mut("arguments") else {
        return;
    };
    let before = arguments.len();
    arguments.retain_mut(|argument| {
        let Value::Object(argument) = argument else {
            return false;
        };
        drop_odd(argument, ARGUMENT_OPTIONAL, repairs);
        argument.get("name").is_some_and(Value::is_string)
    });
    if arguments.len() != before {
        repairs.change();
    }
}
