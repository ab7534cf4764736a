//! Whether the policy accounts for what a program complains about.

use std::path::{Path, PathBuf};

use super::complaint::Complaint;
use super::mention::{HostMention, LINES_BACK_MAX, Mention};
use super::{Denial, DenialSubject, Evidence, SandboxFacts, absolute, is_inside};
use crate::network::{NetworkDecision, NetworkVerdict};
use crate::policy::{Level, Network, Profile};

/// Longer names are cut in sentences.
const NAME_CHARACTERS_MAX: usize = 300;
/// Places whose files are the kernel's: no setting changes them.
const KERNEL_PLACES: &[&str] = &["/dev", "/proc", "/sys"];
/// Where other programs keep their sockets.
const SOCKET_PLACES: &[&str] = &["/run", "/var/run"];
/// Folders of a home that hold one folder for each program.
const SHARED_FOLDERS: &[&str] = &[".cache", ".config", ".local"];

const PROFILE: &str = "sandbox.profile";
const NETWORK: &str = "sandbox.network";
const WRITE_ROOTS: &str = "sandbox.writeRoots";
const READ_ROOTS: &str = "sandbox.readRoots";
const UNREADABLE: &str = "sandbox.unreadable";

/// Why a path was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    Unreadable(PathBuf),
    NotReadable,
    Protected,
    ReadOnlyProfile,
    Outside,
    /// A relative name whose folder is not known.
    Elsewhere,
    Socket,
}

/// Explains a complaint about a path, if the policy does.
pub(crate) fn explain_path(
    facts: &SandboxFacts<'_>,
    complaint: Complaint,
    line: &str,
    mention: &Mention,
) -> Option<Denial> {
    let path = absolute(facts, mention);
    let cause = cause_of(facts, complaint, line, mention, &path)?;
    let shown = shown(&mention.text);
    let (act, because, setting, suggested, change) = match cause {
        Cause::Unreadable(root) => (
            "reading",
            "it is among the unreadable places".to_owned(),
            UNREADABLE,
            Some(in_home(facts, &root)),
            "names them",
        ),
        Cause::NotReadable => (
            "reading",
            "it is outside the readable folders".to_owned(),
            READ_ROOTS,
            Some(suggested_root(facts, &path)),
            "would allow it",
        ),
        Cause::Protected => (
            "writing",
            "it is protected, also inside writable folders".to_owned(),
            PROFILE,
            Some(Profile::Off.as_str().to_owned()),
            "would have to be off",
        ),
        Cause::ReadOnlyProfile => (
            "writing",
            "the profile is read-only".to_owned(),
            PROFILE,
            Some(Profile::WorkspaceWrite.as_str().to_owned()),
            "with workspace-write allows it in the working folder",
        ),
        Cause::Outside => (
            "writing",
            "it is outside the writable folders".to_owned(),
            WRITE_ROOTS,
            Some(suggested_root(facts, &path)),
            "would allow it",
        ),
        Cause::Elsewhere => (
            "writing",
            "its folder is not among the writable folders".to_owned(),
            WRITE_ROOTS,
            None,
            "would allow it",
        ),
        Cause::Socket => (
            "reaching",
            "other programs' sockets are not there".to_owned(),
            PROFILE,
            Some(Profile::Off.as_str().to_owned()),
            "would have to be off",
        ),
    };
    Some(Denial {
        subject: DenialSubject::Path(PathBuf::from(&mention.text)),
        evidence: Evidence::Likely,
        setting: Some(setting),
        suggested,
        sentence: format!(
            "Sandbox: {act} {shown} was refused (likely): {because}; setting {setting} {change}."
        ),
    })
}

fn cause_of(
    facts: &SandboxFacts<'_>,
    complaint: Complaint,
    line: &str,
    mention: &Mention,
    path: &Path,
) -> Option<Cause> {
    if KERNEL_PLACES.iter().any(|place| path.starts_with(place)) {
        return None;
    }
    let refusal = match complaint {
        Complaint::Unreachable => return None,
        Complaint::Missing => return missing(facts, mention, path),
        Complaint::Busy => return is_mounted(facts, path).then_some(Cause::Protected),
        Complaint::ReadOnly | Complaint::Denied | Complaint::NotPermitted => complaint,
    };
    let is_read_only = refusal == Complaint::ReadOnly;
    if let Some(root) = facts.unreadable.iter().find(|root| path.starts_with(root)) {
        return Some(Cause::Unreadable(root.clone()));
    }
    // Where mounts confine, what they refuse is said to be read-only; where only Landlock does, permission is denied.
    let may_be_writing = match facts.level {
        Some(Level::Basic) => !is_about_reading(line),
        Some(Level::Standard | Level::Strict) => is_read_only,
        None => false,
    };
    if may_be_writing && is_inside(path, facts.protected) {
        return Some(Cause::Protected);
    }
    if is_writable(facts, path) {
        let is_elsewhere = is_read_only && !mention.is_absolute && facts.level.is_some();
        return is_elsewhere.then_some(Cause::Elsewhere);
    }
    if !is_read_only && is_not_readable(facts, path) {
        return Some(Cause::NotReadable);
    }
    match (may_be_writing, facts.policy.profile) {
        (false, _) | (true, Profile::Off) => None,
        (true, Profile::ReadOnly) => Some(Cause::ReadOnlyProfile),
        (true, Profile::WorkspaceWrite) => Some(Cause::Outside),
    }
}

/// What is not there inside, though it may be outside.
fn missing(facts: &SandboxFacts<'_>, mention: &Mention, path: &Path) -> Option<Cause> {
    if !mention.is_absolute || facts.level != Some(Level::Strict) {
        return None;
    }
    if SOCKET_PLACES.iter().any(|place| path.starts_with(place)) {
        return Some(Cause::Socket);
    }
    (is_not_readable(facts, path) && !is_writable(facts, path)).then_some(Cause::NotReadable)
}

fn is_not_readable(facts: &SandboxFacts<'_>, path: &Path) -> bool {
    facts
        .readable
        .is_some_and(|readable| !is_inside(path, readable))
}

fn is_writable(facts: &SandboxFacts<'_>, path: &Path) -> bool {
    let by_name = match facts.policy.profile {
        Profile::Off => return true,
        Profile::ReadOnly => false,
        Profile::WorkspaceWrite => {
            path.starts_with(&facts.policy.working_folder)
                || is_inside(path, &facts.policy.write_roots)
        }
    };
    by_name || is_inside(path, facts.writable)
}

/// Whether something of ours is mounted there or below, so that it cannot be moved or removed.
fn is_mounted(facts: &SandboxFacts<'_>, path: &Path) -> bool {
    facts.level.is_some_and(|level| level >= Level::Standard)
        && facts
            .protected
            .iter()
            .chain(facts.unreadable)
            .any(|mount| mount.starts_with(path))
}

/// Whether the program says that it only wanted to read.
fn is_about_reading(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "for reading",
        "cannot access",
        "cannot open directory",
        "cannot read",
        "failed to read",
        "cannot stat",
        "scandir",
        "cat: ",
        "head: ",
        "tail: ",
        "grep: ",
        "ls: ",
        "find: ",
        "less: ",
        "diff: ",
        "load key ",
    ];
    let lower = line.to_ascii_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// What to add to a list of folders so that `path` is in it: the folder of a program in the home, else the folder that the
/// file is in. Never the whole home or everything.
fn suggested_root(facts: &SandboxFacts<'_>, path: &Path) -> String {
    let root = match &facts.policy.home {
        Some(home) if path.starts_with(home) && path != home => {
            let rest = path.strip_prefix(home).unwrap_or(path);
            let depth = if SHARED_FOLDERS.iter().any(|shared| rest.starts_with(shared)) {
                2
            } else {
                1
            };
            let front: PathBuf = rest.components().take(depth).collect();
            return in_home(facts, &home.join(front));
        }
        _ => match path.parent() {
            Some(parent) if parent.parent().is_some() && !is_home_of_homes(facts, parent) => parent,
            Some(_) | None => path,
        },
    };
    root.display().to_string()
}

fn is_home_of_homes(facts: &SandboxFacts<'_>, path: &Path) -> bool {
    facts
        .policy
        .home
        .as_ref()
        .is_some_and(|home| home.starts_with(path))
}

/// A path with `~` for the home.
fn in_home(facts: &SandboxFacts<'_>, path: &Path) -> String {
    let below = facts
        .policy
        .home
        .as_ref()
        .and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// A name for a sentence: on one line, without signs that move a cursor, not too long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(NAME_CHARACTERS_MAX)
        .flat_map(|character| {
            let escaped = character.is_control().then(|| character.escape_default());
            let plain = escaped.is_none().then_some(character);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    if text.chars().nth(NAME_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Rights that the filter on system calls takes from everybody, by the words that complaints hold.
const RIGHTS: &[(&str, &str)] = &[
    ("ptrace", "tracing other processes"),
    ("strace", "tracing other processes"),
    ("unshare", "making namespaces"),
    ("namespace", "making namespaces"),
    ("perf_event", "performance events"),
    ("io_uring", "io_uring"),
    ("keyctl", "the kernel's keyrings"),
    ("userfaultfd", "userfaultfd"),
    ("socket: ", "raw sockets"),
    ("sock_raw", "raw sockets"),
];

/// Rights that only the superuser has to lose.
const PRIVILEGES: &[(&str, &str)] = &[
    ("ownership", "changing owners"),
    ("chown", "changing owners"),
    ("change root directory", "changing the root folder"),
    ("chroot", "changing the root folder"),
    ("mount", "mounting"),
    ("bpf", "BPF"),
];

/// Explains a complaint about something that is no path, if the filter does.
pub(crate) fn explain_right(
    facts: &SandboxFacts<'_>,
    complaint: Complaint,
    line: &str,
) -> Option<Denial> {
    if complaint != Complaint::NotPermitted || facts.level.is_none() {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let privileges = if facts.privileged { PRIVILEGES } else { &[] };
    let (_, right) = RIGHTS
        .iter()
        .chain(privileges)
        .find(|(word, _)| lower.contains(word))?;
    Some(Denial {
        subject: DenialSubject::Right(right),
        evidence: Evidence::Likely,
        setting: Some(PROFILE),
        suggested: Some(Profile::Off.as_str().to_owned()),
        sentence: format!(
            "Sandbox: {right} was refused (likely): confined programs do not have this right; \
             setting {PROFILE} would have to be off."
        ),
    })
}

/// Explains a complaint about sockets, where the filter leaves only local ones.
pub(crate) fn explain_socket(
    facts: &SandboxFacts<'_>,
    complaint: Complaint,
    line: &str,
    before: &[String],
) -> Option<Denial> {
    if complaint != Complaint::NotPermitted || facts.level != Some(Level::Basic) {
        return None;
    }
    // Traces of calls name the socket some lines before the complaint.
    let near = before.iter().rev().take(LINES_BACK_MAX);
    near.map(String::as_str)
        .chain([line])
        .any(|line| line.to_ascii_lowercase().contains("socket"))
        .then(|| explain_network(facts, HostMention::None, &[]))
        .flatten()
}

/// Explains a complaint about the network, if the policy does.
pub(crate) fn explain_network(
    facts: &SandboxFacts<'_>,
    host: HostMention,
    decisions: &[NetworkDecision],
) -> Option<Denial> {
    let host = match host {
        HostMention::ThisMachine => return None,
        HostMention::None => None,
        HostMention::Host(host) => Some(host),
    };
    let (because, suggested, change) = match &facts.policy.network {
        Network::On => return None,
        Network::Off => (
            "the network is off",
            "allow-list",
            "with allow-list and sandbox.allowedHosts, or with on, would allow it",
        ),
        Network::AllowList(_) if !facts.has_proxy => (
            "there is no way to the network proxy here, so the network is off",
            "on",
            "with on would allow it",
        ),
        Network::AllowList(_) => {
            let was_let_through = decisions.iter().any(|decision| {
                decision.verdict == NetworkVerdict::Allowed
                    && host.as_ref().is_none_or(|host| *host == decision.host)
            });
            if was_let_through {
                return None;
            }
            (
                "only the proxy in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY leads outside, and this program did not use it",
                "on",
                "with on would allow it",
            )
        }
    };
    let shown = host.as_deref().unwrap_or("the network");
    let sentence = format!(
        "Sandbox: reaching {shown} was refused (likely): {because}; setting {NETWORK} {change}."
    );
    Some(Denial {
        subject: host.map_or(DenialSubject::Network, DenialSubject::Host),
        evidence: Evidence::Likely,
        setting: Some(NETWORK),
        suggested: Some(suggested.to_owned()),
        sentence,
    })
}
