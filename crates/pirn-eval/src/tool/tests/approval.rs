//! Who is asked before a program runs, and about what.

use super::*;

#[tokio::test]
async fn approvals_inside_are_asked_of_the_same_person() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let queue = ApprovalQueue::builder().answered_by({
        let asked = Arc::clone(&asked);
        move |request: &ApprovalRequest| {
            let call_id = request.call_id.as_deref().unwrap_or_default();
            asked
                .lock()
                .unwrap()
                .push(format!("{call_id} {}", request.subject.name()));
            Answer::allow_once()
        }
    });
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    let policy = RulePolicy {
        rules: vec![Rule::for_name(Verdict::Ask, "look")],
        default: Verdict::Allow,
    };
    bench.pipeline = bench.pipeline.policy(Arc::new(policy)).approvals(queue);
    assert_eq!(bench.values(json!([["look", {}]])).await, [json!("{}")]);
    assert_eq!(*asked.lock().unwrap(), ["7/1 look"]);
}

#[tokio::test]
async fn nothing_runs_without_approval_and_the_question_shows_all() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    bench.eval.gates = Gates::new(ApprovalQueue::builder().answered_by(move |request| {
        seen.lock().unwrap().push(request.clone());
        Answer::deny()
    }));
    let runner = bench.runner.clone();
    let code = format!("{}\n\u{1b}[2J# last", "x = 1\n".repeat(10_000));
    let (result, _) = bench
        .call(json!({"language": "python", "code": code, "reset": true}))
        .await;
    assert!(result.is_error);
    assert!(
        result
            .joined_text()
            .starts_with("not_approved: approval denied")
    );
    assert_eq!(result.details.unwrap()["denied"], true);
    assert!(runner.seen.lock().unwrap().is_empty() && runner.resets.lock().unwrap().is_empty());
    let questions: Vec<ApprovalRequest> = std::mem::take(&mut asked.lock().unwrap());
    assert!(
        questions[0]
            .effects
            .contains(Effects::WRITE | Effects::NETWORK)
    );
    assert_eq!(questions[0].arguments["code"], code);
    let Subject::Program(question) = &questions[0].subject else {
        panic!("{questions:?}");
    };
    assert_eq!(question.source, code);
    assert_eq!(question.callable, ["look"]);
    assert!(question.confinement.contains("not confined"));
    assert_eq!(question.code_bytes, code.len());
}

#[tokio::test]
async fn a_call_that_the_policy_asks_about_shows_the_program_and_is_asked_about_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        seen.lock().unwrap().push(request.clone());
        Answer::allow_once()
    });
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    bench.eval.gates = Gates::new(queue.clone());
    let policy = RulePolicy {
        rules: vec![Rule::for_name(Verdict::Ask, EVAL_TOOL_NAME)],
        default: Verdict::Allow,
    };
    bench.pipeline = bench.pipeline.policy(Arc::new(policy)).approvals(queue);
    let runner = bench.runner.clone();
    let (result, _) = bench
        .call(json!({"language": "python", "code": "[]"}))
        .await;
    assert!(!result.is_error, "{}", result.joined_text());
    assert_eq!(result.details.unwrap()["approval"], "with-call");
    assert_eq!(runner.seen.lock().unwrap().len(), 1);
    let asked = asked.lock().unwrap();
    let [request] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let Subject::Program(program) = &request.subject else {
        panic!("{request:?}");
    };
    assert_eq!((program.source.as_str(), program.code_bytes), ("[]", 2));
    assert_eq!(
        program.callable,
        ["tools that do no more than read, process"]
    );
    // Nothing outlasts the session, and no rule covers programs that nobody has seen.
    assert!(request.choices.iter().all(|choice| {
        choice.scope <= pirn_tool::Scope::Session && choice.covers == pirn_tool::Covers::Arguments
    }));
}

#[tokio::test]
async fn nobody_to_ask_means_no_unless_allowed() {
    for (questions, non_interactive, runs) in [
        (ProgramQuestions::Always, NonInteractive::Refused, false),
        (ProgramQuestions::Never, NonInteractive::Refused, false),
        (ProgramQuestions::Never, NonInteractive::Allowed, true),
    ] {
        let mut bench = Bench::new([]);
        bench.eval.gates = Gates {
            questions,
            non_interactive,
            ..Gates::new(ApprovalQueue::new())
        };
        let runner = bench.runner.clone();
        let (result, _) = bench.call(json!({"language": "python", "code": "1"})).await;
        assert_eq!(result.is_error, !runs);
        assert_eq!(runner.seen.lock().unwrap().len(), usize::from(runs));
        if !runs {
            assert!(result.joined_text().contains("eval.allowNonInteractive"));
        }
    }
}

#[tokio::test]
async fn an_abort_while_the_question_is_open_runs_nothing() {
    let mut bench = Bench::new([]);
    let queue = ApprovalQueue::new();
    // Somebody is there and says nothing.
    let _front_end = queue.front_end();
    bench.eval.gates = Gates::new(queue);
    let pipeline = bench.pipeline.build();
    let context = CallContext::detached("1");
    context.cancel.cancel();
    let arguments = EvalArguments {
        language: Language::Python,
        code: "1".to_owned(),
        timeout: None,
        state: StateBefore::Kept,
    };
    let report = bench
        .eval
        .evaluate(&pipeline, &context, arguments, None)
        .await;
    assert_eq!(report.failure().unwrap().kind, EvalFailureKind::Aborted);
    assert!(bench.runner.seen.lock().unwrap().is_empty());
}
