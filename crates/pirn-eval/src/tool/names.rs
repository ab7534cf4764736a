//! How tools become members of `tool` in a program.

use std::collections::BTreeMap;

/// Characters of the longest name that a program can use as a member.
const NAME_CHARS_MAX: usize = 64;
/// Hex digits that tell names apart.
const HASH_CHARS: usize = 8;
/// Stands before names that cannot be used as they are.
const PREFIX: &str = "tool_";

/// Names that cannot be members: those that `tool` itself has, those that objects of JavaScript have, and the words of Python
/// after which no dot may stand. Only lower-case ones without a leading underscore: other names cannot come up.
const RESERVED: &[&str] = &[
    "list",
    "call",
    "parallel",
    "then",
    "constructor",
    "prototype",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
];

/// The names of tools in programs, in the order of the tools: lower-case snake case that starts with a letter, at most 64
/// characters, none reserved. Where tools would get the same name, all of them get a hash of their own name, so that none depends
/// on the order.
pub(super) fn capability_names(names: &[&str]) -> Vec<String> {
    let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    names
        .iter()
        .zip(&plain)
        .map(|(name, plain)| {
            let is_shared = counts.get(plain.as_str()).is_some_and(|count| *count > 1);
            if is_shared || plain.len() > NAME_CHARS_MAX {
                hashed(plain, name)
            } else {
                plain.clone()
            }
        })
        .collect()
}

/// The name without regard to others.
fn plain(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|character| match character {
            'a'..='z' | '0'..='9' => character,
            'A'..='Z' => character.to_ascii_lowercase(),
            _ => '_',
        })
        .collect();
    let starts_with_letter = word.starts_with(|first: char| first.is_ascii_lowercase());
    if starts_with_letter && !RESERVED.contains(&word.as_str()) {
        word
    } else {
        format!("{PREFIX}{}", word.trim_start_matches('_'))
    }
}

/// The start of `plain`, and the hash of the tool's own name.
fn hashed(plain: &str, name: &str) -> String {
    let hash: String = crate::confirmation::fingerprint(&[name])
        .chars()
        .take(HASH_CHARS)
        .collect();
    // ASCII only, so that characters are bytes.
    let start: String = plain
        .chars()
        .take(NAME_CHARS_MAX - HASH_CHARS - 1)
        .collect();
    format!("{start}_{hash}")
}
