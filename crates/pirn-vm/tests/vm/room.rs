//! Room for VMs: what an engine gives to all of them together, and in which order.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pirn_vm::{End, EngineOptions, Error, ErrorKind, Limits, Program, Room, Step, Vm, VmEngine};

const MIB: u32 = 1 << 20;

fn engine(live_vms_max: u32, total_mib: u64) -> VmEngine {
    VmEngine::new(EngineOptions {
        live_vms_max,
        memory_bytes_max: 256 * MIB,
        memory_total_bytes: total_mib << 20,
    })
    .expect("an engine")
}

type Waiting = Pin<Box<dyn Future<Output = Result<Room, Error>>>>;

fn ask(engine: &VmEngine, caller: &str) -> Waiting {
    Box::pin(engine.room(caller, 256 * MIB))
}

fn look(waiting: &mut Waiting) -> Option<Result<Room, Error>> {
    match waiting
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(room) => Some(room),
        Poll::Pending => None,
    }
}

/// Asks in this order, then gives room to one after the other; who was served when.
fn served(callers: &str) -> String {
    let engine = engine(1, 1_024);
    let mut held = look(&mut ask(&engine, "first"));
    let mut waiting: Vec<(char, Waiting)> = callers
        .chars()
        .map(|caller| (caller, ask(&engine, &caller.to_string())))
        .collect();
    for (_, one) in &mut waiting {
        assert!(look(one).is_none());
    }
    let mut order = String::new();
    while !waiting.is_empty() {
        drop(held.take());
        let next = waiting
            .iter_mut()
            .position(|(_, one)| match look(one) {
                Some(room) => {
                    held = Some(room);
                    true
                }
                None => false,
            })
            .expect("somebody is next");
        order.push(waiting.remove(next).0);
    }
    order
}

#[test]
fn callers_take_turns_and_each_keeps_its_own_order() {
    for (asked, expected) in [
        ("aaaa", "aaaa"),
        ("aaab", "abaa"),
        ("aaabbbc", "abcabab"),
        ("abcabc", "abcabc"),
    ] {
        assert_eq!(served(asked), expected, "{asked}");
    }
}

#[test]
fn who_leaves_the_queue_gives_up_its_turn() {
    let engine = engine(1, 1_024);
    let held = look(&mut ask(&engine, "a"));
    let (mut first, mut second) = (ask(&engine, "b"), ask(&engine, "c"));
    assert!(look(&mut first).is_none() && look(&mut second).is_none());
    drop(first);
    drop(held);
    let held = look(&mut second).expect("its turn");
    // Granted and never looked at: it is given back too.
    let mut third = ask(&engine, "d");
    assert!(look(&mut third).is_none());
    drop(held);
    drop(third);
    assert!(Vm::new(&engine, Limits::default()).is_ok());
}

#[test]
fn who_does_not_wait_does_not_overtake() {
    let engine = engine(2, 48);
    let held: Vec<_> = [ask(&engine, "a"), ask(&engine, "a")]
        .iter_mut()
        .map(|one| look(one).expect("room for two"))
        .collect();
    let mut waiting = ask(&engine, "b");
    assert!(look(&mut waiting).is_none());
    let refused = Vm::new(&engine, Limits::default()).expect_err("it is full");
    assert_eq!(refused.kind(), ErrorKind::Exhausted);
    drop(held);
    assert!(matches!(look(&mut waiting), Some(Ok(_))));
}

#[test]
fn what_can_never_be_given_is_refused_at_once() {
    let small = engine(4, 8);
    let refused = look(&mut ask(&small, "a"))
        .expect("an answer")
        .expect_err("too much");
    assert_eq!(
        refused.to_string(),
        "no room for another script VM: 268435456 bytes of memory wanted, this engine gives at most 8388608"
    );
}

/// Runs to the end.
fn end(engine: &VmEngine, vm: Option<Vm>, source: &str) -> (End, Vm) {
    let mut vm = vm.unwrap_or_else(|| Vm::new(engine, Limits::default()).expect("room"));
    vm.start(&Program {
        source: source.into(),
        file_name: "room.js".into(),
        ..Program::default()
    })
    .expect("a fresh VM");
    match vm.poll() {
        Step::Ended(end) => (end, vm),
        waiting @ Step::Waiting { .. } => panic!("{waiting:?}"),
    }
}

const FORTY_MIB: &str = "const all = []; for (let n = 0; n < 40; n++) all.push(new Uint8Array(1 << 20)); return all.length;";

#[test]
fn beyond_what_it_is_sure_of_a_script_grows_while_there_is_memory() {
    let engine = engine(8, 64);
    let (ended, vm) = end(&engine, None, FORTY_MIB);
    assert!(matches!(ended, End::Returned(Some(_))), "{ended:?}");
    assert!(!vm.was_refused_memory());
    // The first one still has its 40 MiB, so that this one gets 16 and little more.
    let second = Vm::new(&engine, Limits::default()).expect("room");
    let (ended, second) = end(&engine, Some(second), FORTY_MIB);
    let End::Failed(failure) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(failure.message.to_string(), "out of memory");
    assert!(second.was_refused_memory());
    // Given back, all of it.
    drop((vm, second));
    let (ended, _) = end(&engine, None, FORTY_MIB);
    assert!(matches!(ended, End::Returned(Some(_))), "{ended:?}");
}
