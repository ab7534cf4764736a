//! Paths that stay within a folder.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::AdapterOptions;

/// The real path of something that exists below `root`. Links are followed first, so that neither they nor `..` lead out.
pub(super) fn resolve(root: &Path, path: &str) -> Result<PathBuf, String> {
    let shown_root = root.display();
    let root = root
        .canonicalize()
        .map_err(|error| format!("The working folder {shown_root} cannot be used: {error}"))?;
    let target = root
        .join(path)
        .canonicalize()
        .map_err(|error| describe(path, &error))?;
    // By components: names that start with two dots are names like any other.
    if target.starts_with(&root) {
        Ok(target)
    } else {
        Err(outside(path))
    }
}

/// Like [`resolve`], for what the confinement of processes lets us read.
pub(super) fn resolve_readable(options: &AdapterOptions, path: &str) -> Result<PathBuf, String> {
    let target = resolve(&options.root, path)?;
    // By both names: a link may have one that must not be read.
    check_read(options, &options.root.join(path))?;
    check_read(options, &target)?;
    Ok(target)
}

fn check_read(options: &AdapterOptions, path: &Path) -> Result<(), String> {
    match &options.sandbox {
        Some(sandbox) => sandbox
            .file_rules()
            .check_read(path)
            .map_err(|refusal| refusal.to_string()),
        None => Ok(()),
    }
}

/// Opens a file below `root` for reading, and makes sure that the file that was opened is the one that was meant: a link that
/// appears in between does not lead out either. What is not a regular file is refused.
pub(super) fn open_file(options: &AdapterOptions, path: &str) -> Result<File, String> {
    let root = options.root.as_path();
    let target = resolve_readable(options, path)?;
    let file = open_without_waiting(&target).map_err(|error| describe(path, &error))?;
    let metadata = file.metadata().map_err(|error| describe(path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{path} is a folder; list_directory lists it"));
    }
    if !metadata.is_file() {
        return Err(format!("{path} is not a regular file"));
    }
    if let Some(opened) = path_of(&file)
        && opened != target
    {
        if !opened.starts_with(root.canonicalize().unwrap_or_default()) {
            return Err(outside(path));
        }
        check_read(options, &opened)?;
    }
    Ok(file)
}

/// Describes a failed access, with the system's name of the error first.
pub(super) fn describe(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("ENOENT: no such file or folder: {path}"),
        io::ErrorKind::PermissionDenied => format!("EACCES: permission denied: {path}"),
        io::ErrorKind::NotADirectory => format!("ENOTDIR: not a folder: {path}"),
        _ => format!("{path} cannot be read: {error}"),
    }
}

fn outside(path: &str) -> String {
    format!("{path} is outside the working folder; only paths within it can be used here")
}

/// A pipe without a writer would keep a plain open waiting.
#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Where the kernel says that an open file is; `None` where it does not say.
#[cfg(target_os = "linux")]
fn path_of(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(target_os = "linux"))]
fn path_of(_file: &File) -> Option<PathBuf> {
    None
}
