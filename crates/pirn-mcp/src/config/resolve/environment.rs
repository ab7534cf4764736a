//! Which variables a server's process gets.

use std::ffi::{OsStr, OsString};

/// Variables that every stdio server gets where they are set: what programs need to find their files, their terminal's
/// language, certificates and the proxy. Everything else, tokens above all, has to be named in `env`, or `inheritEnv` be
/// true. A `*` at the end stands for any rest.
pub const ALLOWED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "XDG_*",
    // Browsers that show themselves find the screen by these.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Those that servers get besides [`ALLOWED_VARIABLES`] on Windows, where programs do not start without some of them and
/// names are the same in any case.
pub const ALLOWED_VARIABLES_WINDOWS: &[&str] = &[
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// How much of the environment a server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inheritance {
    Allowed,
    Everything,
}

impl From<bool> for Inheritance {
    fn from(inherit_env: bool) -> Self {
        if inherit_env {
            Self::Everything
        } else {
            Self::Allowed
        }
    }
}

/// The part of the environment that a server gets.
pub(super) fn inherited(
    variables: &[(OsString, OsString)],
    inheritance: Inheritance,
) -> Vec<(OsString, OsString)> {
    variables
        .iter()
        .filter(|(name, _)| match inheritance {
            Inheritance::Everything => true,
            Inheritance::Allowed => name.to_str().is_some_and(is_allowed),
        })
        .cloned()
        .collect()
}

/// Adds an entry's own variables; they replace inherited ones.
pub(super) fn with_own(
    mut environment: Vec<(OsString, OsString)>,
    own: Vec<(String, String)>,
) -> Vec<(OsString, OsString)> {
    for (name, value) in own {
        let name = OsString::from(name);
        environment.retain(|(other, _)| !same_name(other, &name));
        environment.push((name, value.into()));
    }
    environment
}

/// Whether two names are those of one variable.
pub(super) fn same_name(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

pub(super) fn is_allowed(name: &str) -> bool {
    let windows: &[&str] = if cfg!(windows) {
        ALLOWED_VARIABLES_WINDOWS
    } else {
        &[]
    };
    ALLOWED_VARIABLES
        .iter()
        .chain(windows)
        .any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    let same = |one: &str, other: &str| same_name(OsStr::new(one), OsStr::new(other));
    match pattern.strip_suffix('*') {
        Some(start) => name
            .split_at_checked(start.len())
            .is_some_and(|(begin, _)| same(begin, start)),
        None => same(pattern, name),
    }
}
