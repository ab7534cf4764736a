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

/// What a glob selects.
pub(crate) struct Selection {
    pub(crate) globs: Override,
    /// Why it is no glob, where it can only be a name; worth telling when nothing has that name.
    pub(crate) invalid: Option<String>,
}

/// A glob relative to `root`, as ripgrep's `--glob` takes it; with a leading `!` it excludes.
pub(crate) fn globs(root: &Path, glob: Option<&str>) -> Result<Selection, String> {
    let mut builder = OverrideBuilder::new(root);
    let mut invalid = None;
    if let Some(glob) = glob {
        let (sign, glob) = match glob.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", glob),
        };
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        for reading in readings(glob) {
            if let Err(error) = builder.add(&format!("{sign}{reading}")) {
                invalid = invalid.or(Some(error.to_string()));
            }
        }
    }
    let globs = builder.build().map_err(|error| error.to_string())?;
    match invalid {
        Some(error) if globs.is_empty() => Err(error),
        invalid => Ok(Selection { globs, invalid }),
    }
}

/// What a glob can mean: itself, and the names of files and folders that have brackets or braces in them, as `app/[id]`. Who
/// writes such a name rarely means one of the characters.
pub(crate) fn readings(glob: &str) -> Vec<String> {
    let mut readings = vec![glob.to_owned()];
    for special in [&['[', ']'][..], &['[', ']', '{', '}']] {
        let mut literal = String::with_capacity(glob.len() * 2);
        let mut is_escaped = false;
        for character in glob.chars() {
            if special.contains(&character) && !is_escaped {
                literal.push('\\');
            }
            is_escaped = character == '\\' && !is_escaped;
            literal.push(character);
        }
        if !readings.contains(&literal) {
            readings.push(literal);
        }
    }
    readings
}

/// The place to search.
#[derive(Debug)]
pub(crate) struct SearchRoot {
    /// As the caller named it, made absolute.
    pub(crate) named: PathBuf,
    /// With links resolved.
    pub(crate) real: PathBuf,
    /// What results put in front of a path below it, so that the next call finds it: nothing for the working directory.
    pub(crate) prefix: String,
}

impl SearchRoot {
    /// From a path as the caller wrote it; the working directory without one.
    pub(crate) fn locate(path: Option<&str>, options: &ToolsOptions) -> Result<Self, String> {
        let place = path.filter(|path| !path.is_empty());
        let place = paths::resolve_readable(place.unwrap_or("."), options)
            .map_err(|error| error.explain("Could not search"))?;
        let shown = place.shown.trim_start_matches("./");
        let prefix = match shown {
            "" | "." => String::new(),
            _ => shown.to_owned(),
        };
        match std::fs::canonicalize(&place.path) {
            Ok(real) => Ok(Self {
                named: place.path,
                real,
                prefix,
            }),
            Err(error) => Err(format!(
                "Could not search {}: {}",
                place.shown,
                place.explain(&error.into(), options)
            )),
        }
    }

    /// How results call a path below the place.
    pub(crate) fn display(&self, path: &Path) -> String {
        let below = paths::relative_display(path, &self.real);
        if self.prefix.is_empty() || path == self.real {
            return if below.is_empty() {
                self.prefix.clone()
            } else {
                below
            };
        }
        let separator = if self.prefix.ends_with('/') { "" } else { "/" };
        format!("{}{separator}{below}", self.prefix)
    }
}
