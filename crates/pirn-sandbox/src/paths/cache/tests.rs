use super::*;
use crate::paths::tests::Tree;

/// The longest wait for a walk.
const PATIENCE: Duration = Duration::from_secs(10);

fn cache(until: Duration, worth: Range<Duration>) -> PathCache {
    PathCache {
        shared: Arc::new(Shared {
            schedule: RefreshSchedule {
                after: Duration::ZERO,
                until,
                worth,
            },
            ..Shared::default()
        }),
        thread: Mutex::default(),
    }
}

#[test]
fn answers_are_kept_for_seconds() {
    let tree = Tree::new(&["work/", "home/"]);
    let policy = tree.policy();
    let cache = PathCache::default();
    let start = Instant::now();
    let first = cache.get(&policy, start);
    std::fs::write(tree.root.join("work/.env"), "x").unwrap();
    let second = cache.get(&policy, start + Duration::from_secs(1));
    assert_eq!(first, second);
    let later = cache.get(&policy, start + Duration::from_secs(6));
    assert_eq!(later.unreadable.len(), 1);
    std::fs::write(tree.root.join("work/.env.local"), "x").unwrap();
    let renewed = cache.renew(&policy, start + Duration::from_secs(7));
    assert_eq!(renewed.unreadable.len(), 2);
}

#[test]
fn answers_are_made_ahead_while_children_are_started() {
    let tree = Tree::new(&["work/", "home/"]);
    let policy = tree.policy();
    let cache = cache(PATIENCE, Duration::ZERO..PATIENCE);
    let start = Instant::now();
    cache.get(&policy, start);
    cache.expect_more(&policy, start);
    std::fs::write(tree.root.join("work/.env"), "x").unwrap();
    // Nobody but the thread can find it: the answer that was got is never too old.
    while cache.get(&policy, start).unreadable.is_empty() {
        assert!(start.elapsed() < PATIENCE, "the thread does not walk");
        std::thread::yield_now();
    }
    let shared = Arc::clone(&cache.shared);
    drop(cache);
    assert!(!shared.state().has_thread);
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn nothing_is_made_ahead_of_nobody_or_for_nothing() {
    let tree = Tree::new(&["work/", "home/"]);
    let policy = tree.policy();
    for cache in [
        cache(Duration::ZERO, Duration::ZERO..PATIENCE),
        cache(PATIENCE, PATIENCE..PATIENCE * 2),
    ] {
        let start = Instant::now();
        cache.get(&policy, start);
        cache.expect_more(&policy, start);
        assert!(!cache.shared.state().has_thread);
    }
}

#[test]
fn the_next_walk_is_due_before_the_answer_is_too_old() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    for (walked, used, now, wait) in [
        (0, 0, 0, Some(4)),
        (0, 0, 3, Some(1)),
        (0, 0, 4, Some(0)),
        (24, 0, 24, Some(4)),
        (26, 0, 26, None),
        (26, 10, 26, Some(4)),
        (0, 0, 31, None),
    ] {
        let state = State {
            last: Some(CachedPaths {
                at: at(walked),
                took: Duration::from_millis(100),
                paths: Arc::default(),
            }),
            used: Some(at(used)),
            has_thread: true,
        };
        assert_eq!(
            state.next_walk(&RefreshSchedule::default(), at(now)),
            wait.map(Duration::from_secs),
            "{walked} {used} {now}"
        );
    }
}
