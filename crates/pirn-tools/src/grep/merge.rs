//! From the hits of files, in order of their paths, to one result.

use pirn_tool::ToolResult;
use serde_json::{Value, json};

use crate::arguments::Outcome;
use crate::limits::keep_head_lines;
use crate::ls::append_notices;
use crate::reader::{self, Reader};

use super::collect::{Bounds, FileHits, Hit, HitKind};

/// The result so far: a prefix of all files, in order.
#[derive(Debug)]
pub(super) struct Found {
    bounds: Bounds,
    /// The matches as values.
    records: Vec<Value>,
    /// The same for eyes, line by line.
    lines: Vec<String>,
    line_bytes: usize,
    matches: usize,
    more_matches: bool,
    cut_lines: bool,
    gave_up: Vec<String>,
    /// A sentence about what could not be read.
    pub(super) unread: Option<String>,
}

/// Files named in the notice about lines that are too long.
const GAVE_UP_NAMED_MAX: usize = 3;

impl Found {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            records: Vec::new(),
            lines: Vec::new(),
            line_bytes: 0,
            matches: 0,
            more_matches: false,
            cut_lines: false,
            gave_up: Vec::new(),
            unread: None,
        }
    }

    /// Whether further files cannot change the result.
    pub(super) fn is_full(&self) -> bool {
        self.more_matches || self.line_bytes > self.bounds.bytes() + 1
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.matches == 0
    }

    /// Adds the hits of the next file.
    pub(super) fn add(&mut self, file: &FileHits) {
        if self.is_full() {
            return;
        }
        if file.gave_up {
            self.gave_up.push(file.path.clone());
        }
        let chosen = self.choose(&file.hits);
        match self.bounds.reader {
            Reader::Program => self.add_records(file, &chosen),
            Reader::Eyes => self.add_lines(file, &chosen),
        }
    }

    /// The lines of a file's matches within the window.
    fn choose(&mut self, hits: &[Hit]) -> Vec<u64> {
        let window = self.bounds.window;
        let mut chosen = Vec::new();
        for hit in hits.iter().filter(|hit| hit.kind == HitKind::Match) {
            if self.matches == window.end() {
                let is_shown = chosen.last().is_some_and(|last: &u64| {
                    hit.line_number <= last.saturating_add(self.bounds.context as u64)
                });
                // What stands in the context of the last match is not left out.
                if is_shown {
                    continue;
                }
                self.more_matches = true;
                break;
            }
            if self.matches >= window.offset {
                chosen.push(hit.line_number);
            }
            self.matches += 1;
        }
        chosen
    }

    fn add_lines(&mut self, file: &FileHits, chosen: &[u64]) {
        let context = self.bounds.context as u64;
        for hit in &file.hits {
            let line = hit.line_number;
            let next = chosen.partition_point(|chosen| chosen.saturating_add(context) < line);
            let Some(nearest) = chosen
                .get(next)
                .filter(|chosen| **chosen <= line.saturating_add(context))
            else {
                continue;
            };
            let is_chosen = *nearest == line || chosen.binary_search(&line).is_ok();
            let mark = if is_chosen { ':' } else { '-' };
            let line = format!("{}{mark}{line}{mark} {}", file.path, hit.text);
            self.cut_lines |= hit.is_cut;
            self.line_bytes += line.len() + 1;
            self.lines.push(line);
        }
    }

    fn add_records(&mut self, file: &FileHits, chosen: &[u64]) {
        let context = self.bounds.context as u64;
        let texts = |hits: &[Hit]| hits.iter().map(|hit| hit.text.clone()).collect::<Vec<_>>();
        for line in chosen {
            let index = file.hits.partition_point(|hit| hit.line_number < *line);
            let (before, rest) = file.hits.split_at(index);
            let Some((hit, after)) = rest.split_first() else {
                continue;
            };
            let mut record = json!({"path": file.path, "line": line, "text": hit.text});
            self.line_bytes += file.path.len() + hit.text.len();
            if context > 0 {
                let first = before.partition_point(|other| other.line_number + context < *line);
                let last = after.partition_point(|other| other.line_number <= line + context);
                let (before, after) = (
                    texts(before.get(first..).unwrap_or_default()),
                    texts(after.get(..last).unwrap_or_default()),
                );
                self.line_bytes += before.iter().chain(&after).map(String::len).sum::<usize>();
                record["before"] = before.into();
                record["after"] = after.into();
            }
            self.records.push(record);
            if self.line_bytes > self.bounds.bytes() {
                return;
            }
        }
    }

    /// The result for whoever reads it.
    pub(super) fn into_result(self) -> Outcome {
        if self.bounds.reader == Reader::Eyes {
            return Ok(ToolResult::text(self.into_text()));
        }
        if self.line_bytes > self.bounds.bytes() {
            return Ok(reader::too_long());
        }
        if let Some(first) = self.gave_up.first() {
            return Err(format!(
                "{} could not be searched to the end, a line is too long: {first}. Leave such files out with glob",
                files(self.gave_up.len())
            ));
        }
        Ok(reader::list(self.records).with_notes(self.unread))
    }

    fn into_text(self) -> String {
        let (mut text, cut) = keep_head_lines(&self.lines);
        if self.lines.is_empty() {
            text.push_str(&self.bounds.window.nothing("No matches found"));
        }
        let mut notices: Vec<String> = self.unread.into_iter().collect();
        if self.more_matches {
            notices.push(format!(
                "{}, or refine pattern",
                self.bounds.window.notice("matches")
            ));
        }
        if cut {
            notices.push("50.0KB limit reached".to_owned());
        }
        if self.cut_lines {
            notices.push(
                "Some lines truncated to 500 chars. Use read tool to see full lines".to_owned(),
            );
        }
        if !self.gave_up.is_empty() {
            let mut named = self
                .gave_up
                .iter()
                .take(GAVE_UP_NAMED_MAX)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            if self.gave_up.len() > GAVE_UP_NAMED_MAX {
                named.push_str(", ...");
            }
            notices.push(format!(
                "{} not searched to the end, a line is too long: {named}",
                files(self.gave_up.len())
            ));
        }
        append_notices(&mut text, &notices);
        text
    }
}

fn files(count: usize) -> String {
    if count == 1 {
        "1 file".to_owned()
    } else {
        format!("{count} files")
    }
}
