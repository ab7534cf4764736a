//! Pictures that a program showed, as files.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use pirn_eval::Display;

use crate::failure::Failure;

/// Names that are tried for one picture.
const NAMES_MAX: u32 = 10_000;

/// Writes a picture into a new file of the folder, which is made when it is missing: `eval-1.png`, or the next number that is free.
pub(super) fn save(display: &Display, folder: &Path) -> Result<PathBuf, Failure> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&display.data)
        .context("the program showed a picture that is not valid base64")?;
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| write(&bytes, folder, extension(&display.mime_type)));
    Ok(written.with_context(|| format!("a picture cannot be written to {}", folder.display()))?)
}

fn write(bytes: &[u8], folder: &Path, extension: &str) -> io::Result<PathBuf> {
    for number in 1..=NAMES_MAX {
        let path = folder.join(format!("eval-{number}.{extension}"));
        match pirn_file::create_new(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it has too many pictures already"))
}

fn extension(mime_type: &str) -> &'static str {
    match mime_type {
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "png",
    }
}
