use std::sync::Arc;

use futures_util::FutureExt as _;

use super::EvalRegistry;

#[tokio::test]
async fn a_reset_rejects_earlier_evals_of_its_branch_alone() {
    let registry = Arc::new(EvalRegistry::default());
    let before = registry.register("a").unwrap();
    let other = registry.register("b").unwrap();
    assert!(before.activate());
    let reset = registry.begin_reset("a");
    let after = registry.register("a").unwrap();
    assert!(before.handle().invalidated.is_cancelled());
    assert!(!other.handle().invalidated.is_cancelled());
    assert!(!after.handle().invalidated.is_cancelled());
    // It waits for the one that runs, and the later one waits for it.
    assert!(reset.wait_for_earlier().now_or_never().is_none());
    assert!(after.handle().wait_for_resets().now_or_never().is_none());
    assert!(other.handle().wait_for_resets().now_or_never().is_some());
    drop(before);
    assert!(reset.wait_for_earlier().now_or_never().is_some());
    drop(reset);
    assert!(after.handle().wait_for_resets().now_or_never().is_some());
    assert!(after.activate());
}

#[tokio::test]
async fn a_rejected_or_withdrawn_eval_never_begins() {
    let registry = Arc::new(EvalRegistry::default());
    let rejected = registry.register("a").unwrap();
    let reset = registry.begin_reset("a");
    assert!(!rejected.activate());
    drop(reset);
    let withdrawn = registry.register("a").unwrap();
    assert!(withdrawn.handle().withdraw());
    assert!(!withdrawn.activate());
    let active = registry.register("a").unwrap();
    assert!(active.activate());
    assert!(!active.handle().withdraw());
}

#[tokio::test]
async fn overlapping_resets_come_one_after_the_other() {
    let registry = Arc::new(EvalRegistry::default());
    let first = registry.begin_reset("a");
    let between = registry.register("a").unwrap();
    let second = registry.begin_reset("a");
    assert!(!between.activate());
    assert!(second.wait_for_earlier().now_or_never().is_none());
    drop(first);
    assert!(second.wait_for_earlier().now_or_never().is_some());
}

#[tokio::test]
async fn nothing_enters_a_closed_registry() {
    let registry = Arc::new(EvalRegistry::default());
    let eval = registry.register("a").unwrap();
    assert!(eval.activate());
    registry.close();
    assert!(eval.handle().invalidated.is_cancelled());
    assert!(registry.register("a").is_none());
    assert!(registry.wait_until_idle().now_or_never().is_none());
    drop(eval);
    assert!(registry.wait_until_idle().now_or_never().is_some());
}
