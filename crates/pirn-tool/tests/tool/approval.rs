//! Questions: what an answer covers, and what is asked again.

mod calls;
mod queue;
mod suspension;

use std::sync::Arc;

use futures_util::FutureExt as _;
use pirn_tool::{
    Answer, AnswerError, ApprovalQueue, ApprovalRequest, ApprovedBy, Asking, Choice,
    CommandConfinement, Covers, Effects, Form, GrantStore as _, MemoryGrants, Offer, Origin,
    ProgramSubject, Scope, Subject, Target, ToolSpec,
};
use serde_json::{Value, json};

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
