//! Questions that survive the suspension of what asked them.

use futures_util::FutureExt as _;
use pirn_tool::{
    Answer, AnswerError, ApprovalQueue, ApprovalRequest, ApprovedBy, Asking, Choice, Effects,
    RestoreError, SavedApprovals,
};
use serde_json::json;

use super::{answer, open, reply, request};

/// Stores what a suspended call asked, as text.
fn suspended(queue: &ApprovalQueue, asking: Vec<Asking>) -> String {
    let suspension = queue.suspend("run", "1");
    drop(asking);
    serde_json::to_string(&suspension.save()).unwrap()
}

#[test]
fn a_suspended_question_keeps_its_id_and_is_answered_once() {
    let first = ApprovalQueue::new();
    let _front_end = first.front_end();
    let denied = first.ask(request(json!(0)));
    answer(&first, Answer::deny_with("no"));
    drop(denied);
    let asking = first.ask(request(json!(1)));
    let id = asking.question_id().to_owned();
    let outside = first.ask(ApprovalRequest {
        call_id: Some("10/1".into()),
        ..request(json!(2))
    });
    let saved = suspended(&first, vec![asking, outside]);
    // It is open where it was asked as well; what is not below the suspended call was withdrawn.
    assert_eq!(
        open(&first).iter().map(|one| &one.id).collect::<Vec<_>>(),
        [&id]
    );

    for answered_first in [true, false] {
        let second = ApprovalQueue::new();
        let _front_end = second.front_end();
        second
            .restore(serde_json::from_str(&saved).unwrap())
            .unwrap();
        second
            .restore(serde_json::from_str(&saved).unwrap())
            .unwrap();
        assert_eq!(
            open(&second).iter().map(|one| &one.id).collect::<Vec<_>>(),
            [&id]
        );
        if answered_first {
            answer(&second, Answer::allow_once());
            assert!(open(&second).is_empty());
        }
        let again = second.ask(request(json!(1)));
        assert_eq!(again.question_id(), id);
        if !answered_first {
            answer(&second, Answer::allow_once());
        }
        let given = again.now_or_never().unwrap();
        let by = ApprovedBy::Person {
            question_id: id.clone(),
            choice: Choice::ONCE,
        };
        assert_eq!(given.approved_by, Some(by));
        // The answer is used up.
        assert!(second.ask(request(json!(1))).is_open());
        assert_eq!(
            reply(second.ask(request(json!(0)))),
            Some(Answer::deny_with("no"))
        );
    }
}

#[test]
fn an_answer_that_came_while_a_call_was_suspended_is_saved() {
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let asking = queue.ask(request(json!(1)));
    answer(&queue, Answer::allow_once());
    // The answer is on its way while the future is dropped.
    let saved = suspended(&queue, vec![asking]);
    let second = ApprovalQueue::new();
    second
        .restore(serde_json::from_str(&saved).unwrap())
        .unwrap();
    assert_eq!(
        reply(second.ask(request(json!(1)))),
        Some(Answer::allow_once())
    );
}

#[test]
fn a_call_that_asks_something_else_after_a_suspension_is_asked_anew() {
    for is_answered in [true, false] {
        let queue = ApprovalQueue::new();
        let _front_end = queue.front_end();
        let asking = queue.ask(request(json!(1)));
        let suspension = queue.suspend("run", "1");
        drop(asking);
        drop(suspension);
        let shown = queue.open_questions();
        if is_answered {
            answer(&queue, Answer::allow_once());
        }
        let changed = queue.ask(request(json!({"other": true})));
        assert!(changed.is_open());
        let late = queue.answer(shown.revision, changed.question_id(), Answer::allow_once());
        assert_eq!(late, Err(AnswerError::Stale));
        answer(&queue, Answer::allow_once());
        assert_eq!(reply(changed), Some(Answer::allow_once()));
    }
}

#[test]
fn saved_questions_that_do_not_fit_are_refused() {
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let saved: SavedApprovals =
        serde_json::from_str(&suspended(&queue, vec![queue.ask(request(json!(1)))])).unwrap();
    let id = saved.questions[0].request.id.clone();
    let mut newer = saved.clone();
    newer.version = 2;
    let mut changed = saved.clone();
    changed.questions[0].request.arguments = json!(2);
    let mut moved = saved;
    moved.run_id = "run 2".into();
    let cases = [
        (newer, RestoreError::Version(2)),
        (changed, RestoreError::Damaged(id.clone())),
        (moved, RestoreError::Damaged(id)),
    ];
    for (saved, expected) in cases {
        let other = ApprovalQueue::new();
        assert_eq!(other.restore(saved), Err(expected));
        assert!(open(&other).is_empty());
    }
    assert!(serde_json::from_str::<Effects>(r#"["read", "magic"]"#).is_err());
}
