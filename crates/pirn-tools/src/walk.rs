//! Walking a folder the way `grep` and `find` see it: sorted, hidden files included, ignored files left out.

mod ignored;
mod parallel;
mod unread;

use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use pirn_file::HeldFolder;
use pirn_sandbox::Sandbox;

use crate::blocking::Stop;
use crate::options::ToolsOptions;
use crate::paths;

use ignored::Ignored;
pub(crate) use parallel::{Visit, Walk, WalkedFolder};
pub(crate) use unread::Unread;

/// The folder in which Git keeps its own files. Nobody means them when searching a project; naming the folder as the place to
/// search still works.
const GIT_FOLDER: &str = ".git";

/// The user's own file of ignored files, below the home folder. Would be found through the process environment otherwise.
const GLOBAL_IGNORE_FILE: &str = ".config/git/ignore";

impl<'a> Walk<'a> {
    /// A walk below `root`, in order of the names, links not followed. Rules of `.gitignore`, `.ignore` and `.git/info/exclude`
    /// count, outside repositories too; inside one, those of the folders above count up to the repository's own. What commands
    /// cannot read is left out as well. The order does not depend on the file system, so the same call gives the same answer.
    pub(crate) fn new(
        root: &Path,
        options: &ToolsOptions,
        globs: Override,
        stop: &'a Stop,
    ) -> Result<Self, String> {
        let rules = options.sandbox.as_ref().map(Sandbox::file_rules);
        let root = HeldFolder::open(root).map_err(|error| paths::describe(&error))?;
        if let Some(rules) = &rules {
            // What was opened may be another folder than the one that was looked at.
            rules
                .check_read_real(root.path())
                .map_err(|refusal| refusal.to_string())?;
        }
        // A folder that cannot be read is not an empty one.
        root.entries_below(Path::new(""))
            .map_err(|error| paths::describe(&error))?;
        let global = options
            .home
            .as_ref()
            .map(|home| home.join(GLOBAL_IGNORE_FILE));
        let ignored = Ignored::above(root.path(), global.as_deref());
        Ok(Self {
            root,
            rules,
            globs,
            ignored,
            stop,
            unread: Unread::default(),
        })
    }
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
    /// The same path with links resolved.
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

    /// How the place itself is called.
    pub(crate) fn shown(&self) -> &str {
        if self.prefix.is_empty() {
            "."
        } else {
            &self.prefix
        }
    }

    /// How results call a path, given relative to the place; empty for the place itself.
    pub(crate) fn display(&self, below: &Path) -> String {
        let below = paths::relative_display(below, Path::new(""));
        match (self.prefix.is_empty(), below.is_empty()) {
            // The next call would take it for the home folder.
            (true, false) if below == "~" || below.starts_with("~/") => format!("./{below}"),
            (true, _) => below,
            (false, true) => self.prefix.clone(),
            (false, false) if self.prefix.ends_with('/') => format!("{}{below}", self.prefix),
            (false, false) => format!("{}/{below}", self.prefix),
        }
    }
}
