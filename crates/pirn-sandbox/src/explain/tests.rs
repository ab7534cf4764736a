mod files;
mod network;

use super::*;
use crate::policy::{Network, Profile};

/// A confinement for work in `/srv/project` with `/srv/more` writable as well.
struct Case {
    policy: SandboxPolicy,
    level: Level,
    readable: Option<Vec<PathBuf>>,
    privileged: bool,
}

impl Case {
    fn new(level: Level, network: Network) -> Self {
        let mut policy = SandboxPolicy::new("/srv/project", "/tmp");
        policy.write_roots = vec!["/srv/more".into()];
        policy.home = Some("/srv/user".into());
        policy.network = network;
        Self {
            policy,
            level,
            readable: None,
            privileged: false,
        }
    }

    fn explain(&self, output: &str, decisions: &[NetworkDecision]) -> Vec<Denial> {
        let mut writable: Vec<PathBuf> = match self.policy.profile {
            Profile::Off | Profile::ReadOnly => Vec::new(),
            Profile::WorkspaceWrite => vec!["/srv/project".into(), "/srv/more".into()],
        };
        writable.push("/tmp".into());
        let facts = SandboxFacts {
            policy: &self.policy,
            level: Some(self.level),
            writable: &writable,
            protected: &[
                "/srv/project/.git/hooks".into(),
                "/srv/project/.git/config".into(),
                "/srv/project/.pirn".into(),
            ],
            unreadable: &["/srv/user/.ssh".into(), "/srv/project/.env".into()],
            readable: self.readable.as_deref(),
            has_proxy: self.level > Level::Basic,
            stand_ins: None,
            privileged: self.privileged,
        };
        explain(&facts, output, ExitStatus::Code(1), decisions)
    }

    /// The notes, without what they all begin and end with.
    fn notes(&self, output: &str) -> Vec<String> {
        let denials = self.explain(output, &[]);
        denials
            .into_iter()
            .map(|denial| {
                let sentence = denial.sentence;
                assert!(
                    sentence.starts_with("Sandbox: ") && sentence.ends_with('.'),
                    "{sentence}"
                );
                assert!(!sentence.contains('\n'), "{sentence:?}");
                let (refused, setting) = sentence.split_once("; setting ").unwrap();
                assert_eq!(setting.split(' ').next(), denial.setting);
                let refused = refused.strip_prefix("Sandbox: ").unwrap();
                let refused = refused.replace(" was refused (likely): ", ": ");
                match denial.suggested {
                    Some(value) => format!(
                        "{refused} [{setting} {value}]",
                        setting = denial.setting.unwrap()
                    ),
                    None => format!("{refused} [{setting}]", setting = denial.setting.unwrap()),
                }
            })
            .collect()
    }
}

fn outside(path: &str, root: &str) -> String {
    format!("writing {path}: it is outside the writable folders [sandbox.writeRoots {root}]")
}

#[test]
fn protected_paths() {
    let note = |path: &str| {
        vec![format!(
            "writing {path}: it is protected, also inside writable folders [sandbox.profile off]"
        )]
    };
    for (level, output, path) in [
        (
            Level::Strict,
            "bash: line 1: .git/hooks/pre-commit: Read-only file system",
            ".git/hooks/pre-commit",
        ),
        (
            Level::Standard,
            "tee: /srv/project/.pirn/settings.json: Read-only file system",
            "/srv/project/.pirn/settings.json",
        ),
        (
            Level::Basic,
            "bash: line 1: .git/hooks/pre-commit: Permission denied",
            ".git/hooks/pre-commit",
        ),
        (
            Level::Strict,
            "rm: cannot remove '/srv/project/.git/hooks': Device or resource busy",
            "/srv/project/.git/hooks",
        ),
        (
            Level::Strict,
            "mv: cannot move '.git' to 'x': Device or resource busy",
            ".git",
        ),
        (
            Level::Strict,
            "error: could not write config file .git/config: Device or resource busy",
            ".git/config",
        ),
        (
            Level::Strict,
            "error: could not lock config file .git/config: Read-only file system",
            ".git/config",
        ),
    ] {
        assert_eq!(
            Case::new(level, Network::On).notes(output),
            note(path),
            "{output}"
        );
    }
    let case = Case::new(Level::Strict, Network::On);
    assert_eq!(
        case.notes("umount: /mnt/disk: Device or resource busy"),
        [""; 0]
    );
}

#[test]
fn what_is_not_there_inside() {
    let mut case = Case::new(Level::Strict, Network::On);
    let docker = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
    let socket = "reaching /var/run/docker.sock: other programs' sockets are not there [sandbox.profile off]";
    assert_eq!(case.notes(docker), [socket]);
    case.level = Level::Standard;
    assert_eq!(case.notes(docker), [""; 0]);
    case.level = Level::Strict;
    case.readable = Some(vec!["/usr".into(), "/srv/project".into()]);
    let note =
        "reading /srv/data/x: it is outside the readable folders [sandbox.readRoots /srv/data]";
    for output in [
        "cat: /srv/data/x: No such file or directory",
        "cat: /srv/data/x: Permission denied",
    ] {
        assert_eq!(case.notes(output), [note], "{output}");
    }
    for output in [
        "cat: /usr/share/x: No such file or directory",
        "cat: x: No such file or directory",
        "cat: /srv/more/x: No such file or directory",
    ] {
        assert_eq!(case.notes(output), [""; 0], "{output}");
    }
}

#[test]
fn a_read_only_profile_has_nothing_to_write() {
    let mut case = Case::new(Level::Strict, Network::On);
    case.policy.profile = Profile::ReadOnly;
    let note = "writing /srv/project/x: the profile is read-only [sandbox.profile workspace-write]";
    assert_eq!(
        case.notes("tee: /srv/project/x: Read-only file system"),
        [note]
    );
    assert_eq!(case.notes("tee: /tmp/x: Read-only file system"), [""; 0]);
    let note = "writing x: the profile is read-only [sandbox.profile workspace-write]";
    assert_eq!(
        case.notes("touch: cannot touch 'x': Read-only file system"),
        [note]
    );
}

#[test]
fn rights_that_are_taken() {
    for (output, right, is_privilege) in [
        (
            "strace: test_ptrace_get_syscall_info: PTRACE_TRACEME: Operation not permitted",
            "tracing other processes",
            false,
        ),
        (
            "unshare: unshare failed: Operation not permitted",
            "making namespaces",
            false,
        ),
        (
            "bwrap: Creating new namespace failed: Operation not permitted",
            "making namespaces",
            false,
        ),
        (
            "ping: socktype: SOCK_RAW\nping: socket: Operation not permitted",
            "raw sockets",
            false,
        ),
        (
            "chroot: cannot change root directory to '/': Operation not permitted",
            "changing the root folder",
            true,
        ),
        (
            "chown: changing ownership of '/srv/project/x': Operation not permitted",
            "changing owners",
            true,
        ),
        (
            "tar: x: Cannot change ownership to uid 1000, gid 1000: Operation not permitted",
            "changing owners",
            true,
        ),
    ] {
        for privileged in [false, true] {
            let mut case = Case::new(Level::Strict, Network::On);
            case.privileged = privileged;
            let note =
                format!("{right}: confined programs do not have this right [sandbox.profile off]");
            let wanted = if privileged || !is_privilege {
                vec![note]
            } else {
                vec![]
            };
            assert_eq!(case.notes(output), wanted, "{output}");
        }
    }
}

/// Real outputs of programs without a network.

#[test]
fn nothing_is_said_about_what_went_well() {
    let case = Case::new(Level::Strict, Network::Off);
    let output = "touch: cannot touch '/etc/new': Read-only file system";
    let facts = SandboxFacts {
        policy: &case.policy,
        level: Some(Level::Strict),
        writable: &[],
        protected: &[],
        unreadable: &[],
        readable: None,
        has_proxy: false,
        stand_ins: None,
        privileged: false,
    };
    assert_eq!(explain(&facts, output, ExitStatus::Code(0), &[]), []);
    assert_eq!(explain(&facts, output, ExitStatus::Signal(9), &[]).len(), 1);
    // What a program writes cannot break out of its line.
    let odd = format!(
        "tee: '/etc/\u{7}\u{202e}x{}': Read-only file system",
        "y".repeat(1000)
    );
    let denials = explain(&facts, &odd, ExitStatus::Code(1), &[]);
    assert!(!denials[0].sentence.contains('\u{7}'));
    assert!(denials[0].sentence.len() < 600, "{}", denials[0].sentence);
}
