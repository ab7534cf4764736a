use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use pirn_tool::Approved;

use super::*;

/// Somebody who always gives the same answer, and how often they were asked.
fn person(answer: Answer) -> (ApprovalQueue, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        answer.clone()
    });
    (queue, asked)
}

fn decide_in(gates: &Gates, code: &str, context: &CallContext) -> Result<Approval, Denial> {
    let question = ProgramQuestion::new(
        Language::Python,
        code,
        Effects::READ,
        String::new(),
        Vec::new(),
    );
    gates
        .pass(question, context)
        .now_or_never()
        .expect("no answer here takes time")
}

fn decide(gates: &Gates, code: &str) -> Result<Approval, Denial> {
    decide_in(gates, code, &CallContext::detached("1"))
}

#[test]
fn the_gates_are_independent() {
    for (non_interactive, expected) in [
        (NonInteractive::Refused, Err(Denial::NobodyToAsk)),
        (NonInteractive::Allowed, Ok(Approval::NonInteractive)),
    ] {
        for questions in [ProgramQuestions::Always, ProgramQuestions::Never] {
            let gates = Gates {
                questions,
                non_interactive,
                ..Gates::new(ApprovalQueue::new())
            };
            assert_eq!(
                decide(&gates, "1"),
                expected,
                "{questions:?} {non_interactive:?}"
            );
        }
    }
}

#[test]
fn a_person_who_is_there_decides() {
    let unanswered = |cause: &str| Denial::Unanswered {
        cause: cause.to_owned(),
    };
    let words = || Some("use the tool".to_owned());
    for (answer, expected) in [
        (Answer::allow_once(), Ok(Approval::Given)),
        (Answer::deny(), Err(Denial::Declined { words: None })),
        (
            Answer::Deny { words: words() },
            Err(Denial::Declined { words: words() }),
        ),
        (
            Answer::Unanswered {
                cause: "nobody looked".to_owned(),
            },
            Err(unanswered("nobody looked")),
        ),
        (Answer::Expired, Err(unanswered("its time was up"))),
    ] {
        let gates = Gates::new(person(answer.clone()).0);
        assert_eq!(decide(&gates, "1"), expected, "{answer:?}");
    }
    let (queue, asked) = person(Answer::deny());
    let gates = Gates {
        questions: ProgramQuestions::Never,
        ..Gates::new(queue)
    };
    assert_eq!(decide(&gates, "1"), Ok(Approval::NotAsked));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_call_that_was_approved_is_not_asked_about_again() {
    let (queue, asked) = person(Answer::deny());
    let mut context = CallContext::detached("1");
    context.approved = Some(Approved {
        arguments_hash: String::new(),
        by: ApprovedBy::Person {
            question_id: "q".to_owned(),
            choice: Choice::ONCE,
        },
        target: None,
    });
    assert_eq!(
        decide_in(&Gates::new(queue), "1", &context),
        Ok(Approval::WithCall)
    );
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_yes_for_the_session_holds_for_the_exact_program_only() {
    let session = Choice::new(Scope::Session, Covers::Arguments);
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let gates = Gates {
        memory: ApprovalMemory::Session,
        ..Gates::new(queue.clone())
    };
    let mut asked = 0;
    let context = CallContext::detached("1");
    for code in ["1", "1", "1 ", "1", "x"] {
        let question = ProgramQuestion::new(
            Language::Python,
            code,
            Effects::READ,
            String::new(),
            Vec::new(),
        );
        let mut passing = Box::pin(gates.pass(question, &context));
        let approval = if let Some(approval) = (&mut passing).now_or_never() {
            approval
        } else {
            asked += 1;
            assert!(context.clock().is_still());
            let open = queue.open_questions();
            let question = &open.questions[0];
            assert_eq!(question.choices, [Choice::ONCE, session.clone()]);
            let answer = Answer::allow(session.clone());
            queue.answer(open.revision, &question.id, answer).unwrap();
            passing.now_or_never().unwrap()
        };
        assert!(approval.is_ok(), "{approval:?}");
        assert!(!context.clock().is_still());
    }
    assert_eq!(asked, 3);
}

#[test]
fn without_memory_once_is_all_that_is_offered() {
    let offered = Arc::new(std::sync::Mutex::new(Vec::new()));
    let shown = Arc::clone(&offered);
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        shown.lock().unwrap().extend(request.choices.clone());
        Answer::allow_once()
    });
    let gates = Gates::new(queue);
    assert!(decide(&gates, "1").is_ok() && decide(&gates, "1").is_ok());
    assert_eq!(*offered.lock().unwrap(), [Choice::ONCE, Choice::ONCE]);
}

#[test]
fn fingerprints_tell_parts_apart() {
    assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    assert_ne!(fingerprint(&["a"]), fingerprint(&["a", ""]));
    assert_eq!(fingerprint(&["a"]).len(), 64);
}
