//! The name that was probably meant by one that is not there.

use std::fmt::Write as _;
use std::path::Path;

use crate::options::ToolsOptions;

/// Entries of a folder that are compared; in a larger one a suggestion is not worth the time.
const NAMES_MAX: usize = 10_000;

/// A sentence with the existing path that comes closest to `path`, which is not there; `None` where nothing is close.
pub(super) fn sentence(path: &Path, options: &ToolsOptions) -> Option<String> {
    let missing = path
        .ancestors()
        .find(|path| path.parent().is_some_and(Path::is_dir))?;
    let folder = missing.parent()?;
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .take(NAMES_MAX)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    // The first of equals is chosen.
    names.sort_unstable();
    let wanted = missing.file_name()?.to_str()?;
    // The name itself is there when a link leads nowhere.
    names.retain(|name| name != wanted);
    let name = pirn_tool::closest(wanted, names.iter().map(String::as_str))?;
    let rules = options
        .sandbox
        .as_ref()
        .map(pirn_sandbox::Sandbox::file_rules);
    let closest = folder.join(name);
    if rules.is_some_and(|rules| rules.check_read(&closest).is_err()) {
        return None;
    }
    let shown = closest.strip_prefix(&options.cwd).unwrap_or(&closest);
    Some(format!(
        ". The closest name that exists is {}",
        quoted(&shown.to_string_lossy())
    ))
}

/// A text in quotes, as JSON, with everything that cannot be told apart by eye as an escape.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            ' ' => quoted.push(' '),
            _ if is_misread(character) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _infallible = write!(quoted, "\\u{unit:04x}");
                }
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character looks like another one, or like nothing.
fn is_misread(character: char) -> bool {
    character.is_control()
        || character.is_whitespace()
        || unicode_normalization::char::is_combining_mark(character)
        || matches!(
            character,
            '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{201F}'
            | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{2212}' | '\u{FEFF}'
        )
}
