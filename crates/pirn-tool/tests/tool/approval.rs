//! Questions: what an answer covers, what is asked again, and what survives a suspension.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use pirn_tool::{
    Absence, Answer, AnswerError, ApprovalQueue, ApprovalRequest, Approved, ApprovedBy, Asking,
    CallContext, CallRequest, CallStage, Choice, CommandConfinement, Covers, Effects, FailureKind,
    Form, GrantStore as _, MemoryGrants, NestedOptions, Offer, Origin, ProgramSubject,
    QUESTIONS_SHOWN_MAX, QUESTIONS_WAITING_MAX, RestoreError, Rule, RulePolicy, Run,
    SavedApprovals, Scope, Subject, Target, Tool, ToolResult, ToolSpec, Verdict,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{builder, call, echo, echo_of, nested, relay};

const PROJECT: &str = "/home/me/project";

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Edits")
        .input_schema(json!({"type": "object"}))
        .effects(Effects::WRITE)
        .namespace(Arc::new(pirn_tool::Namespace {
            name: "mcp__docs".into(),
            ..pirn_tool::Namespace::default()
        }))
}

/// A question of call `1/1` in run `run` about an MCP tool.
fn request(arguments: Value) -> ApprovalRequest {
    let spec = spec("mcp__docs__edit");
    let subject = Subject::Tool(pirn_tool::ToolSubject::of(&spec));
    let offer = Offer {
        target: Some(Target::Path {
            path: format!("{PROJECT}/src/lib.rs").into(),
        }),
        confinement: CommandConfinement::NoCommand,
        choices: [Scope::Once, Scope::Run, Scope::Session, Scope::Always]
            .into_iter()
            .flat_map(|scope| {
                [Covers::Arguments, Covers::Tool, folder(PROJECT)]
                    .map(|covers| Choice::new(scope, covers))
            })
            .collect(),
    };
    ApprovalRequest {
        run_id: "run".into(),
        project: PROJECT.into(),
        call_id: Some("1/1".into()),
        origin: Origin::Nested,
        ..ApprovalRequest::new(subject, spec.effects, arguments)
    }
    .offer(offer)
}

fn folder(path: &str) -> Covers {
    Covers::Folder { path: path.into() }
}

fn open(queue: &ApprovalQueue) -> Vec<Arc<ApprovalRequest>> {
    queue.open_questions().questions
}

/// Answers the oldest question.
fn answer(queue: &ApprovalQueue, answer: Answer) {
    let open = queue.open_questions();
    queue
        .answer(open.revision, &open.questions[0].id, answer)
        .unwrap();
}

/// The answer, if there is one.
fn reply(asking: Asking) -> Option<Answer> {
    asking.now_or_never().map(|reply| reply.answer)
}

/// What changes in a later question, and whether a grant for what the second says covers it all the same.
type Case = (&'static str, Covers, fn(&mut ApprovalRequest), bool);

fn definition(request: &mut ApprovalRequest) {
    if let Subject::Tool(tool) = &mut request.subject {
        tool.definition = "changed".into();
    }
}

fn unconfined(request: &mut ApprovalRequest) {
    if let Subject::Tool(tool) = &mut request.subject {
        tool.confinement = CommandConfinement::Unconfined;
    }
}

fn arguments(request: &mut ApprovalRequest) {
    request.arguments = json!({"x": 2});
    request.arguments_hash = pirn_tool::value_hash(&request.arguments);
}

fn elsewhere(request: &mut ApprovalRequest) {
    request.target = Some(Target::Path {
        path: "/home/me/project-2/lib.rs".into(),
    });
}

fn climbing(request: &mut ApprovalRequest) {
    request.target = Some(Target::Path {
        path: format!("{PROJECT}/../other").into(),
    });
}

#[test]
fn a_grant_covers_exactly_what_was_shown() {
    let other = |change: fn(&mut ApprovalRequest)| {
        let mut other = request(json!({"x": 1}));
        other.call_id = Some("1/2".into());
        change(&mut other);
        other
    };
    let cases: [Case; 16] = [
        ("the same", Covers::Arguments, |_| (), true),
        ("other arguments", Covers::Arguments, arguments, false),
        (
            "other arguments, a rule for the tool",
            Covers::Tool,
            arguments,
            true,
        ),
        (
            "other arguments, a rule for the folder",
            folder(PROJECT),
            arguments,
            true,
        ),
        ("another place", folder(PROJECT), elsewhere, false),
        ("a place that leads out", folder(PROJECT), climbing, false),
        (
            "no place",
            folder(PROJECT),
            |other| other.target = None,
            false,
        ),
        ("another definition", Covers::Tool, definition, false),
        (
            "another effect",
            Covers::Tool,
            |other| other.effects = Effects::WRITE | Effects::READ,
            false,
        ),
        (
            "fewer effects",
            Covers::Tool,
            |other| other.effects = Effects::NONE,
            false,
        ),
        (
            "another origin",
            Covers::Tool,
            |other| other.origin = Origin::Model,
            false,
        ),
        (
            "another project",
            Covers::Tool,
            |other| other.project = "/home/me/other".into(),
            false,
        ),
        (
            "another caller",
            Covers::Tool,
            |other| other.caller = "somebody".into(),
            false,
        ),
        (
            "another run",
            Covers::Arguments,
            |other| other.run_id = "run 2".into(),
            true,
        ),
        ("not confined any more", Covers::Tool, unconfined, false),
        (
            "another kind",
            Covers::Arguments,
            |other| other.subject = Subject::Host,
            false,
        ),
    ];
    for scope in [Scope::Session, Scope::Always] {
        for (name, covers, change, expected) in &cases {
            let queue = ApprovalQueue::new();
            let _front_end = queue.front_end();
            let first = queue.ask(request(json!({"x": 1})));
            answer(&queue, Answer::allow(Choice::new(scope, covers.clone())));
            assert!(matches!(reply(first), Some(Answer::Allow { .. })));
            let second = queue.ask(other(*change));
            assert_eq!(!second.is_open(), *expected, "{name} {scope:?}");
        }
    }
}

#[test]
fn scopes_end_where_they_say() {
    for (scope, same_run, other_run, other_queue) in [
        (Scope::Once, false, false, false),
        (Scope::Run, true, false, false),
        (Scope::Session, true, true, false),
        (Scope::Always, true, true, true),
    ] {
        let store = Arc::new(MemoryGrants::new());
        let queue = || ApprovalQueue::builder().grants(store.clone()).build();
        let (first, second) = (queue(), queue());
        let _front_ends = (first.front_end(), second.front_end());
        let asking = first.ask(request(json!(1)));
        answer(&first, Answer::allow(Choice::new(scope, Covers::Arguments)));
        assert!(reply(asking).is_some());
        let again = |queue: &ApprovalQueue, run: &str| {
            let mut request = request(json!(1));
            request.run_id = run.into();
            !queue.ask(request).is_open()
        };
        assert_eq!(again(&first, "run"), same_run, "{scope:?}");
        assert_eq!(again(&first, "run 2"), other_run, "{scope:?}");
        assert_eq!(again(&second, "run"), other_queue, "{scope:?}");
        first.end_run("run");
        assert_eq!(again(&first, "run"), other_run, "{scope:?} after the end");
        for grant in first.grants().unwrap() {
            assert!(first.revoke(&grant.id).unwrap());
            assert!(!first.revoke(&grant.id).unwrap());
        }
        assert!(!again(&first, "run 2") && store.list().unwrap().is_empty());
    }
}

#[test]
fn some_subjects_are_asked_about_each_time() {
    use CommandConfinement::{Confined, NoCommand, Unconfined};

    let program = Subject::Program(ProgramSubject {
        language: "python".into(),
        source: "1".into(),
        code_bytes: 1,
        confinement: String::new(),
        callable: Vec::new(),
        definition: "hash".into(),
    });
    let command = |server: Option<&str>, confinement| {
        Subject::Tool(pirn_tool::ToolSubject {
            name: "bash".into(),
            definition: String::new(),
            server: server.map(str::to_owned),
            confinement,
        })
    };
    let elicitation = Subject::Elicitation {
        server: "docs".into(),
        message: String::new(),
        form: Form::Page { url: String::new() },
    };
    let trust = Subject::Trust {
        folder: PROJECT.into(),
    };
    // The longest scope for exactly the same arguments, for a folder and for the whole subject.
    let cases = [
        (trust, Scope::Once, Scope::Once, None),
        (elicitation, Scope::Once, Scope::Once, None),
        (program, Scope::Session, Scope::Once, None),
        (
            command(None, Unconfined),
            Scope::Run,
            Scope::Run,
            Some(Scope::Run),
        ),
        (
            command(None, Confined),
            Scope::Always,
            Scope::Always,
            Some(Scope::Run),
        ),
        (
            command(Some("docs"), NoCommand),
            Scope::Always,
            Scope::Always,
            Some(Scope::Always),
        ),
        (Subject::Host, Scope::Always, Scope::Always, None),
    ];
    for (subject, arguments, place, whole) in cases {
        let kind = subject.kind();
        let mut asked = request(json!(1));
        asked.subject = subject;
        let all = asked.choices.clone();
        let queue = ApprovalQueue::new();
        let _front_end = queue.front_end();
        let _asking = queue.ask(ApprovalRequest {
            choices: all,
            ..asked
        });
        let offered = open(&queue)[0].choices.clone();
        let longest = |covers: &Covers| {
            offered
                .iter()
                .filter(|choice| choice.covers == *covers)
                .map(|choice| choice.scope)
                .max()
        };
        assert_eq!(longest(&Covers::Arguments), Some(arguments), "{kind}");
        assert!(
            longest(&folder(PROJECT)).unwrap_or(Scope::Once) <= place,
            "{kind}"
        );
        assert_eq!(longest(&Covers::Tool), whole, "{kind}");
    }
}

#[test]
fn what_was_not_shown_is_no_answer() {
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let before = queue.open_questions().revision;
    let asking = queue.ask(request(json!(1)));
    let shown = queue.open_questions();
    let id = &shown.questions[0].id;
    let yes = Answer::allow_once;
    let elsewhere = Answer::allow(Choice::new(Scope::Always, folder("/")));
    let cases = [
        (before, id.as_str(), yes(), Err(AnswerError::Stale)),
        (shown.revision, "another", yes(), Err(AnswerError::NotOpen)),
        (shown.revision, id, elsewhere, Err(AnswerError::NotOffered)),
        (shown.revision, id, yes(), Ok(())),
        (shown.revision, id, yes(), Err(AnswerError::NotOpen)),
        (
            shown.revision,
            id,
            Answer::deny(),
            Err(AnswerError::NotOpen),
        ),
    ];
    for (revision, id, answer, expected) in cases {
        assert_eq!(queue.answer(revision, id, answer), expected);
    }
    assert_eq!(reply(asking), Some(yes()));
}

#[test]
fn what_was_denied_is_not_asked_again_in_that_run() {
    let queue = ApprovalQueue::new();
    let _front_end = queue.front_end();
    let first = queue.ask(request(json!(1)));
    let same = queue.ask(ApprovalRequest {
        call_id: Some("1/2".into()),
        ..request(json!(1))
    });
    answer(&queue, Answer::deny_with("use the other file"));
    let denied = Some(Answer::deny_with("use the other file"));
    assert_eq!(
        (reply(first), reply(same)),
        (denied.clone(), denied.clone())
    );
    assert_eq!(reply(queue.ask(request(json!(1)))), denied);
    assert!(queue.ask(request(json!(2))).is_open());
    let mut elsewhere = request(json!(1));
    elsewhere.run_id = "run 2".into();
    assert!(queue.ask(elsewhere).is_open());
    queue.end_run("run");
    assert!(queue.ask(request(json!(1))).is_open());
}

#[test]
fn a_grant_answers_the_open_questions_that_it_covers() {
    for (scope, other_run) in [(Scope::Run, false), (Scope::Session, true)] {
        let queue = ApprovalQueue::new();
        let _front_end = queue.front_end();
        let ask = |run: &str, call: &str, arguments: Value| {
            queue.ask(ApprovalRequest {
                run_id: run.into(),
                call_id: Some(call.into()),
                ..request(arguments)
            })
        };
        let first = ask("run", "1/1", json!(1));
        let covered = ask("run", "1/2", json!(2));
        let elsewhere = ask("run 2", "2/1", json!(3));
        answer(&queue, Answer::allow(Choice::new(scope, Covers::Tool)));
        assert!(matches!(
            first.now_or_never().unwrap().approved_by,
            Some(ApprovedBy::Person { .. })
        ));
        assert!(matches!(
            covered.now_or_never().unwrap().approved_by,
            Some(ApprovedBy::Grant { .. })
        ));
        assert_eq!(reply(elsewhere).is_some(), other_run);
    }
}

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

fn asking() -> Arc<RulePolicy> {
    Arc::new(RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    })
}

#[tokio::test]
async fn the_words_of_a_denial_reach_the_caller() {
    let queue =
        ApprovalQueue::builder().answered_by(|_| Answer::deny_with("write to out/ instead"));
    let pipeline = builder([relay("relay"), echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue)
        .build();
    let outcome = call(&pipeline, "relay", nested("edit", &json!({}))).await;
    assert_eq!(
        outcome.result.joined_text(),
        "1/1 Tool edit was denied (effect: write): write to out/ instead"
    );
    let direct = call(&pipeline, "edit", json!({})).await;
    assert_eq!(direct.failure, Some(FailureKind::Denied));
}

#[tokio::test]
async fn a_call_knows_how_it_was_approved_and_who_runs_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let tool = Tool::from_fn(spec("edit"), move |_, context: CallContext| {
        notes.lock().unwrap().push(context.approved);
        async { ToolResult::text("") }
    });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let questions = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        questions.lock().unwrap().push(request.clone());
        Answer::allow(Choice::new(Scope::Session, Covers::Tool))
    });
    let pipeline = builder([tool, echo("free")])
        .policy(asking())
        .approvals(queue)
        .build();
    let run = Arc::new(Run::new("run").caller("somebody").project(PROJECT));
    for number in ["1", "2"] {
        let request = CallRequest::new(number, "edit", json!({"n": number})).run(Arc::clone(&run));
        pipeline.call(request).await;
    }
    let asked = asked.lock().unwrap();
    let question = &asked[0];
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (
            &*question.run_id,
            &*question.caller,
            &*question.project,
            question.call_id.as_deref()
        ),
        ("run", "somebody", PROJECT, Some("1"))
    );
    let expected = [
        (
            "1",
            ApprovedBy::Person {
                question_id: question.id.clone(),
                choice: Choice::new(Scope::Session, Covers::Tool),
            },
        ),
        (
            "2",
            ApprovedBy::Grant {
                grant_id: question.id.clone(),
            },
        ),
    ]
    .map(|(number, by)| {
        Some(Approved {
            arguments_hash: pirn_tool::value_hash(&json!({"n": number})),
            by,
        })
    });
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_caller_hears_how_far_its_call_has_come() {
    let queue = ApprovalQueue::new();
    let mut front_end = queue.front_end();
    let pipeline = builder([echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue.clone())
        .build();
    let (sender, mut stage) = watch::channel(CallStage::default());
    let options = NestedOptions {
        stage: Some(sender),
        ..NestedOptions::default()
    };
    let context = CallContext::detached("1").with_run(Arc::new(Run::new("run")));
    let calling = pipeline.call_nested_with_options(&context, "edit", json!({}), options);
    let answering = async {
        let open = front_end.next().await;
        let id = open.questions[0].id.clone();
        assert_eq!(
            *stage.borrow_and_update(),
            CallStage::Asking {
                question_id: id.clone()
            }
        );
        queue
            .answer(open.revision, &id, Answer::allow_once())
            .unwrap();
    };
    let (outcome, ()) = tokio::join!(calling, answering);
    assert_eq!(outcome.failure, None);
    assert_eq!(*stage.borrow(), CallStage::Begun);
}

#[tokio::test]
async fn a_call_without_a_run_is_one_and_leaves_nothing_behind() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |_| {
        *count.lock().unwrap() += 1;
        Answer::deny()
    });
    let pipeline = builder([relay("relay"), echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue)
        .build();
    let twice =
        json!({"calls": [{"name": "edit", "arguments": {}}, {"name": "edit", "arguments": {}}]});
    for expected in [1, 2] {
        call(&pipeline, "relay", twice.clone()).await;
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}

/// Questions whose subject does not lie in their arguments.
fn without_arguments(number: u16) -> [ApprovalRequest; 2] {
    let host = ApprovalRequest {
        target: Some(Target::Host {
            host: "example.org".into(),
            port: number,
        }),
        ..ApprovalRequest::new(Subject::Host, Effects::NETWORK, Value::Null)
    };
    let elicitation = Subject::Elicitation {
        server: "docs".into(),
        message: format!("question {number}"),
        form: Form::Page { url: String::new() },
    };
    [
        ApprovalRequest {
            choices: vec![Choice::new(Scope::Session, Covers::Arguments)],
            ..host
        },
        ApprovalRequest::new(elicitation, Effects::NONE, Value::Null),
    ]
}

#[test]
fn another_host_and_another_question_of_a_server_are_asked_about() {
    for said in [
        Answer::deny(),
        Answer::allow(Choice::new(Scope::Session, Covers::Arguments)),
    ] {
        for (first, second) in without_arguments(1).into_iter().zip(without_arguments(2)) {
            let queue = ApprovalQueue::new();
            let _front_end = queue.front_end();
            let asking = queue.ask(first.clone());
            let offered = open(&queue)[0].choices.clone();
            let said = match &said {
                Answer::Allow { choice, .. } if !offered.contains(choice) => Answer::allow_once(),
                other => other.clone(),
            };
            answer(&queue, said.clone());
            assert_eq!(reply(asking), Some(said.clone()));
            assert!(queue.ask(second).is_open(), "{said:?}");
            let again = queue.ask(first);
            assert_eq!(again.is_open(), said == Answer::allow_once(), "{said:?}");
        }
    }
}
