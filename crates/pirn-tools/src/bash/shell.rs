//! Which shell runs commands.

use std::path::{Path, PathBuf};

use crate::options::ToolsOptions;

/// The shell of the options; else `/bin/bash`, then `bash` on the commands' `PATH`, then `sh`.
pub(super) fn find(options: &ToolsOptions) -> PathBuf {
    if let Some(shell) = &options.shell {
        return shell.clone();
    }
    let usual = Path::new("/bin/bash");
    if usual.is_file() {
        return usual.to_path_buf();
    }
    let path = options.variable("PATH").unwrap_or_default();
    std::env::split_paths(path)
        .map(|folder| folder.join("bash"))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| PathBuf::from("sh"))
}
