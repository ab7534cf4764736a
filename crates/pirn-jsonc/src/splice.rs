//! Changes to JSON with comments that leave every other byte as it is.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};
use serde_json::Value;

use crate::layout::{Layout, render_line};
use crate::tree::{self, PARSE_OPTIONS, SyntaxError};

/// What to do with one member of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Gives it this value, and adds it at the end where it is missing.
    Set(Value),
    /// Takes it out, with its comma and a comment behind it on its line. Comments above it stay.
    Remove,
}

/// A text that was parsed.
pub struct Text<'t> {
    source: &'t str,
    root: Option<Ast<'t>>,
    /// Everything but space: where it stands, and what it is as far as that matters here.
    pieces: Vec<(Range<usize>, Piece)>,
}

/// What a token is, as far as that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Comma,
    Comment,
    Other,
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Text").finish_non_exhaustive()
    }
}

impl<'t> Text<'t> {
    /// Parses a text without byte order mark.
    pub fn parse(text: &'t str) -> Result<Self, SyntaxError> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collect, &PARSE_OPTIONS)
            .map_err(|error| tree::syntax_error(&error))?;
        let pieces = parsed.tokens.unwrap_or_default().into_iter().map(|token| {
            let piece = match token.token {
                Token::Comma => Piece::Comma,
                Token::CommentLine(_) | Token::CommentBlock(_) => Piece::Comment,
                Token::OpenBrace
                | Token::CloseBrace
                | Token::OpenBracket
                | Token::CloseBracket
                | Token::Colon
                | Token::String(_)
                | Token::Word(_)
                | Token::Boolean(_)
                | Token::Number(_)
                | Token::Null => Piece::Other,
            };
            (token.range.start..token.range.end, piece)
        });
        Ok(Self {
            source: text,
            pieces: pieces.collect(),
            root: parsed.value,
        })
    }

    /// Whether it holds no value, only space and comments.
    pub fn is_blank(&self) -> bool {
        self.root.is_none()
    }

    /// The text with one member changed: `path` leads from the root object to the object that holds it. `None` where the
    /// path leads to no object.
    pub fn changed(&self, path: &[&str], name: &str, change: &Change) -> Option<String> {
        let object = self.object(path)?;
        let layout = Layout::of(self.source, self.root.as_ref());
        let member = member(object, name);
        Some(match (member, change) {
            (Some(member), Change::Set(value)) => {
                let range = member.value.range();
                let value = if self.has_line_end(object.start()..object.end()) {
                    layout.render(value, layout.indent_at(member.start()))
                } else {
                    render_line(value)
                };
                self.replaced(range.start..range.end, &value)
            }
            (None, Change::Set(value)) => self.appended(object, name, value, &layout),
            (Some(member), Change::Remove) => self.removed(object, member),
            (None, Change::Remove) => self.source.to_owned(),
        })
    }

    fn object(&self, path: &[&str]) -> Option<&Object<'t>> {
        let mut object = self.root.as_ref()?.as_object()?;
        for name in path {
            object = member(object, name)?.value.as_object()?;
        }
        Some(object)
    }

    fn replaced(&self, range: Range<usize>, by: &str) -> String {
        let before = self.source.get(..range.start).unwrap_or_default();
        let behind = self.source.get(range.end..).unwrap_or_default();
        [before, by, behind].concat()
    }

    /// Adds a member behind everything that is in the object, comments included.
    fn appended(
        &self,
        object: &Object<'_>,
        name: &str,
        value: &Value,
        layout: &Layout<'_>,
    ) -> String {
        let close = object.end() - 1;
        // The opening brace is before everything else.
        let last_end = self
            .pieces
            .iter()
            .rfind(|(range, _)| range.end <= close)
            .map_or(object.start() + 1, |(range, _)| range.end);
        let last = object.properties.last();
        let comma = last.and_then(|last| self.comma_between(last.end(), close));
        let inner = object.start() + 1..close;
        let is_one_line = last.is_some() && !self.has_line_end(inner);
        let base = layout.indent_at(object.start());
        let indent = match object.properties.first() {
            Some(first) => layout.indent_of_member(first.start(), base),
            None => layout.deeper(base),
        };
        let name = Value::from(name);
        let member = if is_one_line {
            format!(" {name}: {}", render_line(value))
        } else {
            let line_end = layout.line_end;
            format!(
                "{line_end}{indent}{name}: {}",
                layout.render(value, &indent)
            )
        };
        let mut added = member;
        if comma.is_some() {
            added.push(',');
        }
        let mut end = last_end;
        if !is_one_line && !self.has_line_end(last_end..close) {
            added.push_str(layout.line_end);
            added.push_str(base);
            end = close;
        }
        let text = self.replaced(last_end..end, &added);
        match (last, comma) {
            (Some(last), None) => {
                let (before, behind) = text.split_at_checked(last.end()).unwrap_or((&text, ""));
                [before, ",", behind].concat()
            }
            (Some(_), Some(_)) | (None, _) => text,
        }
    }

    fn removed(&self, object: &Object<'_>, member: &ObjectProp<'_>) -> String {
        let close = object.end() - 1;
        let next = object
            .properties
            .iter()
            .map(Ranged::start)
            .find(|start| *start >= member.end());
        let comma = self.comma_between(member.end(), next.unwrap_or(close));
        let mut end = comma.as_ref().map_or(member.end(), |comma| comma.end);
        let mut start = member.start();
        let line_start = self.line_start(start);
        let begins_line = self.is_space(line_start..start);
        let line_end = self.line_end(end);
        let behind = self.is_trivia(end..line_end);
        if begins_line && behind {
            start = line_start;
            end = line_end;
        } else if next.is_some() && comma.is_some() {
            end = self.skip_space(end);
        } else {
            start = self.skip_space_back(start);
        }
        let mut text = self.replaced(start..end, "");
        let previous = object
            .properties
            .iter()
            .rfind(|other| other.end() <= member.start());
        if comma.is_none()
            && let Some(previous) = previous
            && let Some(comma) = self.comma_between(previous.end(), member.start())
        {
            // It stands before everything that was removed.
            text.replace_range(comma, "");
        }
        text
    }

    fn comma_between(&self, start: usize, end: usize) -> Option<Range<usize>> {
        self.pieces
            .iter()
            .find(|(range, piece)| {
                *piece == Piece::Comma && range.start >= start && range.end <= end
            })
            .map(|(range, _)| range.clone())
    }

    fn slice(&self, range: Range<usize>) -> &'t str {
        self.source.get(range).unwrap_or_default()
    }

    fn has_line_end(&self, range: Range<usize>) -> bool {
        self.slice(range).contains('\n')
    }

    fn is_space(&self, range: Range<usize>) -> bool {
        self.slice(range).trim().is_empty()
    }

    /// Whether there is nothing but space and comments that end within it.
    fn is_trivia(&self, range: Range<usize>) -> bool {
        let mut position = range.start;
        for (piece, kind) in &self.pieces {
            if piece.end <= position || piece.start >= range.end {
                continue;
            }
            if *kind != Piece::Comment || piece.end > range.end {
                return false;
            }
            position = piece.end;
        }
        true
    }

    fn line_start(&self, position: usize) -> usize {
        let before = self.slice(0..position);
        before.rfind('\n').map_or(0, |found| found + 1)
    }

    /// Behind the end of the line that holds `position`.
    fn line_end(&self, position: usize) -> usize {
        let behind = self.slice(position..self.source.len());
        behind
            .find('\n')
            .map_or(self.source.len(), |found| position + found + 1)
    }

    fn skip_space(&self, position: usize) -> usize {
        let behind = self.slice(position..self.source.len());
        position + behind.len() - behind.trim_start_matches([' ', '\t']).len()
    }

    fn skip_space_back(&self, position: usize) -> usize {
        let before = self.slice(0..position);
        before.trim_end_matches([' ', '\t']).len()
    }
}

/// The first member of this name: it is the one that counts.
fn member<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object
        .properties
        .iter()
        .find(|property| match &property.name {
            ObjectPropName::String(literal) => literal.value == name,
            ObjectPropName::Word(literal) => literal.value == name,
        })
}
