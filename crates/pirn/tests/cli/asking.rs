//! What scripts and programs ask, through the runtime that all commands share: one queue, clocks that stand still, and questions
//! that outlive a process.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pirn_eval::{
    BrokerProgram, EvalArguments, EvalReport, Gates, Language, NonInteractive, ProgramQuestions,
    StateBefore,
};
use pirn_runtime::{
    Client, ClientOptions, EffectPolicy, EvalOptions, EvalRun, HostEnv, Otherwise, Runtime,
    SavedScript, ScriptRun,
};
use pirn_tool::{
    Absence, Answer, ApprovalQueue, Choice, Covers, Decision, Effects, FrontEnd, Offer,
    OpenQuestions, Policy, PolicyInput, SavedApprovals, Scope, Tool, ToolResult, ToolSpec,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use tempfile::TempDir;

/// What a script, a call or a program may take here.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long a person thinks: longer than that.
const THINKING: Duration = Duration::from_secs(5);

/// A runtime whose tool `put` needs a person's yes, and the person's place.
struct Asking {
    _folder: TempDir,
    runtime: Runtime,
    client: Client,
    queue: ApprovalQueue,
    calls: Arc<AtomicU32>,
}

/// Asks about every effect but reading, and offers to remember the very same call.
struct Asker(EffectPolicy);

impl Policy for Asker {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        self.0.decide(input)
    }

    fn offer(&self, input: PolicyInput<'_>) -> Offer {
        let choices = vec![Choice::ONCE, SAME_FOR_THE_SESSION];
        Offer {
            choices,
            ..Offer::for_tool(input.tool)
        }
    }
}

const SAME_FOR_THE_SESSION: Choice = Choice::new(Scope::Session, Covers::Arguments);

impl Asking {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let host = HostEnv {
            cwd: folder.path().to_owned(),
            temp_dir: folder.path().to_owned(),
            // There is no node here, so that programs run in the runtime's own engine.
            environment: vec![("PATH".into(), "/srv".into())],
            ..HostEnv::default()
        };
        let queue = ApprovalQueue::builder().absence(Absence::Waits).build();
        let calls = Arc::new(AtomicU32::new(0));
        let spec = ToolSpec::new("put", "Puts something down")
            .input_schema(json!({"type": "object", "properties": {"what": {"type": "string"}}}))
            .effects(Effects::WRITE);
        let count = Arc::clone(&calls);
        let put = Tool::from_fn(spec, move |arguments, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async move { ToolResult::text(arguments["what"].as_str().unwrap_or_default()) }
        });
        let runtime = Runtime::builder(host, folder.path())
            .evals(EvalOptions::new(BrokerProgram {
                program: env!("CARGO_BIN_EXE_pirn").into(),
                arguments: vec!["--eval-broker".into()],
            }))
            .tool(put)
            .approvals(queue.clone())
            .build()
            .unwrap();
        let client = runtime.client(ClientOptions::new(Asker(EffectPolicy::new(
            Effects::NONE,
            Otherwise::Ask,
        ))));
        Self {
            _folder: folder,
            runtime,
            client,
            queue,
            calls,
        }
    }

    /// What a script returns, or how it failed.
    async fn script(&self, call_id: &str, code: &str) -> String {
        shown(
            self.client
                .run_script(Self::bounded(call_id, code))
                .await
                .unwrap(),
        )
    }

    fn bounded(call_id: &str, code: &str) -> ScriptRun {
        let limits = pirn_codemode::ScriptLimits {
            wall: DEADLINE,
            ..pirn_codemode::ScriptLimits::default()
        };
        ScriptRun {
            limits: Some(limits),
            ..ScriptRun::new(call_id, code)
        }
    }

    /// Finds out that there is no node, which takes a process; from then on time passes only where everything waits.
    async fn pause_time(&self) {
        assert_eq!(self.program("first", "return 1").await, "1");
        tokio::time::pause();
    }

    /// What a program gives, or how it failed.
    async fn program(&self, call_id: &str, code: &str) -> String {
        let run = EvalRun {
            arguments: EvalArguments {
                language: Language::JavaScript,
                code: code.to_owned(),
                timeout: Some(DEADLINE),
                state: StateBefore::Kept,
            },
            admitted: Effects::READ | Effects::WRITE,
            gates: Gates {
                questions: ProgramQuestions::Never,
                non_interactive: NonInteractive::Allowed,
                ..Gates::new(self.queue.clone())
            },
            updates: None,
        };
        let report = self
            .client
            .evaluate(call_id, run, CancellationToken::new())
            .await
            .unwrap();
        match report {
            EvalReport::Ran { outcome, .. } => match &outcome.failure {
                None => outcome.value.unwrap_or_default().to_string(),
                Some(failure) => failure.message.clone(),
            },
            EvalReport::Refused { failure, .. } => failure.message,
        }
    }
}

fn shown(end: pirn_runtime::ScriptEnd) -> String {
    match end.result.outcome {
        Ok(value) => value.map_or_else(String::new, |json| json.as_str().to_owned()),
        Err(error) => error.message.to_string(),
    }
}

/// Waits until so many questions are open.
async fn open(front_end: &mut FrontEnd, count: usize) -> OpenQuestions {
    loop {
        let open = front_end.next().await;
        if open.questions.len() == count {
            return open;
        }
    }
}

fn answer_all(queue: &ApprovalQueue, open: &OpenQuestions, answer: &Answer) {
    for question in &open.questions {
        queue
            .answer(open.revision, &question.id, answer.clone())
            .unwrap();
    }
}

#[tokio::test]
async fn two_scripts_and_an_eval_ask_in_one_queue() {
    let asking = Asking::new();
    asking.pause_time().await;
    let mut front_end = asking.queue.front_end();
    let answers = async {
        let open = open(&mut front_end, 3).await;
        let runs: Vec<&str> = open
            .questions
            .iter()
            .map(|one| one.run_id.as_str())
            .collect();
        answer_all(&asking.queue, &open, &Answer::allow_once());
        let mut runs: Vec<String> = runs.into_iter().map(str::to_owned).collect();
        runs.sort();
        runs
    };
    let (one, two, three, runs) = tokio::join!(
        asking.script("script-1", "return tools.put({what: 'a'})"),
        asking.script("script-2", "return tools.put({what: 'b'})"),
        asking.program("eval-1", "return tool.put({what: 'c'})"),
        answers,
    );
    assert_eq!((&*one, &*two, &*three), ("\"a\"", "\"b\"", "\"c\""));
    assert_eq!(runs, ["eval-1", "script-1", "script-2"]);
    assert_eq!(asking.calls.load(Ordering::Relaxed), 3);
}

/// Runs work that asks once and is answered after a long time.
async fn thinking<T>(asking: &Asking, work: impl Future<Output = T>) -> T {
    let mut front_end = asking.queue.front_end();
    let thinking = async {
        let open = open(&mut front_end, 1).await;
        tokio::time::sleep(THINKING).await; // sleeps: on the paused clock, as long as a person thinks
        answer_all(&asking.queue, &open, &Answer::allow_once());
    };
    let at = tokio::time::Instant::now();
    let (end, ()) = tokio::join!(work, thinking);
    assert!(at.elapsed() >= THINKING);
    end
}

#[tokio::test(start_paused = true)]
async fn a_question_of_five_seconds_fits_a_scripts_deadline_of_two() {
    let asking = Asking::new();
    let script = asking.script("script", "return tools.put({what: 'a'})");
    assert_eq!(thinking(&asking, script).await, "\"a\"");
}

#[tokio::test]
async fn a_question_of_five_seconds_fits_a_programs_deadline_of_two() {
    let asking = Asking::new();
    asking.pause_time().await;
    let program = asking.program("eval", "return tool.put({what: 'a'})");
    assert_eq!(thinking(&asking, program).await, "\"a\"");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_goes_on_after_the_answer() {
    let asking = Asking::new();
    let code = "await tools.put({what: 'a'}); await new Promise((go) => setTimeout(go, 1e6))";
    let script = thinking(&asking, asking.script("script", code)).await;
    assert_eq!(script, "The script timed out after 2000 ms");
}

#[tokio::test]
async fn computing_beside_an_open_question_ends_by_the_processor_time() {
    let asking = Asking::new();
    let mut run = Asking::bounded("script", "tools.put({what: 'a'}); for (;;) {}");
    if let Some(limits) = &mut run.limits {
        limits.vm.cpu = Duration::from_millis(200);
    }
    let end = asking.client.run_script(run).await.unwrap();
    assert_eq!(
        shown(end),
        "The script used up its 200 ms of processor time"
    );
    assert_eq!(asking.calls.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn the_words_of_a_denial_reach_the_script() {
    let asking = Asking::new();
    let mut front_end = asking.queue.front_end();
    let answers = async {
        let open = open(&mut front_end, 1).await;
        answer_all(
            &asking.queue,
            &open,
            &Answer::deny_with("use the other shelf"),
        );
    };
    let code = "return tools.put({what: 'a'}).catch((error) => `${error.kind}: ${error.message}`)";
    let (script, ()) = tokio::join!(asking.script("script", code), answers);
    assert!(
        script.contains("denied") && script.contains("use the other shelf"),
        "{script}"
    );
}

#[tokio::test]
async fn an_answer_for_the_session_covers_exactly_the_same() {
    let asking = Asking::new();
    asking.pause_time().await;
    let mut front_end = asking.queue.front_end();
    let answers = async {
        // The same again is not asked, another argument is, and so is the same in an eval: it has another run, not another subject.
        let mut asked = Vec::new();
        for _ in 0..2 {
            let open = open(&mut front_end, 1).await;
            asked.push(open.questions[0].arguments.to_string());
            answer_all(&asking.queue, &open, &Answer::allow(SAME_FOR_THE_SESSION));
        }
        asked
    };
    let scripts = async {
        let put = "return [await tools.put({what: 'a'}), await tools.put({what: 'a'})].join()";
        let first = asking.script("script-1", put).await;
        let again = asking.script("script-2", put).await;
        let other = asking
            .script("script-3", "return tools.put({what: 'b'})")
            .await;
        let program = asking.program("eval", "return tool.put({what: 'a'})").await;
        [first, again, other, program]
    };
    let (ends, asked) = tokio::join!(scripts, answers);
    assert_eq!(ends, ["\"a,a\"", "\"a,a\"", "\"b\"", "\"a\""]);
    assert_eq!(asked, [r#"{"what":"a"}"#, r#"{"what":"b"}"#]);
    assert!(asking.queue.open_questions().questions.is_empty());
}

/// What the process that resumes finds: the script and its questions.
const SAVED: &str = "PIRN_TEST_SAVED";

#[tokio::test]
async fn a_script_suspended_while_it_asks_is_answered_once_in_another_process() {
    let asking = Asking::new();
    let mut front_end = asking.queue.front_end();
    let code = "const what = await tools.put({what: 'a'}); return what + ' once'";
    let script = asking
        .client
        .start_script(Asking::bounded("run-7", code))
        .await
        .unwrap();
    let id = open(&mut front_end, 1).await.questions[0].id.clone();
    let saved = script.suspend().await.unwrap();
    let approvals = saved.approvals.unwrap();
    assert_eq!(approvals.questions[0].request.id, id);
    assert_eq!(saved.call_id, "run-7");
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("script"), &saved.script).unwrap();
    std::fs::write(
        folder.path().join("approvals"),
        serde_json::to_vec(&approvals).unwrap(),
    )
    .unwrap();
    asking.runtime.shutdown().await;
    assert_eq!(asking.calls.load(Ordering::Relaxed), 0);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "asking::resumes_what_was_saved"])
        .env(SAVED, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains(&format!("resumed {id}")), "{text}");
}

/// The other process of the test above; nothing without it.
#[tokio::test]
async fn resumes_what_was_saved() {
    let Some(folder) = std::env::var_os(SAVED) else {
        return;
    };
    let read = |name: &str| {
        std::fs::read(AsRef::<std::path::Path>::as_ref(OsStr::new(&folder)).join(name)).unwrap()
    };
    let approvals: SavedApprovals = serde_json::from_slice(&read("approvals")).unwrap();
    let saved = SavedScript {
        call_id: approvals.run_id.clone(),
        script: read("script"),
        approvals: Some(approvals),
    };
    let asking = Asking::new();
    let mut front_end = asking.queue.front_end();
    let resumed = asking
        .client
        .resume_script(saved, Asking::bounded("", ""))
        .await
        .unwrap();
    let open = open(&mut front_end, 1).await;
    answer_all(&asking.queue, &open, &Answer::allow_once());
    assert_eq!(shown(resumed.ended().await.unwrap()), "\"a once\"");
    // Nobody asks a second time, and the answer cannot be given twice.
    let late = asking
        .queue
        .answer(open.revision, &open.questions[0].id, Answer::allow_once());
    assert!(late.is_err());
    assert!(asking.queue.open_questions().questions.is_empty());
    assert_eq!(asking.calls.load(Ordering::Relaxed), 1);
    println!("resumed {}", open.questions[0].id);
}
