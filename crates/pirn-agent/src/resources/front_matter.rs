//! The lines between `---` at the beginning of a Markdown file: names with values, as YAML writes them.

use std::collections::BTreeMap;

/// What separates the front matter from the text.
const FENCE: &str = "---";

/// A Markdown file in its two parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    fields: BTreeMap<String, String>,
    /// The text below, without blank lines around it.
    pub(super) body: String,
}

impl Document {
    /// Takes a file apart. Fails where its front matter does not end.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = text.lines();
        if lines.next().map(str::trim_end) != Some(FENCE) {
            return Ok(Self {
                fields: BTreeMap::new(),
                body: text.trim().to_owned(),
            });
        }
        let mut head = Vec::new();
        for line in lines.by_ref() {
            if line.trim_end() == FENCE {
                let body: Vec<&str> = lines.collect();
                return Ok(Self {
                    fields: fields(&head),
                    body: body.join("\n").trim().to_owned(),
                });
            }
            head.push(line);
        }
        Err("its front matter has no end; a line `---` is missing")
    }

    /// A value; `None` where it is missing or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name)?;
        (!value.is_empty()).then_some(value)
    }
}

/// Values of one line, quoted or not, and blocks of indented lines. What is nested deeper is left out.
fn fields(lines: &[&str]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        index += 1;
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if line.starts_with(|sign: char| sign.is_whitespace() || sign == '#') {
            continue;
        }
        let value = value.trim();
        let is_block = value.starts_with(['|', '>']);
        let indented: Vec<&str> = lines
            .get(index..)
            .unwrap_or_default()
            .iter()
            .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '\t']))
            .map(|line| line.trim())
            .collect();
        index += indented.len();
        let value = if is_block {
            let separator = if value.starts_with('|') { "\n" } else { " " };
            indented.join(separator).trim().to_owned()
        } else {
            unquoted(value)
        };
        fields.insert(name.trim().to_owned(), value);
    }
    fields
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|value| value.strip_suffix(quote));
        if let Some(inner) = inner {
            return if quote == '"' {
                inner.replace("\\\"", "\"").replace("\\\\", "\\")
            } else {
                inner.replace("''", "'")
            };
        }
    }
    // A comment needs a blank before it.
    let end = value.find(" #").unwrap_or(value.len());
    value.get(..end).unwrap_or(value).trim_end().to_owned()
}
