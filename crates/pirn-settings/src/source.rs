//! Where the value of a setting comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::table::Place;

/// Whose file it is. A project's relative paths start at the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The user's own file, in Pirn's folder.
    User,
    /// The file of a trusted project.
    Project,
}

impl Layer {
    /// A word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where a value comes from. Values without a source are as by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file of settings.
    File {
        /// Whose file it is.
        layer: Layer,
        /// The file that the value stands in.
        path: PathBuf,
        /// The line of the value, from 1.
        line: u32,
    },
    /// A flag of the command line, with its dashes.
    Flag(String),
    /// A variable of the environment.
    Environment(String),
}

impl Source {
    /// Where a problem with the value is.
    pub fn place(&self) -> Place {
        match self {
            Self::File { path, line, .. } => Place::File {
                path: path.clone(),
                line: Some(*line),
            },
            Self::Flag(name) => Place::Flag(name.clone()),
            Self::Environment(name) => Place::Variable(name.clone()),
        }
    }
}

/// `user FILE:LINE`, `flag --network`, `environment PIRN_SHELL`.
impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::File { layer, .. } => layer.as_str(),
            Self::Flag(_) => "flag",
            Self::Environment(_) => "environment",
        };
        write!(formatter, "{kind} {}", self.place())
    }
}

/// The sources of all values that are not as by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<&'static str, Vec<Source>>);

impl Sources {
    /// Where the value of this setting comes from; several sources have each added to a list. None: it is as by default.
    pub fn of(&self, key: &str) -> &[Source] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The value comes from there alone.
    pub fn replace(&mut self, key: &'static str, source: Source) {
        self.0.insert(key, vec![source]);
    }

    /// Something was added to the value from there.
    pub(crate) fn add(&mut self, key: &'static str, source: Source) {
        self.0.entry(key).or_default().push(source);
    }
}
