//! Room for a recursive parser: a text can nest as deeply as it is long, and running out of stack would end the process.

use std::thread;

/// Stack that one token can cost at most: the parser's frames for one level of nesting, in an unoptimised build.
const STACK_PER_TOKEN: usize = 8 * 1024;
/// Stack that every run needs.
const STACK_BASE: usize = 512 * 1024;
/// More tokens than this are not parsed, so that the reserved address space stays below 512 MiB. Some 4,000 lines.
const TOKENS_MAX: usize = 64 * 1024;
/// Brackets nested more deeply than this are not parsed. No engine accepts many more, and the stack would really be used.
const NESTING_MAX: usize = 1_000;

/// Runs `work` on a stack that is large enough for parsing `source`. `None` when none would be, or when `work` panics.
pub(super) fn run<T: Send>(source: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    let tokens = count_tokens(source)?;
    let stack_size = STACK_BASE + tokens * STACK_PER_TOKEN;
    thread::scope(|scope| {
        let builder = thread::Builder::new()
            .name("script-parser".to_owned())
            .stack_size(stack_size);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// An upper bound of the tokens that can nest; `None` beyond the limits.
fn count_tokens(source: &str) -> Option<usize> {
    let mut tokens = 0;
    let mut nesting: usize = 0;
    let mut in_word = false;
    for byte in source.bytes() {
        let is_word =
            byte.is_ascii_alphanumeric() || !byte.is_ascii() || byte == b'_' || byte == b'$';
        tokens += usize::from(is_word && !in_word);
        in_word = is_word;
        match byte {
            b'(' | b'[' | b'{' => nesting += 1,
            b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        tokens +=
            usize::from(byte.is_ascii_punctuation() && !matches!(byte, b',' | b';' | b'"' | b'\''));
        if nesting > NESTING_MAX || tokens > TOKENS_MAX {
            return None;
        }
    }
    Some(tokens)
}
