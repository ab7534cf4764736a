//! Which block of a long list is at which row, without laying the list out.

/// The rows that each block takes, with sums of them: any place is found in a time that grows with the logarithm of the length.
///
/// ```
/// use pirn_terminal::RowIndex;
///
/// let mut index = RowIndex::default();
/// for rows in [3, 0, 2] {
///     index.push(rows);
/// }
/// assert_eq!(index.total(), 5);
/// assert_eq!(index.block_at(3), Some((2, 0)));
/// index.set(0, 1);
/// assert_eq!(index.start_of(2), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RowIndex {
    counts: Vec<usize>,
    /// A binary indexed tree: the element at `i` is the sum of the last `lowest bit of i + 1` counts up to `i`.
    sums: Vec<usize>,
}

impl RowIndex {
    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds a block that takes so many rows.
    pub fn push(&mut self, rows: usize) {
        let place = self.counts.len() + 1;
        self.counts.push(rows);
        let first = place - lowest_bit(place);
        let within: usize = self.start_of(place - 1) - self.start_of(first);
        self.sums.push(within + rows);
    }

    /// A block takes so many rows now. One that is not there stays so.
    pub fn set(&mut self, block: usize, rows: usize) {
        let Some(count) = self.counts.get_mut(block) else {
            return;
        };
        let before = std::mem::replace(count, rows);
        let mut place = block + 1;
        while let Some(sum) = self.sums.get_mut(place - 1) {
            *sum = *sum + rows - before;
            place += lowest_bit(place);
        }
    }

    /// The rows of all blocks.
    pub fn total(&self) -> usize {
        self.start_of(self.counts.len())
    }

    /// The rows before a block.
    pub fn start_of(&self, block: usize) -> usize {
        let mut place = block.min(self.sums.len());
        let mut rows = 0;
        while place > 0 {
            rows += self.sums.get(place - 1).copied().unwrap_or_default();
            place -= lowest_bit(place);
        }
        rows
    }

    /// The block that a row belongs to, and which of its rows it is; `None` behind the end.
    pub fn block_at(&self, row: usize) -> Option<(usize, usize)> {
        if row >= self.total() {
            return None;
        }
        let mut place = 0;
        let mut left = row;
        let mut step = self.sums.len().checked_next_power_of_two().unwrap_or(0);
        while step > 0 {
            if let Some(sum) = self.sums.get(place + step - 1)
                && *sum <= left
            {
                place += step;
                left -= sum;
            }
            step /= 2;
        }
        Some((place, left))
    }
}

fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

#[cfg(test)]
mod tests;
