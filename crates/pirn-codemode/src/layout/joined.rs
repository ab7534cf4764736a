//! The joined layout: neighbouring texts in one block, console lines at the end.

use pirn_tool::ContentBlock;

use super::media::Media;
use super::truncate::{Cut, cut_text, fair_share, sketch_of, tokens_of, units};
use super::{LaidOut, LayoutOptions, Part, files};

/// Content blocks under construction; neighbouring texts become one block, each part on a line of its own.
#[derive(Default)]
pub(super) struct Blocks(pub(super) Vec<ContentBlock>);

impl Blocks {
    pub(super) fn add_text(&mut self, part: &str) {
        if let Some(ContentBlock::Text { text }) = self.0.last_mut() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        } else {
            self.0.push(ContentBlock::text(part));
        }
    }
}

pub(super) fn lay_out(
    head: String,
    mut parts: Vec<Part>,
    error: Option<&str>,
    options: &LayoutOptions,
) -> LaidOut {
    let mut laid_out = LaidOut {
        content: Vec::new(),
        full_output_path: None,
    };
    let mut content = assembled(&parts, error);
    let whole = joined_text(&content);
    if units(&whole) > options.characters_max() {
        sketch_json(&mut parts, options.characters_max());
        content = truncated(assembled(&parts, error), &whole, options, &mut laid_out);
    }
    let mut blocks = Blocks::default();
    let mut media = Media::new(options.folder.as_ref());
    for block in content {
        media.add(block, &mut blocks);
    }
    laid_out.content.push(ContentBlock::text(head));
    laid_out.content.append(&mut blocks.0);
    laid_out
}

fn assembled(parts: &[Part], error: Option<&str>) -> Vec<ContentBlock> {
    let texts = parts
        .iter()
        .filter(|part| matches!(part, Part::Text(_)))
        .count();
    let mut number = 0;
    let mut console = Vec::new();
    let mut blocks = Blocks::default();
    for part in parts {
        match part {
            Part::Text(text) if texts > 1 => {
                number += 1;
                blocks.add_text(&format!("==> text {number}/{texts} <==\n{text}"));
            }
            Part::Text(text) => blocks.add_text(text),
            Part::Console(line) => console.push(line.as_str()),
            Part::Image { data, mime_type } => {
                blocks.0.push(ContentBlock::Image {
                    data: data.clone(),
                    mime_type: mime_type.clone(),
                });
            }
            Part::Audio { data, mime_type } => {
                blocks.0.push(ContentBlock::Audio {
                    data: data.clone(),
                    mime_type: mime_type.clone(),
                });
            }
        }
    }
    if !console.is_empty() {
        blocks.add_text(&format!(
            "<console_output>\n{}\n</console_output>",
            console.join("\n")
        ));
    }
    if let Some(error) = error {
        blocks.add_text(error);
    }
    blocks.0
}

fn joined_text(content: &[ContentBlock]) -> String {
    content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Replaces JSON items that are longer than their share of the budget by sketches of them; often nothing else need be cut then.
fn sketch_json(parts: &mut [Part], budget: usize) {
    let lengths: Vec<usize> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) | Part::Console(text) => units(text) + HEADING_UNITS,
            Part::Image { .. } | Part::Audio { .. } => 0,
        })
        .collect();
    let share = fair_share(&lengths, budget).saturating_sub(HEADING_UNITS);
    for part in parts {
        if let Part::Text(text) = part
            && units(text) > share
            && let Some(sketch) = sketch_of(text, share)
        {
            *text = sketch;
        }
    }
}

/// What a heading and the line ends around an item take, roughly.
const HEADING_UNITS: usize = 24;

/// Replaces texts over the budget by one text; pictures follow it.
fn truncated(
    content: Vec<ContentBlock>,
    whole: &str,
    options: &LayoutOptions,
    laid_out: &mut LaidOut,
) -> Vec<ContentBlock> {
    let saved = files::save_text(options.folder.as_ref(), whole);
    let shown = joined_text(&content);
    let text = match cut_text(&shown, options.characters_max()) {
        Cut::Cut(text) => text,
        Cut::Whole => shown,
    };
    let warning = format!(
        "Warning: output truncated (original token count: {})\nTotal output lines: {}\n\n{text}\n\n[{}]",
        tokens_of(whole),
        whole.lines().count(),
        saved.sentence()
    );
    laid_out.full_output_path = saved.path();
    let media = content
        .into_iter()
        .filter(|block| block.as_text().is_none());
    std::iter::once(ContentBlock::text(warning))
        .chain(media)
        .collect()
}
