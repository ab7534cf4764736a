//! Values that are written by their names.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// Reads a name and finds what has it; `what` says in errors what was looked for.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    what: &str,
    find: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    find(&name).ok_or_else(|| D::Error::custom(format!("`{name}` is no {what}")))
}
