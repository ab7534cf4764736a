//! Confinement on macOS: a profile in the language of Seatbelt, put into force by `sandbox-exec`.
//!
//! Rules are about paths with links resolved, also about paths that do not exist yet; where several match, the last one
//! counts. There are no limits on memory or processes, and no process namespace: the children see other processes, but may
//! signal only those of the same profile.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;

use crate::paths::Paths;

/// Puts a profile into force and runs a program; part of every macOS.
#[cfg(target_os = "macos")]
pub(crate) const LAUNCHER: &str = "/usr/bin/sandbox-exec";

/// What children may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkAccess {
    /// Nothing outside; loopback is shared with the machine, so it is closed as well.
    Nothing,
    /// The proxy on this port of the loopback interface.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "there is no listener for it yet")
    )]
    Proxy(u16),
    Everything,
}

/// The arguments of `sandbox-exec` that run a program under a profile.
pub(crate) fn arguments<'text>(
    profile: &'text str,
    program: &'text OsStr,
    arguments: &'text [OsString],
) -> impl Iterator<Item = &'text OsStr> {
    [OsStr::new("-p"), OsStr::new(profile), program]
        .into_iter()
        .chain(arguments.iter().map(OsString::as_os_str))
}

/// What no program starts without: itself, facts about the machine, terminals and null devices.
const BASICS: &str = r#"(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow pseudo-tty)
(allow ipc-posix-sem)
(allow user-preference-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SecurityServer"))
(allow file-ioctl file-read* file-write*
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (regex #"^/dev/ttys[0-9]+$")
  (subpath "/dev/fd"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
"#;

/// Where names of hosts and certificates are looked up.
const NETWORK_SERVICES: &str = r#"(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.networkd"))
(allow system-socket)
"#;

/// The profile for paths of a policy, with the private temporary folder.
pub(crate) fn profile(paths: &Paths, private_temp: &Path, reach: NetworkAccess) -> String {
    let mut profile = BASICS.to_owned();
    match &paths.read_roots {
        None => profile.push_str("(allow file-read*)\n"),
        Some(roots) => {
            // Names on the way down to what is readable, and the loader's cache.
            profile.push_str("(allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n");
            rule(&mut profile, "allow file-read*", "subpath", roots);
        }
    }
    rule(
        &mut profile,
        "allow file-read* file-write*",
        "subpath",
        paths
            .write_roots
            .iter()
            .map(AsRef::as_ref)
            .chain([private_temp]),
    );
    // Neither moved away nor removed, or something else could be put in their place.
    rule(
        &mut profile,
        "deny file-write-unlink",
        "literal",
        &paths.pinned,
    );
    rule(
        &mut profile,
        "deny file-write*",
        "subpath",
        &paths.protected,
    );
    let unreadable = paths.unreadable.iter().map(|place| &place.path);
    rule(
        &mut profile,
        "deny file-read* file-write*",
        "subpath",
        unreadable,
    );
    match reach {
        NetworkAccess::Nothing => {}
        NetworkAccess::Proxy(port) => {
            let _infallible = writeln!(
                profile,
                "(allow network-outbound (remote ip \"localhost:{port}\"))"
            );
        }
        NetworkAccess::Everything => {
            profile.push_str("(allow network*)\n");
            profile.push_str(NETWORK_SERVICES);
        }
    }
    profile
}

/// Appends a rule about places; none for no places, since a rule without any is about everything.
fn rule<P: AsRef<Path>>(
    profile: &mut String,
    head: &str,
    filter: &str,
    places: impl IntoIterator<Item = P>,
) {
    let mut filters = String::new();
    for place in places {
        // A path that is no text cannot be written down; file systems of macOS have none.
        if let Some(place) = place.as_ref().to_str() {
            let _infallible = write!(filters, "\n  ({filter} {})", quoted(place));
        }
    }
    if !filters.is_empty() {
        let _infallible = writeln!(profile, "({head}{filters})");
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
