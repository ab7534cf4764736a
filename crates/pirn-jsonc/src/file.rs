//! Reading a file within bounds, and replacing it at once.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use pirn_file::{Access, Draft, real_target};

/// The text of a file of at most `bytes_max` bytes.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    read_file(&File::open(path)?, bytes_max)
}

/// The text of an open file of at most `bytes_max` bytes.
pub fn read_file(file: &File, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    // One byte more tells a file that is too long from one that just fits.
    file.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other(format!(
            "it is longer than {bytes_max} bytes"
        )));
    }
    Ok(text)
}

/// Writes `content` to the file that `path` leads to, unless `is_current` says in the last moment that the file is not any
/// more what the content was made from. Whether it was written. A new file is readable by its owner only, an old one keeps
/// its mode; missing folders are made.
pub fn replace(path: &Path, content: &[u8], is_current: impl FnOnce() -> bool) -> io::Result<bool> {
    let target = real_target(path)?;
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = Draft::new(&target, content, Access::KeptOrPrivate)?;
    if !is_current() {
        return Ok(false);
    }
    draft.publish()?;
    Ok(true)
}
