//! The rules are put into force for real, in a Python child that then tries each access.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use landlock::ABI;

use super::{HandledAccess, Rules, RulesRequest, Support};
use crate::paths::Paths;
use crate::policy::{Profile, Readable, SandboxPolicy};
use crate::report::Layer;

/// Puts the ruleset into force that is given as standard input, and prints what each expression gives.
const PRELUDE: &str = r"
import ctypes, errno, os, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(expression):
    try:
        result = eval(expression)
        return 'ok' if result is None else str(result)
    except OSError as error:
        return errno.errorcode[error.errno]
def write(path):
    with open(path, 'w') as file: file.write('x')
def read(path):
    with open(path, 'rb') as file: file.read(1)
def names(path):
    os.listdir(path)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.syscall(446, 0, 0) == 0, ctypes.get_errno()
for expression in sys.argv[1:]: print(attempt(expression), flush=True)
";

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    policy: SandboxPolicy,
}

/// A folder with a working folder, a home folder, a private and a shared temporary folder, and files in all of them.
fn place() -> Place {
    // Not below /tmp, which is hidden as a whole, and not beside this program, where thousands of files would each need a rule.
    let program = std::env::current_exe().unwrap();
    let target = program.ancestors().nth(3).unwrap();
    let folder = tempfile::tempdir_in(target).unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in [
        "work/file",
        "work/sub/file",
        "work/.env",
        "home/.ssh/id",
        "home/notes",
        "temp/shared",
        "temp/private/file",
        "other/file",
    ] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "secret").unwrap();
    }
    let mut policy = SandboxPolicy::new(root.join("work"), root.join("temp"));
    policy.home = Some(root.join("home"));
    Place {
        _folder: folder,
        root,
        policy,
    }
}

impl Place {
    fn rules(&self, handled: HandledAccess) -> Rules {
        Rules::make(RulesRequest {
            handled,
            paths: &Paths::of(&self.policy).unwrap(),
            private_temp: &self.root.join("temp/private"),
            devices: &self.root.join("temp/parts/dev"),
            shared_memory: &self.root.join("temp/parts/shm"),
            shared_temp: &self.root.join("temp"),
        })
        .unwrap()
    }

    /// Tries each expression and compares what it gives. `ROOT` stands for the folder.
    fn check(&self, handled: HandledAccess, rows: &[(&str, &str)]) {
        let rules = self.rules(handled);
        assert!(rules.files && rules.scopes, "{:?}", rules.missing);
        let root = self.root.to_str().unwrap();
        let output = Command::new("/usr/bin/python3")
            .args(["-c", PRELUDE])
            .args(
                rows.iter()
                    .map(|(expression, _)| expression.replace("ROOT", root)),
            )
            .stdin(Stdio::from(rules.ruleset.unwrap()))
            .output()
            .unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        let got: Vec<(&str, &str)> = rows
            .iter()
            .map(|(expression, _)| *expression)
            .zip(answers.lines())
            .collect();
        assert_eq!(got, rows, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What holds for both kinds.
const WRITES: &[(&str, &str)] = &[
    ("write('ROOT/work/new')", "ok"),
    ("os.rename('ROOT/work/new', 'ROOT/work/sub/moved')", "ok"),
    (
        "os.rename('ROOT/work/sub/moved', 'ROOT/temp/private/moved')",
        "ok",
    ),
    ("os.mkdir('ROOT/work/folder')", "ok"),
    ("os.symlink('file', 'ROOT/work/link')", "ok"),
    ("os.mkfifo('ROOT/work/pipe')", "ok"),
    ("write('ROOT/temp/private/new')", "ok"),
    ("write('/dev/null')", "ok"),
    ("write('/etc/passwd')", "EACCES"),
    ("write('ROOT/other/file')", "EACCES"),
    ("write('ROOT/other/new')", "EACCES"),
    ("os.truncate('ROOT/other/file', 0)", "EACCES"),
    ("os.unlink('ROOT/other/file')", "EACCES"),
    ("os.mkdir('ROOT/other/folder')", "EACCES"),
    ("os.rename('ROOT/other/file', 'ROOT/work/taken')", "EACCES"),
    ("os.link('ROOT/other/file', 'ROOT/work/linked')", "EXDEV"),
    ("write('ROOT/temp/shared')", "EACCES"),
    (
        "os.mknod('ROOT/work/disk', 0o060600, os.makedev(8, 0))",
        "EACCES",
    ),
    ("os.kill(os.getppid(), 0)", "EPERM"),
    ("os.kill(os.getpid(), 0)", "ok"),
];

#[test]
fn writing_stays_inside() {
    for handled in [HandledAccess::ReadsAndWrites, HandledAccess::Writes] {
        place().check(handled, WRITES);
    }
}

#[test]
fn nothing_is_written_when_reading_only() {
    let mut place = place();
    place.policy.profile = Profile::ReadOnly;
    place.check(
        HandledAccess::ReadsAndWrites,
        &[
            ("write('ROOT/work/new')", "EACCES"),
            ("write('ROOT/temp/private/new')", "ok"),
            ("read('ROOT/work/file')", "ok"),
            ("read('ROOT/work/sub/file')", "ok"),
            // Only without write rights can it be kept.
            ("read('ROOT/work/.env')", "EACCES"),
        ],
    );
}

#[test]
fn unreadable_places_stay_so() {
    let place = place();
    place.check(
        HandledAccess::ReadsAndWrites,
        &[
            ("read('ROOT/home/.ssh/id')", "EACCES"),
            ("read('ROOT/home/notes')", "ok"),
            ("names('ROOT/home')", "ok"),
            ("read('ROOT/other/file')", "ok"),
            ("read('ROOT/temp/shared')", "EACCES"),
            ("read('ROOT/temp/private/file')", "ok"),
            ("read('ROOT/work/file')", "ok"),
            ("read('/etc/passwd')", "ok"),
            ("read('/proc/self/status')", "ok"),
            ("read('/proc/1/environ')", "EACCES"),
            ("os.readlink('/proc/1/root')", "EACCES"),
            ("read('/dev/zero')", "ok"),
            ("os.getcwd() and None", "ok"),
            ("names('/')", "ok"),
            ("read('/usr/lib/os-release')", "ok"),
            ("subprocess.run(['true'], check=True) and None", "ok"),
        ],
    );
    let gaps = place.rules(HandledAccess::ReadsAndWrites).unreadable_gaps;
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(gaps[0].contains("work/.env"));
    assert_eq!(
        place.rules(HandledAccess::Writes).unreadable_gaps,
        Vec::<String>::new()
    );
}

#[test]
fn only_chosen_places_are_readable() {
    let mut place = place();
    place.policy.readable = Readable::Only(vec![place.root.join("home")]);
    place.check(
        HandledAccess::ReadsAndWrites,
        &[
            ("read('ROOT/home/notes')", "ok"),
            ("read('ROOT/home/.ssh/id')", "EACCES"),
            ("read('ROOT/other/file')", "EACCES"),
            ("names('ROOT/other')", "EACCES"),
            ("read('ROOT/work/file')", "ok"),
            ("read('/etc/passwd')", "ok"),
            ("read('/etc/fstab')", "EACCES"),
            ("read('/dev/urandom')", "ok"),
            ("subprocess.run(['true'], check=True) and None", "ok"),
        ],
    );
}

/// An abstract socket of ours is out of reach.
#[test]
fn abstract_sockets_outside_are_out_of_reach() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("pirn-rules-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    place().check(
        HandledAccess::Writes,
        &[(
            &format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
            "EPERM",
        )],
    );
    drop(listener);
}

#[test]
fn old_kernels_are_reported() {
    let layers = |newest| -> Vec<Layer> {
        Support { newest }
            .missing()
            .into_iter()
            .map(|missing| missing.layer)
            .collect()
    };
    assert_eq!(layers(ABI::V6), []);
    assert_eq!(layers(ABI::V5), [Layer::LandlockScopes]);
    assert_eq!(
        layers(ABI::V1),
        [Layer::LandlockFiles, Layer::LandlockScopes]
    );
    assert_eq!(
        layers(ABI::Unsupported),
        [Layer::LandlockFiles, Layer::LandlockScopes]
    );
}

#[test]
fn a_place_that_is_gone_does_no_harm() {
    let place = place();
    let paths = Paths {
        write_roots: vec![Path::new("/nowhere/at/all").to_owned()],
        ..Paths::of(&place.policy).unwrap()
    };
    let rules = Rules::make(RulesRequest {
        handled: HandledAccess::Writes,
        paths: &paths,
        private_temp: Path::new("/nowhere/either"),
        devices: Path::new("/nowhere/dev"),
        shared_memory: Path::new("/nowhere/shm"),
        shared_temp: Path::new("/nowhere"),
    })
    .unwrap();
    assert!(rules.ruleset.is_some());
}
