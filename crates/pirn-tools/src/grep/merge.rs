//! From hits of many files, found in any order, to one result in order of the paths.

use std::collections::BTreeMap;

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
    /// For eyes.
    lines: Vec<String>,
    line_bytes: usize,
    matches: usize,
    more_matches: bool,
    cut_lines: bool,
    gave_up: Vec<String>,
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
        }
    }

    /// Whether further files cannot change the result.
    pub(super) fn is_full(&self) -> bool {
        self.more_matches || self.line_bytes > self.bounds.bytes() + 1
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.records.is_empty()
    }

    /// Adds the hits of the next file.
    pub(super) fn add(&mut self, file: FileHits) {
        if self.is_full() {
            return;
        }
        if file.gave_up {
            self.gave_up.push(file.path.clone());
        }
        if self.bounds.reader == Reader::Program {
            self.add_records(&file);
            return;
        }
        // The line of this file's last match within the limit.
        let mut last_line = None;
        for hit in file.hits {
            let is_match = hit.kind == HitKind::Match;
            let in_limit = self.matches < self.bounds.limit;
            if !in_limit {
                let in_context = last_line
                    .is_some_and(|last| hit.line_number <= last + self.bounds.context as u64);
                if !in_context {
                    if is_match {
                        self.more_matches = true;
                        break;
                    }
                    continue;
                }
            }
            let counts = is_match && in_limit;
            if counts {
                self.matches += 1;
                last_line = Some(hit.line_number);
                self.records
                    .push(json!({"path": file.path, "line": hit.line_number, "text": hit.text}));
            }
            let mark = if counts { ':' } else { '-' };
            let line = format!("{}{mark}{}{mark} {}", file.path, hit.line_number, hit.text);
            self.cut_lines |= hit.is_cut;
            self.line_bytes += line.len() + 1;
            self.lines.push(line);
        }
    }

    fn add_records(&mut self, file: &FileHits) {
        let context = self.bounds.context as u64;
        let texts = |hits: &[Hit]| hits.iter().map(|hit| hit.text.clone()).collect::<Vec<_>>();
        for (index, hit) in file.hits.iter().enumerate() {
            if hit.kind != HitKind::Match {
                continue;
            }
            if self.matches == self.bounds.limit {
                self.more_matches = true;
                return;
            }
            self.matches += 1;
            let mut record = json!({"path": file.path, "line": hit.line_number, "text": hit.text});
            let (before, rest) = file.hits.split_at(index);
            let after = rest.get(1..).unwrap_or_default();
            let first =
                before.partition_point(|other| other.line_number + context < hit.line_number);
            let last =
                after.partition_point(|other| other.line_number <= hit.line_number + context);
            self.line_bytes += file.path.len() + hit.text.len();
            if context > 0 {
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
    pub(super) fn into_result(mut self) -> Outcome {
        if self.bounds.reader == Reader::Eyes {
            let records = Value::Array(std::mem::take(&mut self.records));
            return Ok(ToolResult::text(self.into_text()).with_structured(records));
        }
        if self.line_bytes > self.bounds.bytes() {
            return Err(reader::too_long());
        }
        if let Some(first) = self.gave_up.first() {
            return Err(format!(
                "{} could not be searched to the end, a line is too long: {first}. Leave such files out with glob",
                files(self.gave_up.len())
            ));
        }
        Ok(reader::list(self.records))
    }

    fn into_text(self) -> String {
        let (mut text, cut) = keep_head_lines(&self.lines);
        if self.lines.is_empty() {
            text.push_str("No matches found");
        }
        let mut notices = Vec::new();
        if self.more_matches {
            notices.push(format!(
                "{} matches limit reached. Use limit={} for more, or refine pattern",
                self.bounds.limit,
                self.bounds.limit.saturating_mul(2)
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

/// Puts batches of files back in order.
#[derive(Debug)]
pub(super) struct Merger {
    pub(super) found: Found,
    /// The next batch in order.
    next: usize,
    /// Batches that came before their turn.
    waiting: BTreeMap<usize, Vec<FileHits>>,
    waiting_bytes: usize,
}

/// Hits held for batches that came before their turn, before their workers wait: one slow file must not make the hits of all
/// others pile up.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;

impl Merger {
    pub(super) fn new(found: Found) -> Self {
        Self {
            found,
            next: 0,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
        }
    }

    /// Whether this batch has to wait for slower ones before it.
    pub(super) fn must_wait(&self, batch: usize) -> bool {
        batch != self.next && self.waiting_bytes > WAITING_BYTES_MAX && !self.found.is_full()
    }

    /// Adds a batch, and all that waited for it.
    pub(super) fn add(&mut self, batch: usize, files: Vec<FileHits>) {
        self.waiting_bytes += batch_bytes(&files);
        self.waiting.insert(batch, files);
        while let Some(files) = self.waiting.remove(&self.next) {
            self.waiting_bytes -= batch_bytes(&files);
            self.next += 1;
            for file in files {
                self.found.add(file);
            }
        }
    }
}

fn batch_bytes(files: &[FileHits]) -> usize {
    files.iter().map(FileHits::bytes).sum()
}
