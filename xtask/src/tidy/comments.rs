//! Doc comments that say nothing.

use std::collections::BTreeMap;

use super::Finding;
use super::repository::Repository;

/// A doc comment of fewer words repeats the name of what it stands on, or answers a question that nobody reads.
const WORDS_MIN: usize = 4;

/// Finds doc comments that are too short to tell what the name does not, once for each crate.
pub(super) fn short_docs(repository: &Repository) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &repository.files {
        if !file.has_extension(&["rs"]) {
            continue;
        }
        let lines = short_doc_lines(file.text());
        if !lines.is_empty() {
            places
                .entry(crate_folder(&file.path))
                .or_default()
                .extend(lines.iter().map(|line| format!("{}:{line}", file.path)));
        }
    }
    places
        .into_iter()
        .filter_map(|(folder, places)| {
            let (count, first) = (places.len(), places.first()?);
            let message = format!(
                "{count} doc comments of three words or fewer, the first at {first}: say what the name does not, or leave it out"
            );
            Some(Finding::error(folder, message))
        })
        .collect()
}

/// `crates/NAME` of a file in a crate, else the first folder.
fn crate_folder(path: &str) -> String {
    let mut folders = path.split('/');
    match (folders.next(), folders.next()) {
        (Some("crates"), Some(name)) => format!("crates/{name}"),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

/// The lines on which short doc comments begin, counted from 1.
fn short_doc_lines(text: &str) -> Vec<usize> {
    let mut comments: Vec<(usize, usize)> = Vec::new();
    let mut open_marker = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let marker = ["///", "//!"]
            .into_iter()
            .find(|marker| line.starts_with(*marker));
        let words = line.split_whitespace().skip(1).count();
        match (marker, comments.last_mut()) {
            (Some(_), Some((_, comment_words))) if marker == open_marker => {
                *comment_words += words;
            }
            (Some(_), _) => comments.push((index + 1, words)),
            (None, _) => {}
        }
        open_marker = marker;
    }
    comments
        .into_iter()
        .filter(|(_, words)| *words < WORDS_MIN)
        .map(|(line, _)| line)
        .collect()
}

#[cfg(test)]
mod tests;
