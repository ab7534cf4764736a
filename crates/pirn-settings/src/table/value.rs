//! Reading single values. An error says what the value must be; it is written after the key.

use std::time::Duration;

use pirn_jsonc::{Node, Tree};
use pirn_tool::closest;

/// A week: longer is a slip of units.
const SECONDS_MAX: f64 = 604_800.0;

/// Any string, an empty one too.
pub fn text(node: &Node) -> Result<&str, String> {
    node.text()
        .ok_or_else(|| "must be a string, in quotes".to_owned())
}

/// A string with more than spaces in it.
pub fn filled(node: &Node) -> Result<&str, String> {
    let text = text(node)?;
    if text.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    Ok(text)
}

/// One of the words `true` and `false`.
pub fn flag(node: &Node) -> Result<bool, String> {
    node.flag()
        .ok_or_else(|| "must be true or false, without quotes".to_owned())
}

/// A whole number within bounds.
pub fn whole(node: &Node, least: u64, most: u64) -> Result<u64, String> {
    let number = node.number().and_then(exact);
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            let is_quoted = node
                .text()
                .is_some_and(|text| text.trim().parse::<f64>().is_ok());
            let quotes = if is_quoted { ", without quotes" } else { "" };
            format!("must be a whole number from {least} to {most}{quotes}")
        })
}

/// A time that is written as a number of seconds.
pub fn seconds(node: &Node) -> Result<Duration, String> {
    match node.number() {
        Some(seconds) if seconds > SECONDS_MAX => Err(format!(
            "must be at most {SECONDS_MAX} seconds; is it in milliseconds?"
        )),
        Some(seconds) if seconds > 0.0 => Ok(Duration::from_secs_f64(seconds)),
        Some(_) | None => Err("must be a number of seconds above 0".to_owned()),
    }
}

/// One of a few words; `read` knows them.
pub fn choice<T>(
    node: &Node,
    words: &[&str],
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, String> {
    node.text()
        .and_then(read)
        .ok_or_else(|| must_be(words, node.text()))
}

/// What a value has to be, with the word that was probably meant.
pub(crate) fn must_be(words: &[&str], given: Option<&str>) -> String {
    let meant = given.and_then(|given| closest(given, words.iter().copied()));
    let meant = meant.map_or_else(String::new, |word| format!("; did you mean \"{word}\"?"));
    format!("must be {}{meant}", one_of(words))
}

/// The elements of an array of strings, which are still to be read.
pub fn elements(node: &Node) -> Result<&[Node], String> {
    match &node.value {
        Tree::List(elements) => Ok(elements),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) | Tree::Object(_) => {
            Err("must be an array of strings".to_owned())
        }
    }
}

/// An object; `what` says of what, for the message.
pub fn object<'n>(node: &'n Node, what: &str) -> Result<&'n Node, String> {
    if node.is_object() {
        Ok(node)
    } else {
        Err(format!("must be {what}"))
    }
}

/// The whole number that this is.
fn exact(number: f64) -> Option<u64> {
    // Beyond it `f64` has no exact whole numbers, and nothing that can be set goes that far.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && (0.0..EXACT_MAX).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within bounds"
    )]
    is_whole.then_some(number as u64)
}

/// Words for a message.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
