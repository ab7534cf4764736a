//! Keeps what a model reads short: the middle of a long text is cut out, and the whole is kept in a file.

use std::path::PathBuf;

use pirn_file::SpillFolder;
use pirn_tool::ContentBlock;

use super::SPILL_PREFIX;
use super::text::{end_within, start_within};

#[cfg(test)]
mod tests;

/// Bytes of text one result may show, the frame of a cut included; recorded from pi 1.6.
pub(super) const TEXT_BYTES_MAX: usize = 20_480;
/// A token is taken for so many bytes.
const BYTES_PER_TOKEN: usize = 4;

/// Blocks that fit, and where the whole text is where they were cut.
pub(super) struct FittedContent {
    pub(super) content: Vec<ContentBlock>,
    pub(super) full_text: Option<PathBuf>,
}

/// Cuts the text of blocks to [`TEXT_BYTES_MAX`], and saves the whole where it had to. Images and sounds stay, in their order;
/// they follow a text that was cut.
pub(super) fn fit(content: Vec<ContentBlock>, spill: &SpillFolder) -> FittedContent {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    let joined_bytes = texts.iter().map(|text| text.len() + 1).sum::<usize>();
    if joined_bytes.saturating_sub(1) <= TEXT_BYTES_MAX {
        return FittedContent {
            content,
            full_text: None,
        };
    }
    let whole = texts.join("\n");
    let (full_text, place) = match spill.write(SPILL_PREFIX, extension(&whole), whole.as_bytes()) {
        Ok(path) => {
            let place = format!("Full output: {} (read with offset/limit)", path.display());
            (Some(path), place)
        }
        Err(why) => (None, format!("The full output could not be saved: {why}")),
    };
    let mut fitted = vec![ContentBlock::text(cut_middle(
        &whole,
        &place,
        TEXT_BYTES_MAX,
    ))];
    fitted.extend(
        content
            .into_iter()
            .filter(|block| block.as_text().is_none()),
    );
    FittedContent {
        content: fitted,
        full_text,
    }
}

/// Head and tail of a text with what was lost between them, under a warning and above `place`, where the whole is; in at most
/// `bytes` bytes, as long as the frame alone fits.
fn cut_middle(text: &str, place: &str, bytes: usize) -> String {
    let warning = format!(
        "Warning: output truncated (original token count: {})\nTotal output lines: {}",
        text.len().div_ceil(BYTES_PER_TOKEN),
        text.split('\n').count()
    );
    let characters = text.chars().count();
    // No number of lost characters is longer than that of all.
    let frame = framed(&warning, "", &marker(characters), "", place).len();
    let kept = bytes.saturating_sub(frame);
    let head = start_within(text, kept / 2);
    let tail = end_within(text, kept - kept / 2);
    let lost = characters.saturating_sub(head.chars().count() + tail.chars().count());
    framed(&warning, head, &marker(lost), tail, place)
}

fn marker(characters: usize) -> String {
    format!("…{characters} chars truncated…")
}

fn framed(warning: &str, head: &str, marker: &str, tail: &str, place: &str) -> String {
    format!("{warning}\n\n{head}{marker}{tail}\n\n[{place}]")
}

/// What kind of file a text makes.
fn extension(text: &str) -> &'static str {
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_json { "json" } else { "txt" }
}
