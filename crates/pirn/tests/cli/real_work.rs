//! Work as people do it, confined and without network: none of it may be broken by the sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::place::Place;

/// A place with what work needs of its surroundings.
struct Work {
    place: Place,
}

impl Work {
    fn new() -> Self {
        Self {
            place: Place::lasting(),
        }
    }

    fn pirn(&self, arguments: &[&str]) -> Command {
        let mut pirn = self.place.pirn(arguments);
        let tools = toolchain();
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path)));
        pirn.env("PATH", path.unwrap())
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.com");
        pirn
    }

    /// Runs commands without network, one call of `bash` each, in one session. All must succeed. What they wrote.
    #[track_caller]
    fn does(&self, commands: &[&str]) -> String {
        self.does_with("off", commands)
    }

    #[track_caller]
    fn does_with(&self, network: &str, commands: &[&str]) -> String {
        let code = format!(
            "let all = '';
            for (const command of {}) {{
              const done = await tools.bash({{command}});
              all += done.output;
              if (done.exit_code !== 0) throw new Error(command + '\\n' + done.output + done.denied);
            }}
            return all",
            json!(commands)
        );
        let arguments = [
            "exec",
            "--yes",
            "--quiet",
            "--sandbox",
            "workspace-write",
            "--network",
            network,
            "-e",
            &code,
        ];
        let run = self.place.ended(self.pirn(&arguments).output().unwrap());
        run.good()
    }

    fn write(&self, name: &str, content: &str) {
        self.place.write(name, content);
    }
}

/// The folder of the compiler that runs these tests.
fn toolchain() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap();
    PathBuf::from(cargo).parent().unwrap().to_owned()
}

/// Python with the packages that people work with.
fn python() -> String {
    let folder = std::env::var_os("PIRN_MCP_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
        PathBuf::from,
    );
    // Where a link on the way lies below the shared temporary folder, commands would not find it.
    let python = folder
        .canonicalize()
        .unwrap_or(folder)
        .join("python-work/bin/python");
    assert!(
        python.exists(),
        "{} is missing: `make peers` installs it",
        python.display()
    );
    python.to_str().unwrap().to_owned()
}

#[test]
fn cargo_builds_a_vendored_crate() {
    let work = Work::new();
    work.write(
        "Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\ntiny = \"1\"\n[workspace]\n",
    );
    work.write(
        "src/main.rs",
        "fn main() { println!(\"{}\", tiny::word()); }\n",
    );
    work.write(
        "build.rs",
        "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n",
    );
    work.write(
        "vendor/tiny/Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
    );
    work.write(
        "vendor/tiny/src/lib.rs",
        "pub fn word() -> &'static str { \"vendored\" }\n",
    );
    work.write(
        "vendor/tiny/.cargo-checksum.json",
        "{\"files\":{},\"package\":null}",
    );
    work.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n",
    );
    let output = work.does(&[
        "cargo build --offline 2>&1 && ./target/debug/app",
        "cargo run --offline -q",
    ]);
    assert!(output.ends_with("vendored\nvendored\n"), "{output}");
}

#[test]
fn npm_runs_a_script_with_a_server() {
    let work = Work::new();
    work.write(
        "package.json",
        r#"{"name": "small", "version": "1.0.0", "private": true, "scripts": {"check": "node check.mjs"}}"#,
    );
    work.write(
        "check.mjs",
        "import http from 'node:http';
const server = http.createServer((request, response) => response.end('served ' + request.url));
server.listen(0, '127.0.0.1', async () => {
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/x`);
  console.log(await answer.text());
  server.close();
  server.closeAllConnections();
});
",
    );
    let output = work.does(&["npm run check"]);
    assert!(output.contains("served /x"), "{output}");
}

#[test]
fn pytest_runs() {
    let work = Work::new();
    work.write("small.py", "def double(x):\n    return 2 * x\n");
    work.write(
        "test_small.py",
        "import small\n\ndef test_double(tmp_path):\n    (tmp_path / 'x').write_text('1')\n    assert small.double(2) == 4\n",
    );
    let output = work.does(&[&format!("{} -m pytest -q", python())]);
    assert!(output.contains("1 passed"), "{output}");
    assert!(work.place.path().join(".pytest_cache").is_dir());
}

#[test]
fn git_makes_history() {
    let work = Work::new();
    let output = work.does(&[
        "git init -q -b main && echo a > a && git add a && git commit -qm first",
        "git checkout -q -b side && echo b > b && git add b && git commit -qm second",
        "git checkout -q main && echo c > c && git add c && git commit -qm third && git merge -q -m merged side",
        "echo d >> a && git stash -q && git stash pop -q && git diff --stat && git checkout -q a",
        "git tag v1 && git rebase -q --onto HEAD~1 HEAD~1 2>&1; git gc -q; git log --oneline --all | wc -l; git fsck",
    ]);
    assert!(
        output.contains("a | 1 +") && output.contains("5\n"),
        "{output}"
    );
}

#[test]
fn git_commits_in_a_worktree() {
    let work = Work::new();
    let main = work.place.home().join("main");
    let project = work.place.path();
    let script = format!(
        "set -e; git init -q -b main {0}; cd {0}; echo a > a; git add a; git commit -qm first; rmdir {1}; git worktree add -q -b side {1}",
        main.display(),
        project.display()
    );
    let mut prepare = work.place.program("sh");
    prepare
        .args(["-c", &script])
        .current_dir(work.place.home())
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@example.com");
    assert!(prepare.status().unwrap().success());
    let output = work.does(&[
        "echo b > b && git add b && git commit -qm second && git log --oneline | wc -l && git status --short",
    ]);
    assert_eq!(output, "2\n");
}

#[test]
fn python_draws_a_figure() {
    let work = Work::new();
    work.write(
        "figure.py",
        "import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image
frame = pd.DataFrame({'x': np.arange(10), 'y': np.arange(10) ** 2})
frame.plot(x='x', y='y')
plt.savefig('figure.png')
print(Image.open('figure.png').format, int(frame.y.sum()))
",
    );
    let output = work.does(&[&format!("{} figure.py 2>/dev/null", python())]);
    assert_eq!(output, "PNG 285\n");
    assert!(work.place.path().join("figure.png").exists());
}

#[test]
fn a_virtual_environment_is_made() {
    let work = Work::new();
    let output = work.does(&[
        "python3 -m venv --without-pip env && . env/bin/activate && python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
    ]);
    assert_eq!(output, "True\n");
}

#[test]
fn sqlite_keeps_a_table() {
    let work = Work::new();
    let script = "import sqlite3
c = sqlite3.connect('data.db')
c.execute('pragma journal_mode=wal')
c.execute('create table if not exists t (x)')
c.execute('insert into t values (1)')
c.commit()
print(c.execute('select count(*) from t').fetchone()[0])
";
    work.write("table.py", script);
    assert_eq!(
        work.does(&["python3 table.py", "python3 table.py"]),
        "1\n2\n"
    );
}

#[test]
fn make_runs_in_parallel() {
    let work = Work::new();
    work.write(
        "Makefile",
        "all: a b c d\n\tcat a b c d > all\n%:\n\t@echo $@ > $@\n.PHONY: all\n",
    );
    work.does(&["make -j4"]);
    assert_eq!(work.place.read("all"), "a\nb\nc\nd\n");
}

#[test]
fn shells_have_what_scripts_use() {
    let work = Work::new();
    work.write(
        "script.sh",
        "set -euo pipefail
file=$(mktemp) && folder=$(mktemp -d) && trap 'rm -r $file $folder' EXIT
cat > $file <<EOF
one $((1 + 1))
EOF
diff <(cat $file) <(echo one 2) && echo same
while read -r word rest; do echo \"$rest $word\"; done < $file
mkfifo $folder/pipe && (echo through > $folder/pipe &) && cat $folder/pipe
echo lock | flock $folder/lock cat
coproc cat; echo co >&\"${COPROC[1]}\"; read -r line <&\"${COPROC[0]}\"; echo $line; kill $COPROC_PID
test -t 0 || echo no terminal
head -c 4 /dev/urandom | wc -c; echo to > /dev/null; echo err 2> /dev/stderr > /dev/stdout
script -qec 'test -t 1 && echo a terminal' /dev/null
ulimit -n > /dev/null; nice -n 1 true; timeout 5 true; seq 3 | xargs -P 3 -n 1 true
ln -s script.sh link && cp -p link copy && chmod +x copy && touch -d '2020-01-01' copy && rm link copy
",
    );
    let output = work.does(&["bash script.sh"]);
    let expected = "same\n2 one\nthrough\nlock\nco\nno terminal\n4\nerr\na terminal\r\n";
    assert_eq!(output, expected);
}

#[test]
fn a_server_lives_between_calls() {
    for network in ["on", "off"] {
        let work = Work::new();
        work.write("page.txt", "served\n");
        let output = work.does_with(network, &[
            "python3 -u -m http.server --bind 127.0.0.1 0 > server.log 2>&1 & \
             until grep -qs 'port [0-9]' server.log; do sleep 0.05; done",
            "port=$(sed -n 's/.*port \\([0-9]*\\).*/\\1/p' server.log) && \
             python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/page.txt').read().decode(), end='')\"",
        ]);
        assert_eq!(output, "served\n", "{network}");
    }
}
