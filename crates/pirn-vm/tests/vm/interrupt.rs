//! Stopping a script: from another thread, by deadline, by processor time; and what is left of it.

use std::task::Poll;
use std::time::{Duration, Instant};

use pirn_vm::{End, ErrorKind, Failure, JsonText, Limits, Settlement, Step, StopReason, Vm};

use crate::support::{ENGINE, finish, program, started, take_output};

/// Scripts that never end by themselves.
const ENDLESS: [&str; 8] = [
    "while (true) {}",
    "while (true) await null;",
    "for (;;) { try { for (;;) {} } catch {} finally { continue; } }",
    "return /^(a+)+$/.test('a'.repeat(40) + '!');",
    "for (;;) 'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b');",
    "return [3, 2, 1].sort(() => { for (;;) {} });",
    "let o = ['x']; for (let n = 0; n < 60; n++) o = [o, o]; return JSON.stringify(o);",
    "const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {});",
];

/// How long a script may go on after it was told to stop, as the contract has it.
const STOP_TIME_MAX: Duration = Duration::from_millis(50);
/// A busy machine may hold a test up for longer; it will not do so every time.
const ATTEMPTS_MAX: usize = 5;

/// The shortest of a few tries.
fn fastest(mut attempt: impl FnMut() -> Duration) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..ATTEMPTS_MAX {
        best = best.min(attempt());
        if best <= STOP_TIME_MAX {
            break;
        }
    }
    best
}

fn reason(step: &Step) -> StopReason {
    match step {
        Step::Ended(End::Stopped(reason, _)) => *reason,
        other => panic!("not stopped: {other:?}"),
    }
}

#[test]
fn another_thread_stops_whatever_runs() {
    for source in ENDLESS {
        let late = fastest(|| {
            let mut vm = started(source, &[], Limits::default());
            let handle = vm.interrupt_handle();
            let (step, stopped_at, ended_at) = std::thread::scope(|scope| {
                let stopper = scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(20)); // sleeps: the script must be in the middle of it
                    let at = Instant::now();
                    handle.interrupt();
                    at
                });
                let step = vm.poll();
                let ended_at = Instant::now();
                (step, stopper.join().expect("the stopper"), ended_at)
            });
            assert_eq!(reason(&step), StopReason::Interrupted, "{source}");
            ended_at.saturating_duration_since(stopped_at)
        });
        assert!(late <= STOP_TIME_MAX, "{source}: {late:?}");
    }
}

#[test]
fn a_deadline_stops_whatever_runs() {
    for source in ENDLESS {
        let late = fastest(|| {
            let mut vm = started(source, &[], Limits::default());
            let deadline = Instant::now() + Duration::from_millis(20);
            vm.set_deadline(Some(deadline));
            assert_eq!(reason(&vm.poll()), StopReason::Deadline, "{source}");
            deadline.elapsed()
        });
        assert!(late <= STOP_TIME_MAX, "{source}: {late:?}");
    }
}

#[test]
fn processor_time_stops_whatever_runs_and_waiting_costs_none() {
    let limits = Limits {
        cpu: Duration::from_millis(20),
        ..Limits::default()
    };
    for source in ENDLESS {
        let mut vm = started(source, &[], limits);
        assert_eq!(reason(&vm.poll()), StopReason::Cpu, "{source}");
        assert!(vm.cpu_used() >= limits.cpu, "{source}: {:?}", vm.cpu_used());
    }
    let mut vm = started("await tools.echo(1); return 'waited';", &["echo"], limits);
    assert!(matches!(vm.poll(), Step::Waiting { .. }));
    let before = vm.cpu_used();
    std::thread::sleep(limits.cpu * 2); // sleeps: time passes that must not count
    assert_eq!(vm.cpu_used(), before);
    assert_eq!(
        finish_with(&mut vm),
        End::Returned(Some(JsonText::new("\"waited\"")))
    );
}

/// Answers all open calls with 1 until the script ends.
fn finish_with(vm: &mut Vm) -> End {
    loop {
        drop(vm.events().drain());
        let open: Vec<_> = vm.open_calls().map(|(id, ..)| id).collect();
        for id in open {
            vm.settle(id, Settlement::Resolved(Some(JsonText::new("1"))))
                .expect("an open call");
        }
        if let Step::Ended(end) = vm.poll() {
            return end;
        }
    }
}

#[test]
fn processor_time_adds_up_over_calls() {
    let limits = Limits {
        cpu: Duration::from_millis(30),
        ..Limits::default()
    };
    let source = "for (;;) { for (let n = 0; n < 30000; n++) Math.sqrt(n); await tools.echo(1); }";
    let mut vm = started(source, &["echo"], limits);
    assert!(matches!(
        finish_with(&mut vm),
        End::Stopped(StopReason::Cpu, _)
    ));
}

#[test]
fn a_soft_stop_names_the_line_that_ran() {
    for (source, place) in [
        (
            "const one = 1;\nfunction spin() {\n  for (;;) Math.random();\n}\nspin();",
            "at spin (script.js:3",
        ),
        (
            "const one = 1;\nfunction spin() {\n  let n = 0;\n  for (;;) n++;\n}\nspin();",
            "at spin (script.js:4",
        ),
        (
            "const one = 1;\n\n[2, 1].sort(() => {\n  for (;;) Math.random();\n});",
            "script.js:4",
        ),
        ("while (true) {}", "script.js:1:1"),
        (
            "await null;\nwhile (true) {\n  await null;\n}",
            "InternalError: interrupted",
        ),
    ] {
        let failure = std::iter::repeat_with(|| {
            let mut vm = started(source, &[], Limits::default());
            vm.set_deadline(Some(Instant::now() + Duration::from_millis(10)));
            vm.poll()
        })
        .take(ATTEMPTS_MAX)
        .find_map(|step| match step {
            Step::Ended(End::Stopped(StopReason::Deadline, failure)) => failure,
            other => panic!("{other:?}"),
        });
        let Failure {
            name,
            message,
            stack,
            ..
        } = failure.expect("a soft stop in a few tries");
        let stack = stack.expect("a stack");
        assert_eq!(
            (name.as_deref(), message.to_string().as_str()),
            (Some("InternalError"), "interrupted")
        );
        assert!(
            stack.starts_with("InternalError: interrupted") && stack.contains(place),
            "{source}: {stack}"
        );
        assert!(
            !stack.contains("prelude") && !stack.contains("native"),
            "{stack}"
        );
    }
    let mut vm = started("text('never');", &[], Limits::default());
    vm.interrupt_handle().interrupt();
    assert_eq!(
        vm.poll(),
        Step::Ended(End::Stopped(StopReason::Interrupted, None)),
        "before it began"
    );
    assert!(take_output(&vm).is_empty());
}

#[test]
fn a_stopped_script_stays_stopped_and_its_output_is_kept() {
    let mut vm = started(
        "text('one'); console.log('two'); store('k', 1); tools.echo(3); setTimeout(() => text('late')); for (;;) {}",
        &["echo"],
        Limits::default(),
    );
    vm.set_deadline(Some(Instant::now() + Duration::from_millis(10)));
    let first = vm.poll();
    assert_eq!(reason(&first), StopReason::Deadline);
    assert_eq!(take_output(&vm), ["one", "two"]);
    vm.set_deadline(None);
    let open: Vec<_> = vm.open_calls().map(|(id, ..)| id).collect();
    assert_eq!(open.len(), 1);
    vm.settle(open[0], Settlement::Resolved(None))
        .expect("still open");
    for _ in 0..3 {
        assert_eq!(vm.poll(), first);
    }
    assert_eq!(take_output(&vm), [""; 0]);
    assert!(vm.take_store_writes().is_empty());
    assert_eq!(vm.snapshot(b"").unwrap_err().kind(), ErrorKind::State);
    assert_eq!(
        vm.start(&program("", &[])).unwrap_err().kind(),
        ErrorKind::State
    );
}

#[test]
fn a_waiting_script_is_stopped_at_its_next_poll() {
    let mut vm = started("await tools.echo(1);", &["echo"], Limits::default());
    assert!(matches!(vm.poll(), Step::Waiting { .. }));
    drop(vm.events().drain());
    vm.interrupt_handle().interrupt();
    assert_eq!(vm.snapshot(b"").unwrap_err().kind(), ErrorKind::State);
    assert_eq!(reason(&vm.poll()), StopReason::Interrupted);
    let mut vm = started(
        "await new Promise((done) => setTimeout(done, 1e6));",
        &[],
        Limits::default(),
    );
    assert!(matches!(vm.poll(), Step::Waiting { wake_at: Some(_) }));
    vm.set_deadline(Some(Instant::now()));
    assert_eq!(reason(&vm.poll()), StopReason::Deadline);
}

#[test]
fn a_computing_script_leaves_turns_to_others() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let mut vm = started("for (;;) {}", &[], Limits::default());
    let handle = vm.interrupt_handle();
    let mut turns = 0;
    let step = drive(is_send(vm.poll_async()), || {
        turns += 1;
        if turns == 5 {
            handle.interrupt();
        }
    });
    assert_eq!(reason(&step), StopReason::Interrupted);
    assert!(turns >= 5, "{turns} turns");
}

/// Drives a future and gives `other` a turn whenever it yields.
fn drive<T>(future: impl Future<Output = T>, mut other: impl FnMut()) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        other();
    }
}

#[test]
fn a_dropped_poll_ends_the_script() {
    let mut vm = started("text('begun'); for (;;) {}", &[], Limits::default());
    let events = vm.events();
    {
        let mut poll = std::pin::pin!(vm.poll_async());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while events.drain().is_empty() {
            assert!(poll.as_mut().poll(&mut context).is_pending());
        }
    }
    assert_eq!(vm.snapshot(b"").unwrap_err().kind(), ErrorKind::State);
    assert_eq!(
        vm.poll(),
        Step::Ended(End::Stopped(StopReason::Interrupted, None))
    );
    drop(vm);
    let next = finish(started("return 1;", &[], Limits::default()));
    assert_eq!(next.value(), "1");
    assert!(Vm::new(&ENGINE, Limits::default()).is_ok());
}
