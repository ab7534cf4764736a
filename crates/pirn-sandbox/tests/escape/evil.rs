//! Workspaces that were made to get in the way of what protects them. An attempt in one is held or refused, never weaker, and
//! always over in time.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::stage::{expect, text};

/// Makes every attempt in every such workspace, at every level and as every user; else each attempt is made in one of them.
const SOAK: &str = "PIRN_SANDBOX_TEST_SOAK";

/// A workspace that was made to get in the way.
pub(crate) struct Evil {
    pub(crate) name: &'static str,
    pub(crate) needs: Needs,
    /// A script that runs before the workspace is filled, in the folder around it.
    before: &'static str,
    /// A script that runs in it when it is filled.
    after: &'static str,
    /// Python that runs in it until the attempt is over, and writes a line when it is ready.
    during: &'static str,
}

/// What a workspace takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// Mounts, which only root makes, in a namespace of the attempt's own.
    Mounts,
}

const PLAIN: Evil = Evil {
    name: "",
    needs: Needs::Nothing,
    before: "",
    after: "",
    during: "",
};

pub(crate) const ALL: &[Evil] = &[
    Evil {
        name: "full-disk",
        needs: Needs::Mounts,
        before: "mount -t tmpfs -o size=256k,mode=755 none work",
        after: "cat /dev/zero > filler 2> /dev/null || true",
        ..PLAIN
    },
    Evil {
        name: "no-more-files",
        needs: Needs::Mounts,
        before: "mount -t tmpfs -o nr_inodes=60,mode=755 none work",
        after: "i=0; while true > filler$i; do i=$((i + 1)); done",
        ..PLAIN
    },
    Evil {
        name: "errors-for-every-answer",
        needs: Needs::Mounts,
        during: FUSE,
        ..PLAIN
    },
    Evil {
        name: "hidden-files",
        after: "mkdir -- -a; seq -f './-a/.env%.0f' 2000 | xargs touch --",
        ..PLAIN
    },
    Evil {
        name: "repositories",
        after: "seq -f 'g/%.0f/.git' 400 | xargs -I{} mkdir -p {}/objects {}/refs; for g in g/*/.git; do echo 'ref: refs/heads/x' > $g/HEAD; done",
        ..PLAIN
    },
    Evil {
        name: "many-files",
        after: "for d in $(seq $((FILES / 1000))); do mkdir -p many/$d; seq -f many/$d/%.0f 1000; done | xargs touch",
        ..PLAIN
    },
    Evil {
        name: "pipes",
        after: "mkdir -p sub x/.git; mkfifo sub/.git .env.pipe sub/.pirn sub/.vscode x/.git/HEAD x/.git/config x/.git/commondir",
        ..PLAIN
    },
    Evil {
        name: "sockets",
        after: "mkdir sub; python3 -c 'import socket\nfor name in (\"sub/.git\", \".env.s\"): socket.socket(socket.AF_UNIX).bind(name)'",
        ..PLAIN
    },
    Evil {
        name: "loops-of-links",
        after: "mkdir sub y; ln -s loop loop; ln -s . here; ln -s .git sub/.git; ln -s ../y y/.git; ln -s .pirn sub/.pirn; ln -s .. y/up",
        ..PLAIN
    },
    Evil {
        name: "folders-without-rights",
        after: "mkdir -p closed/.git open/.git; chmod 0 closed/.git closed open/.git",
        ..PLAIN
    },
    Evil {
        name: "longest-names",
        after: "n=$(printf %255s | tr ' ' d); mkdir -p sub/.git $n/.git; : > .env${n%????}; : > sub/.git/$n",
        ..PLAIN
    },
    Evil {
        name: "longest-paths",
        after: "python3 -c '\nimport os\nn = 4090 - 5 - len(os.getcwd())\nwhile n > 0:\n    part = \"d\" * min(255, n)\n    os.mkdir(part)\n    os.chdir(part)\n    n -= len(part) + 1\nos.mkdir(\".git\")\nopen(\".git/HEAD\", \"w\").write(\"ref: refs/heads/x\\n\")\n'",
        ..PLAIN
    },
];

/// A file system whose root is a folder, and which answers everything else with an error.
const FUSE: &str = r#"
import ctypes, errno, os, struct, sys
os.makedirs("broken")
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"evil", b"broken", b"fuse.evil", 0, options) != 0: sys.exit(os.strerror(ctypes.get_errno()))
print("ready", flush=True)
INIT, FORGET, BATCH_FORGET = 26, 2, 42
while True:
    try: request = os.read(fuse, 1 << 20)
    except OSError as error: sys.exit() if error.errno == errno.ENODEV else None
    else:
        _, kind, unique = struct.unpack_from("=IIQ", request)
        if kind == INIT:
            body = struct.pack("=IIIIHHIIHH8I", 7, 31, 0, 0, 12, 10, 4096, 1, 0, 0, *[0] * 8)[:64].ljust(64, b"\0")
            os.write(fuse, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
        elif kind not in (FORGET, BATCH_FORGET):
            os.write(fuse, struct.pack("=IiQ", 16, -errno.EIO, unique))
"#;

/// Whether every attempt is made in every workspace.
pub(crate) fn is_soak() -> bool {
    std::env::var_os(SOAK).is_some()
}

/// Whether this machine can have such a workspace.
pub(crate) fn is_possible(evil: &Evil) -> bool {
    evil.during.is_empty() || Path::new("/dev/fuse").exists()
}

/// What runs as long as an attempt.
pub(crate) struct During(Child);

impl Drop for During {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

impl Evil {
    pub(crate) fn named(name: &str) -> Result<&'static Self, String> {
        let found = ALL.iter().find(|evil| evil.name == name);
        found.ok_or_else(|| format!("there is no workspace {name}"))
    }

    /// Before the workspace is filled; `root` is the folder around it.
    pub(crate) fn before(&self, root: &Path) -> Result<(), String> {
        run(self.before, root)
    }

    /// When it is filled.
    pub(crate) fn after(&self, root: &Path) -> Result<Option<During>, String> {
        use std::io::BufRead as _;
        let work = root.join("work");
        run(self.after, &work)?;
        if self.during.is_empty() {
            return Ok(None);
        }
        let mut child = Command::new("/usr/bin/python3")
            .args(["-c", self.during])
            .current_dir(&work)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(text)?;
        let output = child.stdout.take().ok_or("no output")?;
        let during = During(child);
        let mut line = String::new();
        std::io::BufReader::new(output)
            .read_line(&mut line)
            .map_err(text)?;
        expect(line == "ready\n", || format!("{} is not ready", self.name))?;
        Ok(Some(during))
    }
}

fn run(script: &str, folder: &Path) -> Result<(), String> {
    let files = if is_soak() { "500000" } else { "20000" };
    let output = Command::new("/bin/sh")
        .args(["-ec", script])
        .env("FILES", files)
        .current_dir(folder)
        .output()
        .map_err(text)?;
    expect(output.status.success(), || {
        format!("{script}: {}", String::from_utf8_lossy(&output.stderr))
    })
}
