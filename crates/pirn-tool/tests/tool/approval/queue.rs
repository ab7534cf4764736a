//! How many questions are open, and who sees them.

use pirn_tool::{
    Absence, Answer, AnswerError, ApprovalQueue, ApprovalRequest, Asking, QUESTIONS_SHOWN_MAX,
    QUESTIONS_WAITING_MAX,
};
use serde_json::json;

use super::{answer, open, reply, request};

#[test]
fn the_seventeenth_question_of_a_run_waits_in_order() {
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let ask = |run: &str, number: usize| {
        queue.ask(ApprovalRequest {
            run_id: run.into(),
            call_id: Some(format!("1/{number}")),
            ..request(json!(number))
        })
    };
    let mut asked: Vec<Asking> = (0..QUESTIONS_SHOWN_MAX + 2)
        .map(|n| ask("run", n))
        .collect();
    let _other = ask("run 2", 0);
    let shown = queue.open_questions();
    assert_eq!(
        (shown.questions.len(), shown.waiting),
        (QUESTIONS_SHOWN_MAX + 1, 2)
    );
    let hidden = asked[QUESTIONS_SHOWN_MAX].question_id().to_owned();
    let unseen = queue.answer(shown.revision, &hidden, Answer::allow_once());
    assert_eq!(unseen, Err(AnswerError::NotOpen));
    answer(&queue, Answer::allow_once());
    assert_eq!(reply(asked.remove(0)), Some(Answer::allow_once()));
    let stale = queue.answer(shown.revision, &hidden, Answer::allow_once());
    assert_eq!(stale, Err(AnswerError::Stale));
    assert_eq!(
        open(&queue).iter().filter(|one| one.id == hidden).count(),
        1
    );
    // One that is withdrawn makes room too.
    drop(asked.remove(0));
    assert_eq!(queue.open_questions().waiting, 0);

    let more = QUESTIONS_SHOWN_MAX + QUESTIONS_WAITING_MAX - asked.len();
    let rest: Vec<Asking> = (100..100 + more).map(|n| ask("run", n)).collect();
    let refused = reply(ask("run", 5_000));
    assert!(matches!(refused, Some(Answer::Unanswered { cause }) if cause.contains("1024")));
    drop(rest);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_at_the_same_time_is_one_batch() {
    let queue = ApprovalQueue::new();
    let mut front_end = queue.front_end();
    let asking: Vec<_> = (0..3)
        .map(|number| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for _ in 0..number {
                    tokio::task::yield_now().await;
                }
                let request = ApprovalRequest {
                    run_id: format!("run {number}"),
                    ..request(json!(number))
                };
                queue.ask(request).await
            })
        })
        .collect();
    let batch = front_end.next().await;
    assert_eq!(batch.questions.len(), 3);
    for question in &batch.questions {
        queue
            .answer(batch.revision, &question.id, Answer::allow_once())
            .unwrap();
    }
    for asking in asking {
        assert_eq!(asking.await.unwrap().answer, Answer::allow_once());
    }
    assert!(front_end.next().await.questions.is_empty());
}

#[test]
fn without_a_front_end_a_question_is_unanswered_or_waits() {
    for (absence, is_open) in [(Absence::Unanswered, false), (Absence::Waits, true)] {
        let queue = ApprovalQueue::builder().absence(absence).build();
        assert_eq!(queue.ask(request(json!(1))).is_open(), is_open);
        let front_end = queue.front_end();
        let asking = queue.ask(request(json!(1)));
        drop(front_end);
        let reply = reply(asking);
        assert_eq!(reply.is_none(), is_open, "{reply:?}");
    }
}
