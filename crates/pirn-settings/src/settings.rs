//! Reading the files of settings and changing the user's.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::document;
use crate::host_env::HostEnv;
use crate::overrides::{self, FlagValues};
use crate::project;
use crate::source::Sources;
use crate::table::Problem;
use crate::trust::{DefaultTrust, Trust, project_folder};
use crate::values::Settings;

/// The name of the file, in Pirn's folder and in the project's.
const FILE_NAME: &str = "settings.json";
/// Far beyond what anybody writes by hand; a device given by mistake is not read for ever.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;

/// Settings as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The settings that count, all sources together.
    pub settings: Settings,
    /// Where its values come from.
    pub sources: Sources,
    /// What is wrong in the files, in the order read. With an error among them `settings` must not be used.
    pub problems: Vec<Problem>,
}

impl Settings {
    /// Reads the user's file, the project's where it is there and `trust` says so, and the variables that stand for settings.
    pub fn load(folder: &Path, trust: Trust, host: &HostEnv) -> Loaded {
        Self::load_with_flags(folder, trust, host, &FlagValues::default())
    }

    /// The same below the flags of a command, which win over everything else.
    pub fn load_with_flags(
        folder: &Path,
        trust: Trust,
        host: &HostEnv,
        flags: &FlagValues,
    ) -> Loaded {
        let project = project_file(folder, host).filter(|_| trust == Trust::Trusted);
        let paths = Paths {
            home: host.home.as_deref(),
            folder,
        };
        let mut loaded = read(user_file(host).as_deref(), project.as_deref(), &paths);
        overrides::apply_variables(&host.environment, &paths, &mut loaded);
        flags.apply(&paths, &mut loaded);
        overrides::check_together(&mut loaded);
        loaded
    }
}

impl Loaded {
    /// The first thing that is wrong enough to run nothing.
    pub fn error(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.is_error())
    }

    /// What the user says about projects that nobody decided about. The question, where the files are wrong.
    pub fn default_project_trust(&self) -> DefaultTrust {
        match self.error() {
            None => self.settings.default_project_trust,
            Some(_) => DefaultTrust::Ask,
        }
    }
}

/// What paths in files stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paths<'a> {
    pub(crate) home: Option<&'a Path>,
    pub(crate) folder: &'a Path,
}

/// What both files say together. Pure but for reading them.
fn read(user: Option<&Path>, project: Option<&Path>, paths: &Paths<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    if let Some(path) = user {
        let document = document::read(path, &mut loaded.problems);
        document::apply(&document, paths, &mut loaded);
    }
    if let Some(path) = project {
        let document = document::read(path, &mut loaded.problems);
        project::apply_stricter(&document, paths, &mut loaded);
    }
    loaded
}

/// The user's file, whether it is there or not.
pub fn user_file(host: &HostEnv) -> Option<PathBuf> {
    Some(host.pirn_home.as_ref()?.join(FILE_NAME))
}

/// The project's file, whether it is there or not. In the user's own folder there is none.
pub fn project_file(folder: &Path, host: &HostEnv) -> Option<PathBuf> {
    Some(project_folder(folder, host.pirn_home.as_deref())?.join(FILE_NAME))
}

/// Adds an entry to a list of the user's file, and keeps everything else that is in it. The error says why not.
pub fn add_to_list(key: &str, entry: &str, host: &HostEnv) -> Result<(), String> {
    let Some(path) = user_file(host) else {
        return Err(
            "there is no home folder to keep settings in; set HOME or PIRN_HOME".to_owned(),
        );
    };
    let keys: Vec<&str> = key.split('.').collect();
    pirn_jsonc::set_value(&path, FILE_BYTES_MAX, &keys, |old| {
        let old = old.map_or(&[][..], pirn_jsonc::Node::items);
        let mut entries: Vec<Value> = old.iter().map(pirn_jsonc::Node::to_json).collect();
        if !entries.iter().any(|known| known.as_str() == Some(entry)) {
            entries.push(entry.into());
        }
        Value::Array(entries)
    })
    .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
