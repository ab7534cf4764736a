//! Paths that stay within a folder.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use pirn_file::HeldFolder;

use super::AdapterOptions;

/// Opens a folder that exists below `root`. Where it was opened is what counts, so neither links nor `..` lead out.
pub(super) fn open_folder(root: &Path, path: &str) -> Result<HeldFolder, String> {
    let root = open_root(root)?;
    let folder =
        HeldFolder::open(&root.path().join(path)).map_err(|error| describe(path, &error))?;
    // By components: names that start with two dots are names like any other.
    if folder.path().starts_with(root.path()) {
        Ok(folder)
    } else {
        Err(outside(path))
    }
}

/// Like [`open_folder`], for what the confinement of processes lets us read.
pub(super) fn open_readable_folder(
    options: &AdapterOptions,
    path: &str,
) -> Result<HeldFolder, String> {
    // By both names: a link may have one that must not be read.
    check_read(options, &options.root.join(path))?;
    let folder = open_folder(&options.root, path)?;
    if let Some(sandbox) = &options.sandbox {
        sandbox
            .file_rules()
            .check_read_real(folder.path())
            .map_err(|refusal| refusal.to_string())?;
    }
    Ok(folder)
}

fn open_root(root: &Path) -> Result<HeldFolder, String> {
    HeldFolder::open(root).map_err(|error| {
        format!(
            "The working folder {} cannot be used: {error}",
            root.display()
        )
    })
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

/// Opens a file below `root` for reading. The file that was opened is the one that is judged: a link that appears in between does
/// not lead out either. What is not a regular file is refused.
pub(super) fn open_file(options: &AdapterOptions, path: &str) -> Result<File, String> {
    let root = open_root(&options.root)?;
    let named = root.path().join(path);
    let failed = |error: io::Error| describe(path, &error);
    check_kind(path, &std::fs::metadata(&named).map_err(failed)?)?;
    check_read(options, &named)?;
    let file = pirn_file::open_readable(&named).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    check_kind(path, &metadata)?;
    let opened = pirn_file::opened_path(&file, &named).map_err(failed)?;
    if !opened.starts_with(root.path()) {
        return Err(outside(path));
    }
    if let Some(sandbox) = &options.sandbox {
        sandbox
            .file_rules()
            .check_read_opened(&opened, &metadata)
            .map_err(|refusal| refusal.to_string())?;
    }
    Ok(file)
}

fn check_kind(path: &str, metadata: &Metadata) -> Result<(), String> {
    if metadata.is_dir() {
        return Err(format!("{path} is a folder; list_directory lists it"));
    }
    if !metadata.is_file() {
        return Err(format!("{path} is not a regular file"));
    }
    Ok(())
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
