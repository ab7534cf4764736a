//! Arguments of prompt templates: how what was typed becomes a list, and where its entries go.

/// Takes a line apart at blanks. Quotes open at the start of an argument only; one that is never closed is a sign like others.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (argument, after) = quoted(rest).unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            (word.to_owned(), after)
        });
        arguments.push(argument);
        rest = after.trim_start();
    }
    arguments
}

/// A quoted argument and what comes after it; `None` where none begins here, or it does not end before a blank.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let mut argument = String::new();
    let mut signs = text.char_indices().skip(1).peekable();
    while let Some((index, sign)) = signs.next() {
        if sign == quote {
            let after = text.get(index + sign.len_utf8()..)?;
            let ends = after.is_empty() || after.starts_with(char::is_whitespace);
            return ends.then_some((argument, after));
        }
        match signs.peek() {
            Some((_, next)) if sign == '\\' && *next == quote => {
                argument.push(quote);
                signs.next();
            }
            Some(_) | None => argument.push(sign),
        }
    }
    None
}

/// Puts arguments into their places, each place once: what an argument holds is text.
pub(super) fn fill_in(body: &str, arguments: &[String]) -> String {
    let mut filled = String::new();
    let mut rest = body;
    while let Some(start) = rest.find('$') {
        let (before, place) = rest.split_at(start);
        filled.push_str(before);
        if let Some((text, after)) = read_place(place, arguments) {
            filled.push_str(&text);
            rest = after;
        } else {
            filled.push('$');
            rest = place.get(1..).unwrap_or_default();
        }
    }
    filled.push_str(rest);
    filled
}

/// What stands at a place, and what comes after it; `None` where `$` is just a sign.
fn read_place<'a>(place: &'a str, arguments: &[String]) -> Option<(String, &'a str)> {
    let all = || arguments.join(" ");
    let at = |number: usize| {
        let index = number.checked_sub(1)?;
        arguments.get(index).cloned()
    };
    if let Some(after) = place.strip_prefix("$@") {
        return Some((all(), after));
    }
    if let Some(after) = place.strip_prefix("$ARGUMENTS") {
        return Some((all(), after));
    }
    if let Some(inner) = place.strip_prefix("${") {
        let (inner, after) = inner.split_once('}')?;
        return Some((braced(inner, arguments)?, after));
    }
    let digits = place.get(1..)?;
    let end = digits
        .find(|sign: char| !sign.is_ascii_digit())
        .unwrap_or(digits.len());
    let number = digits.get(..end)?.parse().ok()?;
    Some((at(number).unwrap_or_default(), digits.get(end..)?))
}

/// `N:-default`, `@:-default`, `@:N` and `@:N:L`.
fn braced(inner: &str, arguments: &[String]) -> Option<String> {
    let (what, rest) = inner.split_once(':').unwrap_or((inner, ""));
    let default = rest.strip_prefix('-');
    let given = if what == "@" {
        match (default, rest.is_empty()) {
            (Some(_), _) | (None, true) => arguments.join(" "),
            (None, false) => {
                let (first, length) = rest.split_once(':').unwrap_or((rest, ""));
                let first: usize = first.parse().ok()?;
                let from = arguments.get(first.max(1) - 1..).unwrap_or_default();
                let length = if length.is_empty() {
                    from.len()
                } else {
                    length.parse::<usize>().ok()?.min(from.len())
                };
                return Some(from.get(..length).unwrap_or_default().join(" "));
            }
        }
    } else {
        let number: usize = what.parse().ok()?;
        let index = number.checked_sub(1)?;
        arguments.get(index).cloned().unwrap_or_default()
    };
    match default {
        Some(default) if given.is_empty() => Some(default.to_owned()),
        Some(_) => Some(given),
        None if rest.is_empty() => Some(given),
        None => None,
    }
}
