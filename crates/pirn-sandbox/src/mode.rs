//! The three ways of reaching the network, by name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::named;

/// What children may reach over the network, as settings and flags say it. [`crate::Network`] is the same with the proxy that
/// an allow-list needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum NetworkMode {
    /// Nothing outside the sandbox.
    Off,
    /// Hosts that are listed.
    AllowList,
    /// Everything that the machine can reach.
    #[default]
    On,
}

impl NetworkMode {
    /// All of them, strictest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::AllowList, Self::On];

    /// The name in settings, flags and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::AllowList => "allow-list",
            Self::On => "on",
        }
    }

    /// Finds a mode by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl Serialize for NetworkMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NetworkMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::deserialize(deserializer, "network mode", Self::from_name)
    }
}
