//! The place of a file that comes closest to a text that is not in it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::TextDiff;

/// How long the search may take: it only improves an error message.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(200);

/// Places compared in detail.
const CANDIDATES_MAX: usize = 12;

/// Lines of the wanted text that are looked at, and shown.
const LINES_MAX: usize = 30;

/// Bytes of one line that are looked at, and shown.
const LINE_BYTES_MAX: usize = 300;

/// Below this likeness a place would mislead.
const RATIO_MIN: f32 = 0.5;

/// Shows the lines of `text` that come closest to `wanted`, with their numbers; `None` when nothing is like it.
pub(super) fn describe(text: &str, wanted: &str) -> Option<String> {
    let deadline = Instant::now() + SEARCH_TIME_MAX;
    let wanted: Vec<&str> = trim_blank(wanted.split('\n').map(clip).collect());
    let wanted: Vec<&str> = wanted.into_iter().take(LINES_MAX).collect();
    if wanted.is_empty() {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').map(clip).collect();
    let wanted_text = wanted.join("\n");
    let mut best: Option<(f32, usize)> = None;
    for start in candidates(&lines, &wanted, deadline) {
        let end = (start + wanted.len()).min(lines.len());
        let place = lines.get(start..end).unwrap_or_default().join("\n");
        let ratio = TextDiff::configure()
            .deadline(deadline)
            .diff_chars(&place, &wanted_text)
            .ratio();
        // The first of equals, so that the answer does not depend on the order of candidates.
        if best.is_none_or(|(known, at)| ratio > known || (ratio >= known && start < at)) {
            best = Some((ratio, start));
        }
        if Instant::now() > deadline {
            break;
        }
    }
    let (ratio, start) = best.filter(|(ratio, _)| *ratio >= RATIO_MIN)?;
    let end = (start + wanted.len()).min(lines.len());
    let width = end.to_string().len();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a percentage"
    )]
    let percent = (ratio * 100.0).floor() as u32;
    let place = if end - start == 1 {
        format!("line {end}")
    } else {
        format!("lines {}-{end}", start + 1)
    };
    let mut shown = format!("Nearest match, {place} ({percent}% alike):");
    for (index, line) in lines.get(start..end).unwrap_or_default().iter().enumerate() {
        let _infallible = write!(shown, "\n{:>width$} | {line}", start + index + 1);
    }
    Some(shown)
}

/// The starts of places that may be close, best first: by how alike their lines are to the wanted ones, judged by pairs of
/// characters.
fn candidates(lines: &[&str], wanted: &[&str], deadline: Instant) -> Vec<usize> {
    let wanted_pairs: Vec<HashSet<[u8; 2]>> = wanted.iter().map(|line| pairs(line)).collect();
    let mut scores = vec![0.0_f32; lines.len()];
    for (index, line) in lines.iter().enumerate() {
        // A look at the clock costs more than a line.
        if index % 256 == 0 && Instant::now() > deadline {
            break;
        }
        let line_pairs = pairs(line);
        if line_pairs.is_empty() {
            continue;
        }
        for (offset, wanted) in wanted_pairs.iter().enumerate() {
            let Some(score) = index
                .checked_sub(offset)
                .and_then(|start| scores.get_mut(start))
            else {
                break;
            };
            *score += likeness(&line_pairs, wanted);
        }
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| {
        let score = |index: &usize| scores.get(*index).copied().unwrap_or(0.0);
        score(b).total_cmp(&score(a)).then(a.cmp(b))
    });
    order.truncate(CANDIDATES_MAX);
    order
}

/// The pairs of neighbouring bytes of a line without its indentation.
fn pairs(line: &str) -> HashSet<[u8; 2]> {
    line.trim()
        .as_bytes()
        .windows(2)
        .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
        .collect()
}

fn likeness(a: &HashSet<[u8; 2]>, b: &HashSet<[u8; 2]>) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "lines are short")]
    let (shared, all) = (a.intersection(b).count() as f32, (a.len() + b.len()) as f32);
    2.0 * shared / all
}

fn clip(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES_MAX))
        .unwrap_or(line)
}

fn trim_blank(mut lines: Vec<&str>) -> Vec<&str> {
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines
        .iter()
        .take_while(|line| line.trim().is_empty())
        .count();
    lines.split_off(blank)
}
