//! Whether text and structured content say the same, so that the model gets one of them.
//!
//! Servers send the same data twice: as text for older clients, and as structured content. The text is then the JSON, or the
//! one member that it wraps, or the data in prose.

use pirn_tool::ContentBlock;
use serde_json::Value;

/// Values looked for in the text; more than that is no prose any more.
const LEAVES_MAX: usize = 200;
/// Bytes of text in which values are looked for, so that the search stays below some milliseconds.
const PROSE_BYTES_MAX: usize = 64 * 1024;

/// Whether the text blocks hold what `structured` holds.
pub(super) fn says_the_same(content: &[ContentBlock], structured: &Value) -> bool {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    if texts.is_empty() {
        return false;
    }
    let joined = texts.join("\n");
    let mut candidates = vec![structured];
    // Libraries wrap what is no object: `{"result": …}`, `{"content": …}`.
    if let Value::Object(members) = structured
        && members.len() == 1
    {
        candidates.extend(members.values());
    }
    candidates.into_iter().any(|candidate| {
        is_text_of(&joined, candidate)
            || texts.iter().any(|text| is_text_of(text, candidate))
            || is_list_of(&texts, candidate)
    }) || is_prose_of(&joined, structured)
}

/// Whether the text is the string, or JSON of the value.
fn is_text_of(text: &str, value: &Value) -> bool {
    match value {
        Value::String(string) if string == text => true,
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *value)
        }
    }
}

/// Whether there is one text for each element.
fn is_list_of(texts: &[&str], value: &Value) -> bool {
    value.as_array().is_some_and(|items| {
        items.len() == texts.len()
            && items
                .iter()
                .zip(texts)
                .all(|(item, text)| is_text_of(text, item))
    })
}

/// Whether every string and number occurs in the text. Flags need not, unless there is nothing else.
fn is_prose_of(text: &str, value: &Value) -> bool {
    if text.len() > PROSE_BYTES_MAX {
        return false;
    }
    let (mut found, mut flags) = (0, 0);
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Null => {}
            Value::Bool(_) => flags += 1,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Number(number) => {
                if found == LEAVES_MAX || !contains_word(text, &number.to_string()) {
                    return false;
                }
                found += 1;
            }
            Value::String(string) => {
                if found == LEAVES_MAX || !contains_word(text, string.trim()) {
                    return false;
                }
                found += 1;
            }
        }
    }
    found > 0 || flags == 0
}

/// Whether `word` stands in the text by itself: `1` is not in `12`.
fn contains_word(text: &str, word: &str) -> bool {
    let continues = |outside: Option<char>, inside: Option<char>| {
        outside.is_some_and(char::is_alphanumeric) && inside.is_some_and(char::is_alphanumeric)
    };
    word.is_empty()
        || text.match_indices(word).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default().chars().next_back();
            let after = text
                .get(at + word.len()..)
                .unwrap_or_default()
                .chars()
                .next();
            !continues(before, word.chars().next()) && !continues(after, word.chars().next_back())
        })
}
