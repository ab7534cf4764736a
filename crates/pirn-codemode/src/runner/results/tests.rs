use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use super::ResultBudget;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_script_waits_for_itself_until_it_has_read() {
    let budget = ResultBudget::new(1_000);
    let mut results = budget.share(10);
    let context = Context::from_waker(Waker::noop());
    results.add(9);
    assert!(results.have_room(&context));
    results.add(9);
    assert!(!results.have_room(&context));
    results.hand_over();
    results.add(3);
    results.were_read();
    assert!(results.have_room(&context));
    assert_eq!(results.bytes, 3);
    assert_eq!(budget.lock().bytes, 3);
}

#[test]
fn a_script_that_waits_for_others_is_woken_once_when_one_has_read_or_is_gone() {
    let budget = ResultBudget::new(10);
    let (mut first, mut second) = (budget.share(100), budget.share(100));
    let third = budget.share(100);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let context = Context::from_waker(&waker);
    first.add(8);
    second.add(8);
    assert!(!third.have_room(&context));
    assert!(!third.have_room(&context));
    second.hand_over();
    second.were_read();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(third.have_room(&context));
    second.add(2);
    assert!(!third.have_room(&context));
    drop(first);
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
    assert!(third.have_room(&context));
    drop(second);
    assert_eq!(budget.lock().bytes, 0);
}
