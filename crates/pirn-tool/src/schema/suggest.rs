//! The name that was probably meant.

/// Letters that may be wrong, for each three letters of the name.
const LETTERS_PER_SLIP: usize = 3;
/// Longer names are not compared: the work grows with the product of the lengths.
const NAME_CHARS_MAX: usize = 64;

/// The candidate closest to `name`, if one is close: the same but for case and punctuation, or with few letters wrong.
///
/// ```
/// assert_eq!(pirn_tool::closest("raed", ["read", "write"].into_iter()), Some("read"));
/// ```
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(name);
    if wanted.is_empty() || wanted.len() > NAME_CHARS_MAX {
        return None;
    }
    let slips_max = (wanted.len() / LETTERS_PER_SLIP).max(1);
    candidates
        .filter_map(|candidate| {
            let folded = folded(candidate);
            let is_comparable =
                folded.len() <= NAME_CHARS_MAX && folded.len().abs_diff(wanted.len()) <= slips_max;
            let distance = if is_comparable {
                distance(&wanted, &folded)
            } else {
                usize::MAX
            };
            // Names of which half would have to be wrong are near everything.
            let is_close = distance == 0 || distance.saturating_mul(2) < wanted.len();
            (distance <= slips_max && is_close).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn folded(name: &str) -> Vec<char> {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Letters to insert, remove, replace or swap with their neighbour to get from one name to the other.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, left_char) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right_char) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(left_char != right_char);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let is_swap = row > 0
                && column > 0
                && left[row - 1] == *right_char
                && *left_char == right[column - 1];
            if is_swap {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}
