//! How a path in an argument becomes a path of the system.

use std::io;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization as _;

use crate::options::ToolsOptions;

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
/// names are tried.
pub(crate) fn resolve_existing(path: &str, options: &ToolsOptions) -> PathBuf {
    let resolved = resolve(path, options);
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
