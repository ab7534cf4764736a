//! Puts right what servers get wrong, one function per kind of result.

pub(super) mod content;
pub(super) mod contents;
pub(super) mod handshake;
pub(super) mod lists;
pub(super) mod peer;
pub(super) mod tools;

use serde_json::{Map, Value};

/// What was done to one message.
#[derive(Debug, Default)]
pub(super) struct Repairs {
    changed: bool,
    warnings: Vec<String>,
}

impl Repairs {
    /// Something was changed that nobody needs to know of.
    pub(super) fn change(&mut self) {
        self.changed = true;
    }

    /// Something was changed or dropped, and the server's author should know.
    pub(super) fn warn(&mut self, warning: String) {
        self.changed = true;
        self.warnings.push(warning);
    }

    pub(super) fn has_changed(&self) -> bool {
        self.changed
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}

/// The kinds of JSON value an optional member may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    String,
    Number,
    Natural,
    Array,
    Object,
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Natural => value.is_u64(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Removes an optional member that has another kind. True where something was lost by it; null is the same as absent.
pub(super) fn drop_unless(
    map: &mut Map<String, Value>,
    name: &str,
    kind: Kind,
    repairs: &mut Repairs,
) -> bool {
    match map.get(name) {
        None => false,
        Some(value) if kind.fits(value) => false,
        Some(value) => {
            let is_lost = !value.is_null();
            map.shift_remove(name);
            repairs.change();
            is_lost
        }
    }
}

/// The same for several members; returns the names of those that were lost.
pub(super) fn drop_odd<'a>(
    map: &mut Map<String, Value>,
    members: &[(&'a str, Kind)],
    repairs: &mut Repairs,
) -> Vec<&'a str> {
    members
        .iter()
        .filter(|(name, kind)| drop_unless(map, name, *kind, repairs))
        .map(|(name, _)| *name)
        .collect()
}

pub(super) fn set(
    map: &mut Map<String, Value>,
    name: &str,
    value: impl Into<Value>,
    repairs: &mut Repairs,
) {
    map.insert(name.to_owned(), value.into());
    repairs.change();
}

/// Makes sure that a member is a string: other values become their JSON, null and nothing become `fallback`.
pub(super) fn force_string(
    map: &mut Map<String, Value>,
    name: &str,
    fallback: &str,
    repairs: &mut Repairs,
) {
    let text = match map.get(name) {
        Some(Value::String(_)) => return,
        None | Some(Value::Null) => fallback.to_owned(),
        Some(value) => value.to_string(),
    };
    set(map, name, text, repairs);
}
