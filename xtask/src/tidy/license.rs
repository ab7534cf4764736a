//! Licence expressions as crates declare them (SPDX, with the old `/` for `OR`).

/// Licences that ask for no more than a notice.
const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// True when the expression can be met with accepted licences alone. Text that is no expression is
/// not acceptable.
pub(super) fn is_acceptable(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut tokens = spaced.split_whitespace().peekable();
    let accepted = alternatives(&mut tokens);
    accepted == Some(true) && tokens.next().is_none()
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `a OR b`: one accepted side is enough. Nothing stands for text that does not parse.
fn alternatives(tokens: &mut Tokens<'_>) -> Option<bool> {
    let mut accepted = conjunction(tokens)?;
    while tokens.next_if_eq(&"OR").is_some() {
        accepted |= conjunction(tokens)?;
    }
    Some(accepted)
}

/// `a AND b`: both sides must be accepted. Binds tighter than `OR`.
fn conjunction(tokens: &mut Tokens<'_>) -> Option<bool> {
    let mut accepted = single(tokens)?;
    while tokens.next_if_eq(&"AND").is_some() {
        accepted &= single(tokens)?;
    }
    Some(accepted)
}

fn single(tokens: &mut Tokens<'_>) -> Option<bool> {
    let first = tokens.next()?;
    if first == "(" {
        let accepted = alternatives(tokens)?;
        return tokens.next_if_eq(&")").map(|_| accepted);
    }
    let name = match tokens.next_if_eq(&"WITH") {
        Some(with) => format!("{first} {with} {}", tokens.next()?),
        None => first.to_owned(),
    };
    Some(ACCEPTED.contains(&name.as_str()))
}

#[cfg(test)]
mod tests;
