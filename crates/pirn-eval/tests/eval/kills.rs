//! Killing who takes part: nothing is left, and what was committed stays.

use std::path::Path;
use std::process::{Command, Stdio};

use pirn_eval::{KernelState, Language, StateStore as _};

use crate::host::{Host, Kind, Program};
use crate::support::{
    Bench, Test, assert_failed, assert_ok, block_on, eventually, is_alive, javascript, request,
};

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
    ("killing_a_spare_worker_costs_no_eval", spare),
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

/// The broker of a bench, of the language that was used first.
pub(crate) fn find_broker(bench: &Bench) -> Option<u32> {
    find_brokers(bench).first().copied()
}

/// The brokers of a bench, and copies of them that watch over workers.
fn find_brokers(bench: &Bench) -> Vec<u32> {
    let folder = bench.folder.path().as_os_str().as_encoded_bytes();
    let mut processes = Vec::new();
    descendants(std::process::id(), &mut processes);
    processes.retain(|process| has_argument(*process, folder));
    processes
}

fn has_argument(process: u32, argument: &[u8]) -> bool {
    std::fs::read(format!("/proc/{process}/cmdline"))
        .is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == argument))
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

/// The workers that wait for a program: each has been started with the word `once`.
fn find_spares(bench: &Bench) -> Vec<u32> {
    let mut processes = Vec::new();
    for broker in find_brokers(bench) {
        descendants(broker, &mut processes);
    }
    processes.retain(|process| has_argument(*process, b"once"));
    processes
}

fn spare() {
    block_on(async {
        let bench = Bench::scripted();
        for (eval, times) in [(request("finish()"), 5), (javascript("return 1"), 2)] {
            assert_ok(&bench.kernel.eval(eval.clone()).await);
            for _time in 0..times {
                eventually("a spare worker", || !find_spares(&bench).is_empty()).await;
                let spares = find_spares(&bench);
                spares.iter().copied().for_each(kill);
                // Reaped, not only a zombie: other threads of one may still hold its descriptors.
                eventually("its end", || {
                    !spares
                        .iter()
                        .any(|process| Path::new(&format!("/proc/{process}")).exists())
                })
                .await;
                assert_ok(&bench.kernel.eval(eval.clone()).await);
            }
        }
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
