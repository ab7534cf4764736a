//! Files for what a result cannot show: whole outputs, and images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use pirn_file::SpillFolder;
use sha2::{Digest as _, Sha256};

/// A folder for output files. Clones share what they know of images already saved.
#[derive(Debug, Clone)]
pub struct OutputFolder {
    files: SpillFolder,
    images: Arc<Mutex<BTreeMap<[u8; 32], PathBuf>>>,
}

impl OutputFolder {
    /// Files go into `path` and stay there. They are readable by their owner alone.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self::over(SpillFolder::new(path.as_ref()))
    }

    /// Files go into the folder of a run or session, within its bounds and for its time.
    pub fn over(files: SpillFolder) -> Self {
        Self {
            files,
            images: Arc::default(),
        }
    }

    /// Writes a new file `pirn-exec-<16 hex digits>.<extension>`. The error is a clause for people.
    fn write(&self, bytes: &[u8], extension: &str) -> Result<PathBuf, String> {
        self.files.write("pirn-exec-", extension, bytes)
    }
}

/// What became of a text that was to be kept.
pub(super) enum Saved {
    File(PathBuf),
    Not(String),
}

impl Saved {
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::File(path) => format!("Full output: {} (read with offset/limit)", path.display()),
            Self::Not(why) => format!("The full output could not be saved: {why}"),
        }
    }

    pub(super) fn path(self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Not(_) => None,
        }
    }
}

/// Keeps the whole text of a result: `.json` when it is one JSON value, else `.txt`.
pub(super) fn save_text(folder: Option<&OutputFolder>, text: &str) -> Saved {
    let Some(folder) = folder else {
        return Saved::Not("no folder for output files is set".to_owned());
    };
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    match folder.write(text.as_bytes(), if is_json { "json" } else { "txt" }) {
        Ok(path) => Saved::File(path),
        Err(why) => Saved::Not(why),
    }
}

/// Keeps an image, once per content, and says where.
pub(super) fn save_image(folder: Option<&OutputFolder>, data: &str, mime_type: &str) -> String {
    let not_saved = |why: String| format!("[Image not saved ({mime_type}): {why}]");
    let Some(folder) = folder else {
        return not_saved("no folder for output files is set".to_owned());
    };
    let bytes = match base64::engine::general_purpose::STANDARD.decode(data) {
        Ok(bytes) => bytes,
        Err(error) => return not_saved(error.to_string()),
    };
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    // Held while the file is written, so that two results with one image make one file.
    let mut images = folder.images.lock().unwrap_or_else(PoisonError::into_inner);
    let path = match images.get(&digest).filter(|path| folder.files.holds(path)) {
        Some(path) => path.clone(),
        None => match folder.write(&bytes, extension(mime_type)) {
            Ok(path) => {
                images.insert(digest, path.clone());
                path
            }
            Err(why) => return not_saved(why),
        },
    };
    format!(
        "[Image saved to {} ({mime_type}, {})]",
        path.display(),
        size(bytes.len())
    )
}

fn extension(mime_type: &str) -> &'static str {
    match mime_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "bin",
    }
}

/// A size for people: `12B`, `1.5KB`, `2.0MB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn size(bytes: usize) -> String {
    match bytes {
        0..1_024 => format!("{bytes}B"),
        1_024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1_024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}
