//! A part of the conversation: as many rows as there is room for, at a place that stays while more comes.

use std::collections::BTreeMap;

use pirn_terminal::{Attribute, Row, RowIndex};

use crate::call::Detail;
use crate::transcript::Transcript;

/// Where one reads in the conversation. Only the rows that are seen exist; of the others only their number is known.
#[derive(Debug)]
pub(crate) struct Scroll {
    columns: usize,
    index: RowIndex,
    /// Blocks before this one are over and were measured.
    measured: usize,
    /// How much is shown of the blocks that are not in `details`.
    usual: Detail,
    details: BTreeMap<usize, Detail>,
    /// The block that keys for blocks are about.
    chosen: Option<usize>,
    top: usize,
    /// Whether it stays at the end while more comes.
    follows: bool,
    room: usize,
}

/// Which way one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

/// Where the rows that are shown stand among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first row that is shown.
    pub(crate) top: usize,
    /// Rows below those that are shown.
    pub(crate) below: usize,
    /// All rows that the conversation has.
    pub(crate) total: usize,
}

impl Scroll {
    /// The end of the conversation, with so much of each block.
    pub(crate) fn at_end(usual: Detail) -> Self {
        Self {
            columns: 0,
            index: RowIndex::default(),
            measured: 0,
            usual,
            details: BTreeMap::new(),
            chosen: None,
            top: 0,
            follows: true,
            room: 1,
        }
    }

    fn detail(&self, block: usize) -> Detail {
        self.details.get(&block).copied().unwrap_or(self.usual)
    }

    /// Counts the rows of what is new or may have changed.
    fn measure(&mut self, transcript: &Transcript, columns: usize) {
        if columns != self.columns || transcript.block_count() < self.index.len() {
            let place = self.index.block_at(self.top);
            self.columns = columns;
            self.index = RowIndex::default();
            self.measure_from(transcript, 0);
            if let Some((block, _)) = place {
                self.top = self.index.start_of(block);
            }
            return;
        }
        self.measure_from(transcript, self.measured);
    }

    fn measure_from(&mut self, transcript: &Transcript, first: usize) {
        for block in first..transcript.block_count() {
            let rows = transcript.block_rows(block, self.columns, self.detail(block));
            if block < self.index.len() {
                self.index.set(block, rows.len());
            } else {
                self.index.push(rows.len());
            }
        }
        self.measured = transcript.blocks_over(self.measured.min(self.index.len()));
    }

    fn last_top(&self) -> usize {
        self.index.total().saturating_sub(self.room)
    }

    fn go(&mut self, top: usize) {
        let last = self.last_top();
        self.top = top.min(last);
        self.follows = self.top == last;
    }

    pub(crate) fn rows_on(&mut self, rows: usize) {
        self.go(self.top + rows);
    }

    pub(crate) fn rows_back(&mut self, rows: usize) {
        self.go(self.top.saturating_sub(rows));
    }

    pub(crate) fn page(&self) -> usize {
        self.room
    }

    pub(crate) fn go_to_start(&mut self) {
        self.go(0);
    }

    pub(crate) fn go_to_end(&mut self) {
        self.go(usize::MAX);
    }

    /// Chooses the next block of the conversation, from the first that is seen on.
    pub(crate) fn choose(&mut self, direction: Direction) {
        let last = self.index.len().saturating_sub(1);
        let seen = self
            .index
            .block_at(self.top)
            .map_or(last, |(block, _)| block);
        let chosen = match (self.chosen, direction) {
            (None, _) => seen,
            (Some(chosen), Direction::Back) => chosen.saturating_sub(1),
            (Some(chosen), Direction::Forward) => (chosen + 1).min(last),
        };
        self.chosen = Some(chosen);
        let start = self.index.start_of(chosen);
        if start < self.top || start >= self.top + self.room {
            self.go(start);
        }
    }

    /// Opens the chosen block, or folds it. Without one it is the first that is seen.
    pub(crate) fn toggle(&mut self, transcript: &Transcript) {
        let seen = self.index.block_at(self.top).map(|(block, _)| block);
        if let Some(block) = self.chosen.or(seen) {
            let other = match self.detail(block) {
                Detail::Short => Detail::Whole,
                Detail::Whole => Detail::Short,
            };
            self.show(transcript, block, other);
        }
    }

    fn show(&mut self, transcript: &Transcript, block: usize, detail: Detail) {
        self.details.insert(block, detail);
        let rows = transcript.block_rows(block, self.columns, detail);
        self.index.set(block, rows.len());
        self.go(self.top);
    }

    /// Goes to the next place that has the text, around the end. What is folded is searched, too, and opened. Gives how many
    /// blocks have it.
    pub(crate) fn find(
        &mut self,
        transcript: &Transcript,
        query: &str,
        direction: Direction,
    ) -> usize {
        let found: Vec<usize> = (0..self.index.len())
            .filter(|block| transcript.block_contains(*block, query))
            .collect();
        let at = self.chosen.unwrap_or_else(|| {
            self.index
                .block_at(self.top)
                .map_or(self.index.len(), |(block, _)| block)
        });
        let next = match direction {
            Direction::Forward => found.iter().find(|block| **block > at).or(found.first()),
            Direction::Back => found
                .iter()
                .rev()
                .find(|block| **block < at)
                .or(found.last()),
        };
        if let Some(block) = next.copied() {
            self.chosen = Some(block);
            self.show(transcript, block, Detail::Whole);
            let rows = transcript.block_rows(block, self.columns, Detail::Whole);
            let within = rows
                .iter()
                .position(|row| has(row, query))
                .unwrap_or_default();
            self.go(self.index.start_of(block) + within);
        }
        found.len()
    }

    /// The rows that are seen, and where they stand.
    pub(crate) fn rows(
        &mut self,
        transcript: &Transcript,
        columns: usize,
        room: usize,
    ) -> (Vec<Row>, Place) {
        self.room = room.max(1);
        self.measure(transcript, columns);
        if self.follows {
            self.top = self.last_top();
        }
        self.top = self.top.min(self.last_top());
        let mut shown = Vec::with_capacity(self.room);
        if let Some((first, offset)) = self.index.block_at(self.top) {
            let mut skipped = offset;
            for block in first..self.index.len() {
                let mut rows = transcript.block_rows(block, columns, self.detail(block));
                if self.chosen == Some(block)
                    && let Some(head) = rows.first_mut()
                {
                    for span in &mut head.spans {
                        span.style = span.style.with(Attribute::Reverse);
                    }
                }
                shown.extend(rows.into_iter().skip(std::mem::take(&mut skipped)));
                if shown.len() >= self.room {
                    break;
                }
            }
        }
        shown.truncate(self.room);
        let total = self.index.total();
        let place = Place {
            top: self.top,
            below: total.saturating_sub(self.top + self.room),
            total,
        };
        shown.resize(self.room, Row::default());
        (shown, place)
    }
}

/// Whether a row has the text, whatever its capitals.
pub(crate) fn has(row: &Row, query: &str) -> bool {
    row.text().to_lowercase().contains(query)
}

#[cfg(test)]
mod tests;
