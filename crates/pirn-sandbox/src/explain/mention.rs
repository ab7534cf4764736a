//! The paths and hosts that a line names.

use crate::network::Host;

/// A line of complaint looks back this far for its file.
pub(crate) const LINES_BACK_MAX: usize = 4;
/// A line that names more is no complaint about one of them.
const MENTIONS_MAX: usize = 8;

/// A path as a line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) text: String,
    /// Whether it says where it is by itself, and does not depend on the folder that the program was in.
    pub(crate) is_absolute: bool,
}

impl Mention {
    fn new(text: &str) -> Option<Self> {
        let text = text.strip_prefix("unix://").unwrap_or(text);
        // `//` is what is left of a URL.
        if text.is_empty() || text.starts_with("//") || text.contains('\0') {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            is_absolute: text.starts_with('/') || text.starts_with("~/"),
        })
    }
}

/// The paths that a line names, in the order in which they are to be believed: if it has absolute ones, only those. The
/// complaint's words begin at `at`.
pub(crate) fn paths_in(line: &str, at: usize) -> Vec<Mention> {
    let front = line.get(..at).unwrap_or(line);
    let mut mentions: Vec<Mention> = Vec::new();
    let quoted = quoted(line);
    mentions.extend(quoted.iter().filter_map(|text| Mention::new(text)));
    mentions.extend(path_of_segment(last_segment(front)).and_then(Mention::new));
    mentions.extend(words(line).filter_map(Mention::new));
    mentions.retain(|mention| mention.is_absolute);
    if mentions.is_empty() {
        mentions.extend(relative(line, front, &quoted));
    }
    mentions.truncate(MENTIONS_MAX);
    mentions
}

/// The absolute paths of the nearest line before that has any.
pub(crate) fn paths_before(lines: &[String]) -> Vec<Mention> {
    lines
        .iter()
        .rev()
        .take(LINES_BACK_MAX)
        .map(|line| {
            let mut mentions = paths_in(line, line.len());
            mentions.retain(|mention| mention.is_absolute);
            mentions
        })
        .find(|mentions| !mentions.is_empty())
        .unwrap_or_default()
}

/// A relative name is believed only where programs put the names of files: in quotes of which one is next to the complaint,
/// or as the last word before it, behind the program's own name.
fn relative(line: &str, front: &str, quoted: &[&str]) -> Vec<Mention> {
    let front = front.trim_end_matches([':', ' ', '(']);
    let back = line.get(front.len()..).unwrap_or_default();
    let behind = back.rsplit_once(": ").map_or(back, |(_, behind)| behind);
    let are_beside = quoted.iter().any(|text| {
        let is_before = front
            .strip_suffix(is_closing_quote)
            .is_some_and(|front| front.ends_with(*text));
        let is_behind = behind
            .strip_prefix(is_opening_quote)
            .is_some_and(|behind| behind.starts_with(*text));
        is_before || is_behind
    });
    if are_beside {
        return quoted
            .iter()
            .filter_map(|text| Mention::new(text))
            .collect();
    }
    last_word(front)
        .and_then(Mention::new)
        .into_iter()
        .collect()
}

/// The last word before a complaint, if a program's name comes before it and it looks like a name.
fn last_word(front: &str) -> Option<&str> {
    let (program, segment) = front.rsplit_once(": ")?;
    // `tar: name: Cannot open: …`
    let segment = if segment.starts_with("Cannot ") {
        program.rsplit_once(": ")?.1
    } else {
        segment
    };
    segment.rsplit(' ').next().filter(|word| {
        word.bytes()
            .any(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
            && !word.contains(['@', '[', '(', '='])
    })
}

/// What stands between the complaint and the sign before it.
fn last_segment(front: &str) -> &str {
    let front = front.trim_end_matches([':', ' ', '(']);
    front.rsplit(": ").next().unwrap_or(front)
}

/// From the first slash that begins a word to the end, since names may have spaces.
fn path_of_segment(segment: &str) -> Option<&str> {
    if segment.starts_with('/') {
        return Some(segment);
    }
    let at = segment.find(" /")?;
    segment
        .get(at + 1..)
        .filter(|path| !path.ends_with(is_closing_quote))
}

/// The words that are paths by their looks, but for the program's own name at the beginning.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_ascii_whitespace()
        .enumerate()
        .filter(|(index, word)| *index > 0 || !word.ends_with(':'))
        .map(|(_, word)| word.rsplit('=').next().unwrap_or(word))
        .map(|word| {
            word.trim_start_matches(['(', '[', '<', '"', '\'', '`', '‘', '“'])
                .trim_end_matches([
                    ':', ',', ';', '.', ')', ']', '>', '"', '\'', '`', '’', '”', '!', '?',
                ])
        })
        .filter(|word| {
            word.starts_with('/')
                || word.starts_with("~/")
                || word.starts_with("./")
                || word.starts_with("../")
                || word.starts_with("unix:///")
        })
}

fn is_opening_quote(character: char) -> bool {
    matches!(character, '\'' | '"' | '`' | '‘' | '“')
}

fn is_closing_quote(character: char) -> bool {
    matches!(character, '\'' | '"' | '`' | '’' | '”')
}

/// What stands in quotes. An apostrophe inside a word opens nothing.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    while let Some((position, open)) = rest.char_indices().find(|(at, character)| {
        let previous = rest
            .get(..*at)
            .and_then(|front| front.chars().next_back())
            .unwrap_or(before);
        is_opening_quote(*character) && !previous.is_alphanumeric()
    }) {
        let close = match open {
            '‘' => '’',
            '“' => '”',
            same => same,
        };
        let inner = rest.get(position + open.len_utf8()..).unwrap_or_default();
        let Some(length) = inner.find(close) else {
            break;
        };
        let (text, behind) = inner.split_at(length);
        found.push(text);
        rest = behind.get(close.len_utf8()..).unwrap_or_default();
        before = close;
    }
    found
}

/// What programs write before a host, in lower case.
const HOST_MARKS: &[&str] = &[
    "resolve hostname ",
    "resolve host: ",
    "resolve host address ",
    "resolve host ",
    "could not resolve ",
    "temporary failure resolving ",
    "getaddrinfo enotfound ",
    "getaddrinfo eai_again ",
    "connect enetunreach ",
    "dial tcp: lookup ",
    "failed to connect to ",
    "connect to host ",
    "resolving ",
    "host=",
    "hostname: ",
    "://",
];

/// The host that a line names, unless it is the machine itself.
pub(crate) fn host_in(line: &str) -> HostMention {
    let lower = line.to_ascii_lowercase();
    let found = HOST_MARKS.iter().find_map(|mark| {
        let at = lower.find(mark)? + mark.len();
        let rest = lower.get(at..)?.trim_start_matches(is_opening_quote);
        // User names of URLs are no hosts.
        let authority = rest.split(['/', ' ', ',']).next()?;
        let text = authority.rsplit('@').next()?;
        let end = text.find([':', ')', '(', ';', '\'', '"', '`', '’', '”', '>']);
        Host::parse(end.and_then(|end| text.get(..end)).unwrap_or(text)).ok()
    });
    match found {
        None => HostMention::None,
        Some(Host::Address(address)) if address.is_loopback() => HostMention::ThisMachine,
        Some(Host::Name(name)) if name == "localhost" => HostMention::ThisMachine,
        Some(host) => HostMention::Host(host.to_string()),
    }
}

/// What a line says about the host that it could not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostMention {
    None,
    ThisMachine,
    Host(String),
}
