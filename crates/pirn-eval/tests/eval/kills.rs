//! Killing who takes part: nothing is left, and what was committed stays.

use std::process::{Command, Stdio};

use pirn_eval::{KernelState, Language, StateStore as _};

use crate::host::{Host, Kind, Program};
use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, eventually, is_alive};

pub(crate) const TESTS: &[Test] = &[
    ("killing_the_host_leaves_nothing", host),
    (
        "killing_the_broker_fails_the_eval_and_the_next_works",
        broker,
    ),
    (
        "killing_the_worker_fails_the_eval_and_the_next_works",
        worker,
    ),
    ("dropping_the_kernel_leaves_nothing", dropped),
];

/// Every process below another one, by the kernel's lists.
pub(crate) fn descendants(process: u32, found: &mut Vec<u32>) {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return;
    };
    for thread in threads.flatten() {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children
            .split_whitespace()
            .filter_map(|text| text.parse().ok())
        {
            found.push(child);
            descendants(child, found);
        }
    }
}

fn host() {
    for program in std::iter::once(Program::Short).chain(Program::ENDLESS) {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Host::start(Kind::Lite, folder.path());
        host.order_run(program);
        let expected = match program {
            Program::Short => "ended ",
            _ => "running",
        };
        assert_eq!(host.answer("lite"), expected, "{program:?}");
        let mut processes = Vec::new();
        descendants(host.id(), &mut processes);
        // The broker and its supervisor, at least one worker and its supervisor.
        assert!(processes.len() >= 4, "{program:?}: {processes:?}");
        host.kill();
        block_on(eventually(&format!("all gone: {program:?}"), || {
            !processes.iter().any(|process| is_alive(*process))
        }));
    }
}

/// The broker of a bench.
pub(crate) fn find_broker(bench: &Bench) -> Option<u32> {
    let folder = bench.folder.path().as_os_str().as_encoded_bytes();
    let mut processes = Vec::new();
    descendants(std::process::id(), &mut processes);
    processes.into_iter().find(|process| {
        std::fs::read(format!("/proc/{process}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == folder))
    })
}

/// It may be ending by itself at the same time.
pub(crate) fn kill(process: u32) {
    Command::new("/bin/kill")
        .args(["-9", &process.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap();
}

fn broker() {
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval("finish(state={'a': 1})").await);
        // While nothing runs.
        kill(find_broker(&bench).unwrap());
        eventually("the end of the broker", || find_broker(&bench).is_none()).await;
        let outcome = bench.eval("finish(value=state)").await;
        assert!(
            outcome.failure.is_none()
                || outcome.failure.as_ref().unwrap().message.contains("broker"),
            "{outcome:?}"
        );
        // While a program runs.
        let marker = bench.folder.path().join("work/told");
        let (outcome, ()) = tokio::join!(
            bench.eval(
                "os.chdir(e['cwd']); open('told', 'w').write(str(os.getpid())); time.sleep(600)"
            ),
            async {
                eventually("the program", || marker.exists()).await;
                kill(find_broker(&bench).unwrap());
            }
        );
        assert_failed(&outcome, "worker_exit", "The broker ended: signal 9");
        assert_eq!(outcome.state, KernelState::Unchanged);
        let outcome = bench.eval("finish(value=state)").await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(serde_json::json!({"a": 1})));
    });
}

fn worker() {
    block_on(async {
        let bench = Bench::scripted();
        for before in ["", "call('1', 'hang'); ", "result(); "] {
            let code = format!("{before}os.kill(os.getpid(), 9)");
            let outcome = bench.eval(&code).await;
            assert!(outcome.failure.is_some(), "{code}");
            assert_ok(&bench.eval("finish()").await);
        }
    });
}

fn dropped() {
    let mut processes = Vec::new();
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval("finish()").await);
        let broker = find_broker(&bench).unwrap();
        processes.push(broker);
        descendants(broker, &mut processes);
        assert!(processes.len() >= 3, "{processes:?}");
        let Bench {
            kernel,
            store,
            folder,
        } = bench;
        drop(kernel);
        eventually("all gone", || {
            !processes.iter().any(|process| is_alive(*process))
        })
        .await;
        store.clear("main").unwrap();
        assert_eq!(store.load("main", Language::Python).unwrap(), None);
        drop(folder);
    });
}
