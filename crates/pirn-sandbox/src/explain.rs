//! Says what a confinement refused, when a command failed because of it.
//!
//! The network proxy knows what it refused. For files there is only what programs write about their failures: it is read,
//! checked against the policy, and called likely. A failure that the policy does not account for is not the confinement's.

mod absent;
mod cause;
mod complaint;
mod mention;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::network::{NetworkDecision, NetworkVerdict, refusal_sentence};
use crate::policy::{Level, SandboxPolicy};
use crate::status::ExitStatus;

pub use absent::StandIns;
use absent::{explain_absent, paths_of_source};
use cause::{explain_network, explain_path, explain_right, explain_socket};
use complaint::{Complaint, complaint_in};
use mention::{Mention, host_in, paths_before, paths_in};

/// More would bury the command's own output.
const DENIALS_MAX: usize = 5;
/// Why a command failed stands near the end.
const LINES_MAX: usize = 300;
/// Each path in a command costs a look at the file system.
const SOURCE_PATHS_MAX: usize = 100;
/// Longer lines are not written by people.
const LINE_CHARACTERS_MAX: usize = 2_000;

/// What a confinement comes to, as far as its refusals can be explained by it.
#[derive(Debug, Clone, Copy)]
pub struct SandboxFacts<'a> {
    /// The policy that children ran under.
    pub policy: &'a SandboxPolicy,
    /// The level in force.
    pub level: Option<Level>,
    /// What can be written, links resolved: the roots, and the private temporary folder by each of its names.
    pub writable: &'a [PathBuf],
    /// What cannot, though it lies inside.
    pub protected: &'a [PathBuf],
    /// What cannot be read.
    pub unreadable: &'a [PathBuf],
    /// What can be read, where that is not everything.
    pub readable: Option<&'a [PathBuf]>,
    /// Whether children have a way to the network proxy of the policy.
    pub has_proxy: bool,
    /// Folders in whose place children find another one; `None` where they find the same.
    pub stand_ins: Option<StandIns<'a>>,
    /// Whether the user has privileges outside that children do not have: the superuser.
    pub privileged: bool,
}

/// What a child was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialSubject {
    /// A file or folder, by the name that the program used.
    Path(PathBuf),
    /// A host, by name or address.
    Host(String),
    /// The network, where no host is named.
    Network,
    /// A right of processes, such as tracing others.
    Right(&'static str),
}

impl fmt::Display for DenialSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(formatter, "{}", path.display()),
            Self::Host(host) => formatter.write_str(host),
            Self::Network => formatter.write_str("network"),
            Self::Right(right) => formatter.write_str(right),
        }
    }
}

impl Serialize for DenialSubject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How sure it is that the confinement was it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The confinement itself says so.
    Certain,
    /// The program complained about what the policy does not allow.
    Likely,
}

/// Something that was refused, with what would allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// What the child was refused.
    pub subject: DenialSubject,
    /// How sure that is.
    pub evidence: Evidence,
    /// The setting that would change it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<&'static str>,
    /// What to set it to, or to add to it or take out of it, where it is a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested: Option<String>,
    /// One line for a model or a person that says all this.
    pub sentence: String,
}

/// Says what was refused, most certain first. `output_tail` is the end of what the command wrote, `decisions` what the network
/// proxy decided while it ran. About commands that succeeded nothing is said but what was not there for them though it exists: what
/// stands at the end of a pipe succeeds whatever came before.
pub fn explain(
    facts: &SandboxFacts<'_>,
    output_tail: &str,
    status: ExitStatus,
    decisions: &[NetworkDecision],
) -> Vec<Denial> {
    let lines = last_lines(output_tail);
    let mut denials: Vec<Denial> = Vec::new();
    if status.is_success() {
        for line in &lines {
            if let Some(denial) = absent_in(facts, line) {
                add(&mut denials, denial);
            }
        }
        denials.truncate(DENIALS_MAX);
        return denials;
    }
    for decision in decisions {
        match decision.verdict {
            NetworkVerdict::Refused => add(&mut denials, from_decision(decision)),
            NetworkVerdict::Allowed => {}
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let (before, _) = lines.split_at(index);
        if let Some(denial) = from_line(facts, line, before, decisions) {
            add(&mut denials, denial);
        }
    }
    let names_host = denials
        .iter()
        .any(|denial| matches!(denial.subject, DenialSubject::Host(_)));
    if names_host {
        denials.retain(|denial| denial.subject != DenialSubject::Network);
    }
    denials.truncate(DENIALS_MAX);
    denials
}

/// Says which paths in the text of a command or program are not there for it, though they exist. Relative ones are below `folder`.
/// What a program writes about that is often thrown away or read by another program.
pub(crate) fn explain_source(facts: &SandboxFacts<'_>, source: &str, folder: &Path) -> Vec<Denial> {
    let mut denials = Vec::new();
    for word in paths_of_source(source).take(SOURCE_PATHS_MAX) {
        let mention = Mention {
            text: word.to_owned(),
            is_absolute: word.starts_with('/') || word.starts_with("~/"),
        };
        if let Some(denial) = explain_absent(facts, word, &absolute_in(facts, &mention, folder)) {
            add(&mut denials, denial);
        }
    }
    denials.truncate(DENIALS_MAX);
    denials
}

/// What a line says is missing though it exists.
fn absent_in(facts: &SandboxFacts<'_>, line: &str) -> Option<Denial> {
    let complaint = complaint_in(line)?;
    match complaint.kind {
        Complaint::Missing => paths_in(line, complaint.at)
            .iter()
            .find_map(|mention| explain_absent(facts, &mention.text, &absolute(facts, mention))),
        Complaint::ReadOnly
        | Complaint::Denied
        | Complaint::NotPermitted
        | Complaint::Busy
        | Complaint::Unreachable => None,
    }
}

/// Adds a denial, unless the program was refused the same before.
fn add(denials: &mut Vec<Denial>, denial: Denial) {
    let known = denials.iter().any(|known| known.subject == denial.subject);
    // One more than is shown, since one may be taken out again.
    if !known && denials.len() <= DENIALS_MAX {
        denials.push(denial);
    }
}

fn from_decision(decision: &NetworkDecision) -> Denial {
    let NetworkDecision {
        host,
        port,
        verdict: _,
        reason,
        at: _,
    } = decision;
    let remedy = reason.remedy(host, *port);
    Denial {
        subject: DenialSubject::Host(host.clone()),
        evidence: Evidence::Certain,
        setting: remedy.as_ref().map(|remedy| remedy.setting),
        suggested: remedy.map(|remedy| remedy.value),
        sentence: format!("Sandbox: {}", refusal_sentence(host, *port, reason)),
    }
}

fn from_line(
    facts: &SandboxFacts<'_>,
    line: &str,
    before: &[String],
    decisions: &[NetworkDecision],
) -> Option<Denial> {
    let complaint = complaint_in(line)?;
    if let Some(absent) = absent_in(facts, line) {
        return Some(absent);
    }
    if complaint.kind == Complaint::Unreachable {
        return explain_network(facts, host_in(line), decisions);
    }
    let mut mentions = paths_in(line, complaint.at);
    if mentions.is_empty() && complaint.at == 0 {
        // Rust programs name the file in the sentence before its cause.
        mentions = paths_before(before);
    }
    mentions
        .iter()
        .find_map(|mention| explain_path(facts, complaint.kind, line, mention))
        .or_else(|| explain_socket(facts, complaint.kind, line, before))
        .or_else(|| explain_right(facts, complaint.kind, line))
}

/// The last lines without colours, shortened.
fn last_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .rev()
        .take(LINES_MAX)
        .map(|line| without_colours(line).trim().to_owned())
        .collect();
    lines.reverse();
    lines
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut characters = line.chars().take(LINE_CHARACTERS_MAX);
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A sequence ends with a letter.
            let _end = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

/// A path without `.` and `..`, by its text alone; relative ones are below the working folder.
fn absolute(facts: &SandboxFacts<'_>, mention: &Mention) -> PathBuf {
    absolute_in(facts, mention, &facts.policy.working_folder)
}

fn absolute_in(facts: &SandboxFacts<'_>, mention: &Mention, folder: &Path) -> PathBuf {
    let text = mention.text.as_str();
    let joined = match (text.strip_prefix("~/"), &facts.policy.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => folder.join(text),
    };
    let mut path = PathBuf::new();
    for component in joined.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                path.pop();
            }
            std::path::Component::Normal(_)
            | std::path::Component::RootDir
            | std::path::Component::Prefix(_) => path.push(component),
        }
    }
    path
}

fn is_inside<'a>(path: &Path, roots: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    roots.into_iter().any(|root| path.starts_with(root))
}
