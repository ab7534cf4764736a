//! Images and audio of a result: saved, named, and shown within a budget of their own.

use pirn_tool::ContentBlock;

use super::OutputFolder;
use super::files;
use super::joined::Blocks;

/// Bytes of base64 of all images and sounds of a result together. Providers refuse requests beyond some 20 MB.
const MEDIA_BYTES_MAX: usize = 16 << 20;

/// Adds blocks, and before each image the file it was saved to. What is over the budget is named, not shown.
pub(super) struct Media<'a> {
    folder: Option<&'a OutputFolder>,
    bytes_shown: usize,
}

impl<'a> Media<'a> {
    pub(super) fn new(folder: Option<&'a OutputFolder>) -> Self {
        Self {
            folder,
            bytes_shown: 0,
        }
    }

    pub(super) fn add(&mut self, block: ContentBlock, blocks: &mut Blocks) {
        match block {
            ContentBlock::Text { text } => blocks.add_text(&text),
            ContentBlock::Image { data, mime_type } => {
                blocks.add_text(&files::save_image(self.folder, &data, &mime_type));
                if self.fits(data.len()) {
                    blocks.0.push(ContentBlock::Image { data, mime_type });
                } else {
                    blocks.add_text(&not_shown("Image"));
                }
            }
            ContentBlock::Audio { data, mime_type } => {
                if self.fits(data.len()) {
                    blocks.0.push(ContentBlock::Audio { data, mime_type });
                } else {
                    blocks.add_text(&not_shown("Audio"));
                }
            }
        }
    }

    fn fits(&mut self, bytes: usize) -> bool {
        let fits = self.bytes_shown + bytes <= MEDIA_BYTES_MAX;
        if fits {
            self.bytes_shown += bytes;
        }
        fits
    }
}

fn not_shown(what: &str) -> String {
    let mebibytes = MEDIA_BYTES_MAX >> 20;
    format!(
        "[{what} not shown: the images and sounds of one result may have {mebibytes} MiB as base64]"
    )
}
