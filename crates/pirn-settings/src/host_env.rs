//! What Pirn's process was started in, as far as libraries need it.

use std::ffi::OsString;
use std::path::PathBuf;

/// What was read from the process once, and is passed in.
#[derive(Debug, Clone, Default)]
pub struct HostEnv {
    /// The folder that Pirn was started in.
    pub cwd: PathBuf,
    /// The user's home folder, where there is one.
    pub home: Option<PathBuf>,
    /// For files that need not stay.
    pub temp_dir: PathBuf,
    /// The folder of Pirn's own files.
    pub pirn_home: Option<PathBuf>,
    /// The program that decodes pictures when its first argument says so, such as the running one's own file; see
    /// `pirn_runtime::picture_helper`. Without one no pictures are shown.
    pub picture_program: Option<PathBuf>,
    /// All variables: children get some of them, and some stand for settings.
    pub environment: Vec<(OsString, OsString)>,
}
