//! While an eval waits for a person, its time stands still and its processes do too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_eval::{
    CapabilityCaller, CapabilityFailure, EvalRequest, KernelOptions, PythonEngine,
    own_script_engine,
};
use pirn_sandbox::{Level, LevelChoice};
use pirn_tool::WaitClock;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::host::marked;
use crate::support::{
    Bench, PATIENCE, Test, assert_failed, assert_ok, block_on, block_on_one_thread, eventually,
    javascript, request, skip,
};

pub(crate) const TESTS: &[Test] = &[
    ("time_stands_still_while_a_person_is_asked", stands_still),
    ("time_goes_on_after_the_answer", goes_on),
    ("what_is_frozen_ends_at_once", ends),
    ("processor_time_of_the_engine_counts", counts),
];

/// What the processes of an eval have in their environment by this name.
const MARK: &str = "PIRN_TEST_CLOCK";
/// How long a program may run here.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long a person thinks: longer than that.
const THINKING: Duration = Duration::from_secs(5);

/// `ask` asks a person; `quick` is a call that asks nobody, and `slow` one that takes as long as the program may.
#[derive(Clone)]
struct Person {
    clock: WaitClock,
    asked: Arc<Notify>,
    /// What stands still while the question is open; `None` where nothing does.
    folder: Option<PathBuf>,
    /// Whether the answer ever comes.
    answers: bool,
}

impl CapabilityCaller for Person {
    fn call(
        &self,
        name: String,
        _input: Value,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        let person = self.clone();
        Box::pin(async move {
            match name.as_str() {
                "quick" => return Ok(Value::Null),
                "slow" => {
                    skip(TIMEOUT).await;
                    return Ok(Value::Null);
                }
                _ => {}
            }
            let question = person.clock.asking();
            person.asked.notify_one();
            if !person.answers {
                std::future::pending::<()>().await;
            }
            if let Some(folder) = &person.folder {
                eventually("its processes stand still", || are_stopped(folder)).await;
            }
            skip(THINKING).await;
            drop(question);
            Ok(Value::from("yes"))
        })
    }
}

/// Whether the interpreter that runs a program of the folder's kernel is stopped. One that was started ahead for the next
/// program goes on.
fn are_stopped(folder: &std::path::Path) -> bool {
    let workers: Vec<_> = marked(folder)
        .into_iter()
        .filter(|process| process.has_word("-c") || process.has_word("-e"))
        .collect();
    let stopped = workers.iter().filter(|process| {
        std::fs::read_to_string(format!("/proc/{}/stat", process.id)).is_ok_and(|stat| {
            stat.rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    });
    let stopped = stopped.count();
    let ahead = workers.iter().filter(|process| process.has_word("once"));
    stopped > 0 && workers.len() - stopped <= ahead.count().saturating_sub(1)
}

/// What runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fresh,
    Lite,
    Persistent,
    Node,
    Vm,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Fresh,
        Self::Lite,
        Self::Persistent,
        Self::Node,
        Self::Vm,
    ];

    fn bench(self) -> Bench {
        Bench::with(|options: &mut KernelOptions| {
            // The folder of the bench is known by its broker's arguments.
            let folder = options.broker.arguments[1].clone();
            options.environment.push((MARK.into(), folder));
            match self {
                Self::Fresh | Self::Node => {}
                Self::Lite => options.confinement.level = LevelChoice::AtMost(Level::Basic),
                Self::Persistent => options.python_engine = PythonEngine::Persistent,
                Self::Vm => {
                    options.environment = vec![("PATH".into(), "/srv".into())];
                    options.script_engine = Some(own_script_engine());
                }
            }
        })
    }

    fn request(self, python: &str, javascript_code: &str) -> EvalRequest {
        match self {
            Self::Fresh | Self::Lite | Self::Persistent => request(python),
            Self::Node | Self::Vm => javascript(javascript_code),
        }
    }

    /// A request whose calls this person answers, and the person.
    fn asked(
        self,
        bench: &Bench,
        answers: bool,
        python: &str,
        javascript_code: &str,
    ) -> (EvalRequest, Person) {
        let clock = WaitClock::default();
        let person = Person {
            clock: clock.clone(),
            asked: Arc::new(Notify::new()),
            folder: (self != Self::Vm).then(|| bench.folder.path().to_owned()),
            answers,
        };
        let asked = EvalRequest {
            timeout: TIMEOUT,
            clock,
            caller: Arc::new(person.clone()),
            ..self.request(python, javascript_code)
        };
        (asked, person)
    }
}

fn stands_still() {
    block_on_one_thread(async {
        for kind in Kind::ALL {
            let bench = kind.bench();
            let (asked, _) = kind.asked(
                &bench,
                true,
                "first = tool.ask()\ntool.quick()\n[first, tool.ask()]",
                "const first = await tool.ask(); await tool.quick(); return [first, await tool.ask()]",
            );
            let at = Instant::now();
            let outcome = bench.kernel.eval(asked).await;
            assert_ok(&outcome);
            assert_eq!(outcome.value, Some(json!(["yes", "yes"])), "{kind:?}");
            assert!(at.elapsed() >= 2 * THINKING, "{kind:?}");
            // The next one finds a worker that goes.
            assert_ok(&bench.kernel.eval(kind.request("1", "return 1")).await);
        }
    });
}

fn goes_on() {
    block_on_one_thread(async {
        for kind in Kind::ALL {
            let bench = kind.bench();
            let (asked, _) = kind.asked(
                &bench,
                true,
                "tool.ask()\ntool.slow()\nwhile True: pass",
                "await tool.ask(); await tool.slow(); for (;;);",
            );
            let outcome = bench.kernel.eval(asked).await;
            assert_failed(&outcome, "timeout", "timed out after 2 s");
            let names: Vec<&str> = outcome
                .calls
                .iter()
                .map(|call| call.receipt.name.as_str())
                .collect();
            assert_eq!(names, ["ask", "slow"], "{kind:?}");
        }
    });
}

fn ends() {
    block_on(async {
        for kind in Kind::ALL {
            for how in ["cancel", "reset", "drop"] {
                let bench = kind.bench();
                let (asked, person) =
                    kind.asked(&bench, false, "tool.ask()", "return await tool.ask()");
                let cancel = asked.cancel.clone();
                let eval = bench.kernel.eval(asked);
                tokio::pin!(eval);
                tokio::select! {
                    outcome = &mut eval => panic!("{kind:?}: {outcome:#?}"),
                    () = person.asked.notified() => {}
                }
                if let Some(folder) = &person.folder {
                    tokio::select! {
                        outcome = &mut eval => panic!("{kind:?}: {outcome:#?}"),
                        () = eventually("its processes stand still", || are_stopped(folder)) => {}
                    }
                }
                let at = Instant::now();
                match how {
                    "cancel" => {
                        cancel.cancel();
                        assert_failed(&eval.await, "aborted", "");
                    }
                    "reset" => {
                        let (outcome, reset) = tokio::join!(&mut eval, bench.kernel.reset("main"));
                        assert_failed(&outcome, "invalidated", "");
                        reset.unwrap();
                    }
                    // The block ends the future, and with it the eval.
                    _ => {}
                }
                if how != "drop" {
                    assert!(at.elapsed() < PATIENCE / 2, "{kind:?} {how}");
                    assert_ok(&bench.kernel.eval(kind.request("1", "return 1")).await);
                }
                bench.kernel.close().await;
                if let Some(folder) = &person.folder {
                    assert_eq!(marked(folder).len(), 0, "{kind:?} {how}");
                }
            }
        }
    });
}

fn counts() {
    block_on_one_thread(async {
        let bench = Kind::Vm.bench();
        let (asked, person) = Kind::Vm.asked(&bench, false, "", "tool.ask(); for (;;);");
        let (outcome, ()) = tokio::join!(bench.kernel.eval(asked), async {
            person.asked.notified().await;
            skip(THINKING).await;
        });
        assert_failed(&outcome, "timeout", "processor time");
    });
}
