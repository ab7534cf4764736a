//! What a server is greeted with, and what is remembered of it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;

use super::Greeting::{self, In, Probe};
use super::RefusalCause::{self, BothWays, Elsewhere, NewerProtocol, OneWay};
use super::{Refusal, negotiate};
use crate::connection::Protocol::{self, Legacy, Modern};
use crate::connection::protocol_cache::{ProtocolCache, ProtocolCacheKey, ServerMemory};
use crate::error::{Error, ErrorKind};

/// What one greeting comes to: what the server speaks, or why it failed.
type Outcome = Result<Protocol, (ErrorKind, RefusalCause)>;

const SERVER_ERROR: ErrorKind = ErrorKind::Server { code: -32_601 };
const NOT_FOUND: ErrorKind = ErrorKind::Http { status: 404 };
const UNAVAILABLE: ErrorKind = ErrorKind::Http { status: 503 };

/// One attempt to reach a server that answers like this, one outcome after the other.
async fn attempt(memory: &ServerMemory, outcomes: Vec<Outcome>) -> (Vec<Greeting>, Outcome) {
    let greetings = RefCell::new(Vec::new());
    let outcomes = RefCell::new(VecDeque::from(outcomes));
    let outcome = negotiate(memory, |greeting| {
        greetings.borrow_mut().push(greeting);
        let outcome = outcomes
            .borrow_mut()
            .pop_front()
            .expect("no more greetings than outcomes");
        std::future::ready(outcome.map_err(|(kind, cause)| Refusal {
            error: Error::new(kind, "s", "scripted"),
            cause,
            suggests_events: false,
        }))
    })
    .await;
    let outcome = match outcome {
        Ok(protocol) => {
            memory.set(protocol).await;
            Ok(protocol)
        }
        Err(refusal) => Err((refusal.error.kind().clone(), refusal.cause)),
    };
    assert!(outcomes.borrow().is_empty(), "every outcome is used");
    (greetings.into_inner(), outcome)
}

/// Checks what a server is greeted with that is remembered as `known`, and what is remembered of it then.
async fn check(
    known: Option<Protocol>,
    outcomes: Vec<Outcome>,
    greetings: &[Greeting],
    remembered: Option<Protocol>,
) {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory_in(&folder.path().join("protocols.json"));
    if let Some(known) = known {
        memory.set(known).await;
    }
    let what = format!("{known:?} {outcomes:?}");
    let (greeted, _) = attempt(&memory, outcomes).await;
    assert_eq!(greeted, greetings, "{what}");
    assert_eq!(memory.get().await, remembered, "{what}");
}

fn memory_in(file: &Path) -> ServerMemory {
    memory_of(Some(file))
}

fn memory_of(file: Option<&Path>) -> ServerMemory {
    ServerMemory {
        cache: ProtocolCache::new(file.map(Path::to_owned)),
        key: ProtocolCacheKey("one:0".to_owned()),
    }
}

#[tokio::test]
async fn a_server_that_is_not_known_is_asked() {
    for (outcomes, greetings, remembered) in [
        (vec![Ok(Legacy)], vec![Probe], Some(Legacy)),
        (vec![Ok(Modern)], vec![Probe], Some(Modern)),
        // It ended because of the question.
        (
            vec![Err((ErrorKind::Closed, OneWay)), Ok(Legacy)],
            vec![Probe, In(Legacy)],
            Some(Legacy),
        ),
        (
            vec![
                Err((ErrorKind::Closed, OneWay)),
                Err((ErrorKind::Closed, OneWay)),
            ],
            vec![Probe, In(Legacy)],
            None,
        ),
        // It ended by itself.
        (vec![Err((ErrorKind::Closed, Elsewhere))], vec![Probe], None),
        (
            vec![Err((SERVER_ERROR, NewerProtocol)), Ok(Modern)],
            vec![Probe, In(Modern)],
            Some(Modern),
        ),
        (vec![Err((SERVER_ERROR, BothWays))], vec![Probe], None),
        (
            vec![Err((NOT_FOUND, OneWay)), Ok(Legacy)],
            vec![Probe, In(Legacy)],
            Some(Legacy),
        ),
        (vec![Err((ErrorKind::Start, OneWay))], vec![Probe], None),
        (
            vec![Err((ErrorKind::NeedsAuthorization, OneWay))],
            vec![Probe],
            None,
        ),
    ] {
        check(None, outcomes, &greetings, remembered).await;
    }
}

#[tokio::test]
async fn a_server_that_is_known_is_greeted_as_last_time() {
    for (known, other) in [(Legacy, Modern), (Modern, Legacy)] {
        check(Some(known), vec![Ok(known)], &[In(known)], Some(known)).await;
        // It was updated and speaks otherwise now.
        for kind in [ErrorKind::Protocol, SERVER_ERROR, NOT_FOUND] {
            let refused = || Err((kind.clone(), OneWay));
            let both = [In(known), In(other)];
            check(Some(known), vec![refused(), Ok(other)], &both, Some(other)).await;
            check(Some(known), vec![refused(), refused()], &both, None).await;
        }
        // These say nothing about the protocol.
        for kind in [ErrorKind::Start, ErrorKind::NeedsAuthorization, UNAVAILABLE] {
            let refused = vec![Err((kind, OneWay))];
            check(Some(known), refused, &[In(known)], Some(known)).await;
        }
        let crashed = vec![Err((ErrorKind::Closed, Elsewhere))];
        check(Some(known), crashed, &[In(known)], Some(known)).await;
        // It is asked again the next time.
        let late = vec![Err((ErrorKind::Timeout, OneWay))];
        check(Some(known), late, &[In(known)], None).await;
    }
    let closed = || Err((ErrorKind::Closed, OneWay));
    check(Some(Legacy), vec![closed()], &[In(Legacy)], None).await;
    let both = [In(Modern), In(Legacy)];
    check(
        Some(Modern),
        vec![closed(), Ok(Legacy)],
        &both,
        Some(Legacy),
    )
    .await;
}

#[tokio::test]
async fn the_failure_that_says_most_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory_in(&folder.path().join("protocols.json"));
    let outcomes = || {
        vec![
            Err((ErrorKind::Protocol, OneWay)),
            Err((SERVER_ERROR, OneWay)),
        ]
    };
    let (_, unknown) = attempt(&memory, outcomes()).await;
    assert_eq!(unknown, Err((SERVER_ERROR, OneWay)));
    memory.set(Legacy).await;
    let (_, known) = attempt(&memory, outcomes()).await;
    assert_eq!(known, Err((ErrorKind::Protocol, OneWay)));
}

#[tokio::test]
async fn a_damaged_memory_costs_one_question() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/protocols.json");
    let memory = memory_in(&file);
    assert_eq!(attempt(&memory, vec![Ok(Legacy)]).await.0, [Probe]);
    assert_eq!(attempt(&memory, vec![Ok(Legacy)]).await.0, [In(Legacy)]);
    std::fs::write(&file, "{\"one").unwrap();
    assert_eq!(attempt(&memory, vec![Ok(Legacy)]).await.0, [Probe]);
    assert_eq!(attempt(&memory, vec![Ok(Legacy)]).await.0, [In(Legacy)]);
    let left: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no drafts are left behind");
}

#[tokio::test]
async fn without_a_file_each_session_asks() {
    for memory in [
        memory_in(Path::new("/dev/null/protocols.json")),
        memory_of(None),
    ] {
        for _ in 0..2 {
            assert_eq!(attempt(&memory, vec![Ok(Legacy)]).await.0, [Probe]);
        }
    }
}
