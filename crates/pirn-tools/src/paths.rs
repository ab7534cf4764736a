//! How a path in an argument becomes a path of the system.

mod closest;

use std::io;
use std::path::{Component, Path, PathBuf};

use pirn_sandbox::{Layer, Sandbox};
use pirn_tool::{CallContext, Target};

use crate::options::ToolsOptions;
use crate::regular::Refusal;

pub(crate) use closest::quoted;

/// The folders that every program may write, which confined commands have of their own.
const SHARED_TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Where a path in an argument leads.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Absolute and without `..`.
    pub(crate) path: PathBuf,
    /// How results call it: as it was given, or absolute where it was given in a form that stands for another path.
    pub(crate) shown: String,
    /// The private folder of confined commands, where it is in there. See [`PrivatePlace::root`].
    pub(crate) private_root: Option<PathBuf>,
}

impl Place {
    /// Why the place cannot be used, with the name that was probably meant where there is nothing.
    pub(crate) fn explain(&self, refusal: &Refusal, options: &ToolsOptions) -> String {
        let closest = if refusal.is_not_found() {
            closest::sentence(&self.path, options)
        } else {
            None
        };
        format!("{refusal}{}", closest.unwrap_or_default())
    }
}

/// Why a path cannot be used, before anything was opened.
#[derive(Debug)]
pub(crate) enum Unresolved {
    /// It leads nowhere; begins with the path.
    Nowhere(String),
    /// The confinement of commands does not allow it; a sentence.
    Confined(String),
}

impl Unresolved {
    /// A sentence about what could not be done.
    pub(crate) fn explain(self, could_not: &str) -> String {
        match self {
            Self::Nowhere(reason) => format!("{could_not} {reason}"),
            Self::Confined(sentence) => sentence,
        }
    }
}

/// Whose `/tmp` a path below `/tmp` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temporary {
    /// The one of confined commands, where they have one of their own.
    OfCommands,
    /// The one that everybody shares.
    Shared,
}

/// Resolves a path, which is taken as it is written, every character of it. Only a `~` for the home folder and `file://` URLs
/// stand for another path; relative paths start at the working directory, and `..` means what it means to the system.
pub(crate) fn resolve(path: &str, options: &ToolsOptions) -> Result<Place, Unresolved> {
    resolve_in(Temporary::OfCommands, path, options)
}

/// Like [`resolve`] for a file that should exist. A file in the commands' own `/tmp` wins over one outside.
pub(crate) fn resolve_existing(path: &str, options: &ToolsOptions) -> Result<Place, Unresolved> {
    // Before a sandbox is prepared nothing is in its folder, and a look is not worth preparing it.
    if options.sandbox.as_ref().is_some_and(Sandbox::is_prepared) {
        let place = resolve(path, options)?;
        if let Some(root) = &place.private_root
            && place.path.exists()
            && stays_below(&place.path, root)
        {
            return Ok(place);
        }
    }
    resolve_in(Temporary::Shared, path, options)
}

fn resolve_in(
    temporary: Temporary,
    path: &str,
    options: &ToolsOptions,
) -> Result<Place, Unresolved> {
    if path.is_empty() {
        return Err(Unresolved::Nowhere("\"\": the path is empty".to_owned()));
    }
    let expanded = expand(path, options);
    let written = expanded.as_deref().unwrap_or(Path::new(path));
    let resolved = without_parents(&options.cwd.join(written), options);
    let outside = resolved.map_err(|(error, at)| {
        let place = Place {
            path: at,
            shown: path.to_owned(),
            private_root: None,
        };
        let reason = place.explain(&Refusal::Io(error), options);
        Unresolved::Nowhere(format!("{path}: {reason}"))
    })?;
    let private = match temporary {
        Temporary::OfCommands => private_place(&outside, options),
        Temporary::Shared => None,
    };
    let shown = match &expanded {
        Some(_) => outside.display().to_string(),
        None => path.to_owned(),
    };
    Ok(Place {
        private_root: private.as_ref().map(|place| place.root.clone()),
        path: private.map_or(outside, |place| place.path),
        shown,
    })
}

/// Like [`resolve_existing`], for a file or folder that the confinement of commands lets us read.
pub(crate) fn resolve_readable(path: &str, options: &ToolsOptions) -> Result<Place, Unresolved> {
    let place = resolve_existing(path, options)?;
    if let Some(sandbox) = &options.sandbox {
        sandbox
            .file_rules()
            .check_read(&place.path)
            .map_err(|refusal| Unresolved::Confined(refusal.to_string()))?;
    }
    Ok(place)
}

/// Like [`resolve_existing`], for a file that is judged once it is open. Before that only its name is looked at, which takes no time.
pub(crate) fn resolve_for_opening(path: &str, options: &ToolsOptions) -> Result<Place, Unresolved> {
    let place = resolve_existing(path, options)?;
    if let Some(sandbox) = &options.sandbox {
        sandbox
            .file_rules()
            .check_name(&place.path)
            .map_err(|refusal| Unresolved::Confined(refusal.to_string()))?;
    }
    Ok(place)
}

/// Fails where the confinement of commands does not let us write a file, given by its real path, and nobody said yes to that.
pub(crate) fn check_write(
    target: &Path,
    is_allowed: bool,
    options: &ToolsOptions,
) -> Result<(), String> {
    let Some(sandbox) = &options.sandbox else {
        return Ok(());
    };
    let rules = sandbox.file_rules();
    let checked = if is_allowed {
        rules.check_write_allowed(target)
    } else {
        rules.check_write(target)
    };
    checked.map_err(|refusal| refusal.to_string())
}

/// Whether a person was shown this file, given by its real path, and said yes to the call.
pub(crate) fn is_allowed(context: &CallContext, target: &Path) -> bool {
    let shown = context.approved.as_ref().map(|approved| &approved.target);
    matches!(shown, Some(Some(Target::Path { path })) if path == target)
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
    let private = sandbox.private_temp().ok()??;
    // Without a folder of their own they see the shared one, and may not write there.
    let has_own = sandbox
        .report()
        .is_ok_and(|report| report.layers.contains(&Layer::MountNamespace));
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
        _ if is_loop(error) => "ELOOP: too many symbolic links".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}

/// The path that `~` or a `file://` URL stands for; `None` for all others, which stand for themselves.
fn expand(path: &str, options: &ToolsOptions) -> Option<PathBuf> {
    if let Some(rest) = path.strip_prefix("file://") {
        // Somebody may have a folder of that name.
        let is_folder = options.cwd.join("file:").is_dir();
        return (!is_folder).then(|| PathBuf::from(decode_url_path(rest)));
    }
    let home = options.home.as_ref()?;
    match path.strip_prefix('~')? {
        "" => Some(home.clone()),
        rest if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => {
            Some(home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR])))
        }
        _ => None,
    }
}

/// Resolves `..` as the system does: it is the folder above the one that the links lead to, and there is none above what is not
/// there. The error comes with the path that was looked at. A separator at the end stays, since it asks for a folder.
fn without_parents(path: &Path, options: &ToolsOptions) -> Result<PathBuf, (io::Error, PathBuf)> {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved = parent(&resolved, options).map_err(|error| (error, resolved))?;
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    if asks_for_folder(path) {
        resolved.push("");
    }
    Ok(resolved)
}

/// Whether a path ends in a separator, so that only a folder can have it.
pub(crate) fn asks_for_folder(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|last| std::path::is_separator(char::from(*last)))
}

/// The folder above a folder.
fn parent(folder: &Path, options: &ToolsOptions) -> io::Result<PathBuf> {
    let above = |folder: &Path| folder.parent().unwrap_or(folder).to_path_buf();
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(above(&real)),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) => {
            // It may be a folder of the commands' own `/tmp`, where links would have to be followed as they see them.
            let is_private = private_place(folder, options).is_some_and(|place| {
                place
                    .path
                    .canonicalize()
                    .is_ok_and(|real| real == place.path && real.is_dir())
            });
            if is_private {
                Ok(above(folder))
            } else {
                Err(error)
            }
        }
    }
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
