//! Variables in values: `${NAME}`, `${NAME:-default}`, `$NAME`.

use std::ffi::OsStr;
use std::fmt;

/// Which references a value may hold. `$${` is a literal `${` in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `${NAME}` and `${NAME:-default}`: a `$` in an argument or an address is usually meant for somebody else.
    Braces,
    /// `$NAME` too; `$$` is a literal `$`, `$!` a literal `!`.
    Dollar,
}

/// A variable that a value needs and does not get.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Not set, or empty.
    Unset(String),
    /// Set to something that is no Unicode.
    NotUnicode(String),
}

impl Missing {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Unset(name) | Self::NotUnicode(name) => name,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(name) => formatter.write_str(name),
            Self::NotUnicode(name) => write!(formatter, "{name} (which is not Unicode)"),
        }
    }
}

/// Fills variables in. `lookup` gives `None` for unset and empty ones. Malformed references stay as they are.
pub(super) fn fill<'v>(
    template: &str,
    syntax: Syntax,
    lookup: impl Fn(&str) -> Option<&'v OsStr>,
) -> (String, Vec<Missing>) {
    let mut text = String::new();
    let mut missing = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let Some((piece, behind)) = piece(after, syntax) else {
            text.push('$');
            rest = after;
            continue;
        };
        rest = behind;
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Reference { name, default } => match (lookup(name), default) {
                (Some(value), _) => match value.to_str() {
                    Some(value) => text.push_str(value),
                    None => missing.push(Missing::NotUnicode(name.to_owned())),
                },
                (None, Some(default)) => text.push_str(default),
                (None, None) => missing.push(Missing::Unset(name.to_owned())),
            },
        }
    }
    text.push_str(rest);
    (text, missing)
}

/// What a `$` begins.
enum Piece<'t> {
    Literal(&'static str),
    Reference {
        name: &'t str,
        default: Option<&'t str>,
    },
}

/// What stands after a `$`, and what stands behind that; `None` where the `$` is one.
fn piece(after: &str, syntax: Syntax) -> Option<(Piece<'_>, &str)> {
    if let Some(inner) = after.strip_prefix('{') {
        let (inner, behind) = inner.split_once('}')?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        return is_name(name).then_some((Piece::Reference { name, default }, behind));
    }
    if let Some(behind) = after.strip_prefix("${") {
        return Some((Piece::Literal("${"), behind));
    }
    match syntax {
        Syntax::Braces => None,
        Syntax::Dollar => {
            if let Some(behind) = after.strip_prefix('$') {
                return Some((Piece::Literal("$"), behind));
            }
            if let Some(behind) = after.strip_prefix('!') {
                return Some((Piece::Literal("!"), behind));
            }
            let end = after
                .find(|character: char| !is_name_character(character))
                .unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            let default = None;
            is_name(name).then_some((Piece::Reference { name, default }, behind))
        }
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(is_name_character) && text.starts_with(|first: char| !first.is_ascii_digit())
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
