//! How programs say that something was refused.

/// What a line complains about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// The file system is read-only.
    ReadOnly,
    Denied,
    /// The operation is not permitted.
    NotPermitted,
    /// In use: something is mounted there.
    Busy,
    /// There is no such file.
    Missing,
    /// A host or the network cannot be reached.
    Unreachable,
}

/// A complaint and where in the line its words begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundComplaint {
    pub(crate) kind: Complaint,
    pub(crate) at: usize,
}

/// The words, in lower case, and what they mean. Sources: the messages of the C library's `strerror` and `gai_strerror`, the
/// names of errors as Node writes them, the numbers as Rust and Python do, and the messages of curl, wget, git, ssh, pip, npm,
/// apt and Go. More telling ones first: a line may hold several.
const PHRASES: &[(&str, Complaint)] = &[
    ("could not resolve host", Complaint::Unreachable),
    ("couldn't resolve host", Complaint::Unreachable),
    ("unable to resolve host", Complaint::Unreachable),
    (
        "temporary failure in name resolution",
        Complaint::Unreachable,
    ),
    ("temporary failure resolving", Complaint::Unreachable),
    ("name or service not known", Complaint::Unreachable),
    ("nodename nor servname", Complaint::Unreachable),
    ("getaddrinfo e", Complaint::Unreachable),
    ("failed to lookup address", Complaint::Unreachable),
    ("dial tcp: lookup ", Complaint::Unreachable),
    ("network is unreachable", Complaint::Unreachable),
    ("enetunreach", Complaint::Unreachable),
    ("couldn't connect to server", Complaint::Unreachable),
    ("read-only file system", Complaint::ReadOnly),
    ("(os error 30)", Complaint::ReadOnly),
    ("erofs", Complaint::ReadOnly),
    ("permission denied", Complaint::Denied),
    ("(os error 13)", Complaint::Denied),
    ("eacces", Complaint::Denied),
    ("operation not permitted", Complaint::NotPermitted),
    ("(os error 1)", Complaint::NotPermitted),
    ("eperm", Complaint::NotPermitted),
    ("device or resource busy", Complaint::Busy),
    ("(os error 16)", Complaint::Busy),
    ("ebusy", Complaint::Busy),
    ("no such file or directory", Complaint::Missing),
    ("required file not found", Complaint::Missing),
    ("does not exist", Complaint::Missing),
    ("(os error 2)", Complaint::Missing),
    ("enoent", Complaint::Missing),
    ("cannot connect to the docker daemon", Complaint::Missing),
    (": not found", Complaint::Missing),
];

/// The first complaint of the table that a line holds.
pub(crate) fn complaint_in(line: &str) -> Option<FoundComplaint> {
    // Keeps positions: only ASCII letters change.
    let lower = line.to_ascii_lowercase();
    PHRASES.iter().find_map(|(words, kind)| {
        let at = lower.find(words)?;
        Some(FoundComplaint { kind: *kind, at })
    })
}
