//! Cutting text to a budget: head and tail are kept, or the shape of JSON.

use serde_json::{Map, Value};

/// A token is taken for so many UTF-16 code units, the unit of all budgets here.
pub(super) const CHARACTERS_PER_TOKEN: usize = 4;
/// Members and elements a sketch of JSON tries to keep, from many to few.
const SKETCH_ITEMS: [usize; 6] = [50, 20, 8, 3, 1, 0];
/// Characters of strings a sketch keeps.
const SKETCH_STRING_CHARS: usize = 60;

/// A text that fits its budget, or not.
pub(super) enum Cut {
    /// It fits as it is.
    Whole,
    /// It was cut to this.
    Cut(String),
}

/// The tokens a text is taken for.
pub(super) fn tokens_of(text: &str) -> usize {
    units(text).div_ceil(CHARACTERS_PER_TOKEN)
}

/// The length to which long texts must be cut so that all together fit into `budget`, short ones staying whole.
pub(super) fn fair_share(lengths: &[usize], budget: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (index, length) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

/// The length in UTF-16 code units.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Cuts `text` to `budget` UTF-16 code units, not counting the marker.
pub(super) fn cut_text(text: &str, budget: usize) -> Cut {
    let length = units(text);
    if length <= budget {
        return Cut::Whole;
    }
    if let Some(sketch) = sketch_of(text, budget) {
        return Cut::Cut(sketch);
    }
    let head = prefix(text, budget / 2);
    let tail = suffix(text, budget - budget / 2);
    let kept = units(head) + units(tail);
    let tokens = (length - kept).div_ceil(CHARACTERS_PER_TOKEN);
    Cut::Cut(format!("{head}…{tokens} tokens truncated…{tail}"))
}

/// The longest start of at most `units` code units that splits no character.
fn prefix(text: &str, units: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, character)| {
        used += character.len_utf16();
        used > units
    });
    end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The longest end of at most `units` code units that splits no character.
fn suffix(text: &str, units: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, character)| {
        used += character.len_utf16();
        used > units
    });
    start
        .and_then(|(at, character)| text.get(at + character.len_utf8()..))
        .unwrap_or(text)
}

/// Valid JSON of the same shape with fewer elements, where the text is JSON and a useful sketch fits.
pub(super) fn sketch_of(text: &str, budget: usize) -> Option<String> {
    if !text.starts_with(['{', '[']) || budget < SKETCH_BUDGET_MIN {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    SKETCH_ITEMS
        .into_iter()
        .map(|items| sketch(&value, items).to_string())
        .find(|sketch| units(sketch) <= budget)
}

/// Below this a sketch says less than the raw head and tail.
const SKETCH_BUDGET_MIN: usize = 120;

fn sketch(value: &Value, items: usize) -> Value {
    match value {
        Value::Array(all) => {
            let mut kept: Vec<Value> = all
                .iter()
                .take(items)
                .map(|item| sketch(item, items))
                .collect();
            if all.len() > items {
                kept.push(Value::String(format!(
                    "… {} more of {} items",
                    all.len() - items,
                    all.len()
                )));
            }
            Value::Array(kept)
        }
        Value::Object(all) => {
            let mut kept: Map<String, Value> = all
                .iter()
                .take(items)
                .map(|(key, item)| (key.clone(), sketch(item, items)))
                .collect();
            if all.len() > items {
                kept.insert(
                    "…".into(),
                    Value::String(format!(
                        "{} more of {} members",
                        all.len() - items,
                        all.len()
                    )),
                );
            }
            Value::Object(kept)
        }
        Value::String(text) if text.chars().count() > SKETCH_STRING_CHARS => {
            let start: String = text.chars().take(SKETCH_STRING_CHARS).collect();
            Value::String(format!("{start}… ({} characters)", text.chars().count()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
