//! How a path in an argument becomes a path of the system.

use std::io;
use std::path::{Component, Path, PathBuf};

use pirn_sandbox::{Layer, Sandbox};
use unicode_normalization::UnicodeNormalization as _;

use crate::options::ToolsOptions;

/// The folders that every program may write, which confined commands have of their own.
const SHARED_TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Resolves a path as a model writes it: a leading `@` is dropped, Unicode spaces become blanks, `~` and `file://` are
/// understood, and relative paths start at the working directory.
pub(crate) fn resolve(path: &str, options: &ToolsOptions) -> PathBuf {
    let spaced: String = path
        .chars()
        .map(|c| if is_unicode_space(c) { ' ' } else { c })
        .collect();
    resolve_literally(spaced.strip_prefix('@').unwrap_or(&spaced), options)
}

/// Like [`resolve`] for a file that should exist: when it does not, the path as written and the spellings that macOS gives to
/// names are tried. A file in the commands' own `/tmp` wins over one outside.
pub(crate) fn resolve_existing(path: &str, options: &ToolsOptions) -> PathBuf {
    let resolved = resolve(path, options);
    // Before a sandbox is prepared nothing is in its folder, and a look is not worth preparing it.
    let may_be_private = options.sandbox.as_ref().is_some_and(Sandbox::is_prepared);
    if may_be_private
        && let Some(place) = private_place(&resolved, options)
        && place.path.exists()
        && stays_below(&place.path, &place.root)
    {
        return place.path;
    }
    if exists(&resolved) {
        return resolved;
    }
    let as_written = resolve_literally(path, options);
    let candidates = std::iter::once(as_written).chain(
        resolved
            .to_str()
            .into_iter()
            .flat_map(mac_spellings)
            .map(PathBuf::from),
    );
    candidates
        .into_iter()
        .find(|candidate| exists(candidate))
        .unwrap_or(resolved)
}

/// Like [`resolve_existing`], for a file or folder that the confinement of commands lets us read.
pub(crate) fn resolve_readable(path: &str, options: &ToolsOptions) -> Result<PathBuf, String> {
    let resolved = resolve_existing(path, options);
    if let Some(sandbox) = &options.sandbox {
        let rules = sandbox.file_rules();
        rules
            .check_read(&resolved)
            .map_err(|refusal| refusal.to_string())?;
    }
    Ok(resolved)
}

/// Fails where the confinement of commands does not let us write a file, given by its real path.
pub(crate) fn check_write(target: &Path, options: &ToolsOptions) -> Result<(), String> {
    match &options.sandbox {
        Some(sandbox) => sandbox
            .file_rules()
            .check_write(target)
            .map_err(|refusal| refusal.to_string()),
        None => Ok(()),
    }
}

/// A place in the private `/tmp` of confined commands.
#[derive(Debug)]
pub(crate) struct PrivatePlace {
    /// Where it is outside.
    pub(crate) path: PathBuf,
    /// The private folder, links resolved. Commands can put links there that lead out of it for everybody but them.
    pub(crate) root: PathBuf,
}

/// Where a path below `/tmp` is for confined commands that have a `/tmp` of their own; `None` where it is the same for them.
pub(crate) fn private_place(path: &Path, options: &ToolsOptions) -> Option<PrivatePlace> {
    let sandbox = options.sandbox.as_ref()?;
    let policy = sandbox.policy();
    // What the policy tells comes first: the rest may have to be prepared.
    let rest = SHARED_TEMPORARY
        .iter()
        .find_map(|shared| path.strip_prefix(shared).ok())?;
    let is_shared = [options.cwd.as_path(), &policy.working_folder]
        .into_iter()
        .chain(policy.write_roots.iter().map(PathBuf::as_path))
        .any(|root| path.starts_with(root));
    if is_shared {
        return None;
    }
    let private = sandbox.private_temp()?;
    // Without a folder of their own they see the shared one, and may not write there.
    let has_own = sandbox.report().layers.contains(&Layer::MountNamespace);
    if !has_own || path.starts_with(private) {
        return None;
    }
    Some(PrivatePlace {
        // Joining nothing would add a separator.
        path: private.components().chain(rest.components()).collect(),
        root: private.canonicalize().ok()?,
    })
}

/// Whether a path, with its links followed as far as it exists, is below `root`, which is without links.
pub(crate) fn stays_below(path: &Path, root: &Path) -> bool {
    path.ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok())
        .is_some_and(|real| real.starts_with(root))
}

/// Writes a path with forward slashes, relative to `base` where it is below it.
pub(crate) fn relative_display(path: &Path, base: &Path) -> String {
    let relative = path.strip_prefix(base).unwrap_or(path);
    let text = relative.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace('\\', "/")
    }
}

/// Describes a failed access to a file, with the system's name of the error first, which models know well.
pub(crate) fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "ENOENT: no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "EACCES: permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "EISDIR: illegal operation on a directory".to_owned(),
        io::ErrorKind::NotADirectory => "ENOTDIR: not a directory".to_owned(),
        io::ErrorKind::StorageFull => "ENOSPC: no space left on device".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "EROFS: read-only file system".to_owned(),
        _ => error.to_string(),
    }
}

/// The system's name of an error, where it is one of those a model can act on.
pub(crate) fn error_code(error: &io::Error) -> String {
    let text = describe(error);
    text.split_once(':')
        .map_or_else(|| text.clone(), |(code, _)| code.to_owned())
}

fn resolve_literally(path: &str, options: &ToolsOptions) -> PathBuf {
    let decoded = path.strip_prefix("file://").map(decode_url_path);
    let path = decoded.as_deref().unwrap_or(path);
    let expanded = match (&options.home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.clone(),
        (Some(home), Some(rest)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => {
            home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR]))
        }
        _ => PathBuf::from(path),
    };
    normalize(&options.cwd.join(expanded))
}

/// Removes `.` and resolves `..` by name, as people read paths.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    normal
}

/// The path of a `file://` URL without a host or with `localhost`; a malformed escape stays as it is.
fn decode_url_path(rest: &str) -> String {
    let rest = rest
        .strip_prefix("localhost")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(rest);
    let bytes = rest.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let escape = (byte == b'%')
            .then(|| bytes.get(index + 1..index + 3))
            .flatten();
        let value = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(byte));
        index += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| rest.to_owned())
}

fn is_unicode_space(character: char) -> bool {
    matches!(
        character,
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// The spellings of names that macOS uses and people do not type: a narrow space before AM and PM in screenshots, decomposed
/// accents, and curly apostrophes.
fn mac_spellings(path: &str) -> [String; 4] {
    let mut narrow = path.to_owned();
    for half in ["AM.", "PM.", "am.", "pm."] {
        narrow = narrow.replace(&format!(" {half}"), &format!("\u{202F}{half}"));
    }
    let decomposed: String = path.nfd().collect();
    let curly = path.replace('\'', "\u{2019}");
    let both = decomposed.replace('\'', "\u{2019}");
    [narrow, decomposed, curly, both]
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
