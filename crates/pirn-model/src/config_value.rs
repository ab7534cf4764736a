//! A value of a file that may stand for another one.

use crate::secret::Secret;

/// A key as it is written in a file.
#[derive(Debug, Clone)]
pub struct ConfigValue(Secret);

/// What a [`ConfigValue`] asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigSource<'a> {
    /// The text is the value.
    Literal,
    /// The value of this variable: written `$NAME` or `${NAME}`.
    Variable(&'a str),
    /// What this shell command prints: written `!COMMAND`.
    Command(&'a str),
}

impl ConfigValue {
    /// Takes what a file says.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Secret::new(text))
    }

    /// Where the value comes from.
    pub fn source(&self) -> ConfigSource<'_> {
        let text = self.0.expose();
        if let Some(command) = text.strip_prefix('!') {
            return ConfigSource::Command(command.trim());
        }
        let Some(name) = text.strip_prefix('$') else {
            return ConfigSource::Literal;
        };
        let in_braces = name
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'));
        ConfigSource::Variable(in_braces.unwrap_or(name))
    }

    /// The text as it is written.
    pub(crate) fn literal(&self) -> &Secret {
        &self.0
    }
}
