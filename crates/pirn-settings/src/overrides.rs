//! Values for one run that win over files: of variables of the environment, and of flags.

use std::ffi::OsString;

use pirn_sandbox::{NetworkMode, Profile};
use serde_json::Value;

use crate::document::{Given, set};
use crate::rows::{Row, VARIABLES, row};
use crate::settings::{Loaded, Paths};
use crate::source::{Layer, Source};
use crate::table::{Problem, Severity};

/// Settings that were given as flags, in the order in which they count. What a flag gives for a list is added to the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlagValues(Vec<FlagValue>);

#[derive(Debug, Clone, PartialEq)]
struct FlagValue {
    flag: &'static str,
    key: &'static str,
    value: Value,
}

impl FlagValues {
    /// Adds what `flag`, with its dashes, says about the setting of this key, where it was given.
    pub fn set(
        &mut self,
        flag: &'static str,
        key: &'static str,
        value: Option<impl Into<Value>>,
    ) -> &mut Self {
        let value = value.map(Into::into);
        self.0
            .extend(value.map(|value| FlagValue { flag, key, value }));
        self
    }

    pub(crate) fn apply(&self, paths: &Paths<'_>, loaded: &mut Loaded) {
        for FlagValue { flag, key, value } in &self.0 {
            let source = Source::Flag((*flag).to_owned());
            match row(key) {
                Some(row) => apply(row, value, source, paths, loaded),
                None => loaded.problems.push(Problem {
                    severity: Severity::Error,
                    place: source.place(),
                    server: None,
                    key: Some((*key).to_owned()),
                    message: "there is no such setting".to_owned(),
                }),
            }
        }
    }
}

/// The variables of the environment that stand for a setting in one run, with its key.
pub fn setting_variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    VARIABLES.iter().copied()
}

/// Takes the variables that stand for settings. An empty one counts as none.
pub(crate) fn apply_variables(
    environment: &[(OsString, OsString)],
    paths: &Paths<'_>,
    loaded: &mut Loaded,
) {
    for (name, key) in VARIABLES {
        let mut given = environment.iter();
        let given = given.find(|(known, value)| known == name && !value.is_empty());
        if let (Some((_, value)), Some(row)) = (given, row(key)) {
            let value = value.to_str().map_or(Value::Null, Value::from);
            let source = Source::Environment((*name).to_owned());
            apply(row, &value, source, paths, loaded);
        }
    }
}

/// Sets one value, which is the user's own: it may be weaker than the files.
fn apply(row: &'static Row, value: &Value, source: Source, paths: &Paths<'_>, loaded: &mut Loaded) {
    let mut settings = loaded.settings.clone();
    let node = pirn_jsonc::parse(&value.to_string()).ok().flatten();
    let outcome = node
        .ok_or_else(|| "there is no value".to_owned())
        .and_then(|node| set(&Given { row, node }, Layer::User, paths, &mut settings));
    match outcome {
        Ok(()) if row.is_list() => {
            row.keep_entries(&loaded.settings, &mut settings);
            loaded.settings = settings;
            loaded.sources.add(row.key, source);
        }
        Ok(()) => {
            loaded.settings = settings;
            loaded.sources.replace(row.key, source);
        }
        Err(message) => loaded.problems.push(Problem {
            severity: Severity::Error,
            place: source.place(),
            server: None,
            key: Some(row.key.to_owned()),
            message,
        }),
    }
}

/// Finds values that cannot hold together: without a sandbox, nothing keeps commands from the network.
pub(crate) fn check_together(loaded: &mut Loaded) {
    let sandbox = &loaded.settings.sandbox;
    let Some(network) = loaded.sources.of("sandbox.network").last() else {
        return;
    };
    if sandbox.profile != Profile::Off || sandbox.network == NetworkMode::On {
        return;
    }
    let mode = sandbox.network.as_str();
    let by = loaded.sources.of("sandbox.profile").last();
    let by = by.map_or_else(String::new, |source| format!(" ({source})"));
    let (severity, message) = match network {
        Source::Flag(_) => (
            Severity::Error,
            format!(
                "{mode} needs a sandbox, and it is off{by}; give --sandbox workspace-write or --sandbox read-only"
            ),
        ),
        Source::File { .. } | Source::Environment(_) => (
            Severity::Note,
            format!("{mode}, but nothing keeps commands from the network: the sandbox is off{by}"),
        ),
    };
    loaded.problems.push(Problem {
        severity,
        place: network.place(),
        server: None,
        key: Some("sandbox.network".to_owned()),
        message,
    });
}

#[cfg(test)]
mod tests;
