//! What can be seen of settings one by one, and changing one in a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::document::{Given, meant_by, set};
use crate::host_env::HostEnv;
use crate::project::refusal;
use crate::rows::{Kind, ROWS, Row, row};
use crate::settings::{FILE_BYTES_MAX, Loaded, Paths, project_file, user_file};
use crate::source::{Layer, Source};
use crate::values::Settings;

/// One setting with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingValue<'a> {
    /// The names of the groups around it and its own, with points between them.
    pub key: &'static str,
    /// What counts; `null` where nothing is set and there is no default.
    pub value: Value,
    /// What counts without any file.
    pub default: Value,
    /// Where the value comes from; none for the default.
    pub sources: &'a [Source],
    /// What it does, for people.
    pub help: &'static str,
}

/// A setting that can be changed.
#[derive(Clone, Copy)]
pub struct SettingKey(&'static Row);

impl fmt::Debug for SettingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.key)
    }
}

/// There is no setting of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSetting {
    /// The setting or group that was probably meant.
    pub meant: Option<&'static str>,
}

/// Why a setting was not changed. The file is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeError {
    /// The value is none of those allowed, as the message says.
    Value(String),
    /// A project's value would not count besides the user's own, as the message says.
    Weaker(String),
    /// There is no folder to keep the file in.
    NoFolder(Layer),
    /// The file cannot be changed.
    File(pirn_jsonc::SetError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(message) | Self::Weaker(message) => formatter.write_str(message),
            Self::NoFolder(Layer::User) => {
                formatter.write_str("there is no home folder to keep settings in")
            }
            Self::NoFolder(Layer::Project) => {
                formatter.write_str("this is Pirn's own folder; it has no project's file")
            }
            Self::File(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ChangeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Value(_) | Self::Weaker(_) | Self::NoFolder(_) => None,
        }
    }
}

/// The file of a layer that is read and changed for the project in a folder.
pub fn settings_file(layer: Layer, folder: &Path, host: &HostEnv) -> Result<PathBuf, ChangeError> {
    let file = match layer {
        Layer::User => user_file(host),
        Layer::Project => project_file(folder, host),
    };
    file.ok_or(ChangeError::NoFolder(layer))
}

impl Loaded {
    /// Every setting with its value, in the order of the reference.
    pub fn values(&self) -> impl Iterator<Item = SettingValue<'_>> {
        ROWS.iter().map(|row| self.of_row(row))
    }

    /// One setting with its value.
    pub fn value(&self, key: SettingKey) -> SettingValue<'_> {
        self.of_row(key.0)
    }

    fn of_row(&self, row: &'static Row) -> SettingValue<'_> {
        SettingValue {
            key: row.key,
            value: row.value(&self.settings),
            default: serde_json::from_str(row.default).unwrap_or_default(),
            sources: self.sources.of(row.key),
            help: row.help,
        }
    }
}

impl SettingKey {
    /// Every setting, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(Self)
    }

    /// The setting of this key.
    pub fn find(key: &str) -> Result<Self, UnknownSetting> {
        row(key).map(Self).ok_or_else(|| UnknownSetting {
            meant: meant_by(key),
        })
    }

    /// The names of the groups around it and its own, with points between them.
    pub fn key(self) -> &'static str {
        self.0.key
    }

    /// What was typed for it as a value: words of a list one by one, or as one JSON array. Whether the value is allowed is
    /// another question.
    pub fn typed(self, words: &[String]) -> Result<Value, ChangeError> {
        let parsed = |word: &str| serde_json::from_str::<Value>(word).ok();
        if self.0.is_list() {
            return Ok(match words {
                [one] if one.trim_start().starts_with('[') => parsed(one).ok_or_else(|| {
                    ChangeError::Value(format!("{}: `{one}` is not a JSON array", self.0.key))
                })?,
                words => words.iter().map(String::as_str).collect(),
            });
        }
        let [word] = words else {
            return Err(ChangeError::Value(format!(
                "{}: takes one value",
                self.0.key
            )));
        };
        Ok(match self.0.kind {
            Kind::Flag(_) | Kind::Whole(..) => parsed(word).unwrap_or(Value::from(word.as_str())),
            Kind::Word(..) | Kind::Program(_) | Kind::Texts(..) | Kind::Paths(_) => {
                Value::from(word.as_str())
            }
        })
    }

    /// Sets it in the file of a layer, for the project in `folder`. Comments, order and layout of the file stay. A project's value
    /// that would not count besides the user's own settings is refused.
    pub fn set(
        self,
        layer: Layer,
        value: &Value,
        folder: &Path,
        host: &HostEnv,
    ) -> Result<PathBuf, ChangeError> {
        let path = settings_file(layer, folder, host)?;
        let paths = Paths {
            home: host.home.as_deref(),
            folder,
        };
        let node = pirn_jsonc::parse(&value.to_string()).ok().flatten();
        let given = node.map(|node| Given { row: self.0, node });
        let given = given.ok_or_else(|| ChangeError::Value("there is no value".to_owned()))?;
        let wrong = |message: String| format!("{}: {message}", self.0.key);
        set(&given, layer, &paths, &mut Settings::default())
            .map_err(|message| ChangeError::Value(wrong(message)))?;
        if layer == Layer::Project {
            let user = Settings::load(folder, crate::trust::Trust::Untrusted, host);
            if let Some(reason) = refusal(&given, &user.settings, &paths) {
                return Err(ChangeError::Weaker(wrong(reason)));
            }
        }
        let keys: Vec<&str> = self.0.key.split('.').collect();
        pirn_jsonc::set_value(&path, FILE_BYTES_MAX, &keys, |_| value.clone())
            .map_err(ChangeError::File)?;
        Ok(path)
    }

    /// Takes it out of the file of a layer. Whether it was there.
    pub fn unset(
        self,
        layer: Layer,
        folder: &Path,
        host: &HostEnv,
    ) -> Result<(PathBuf, bool), ChangeError> {
        let path = settings_file(layer, folder, host)?;
        let keys: Vec<&str> = self.0.key.split('.').collect();
        let was_there =
            pirn_jsonc::remove_value(&path, FILE_BYTES_MAX, &keys).map_err(ChangeError::File)?;
        Ok((path, was_there))
    }
}

#[cfg(test)]
mod tests;
