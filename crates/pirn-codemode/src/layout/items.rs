//! The items layout: one content block per item.

use std::fmt::Write as _;

use pirn_tool::ContentBlock;

use super::joined::Blocks;
use super::media::Media;
use super::truncate::{Cut, cut_text, fair_share, tokens_of, units};
use super::{LaidOut, LayoutOptions, Part, files};

/// UTF-16 code units below which cut items say nothing; where every item would get less, the last ones are left out instead.
const SHARE_MIN: usize = 64;

/// Lays items out. Over the budget, short items stay whole and long ones are cut to equal lengths; the header says so.
pub(super) fn lay_out(
    head: String,
    parts: Vec<Part>,
    error: Option<String>,
    options: &LayoutOptions,
) -> LaidOut {
    let content: Vec<ContentBlock> = parts.into_iter().filter_map(block).collect();
    let mut laid_out = LaidOut {
        content: Vec::new(),
        full_output_path: None,
    };
    let mut head = head;
    let (content, error) = fitted(content, error, options, &mut head, &mut laid_out);
    laid_out.content.push(ContentBlock::text(head));
    let mut media = Media::new(options.folder.as_ref());
    for block in content.into_iter().chain(error.map(ContentBlock::text)) {
        let mut blocks = Blocks::default();
        media.add(block, &mut blocks);
        laid_out.content.append(&mut blocks.0);
    }
    laid_out
}

fn block(part: Part) -> Option<ContentBlock> {
    match part {
        Part::Text(text) | Part::Console(text) if text.is_empty() => None,
        Part::Text(text) | Part::Console(text) => Some(ContentBlock::text(text)),
        Part::Image { data, mime_type } => Some(ContentBlock::Image { data, mime_type }),
        Part::Audio { data, mime_type } => Some(ContentBlock::Audio { data, mime_type }),
    }
}

/// Cuts texts to the budget. The error has the first claim, on up to half of it.
fn fitted(
    content: Vec<ContentBlock>,
    error: Option<String>,
    options: &LayoutOptions,
    head: &mut String,
    laid_out: &mut LaidOut,
) -> (Vec<ContentBlock>, Option<String>) {
    let budget = options.characters_max();
    let texts: Vec<&str> = content
        .iter()
        .filter_map(ContentBlock::as_text)
        .chain(error.as_deref())
        .collect();
    if texts.iter().map(|text| units(text)).sum::<usize>() <= budget {
        return (content, error);
    }
    let whole = texts.join("\n");
    let saved = files::save_text(options.folder.as_ref(), &whole);
    let (shown, all) = (options.output_tokens_max, tokens_of(&whole));
    // Writing to a string never fails.
    let _ = writeln!(
        head,
        "[Output cut to {shown} of {all} tokens. {}]",
        saved.sentence()
    );
    laid_out.full_output_path = saved.path();

    let others: usize = content
        .iter()
        .filter_map(ContentBlock::as_text)
        .map(units)
        .sum();
    let error = error.map(|error| cut(error, (budget / 2).max(budget.saturating_sub(others))));
    let left = budget.saturating_sub(error.as_deref().map_or(0, units));
    let lengths: Vec<usize> = content
        .iter()
        .filter_map(ContentBlock::as_text)
        .map(units)
        .collect();
    let content = match fair_share(&lengths, left) {
        share if share >= SHARE_MIN => content
            .into_iter()
            .map(|block| match block {
                ContentBlock::Text { text } => ContentBlock::text(cut(text, share)),
                media @ (ContentBlock::Image { .. } | ContentBlock::Audio { .. }) => media,
            })
            .collect(),
        _ => first_items(content, left),
    };
    (content, error)
}

/// The items that fit, in order, then how many texts were left out.
fn first_items(content: Vec<ContentBlock>, budget: usize) -> Vec<ContentBlock> {
    let mut left = budget;
    let mut left_out = 0;
    let mut kept = Vec::new();
    for block in content {
        match block {
            ContentBlock::Text { text } if left_out == 0 && units(&text) <= left => {
                left -= units(&text);
                kept.push(ContentBlock::text(text));
            }
            ContentBlock::Text { .. } => left_out += 1,
            media @ (ContentBlock::Image { .. } | ContentBlock::Audio { .. }) => kept.push(media),
        }
    }
    kept.push(ContentBlock::text(format!(
        "[{left_out} more text items left out]"
    )));
    kept
}

fn cut(text: String, budget: usize) -> String {
    match cut_text(&text, budget) {
        Cut::Whole => text,
        Cut::Cut(cut) => cut,
    }
}
