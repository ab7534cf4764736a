//! Which settings of git run nothing.
//!
//! A settings file of git's can name programs in a hundred ways, and more with every version. So the question is turned round:
//! a line is harmless when it has the plainest form and is one of the settings that are known to be. What a file holds besides
//! is dropped as a whole line, and each line that stays is harmless by itself, whatever stood around it.

/// Settings that name no program and lead to no other file, in small letters: the section, and the names in it.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "commentchar",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "loosecompression",
            "precomposeunicode",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "splitindex",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
            "worktree",
        ],
    ),
    ("user", &["name", "email", "useconfigonly"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    (
        "remote",
        &[
            "url",
            "pushurl",
            "fetch",
            "push",
            "tagopt",
            "mirror",
            "prune",
            "prunetags",
            "partialclonefilter",
            "promisor",
            "skipdefaultupdate",
            "skipfetchall",
        ],
    ),
    (
        "branch",
        &[
            "remote",
            "pushremote",
            "merge",
            "rebase",
            "description",
            "autosetupmerge",
            "autosetuprebase",
            "sort",
        ],
    ),
    (
        "submodule",
        &[
            "url",
            "active",
            "branch",
            "fetchrecursesubmodules",
            "ignore",
            "recurse",
        ],
    ),
    (
        "extensions",
        &[
            "objectformat",
            "compatobjectformat",
            "refstorage",
            "partialclone",
            "noop",
            "worktreeconfig",
            "relativeworktrees",
        ],
    ),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff", "octopus"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    (
        "fetch",
        &[
            "prune",
            "prunetags",
            "fsckobjects",
            "recursesubmodules",
            "writecommitgraph",
        ],
    ),
    ("merge", &["ff", "conflictstyle", "renames", "stat", "log"]),
    ("rebase", &["autostash", "autosquash", "updaterefs", "stat"]),
    ("commit", &["verbose", "status"]),
    (
        "status",
        &[
            "showuntrackedfiles",
            "branch",
            "short",
            "relativepaths",
            "submodulesummary",
        ],
    ),
    (
        "log",
        &["date", "decorate", "abbrevcommit", "follow", "showroot"],
    ),
    (
        "diff",
        &[
            "algorithm",
            "renames",
            "mnemonicprefix",
            "noprefix",
            "colormoved",
            "context",
            "submodule",
        ],
    ),
    (
        "gc",
        &["auto", "autodetach", "autopacklimit", "pruneexpire"],
    ),
    ("maintenance", &["auto", "strategy"]),
    ("pack", &["threads", "window", "depth", "compression"]),
    ("index", &["version", "threads", "sparse"]),
    (
        "receive",
        &[
            "denycurrentbranch",
            "denydeletes",
            "denynonfastforwards",
            "fsckobjects",
        ],
    ),
    ("color", &["ui", "status", "diff", "branch", "interactive"]),
    ("column", &["ui", "status", "branch"]),
    ("tag", &["sort"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("lfs", &["repositoryformatversion"]),
];

/// What is left of a file of settings when everything is gone that may run something or lead elsewhere. `None` when that is all
/// of it, so that nothing has to be done.
pub(crate) fn harmless_settings(file: &[u8]) -> Option<Vec<u8>> {
    let mut kept: Vec<u8> = Vec::with_capacity(file.len());
    let mut section: Option<String> = None;
    let mut is_all = file.is_empty() || file.ends_with(b"\n");
    for line in file.split(|byte| *byte == b'\n') {
        let is_kept = match Line::of(line) {
            Line::Nothing => true,
            Line::Section(name) => {
                let is_known = HARMLESS.iter().any(|(known, _)| *known == name);
                section = is_known.then_some(name);
                is_known
            }
            Line::Setting(name, value) => section.as_deref().is_some_and(|section| {
                is_harmless(section, &name) && (!is_address(&name) || is_plain_address(value))
            }),
            Line::Other => false,
        };
        if is_kept {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
        is_all &= is_kept;
    }
    if is_all {
        return None;
    }
    // What stood behind the last line break.
    while kept.ends_with(b"\n\n") {
        kept.pop();
    }
    Some(kept)
}

/// A line of the plainest form: nothing in it can go on in the next one or begin within it.
enum Line<'line> {
    /// Blank, or a remark.
    Nothing,
    /// The name of a section, in small letters and without the part in quotes.
    Section(String),
    /// A name, in small letters, and its value.
    Setting(String, &'line [u8]),
    Other,
}

impl<'line> Line<'line> {
    fn of(line: &'line [u8]) -> Self {
        let is_plain = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7F;
        if !line.iter().all(is_plain) {
            return Self::Other;
        }
        let line = line.trim_ascii();
        match line {
            [] | [b'#' | b';', ..] if !line.ends_with(b"\\") => Self::Nothing,
            [b'[', inner @ .., b']'] => Self::section(inner),
            _ => Self::setting(line),
        }
    }

    fn section(inner: &[u8]) -> Self {
        let (name, sub) = match inner.iter().position(|byte| *byte == b' ') {
            Some(at) => inner.split_at(at),
            None => (inner, &[][..]),
        };
        let is_sub_plain = match sub {
            [] => true,
            [b' ', b'"', inner @ .., b'"'] => {
                !inner.iter().any(|byte| matches!(byte, b'"' | b'\\' | b']'))
            }
            _ => false,
        };
        match word(name) {
            Some(name) if is_sub_plain => Self::Section(name),
            Some(_) | None => Self::Other,
        }
    }

    fn setting(line: &'line [u8]) -> Self {
        let Some(at) = line.iter().position(|byte| *byte == b'=') else {
            return Self::Other;
        };
        let (name, value) = line.split_at(at);
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"=").unwrap_or(value).trim_ascii();
        let has_quotes = value.iter().any(|byte| matches!(byte, b'"' | b'\\'));
        match word(name.trim_ascii_end()) {
            Some(name) if !has_quotes => Self::Setting(name, value),
            Some(_) | None => Self::Other,
        }
    }
}

/// A name of letters, digits and hyphens, in small letters.
fn word(bytes: &[u8]) -> Option<String> {
    let is_word = !bytes.is_empty()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let text = String::from_utf8(bytes.to_ascii_lowercase()).ok()?;
    is_word.then_some(text)
}

fn is_harmless(section: &str, name: &str) -> bool {
    HARMLESS
        .iter()
        .any(|(known, names)| *known == section && names.contains(&name))
}

fn is_address(name: &str) -> bool {
    matches!(name, "url" | "pushurl" | "remote" | "pushremote")
}

/// Whether an address of a repository names no helper program and is no flag.
fn is_plain_address(address: &[u8]) -> bool {
    !address.starts_with(b"-") && !address.windows(2).any(|two| two == b"::")
}

#[cfg(test)]
mod tests;
