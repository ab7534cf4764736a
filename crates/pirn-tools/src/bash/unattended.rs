//! The environment of commands that nobody sits in front of: what would wait for somebody fails at once and says what to do.

use std::ffi::{OsStr, OsString};

/// Fails with what to pass instead. A program runs it with a shell, with the file behind it.
const NO_EDITOR: &str = "sh -c 'echo \"No editor: nobody is there to type. Pass the text instead (git commit -m or \
                         --no-edit, git tag -m, git rebase with GIT_SEQUENCE_EDITOR set to a command that changes the \
                         list), or set GIT_EDITOR to a command that writes the file.\" >&2; exit 1' editor";

/// Variables that name an editor, those of single programs first.
const EDITORS: [&str; 8] = [
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "HGEDITOR",
    "SVN_EDITOR",
    "KUBE_EDITOR",
    "SUDO_EDITOR",
    "VISUAL",
    "EDITOR",
];

/// Editors that wait for nobody, which somebody may have set for just that.
const SILENT_EDITORS: [&str; 2] = ["true", ":"];

/// Everything else that makes programs ask nobody and page nothing.
const OTHERS: [(&str, &str); 13] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("AWS_PAGER", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("PIP_NO_INPUT", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// `environment` for commands that nobody sits in front of.
pub(super) fn environment(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let is_replaced = |name: &OsStr, value: &OsStr| {
        let is_silent = SILENT_EDITORS.iter().any(|silent| value == *silent);
        OTHERS.iter().any(|(known, _)| name == *known)
            || EDITORS.iter().any(|known| name == *known) && !is_silent
    };
    let mut unattended: Vec<_> = environment
        .iter()
        .filter(|(name, value)| !is_replaced(name, value))
        .cloned()
        .collect();
    for name in EDITORS {
        if !unattended.iter().any(|(known, _)| known == name) {
            unattended.push((name.into(), NO_EDITOR.into()));
        }
    }
    unattended.extend(OTHERS.map(|(name, value)| (name.into(), value.into())));
    unattended
}
