//! The whole process is killed at random moments during bash, write and edit: no child survives, and every file holds the old
//! content or the new one.

use std::io::BufRead as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use pirn_tool::{CallRequest, Pipeline, Registry};
use pirn_tools::{ToolsOptions, builtin_tools};

use crate::support::{Bench, names};

/// Kills in all, and side by side.
const KILLS: usize = 200;
const KILLS_IN_PARALLEL: usize = 8;

/// How soon every descendant must be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The random moments lie in this span after the victim has begun.
const MOMENT_MAX_US: u64 = 40_000;

/// The folder in which [`victim`] works; also the mark of its children.
const VICTIM_FOLDER: &str = "PIRN_TOOLS_TEST_VICTIM";

const WRITTEN_BYTES: usize = 300_000;
const FILLER_BYTES: usize = 100_000;

#[test]
fn two_hundred_kills_leave_nothing_behind() {
    std::thread::scope(|scope| {
        for worker in 0..KILLS_IN_PARALLEL {
            scope.spawn(move || {
                for round in (worker..KILLS).step_by(KILLS_IN_PARALLEL) {
                    kill_once(round);
                }
            });
        }
    });
}

fn kill_once(round: usize) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("written"), "a".repeat(WRITTEN_BYTES)).unwrap();
    std::fs::write(folder.join("edited"), edited(0)).unwrap();
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::victim", "--nocapture"])
        .env(VICTIM_FOLDER, &folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("victim has begun")));
    // Spread evenly and always the same: multiples of the golden ratio.
    let moment_us = (round as u64).wrapping_mul(11_400_714_819_323_198_485) % MOMENT_MAX_US;
    std::thread::sleep(Duration::from_micros(moment_us)); // sleeps: the random moment itself
    victim.kill().unwrap();
    victim.wait().unwrap();

    let deadline = Instant::now() + GONE_WITHIN;
    while has_survivor(&folder) {
        assert!(Instant::now() < deadline, "round {round}: a child survived");
        std::thread::sleep(Duration::from_millis(5)); // sleeps: no event tells of the end of a stranger
    }
    check_files(&folder, round);
}

fn check_files(folder: &Path, round: usize) {
    let written = std::fs::read(folder.join("written")).unwrap();
    assert_eq!(written.len(), WRITTEN_BYTES, "round {round}");
    let first = written.first().unwrap();
    assert!(
        written.iter().all(|byte| byte == first),
        "round {round}: half written"
    );

    let text = std::fs::read_to_string(folder.join("edited")).unwrap();
    let number: usize = text
        .lines()
        .next()
        .unwrap()
        .strip_prefix("head ")
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(text, edited(number), "round {round}: half edited");

    // The next write in the folder removes what a kill between link and rename has left.
    let bench = Bench::with(|options| options.cwd = folder.to_path_buf());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(bench.ok("write", json!({"path": "written", "content": "swept"})));
    let left: Vec<_> = names(folder)
        .into_iter()
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "round {round}");
}

/// Whether a process with the victim's mark is left.
fn has_survivor(folder: &Path) -> bool {
    let mark = format!("MARK={}", folder.display());
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("environ")).is_ok_and(|bytes| {
            bytes
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        })
    })
}

/// The content of the edited file after `number` edits.
fn edited(number: usize) -> String {
    format!(
        "head {number}\n{}\ntail {number}\n",
        "x".repeat(FILLER_BYTES)
    )
}

/// Not a test by itself: the process that is killed. Works with all three tools at once until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn victim() {
    let Some(folder) = std::env::var_os(VICTIM_FOLDER) else {
        return;
    };
    let mut options = ToolsOptions::new(&folder, &folder);
    options.environment = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("MARK".into(), folder),
    ];
    let registry = Registry::new();
    for tool in builtin_tools(options) {
        registry.register(tool);
    }
    let pipeline = Pipeline::builder(registry).build();
    let call = async |tool: &str, arguments| {
        let outcome = Pipeline::call(&pipeline, CallRequest::new("1", tool, arguments)).await;
        assert!(!outcome.result.is_error, "{}", outcome.result.joined_text());
    };
    let run = async {
        loop {
            call("bash", json!({"command": "sleep 1000 & setsid sleep 1001 & (setsid sleep 1002 &) ; sleep 0.005"})).await;
        }
    };
    let write = async {
        for letter in ["b", "c", "d"].iter().cycle() {
            call(
                "write",
                json!({"path": "written", "content": letter.repeat(WRITTEN_BYTES)}),
            )
            .await;
        }
    };
    let edit = async {
        for number in 0.. {
            let edit = |place: &str| json!({"oldText": format!("{place} {number}\n"), "newText": format!("{place} {}\n", number + 1)});
            call(
                "edit",
                json!({"path": "edited", "edits": [edit("head"), edit("tail")]}),
            )
            .await;
            if number == 0 {
                // From here on every moment falls into somebody's work.
                println!("victim has begun");
            }
        }
    };
    tokio::join!(run, write, edit);
}
