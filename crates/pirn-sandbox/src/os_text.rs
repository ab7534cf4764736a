//! Text of the operating system on its way between processes: paths, arguments and variables need not be UTF-8.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text of the operating system that keeps its bytes when it is sent as JSON: a string where it is UTF-8, a list of bytes where
/// it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsText(pub OsString);

impl OsText {
    /// The text as a path.
    pub fn into_path(self) -> PathBuf {
        self.0.into()
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for OsText {
    fn from(text: &T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_encoded_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match TextOrBytes::deserialize(deserializer)? {
            TextOrBytes::Text(text) => Ok(Self(text.into())),
            #[cfg(unix)]
            TextOrBytes::Bytes(bytes) => {
                use std::os::unix::ffi::OsStringExt as _;
                Ok(Self(OsString::from_vec(bytes)))
            }
            #[cfg(not(unix))]
            TextOrBytes::Bytes(bytes) => {
                Ok(Self(String::from_utf8_lossy(&bytes).into_owned().into()))
            }
        }
    }
}

/// For `#[serde(with = …)]` on a path.
pub(crate) mod path {
    use super::{Deserialize, Deserializer, OsText, PathBuf, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        path: &PathBuf,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        OsText::from(path).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        OsText::deserialize(deserializer).map(OsText::into_path)
    }
}

/// For `#[serde(with = …)]` on a path that may be missing.
pub(crate) mod optional_path {
    use super::{Deserialize, Deserializer, OsText, PathBuf, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with the field")]
    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(OsText::from).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::<OsText>::deserialize(deserializer).map(|path| path.map(OsText::into_path))
    }
}

/// For `#[serde(with = …)]` on a list of paths.
pub(crate) mod paths {
    use super::{Deserialize, Deserializer, OsText, PathBuf, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(OsText::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsText>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(OsText::into_path).collect())
    }
}
