//! Walking a folder the way `grep` and `find` see it: sorted, hidden files included, ignored files left out.

use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use pirn_sandbox::Sandbox;

use crate::options::ToolsOptions;
use crate::paths;

/// The folder in which Git keeps its own files. Nobody means them when searching a project; naming the folder as the place to
/// search still works.
const GIT_FOLDER: &str = ".git";

/// Walks below `root`, a canonical path, in order of the names. Rules of `.gitignore`, `.ignore` and `.git/info/exclude` count,
/// outside repositories too; inside one, those of the folders above count up to the repository's own. The order does not depend
/// on the file system, so the same call gives the same answer.
pub(crate) fn walk(
    root: &Path,
    options: &ToolsOptions,
    globs: Override,
) -> impl Iterator<Item = DirEntry> + use<> {
    let in_repository = root
        .ancestors()
        .any(|folder| folder.join(GIT_FOLDER).exists());
    // What commands cannot read is left out as well.
    let rules = options.sandbox.as_ref().map(Sandbox::file_rules);
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        // Would be found through the process environment; the user's file is added below instead.
        .git_global(false)
        .require_git(in_repository)
        .overrides(globs)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let is_hidden = rules
                .as_ref()
                .is_some_and(|rules| rules.hides(entry.path()));
            entry.depth() == 0 || (entry.file_name() != GIT_FOLDER && !is_hidden)
        });
    if let Some(home) = &options.home {
        let global = home.join(".config/git/ignore");
        if global.is_file() {
            // A broken line in it only makes that line count for nothing.
            let _partial = builder.add_ignore(global);
        }
    }
    // What cannot be read is left out, as with a folder listed by its owner.
    builder.build().flatten()
}

/// Globs relative to `root`, as ripgrep's `--glob` takes them; with a leading `!` they exclude.
pub(crate) fn globs(root: &Path, glob: Option<&str>) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(root);
    if let Some(glob) = glob {
        builder
            .add(glob.strip_prefix("./").unwrap_or(glob))
            .map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

/// The place to search.
#[derive(Debug)]
pub(crate) struct SearchRoot {
    /// As the caller named it, made absolute.
    pub(crate) named: PathBuf,
    /// With links resolved.
    pub(crate) real: PathBuf,
}

impl SearchRoot {
    /// From a path as the caller wrote it; the working directory without one.
    pub(crate) fn locate(path: Option<&str>, options: &ToolsOptions) -> Result<Self, String> {
        let named = paths::resolve_readable(path.unwrap_or("."), options)?;
        match std::fs::canonicalize(&named) {
            Ok(real) => Ok(Self { named, real }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(format!("Path not found: {}", named.display()))
            }
            Err(error) => Err(format!(
                "Cannot read {}: {}",
                named.display(),
                paths::describe(&error)
            )),
        }
    }
}
