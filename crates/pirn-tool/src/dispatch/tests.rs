//! How many run, which wait, and what a panic costs.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use tokio::sync::Semaphore;

use super::*;

/// Two at once, and ten bytes that wait.
fn dispatch() -> CallDispatch<u32, u32> {
    CallDispatch::new(2, 10)
}

#[test]
fn so_many_run_and_the_others_wait_in_order() {
    let mut dispatch = dispatch();
    let gates: Vec<Arc<Semaphore>> = (0..4).map(|_| Arc::new(Semaphore::new(0))).collect();
    let started = Arc::new(Mutex::new(Vec::new()));
    for (key, gate) in (0..).zip(&gates) {
        let (started, gate) = (Arc::clone(&started), Arc::clone(gate));
        let start = move || -> BoxFuture<'static, u32> {
            started.lock().unwrap().push(key);
            Box::pin(async move {
                gate.acquire().await.unwrap().forget();
                key * 10
            })
        };
        dispatch.add(key, 5, start).unwrap();
    }
    assert_eq!(*started.lock().unwrap(), [0, 1]);
    assert_eq!((dispatch.open(), dispatch.in_flight()), (4, 2));
    assert_eq!(dispatch.next().now_or_never(), None);
    gates[1].add_permits(1);
    assert_eq!(dispatch.next().now_or_never(), Some(Some((1, Ok(10)))));
    assert_eq!(*started.lock().unwrap(), [0, 1, 2]);
    assert_eq!(dispatch.forget_waiting(), [3]);
    gates[0].add_permits(1);
    gates[2].add_permits(1);
    let mut ended = [(); 2].map(|()| dispatch.next().now_or_never().flatten().unwrap().0);
    ended.sort_unstable();
    assert_eq!(ended, [0, 2]);
    assert_eq!(dispatch.next().now_or_never(), Some(None));
    assert_eq!(*started.lock().unwrap(), [0, 1, 2]);
}

#[test]
fn what_waits_is_bounded_in_bytes() {
    let mut dispatch = dispatch();
    let mut add = |key, bytes| dispatch.add(key, bytes, || Box::pin(std::future::pending()));
    // What runs does not count.
    for key in 0..2 {
        add(key, 1_000).unwrap();
    }
    add(2, 6).unwrap();
    assert_eq!(add(3, 5), Err(DispatchFull));
    add(4, 4).unwrap();
    assert_eq!(add(5, usize::MAX), Err(DispatchFull));
    assert_eq!(dispatch.forget_waiting(), [2, 4]);
    dispatch.drop_in_flight();
    assert_eq!(dispatch.open(), 0);
}

#[test]
fn a_panic_ends_one_call() {
    let mut dispatch = dispatch();
    dispatch.add(0, 0, || panic!("early")).unwrap();
    dispatch
        .add(1, 0, || Box::pin(async { panic!("late {}", 1) }))
        .unwrap();
    dispatch
        .add(2, 0, || Box::pin(std::future::ready(7)))
        .unwrap();
    dispatch.continue_with(3, Box::pin(std::future::ready(8)));
    let mut ended: Vec<_> = std::iter::from_fn(|| dispatch.next().now_or_never().flatten())
        .map(|(key, end)| (key, end.map_err(|panic| panic.to_string())))
        .collect();
    ended.sort();
    let panicked = |message: &str| Err(format!("the call panicked: {message}"));
    assert_eq!(
        ended,
        [
            (0, panicked("early")),
            (1, panicked("late 1")),
            (2, Ok(7)),
            (3, Ok(8))
        ]
    );
}

#[test]
fn calls_that_are_not_kept_are_dropped() {
    let mut dispatch: CallDispatch<u32, u32> = CallDispatch::new(3, 0);
    for key in 0..3 {
        dispatch
            .add(key, 0, move || Box::pin(std::future::ready(key * 10)))
            .unwrap();
    }
    dispatch.retain_in_flight(|key| *key == 1);
    assert_eq!(dispatch.open(), 1);
    assert_eq!(dispatch.next().now_or_never(), Some(Some((1, Ok(10)))));
    assert_eq!(dispatch.next().now_or_never(), Some(None));
}
