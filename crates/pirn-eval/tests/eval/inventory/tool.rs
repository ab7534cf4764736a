//! The tool in a pipeline: names, effects, gates and questions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pirn_eval::{
    ADMITTED_DEFAULT, EVAL_TOOL_NAME, Error, EvalOutcome, EvalRequest, EvalRunner, EvalTool, Gates,
    Kernel, NonInteractive, ProgramQuestions, eval_tool,
};
use pirn_tool::{
    Answer, ApprovalQueue, CallRequest, Effects, Pipeline, Registry, Subject, Tool, ToolResult,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::support::{Bench, block_on};

/// Gates that nothing stops.
pub(super) fn open_gates() -> Gates {
    Gates {
        non_interactive: NonInteractive::Allowed,
        ..Gates::new(ApprovalQueue::new())
    }
}

/// Calls the tool over a registry.
pub(super) async fn call(registry: &Registry, tool: EvalTool, arguments: Value) -> ToolResult {
    registry.register(eval_tool(tool));
    let pipeline = Pipeline::builder(registry.clone()).build();
    pipeline
        .call(CallRequest::new("1", EVAL_TOOL_NAME, arguments))
        .await
        .result
}

/// The tool over a real kernel.
pub(super) fn over(kernel: &Kernel) -> EvalTool {
    EvalTool::new(Arc::new(kernel.clone()), open_gates())
}

fn python(code: &str) -> Value {
    json!({"language": "python", "code": code})
}

/// A tool that counts its calls.
fn counting(name: &str, effects: Effects) -> (Tool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let spec = ToolSpec::new(name, format!("Counts calls of {name}.")).effects(effects);
    let tool = Tool::from_fn(spec, move |_arguments, _context| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { ToolResult::text("called") }
    });
    (tool, count)
}

/// A runner that must not be reached, and says so.
#[derive(Default)]
struct Unreached(AtomicUsize);

impl EvalRunner for Unreached {
    fn run(&self, _request: EvalRequest) -> BoxFuture<'static, EvalOutcome> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }

    fn reset(&self, _branch: String) -> BoxFuture<'static, Result<(), Error>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }
}

pub(super) fn registers() {
    block_on(async {
        let bench = Bench::with(|_| {});
        let tool = eval_tool(over(&bench.kernel));
        assert_eq!(tool.spec().name, "eval");
        let languages = &tool.spec().input_schema["properties"]["language"]["enum"];
        assert_eq!(*languages, json!(["python", "javascript"]));
        let reset = &tool.spec().input_schema["properties"]["reset"]["type"];
        assert_eq!(*reset, json!("boolean"));
        let registry = Registry::new();
        registry.register(counting("bash", Effects::PROCESS).0);
        registry.register(tool);
        assert!(registry.get("bash").is_some());
    });
}

async fn refused_by(gates: Gates) {
    let runner = Arc::new(Unreached::default());
    let tool = EvalTool::new(Arc::clone(&runner) as Arc<dyn EvalRunner>, gates);
    let result = call(&Registry::new(), tool, python("1")).await;
    assert!(result.is_error);
    let details = result.details.unwrap();
    assert_eq!(details["error"]["kind"], json!("not_approved"));
    assert_eq!(details["denied"], json!(true), "{details}");
    assert_eq!(runner.0.load(Ordering::Relaxed), 0);
}

pub(super) fn nobody() {
    block_on(refused_by(Gates::new(ApprovalQueue::new())));
}

pub(super) fn nobody_unasked() {
    block_on(refused_by(Gates {
        questions: ProgramQuestions::Never,
        ..Gates::new(ApprovalQueue::new())
    }));
}

pub(super) fn failure_in_bounds() {
    block_on(async {
        let bench = Bench::with(|options| options.output_bytes_max = 256);
        let tool = EvalTool {
            output_bytes_max: 256,
            ..over(&bench.kernel)
        };
        let code = "raise ValueError('x' * 300_000)";
        let result = call(&Registry::new(), tool, python(code)).await;
        assert!(result.is_error);
        let text = result.joined_text();
        assert!(text.len() <= 256, "{}", text.len());
    });
}

pub(super) fn names_and_effects() {
    block_on(async {
        let bench = Bench::with(|_| {});
        let registry = Registry::new();
        let (write, written) = counting("put", Effects::WRITE);
        // Two names that a program could not tell apart, and two that belong to `tool` itself.
        for name in ["list", "then", "Get-It", "get_it"] {
            registry.register(counting(name, Effects::READ).0);
        }
        registry.register(write);
        let code = "names = [entry['name'] for entry in tool.list()]\n\
                    try:\n    tool.call('put', {})\nexcept Exception as error:\n    refusal = repr(error)\n\
                    [names, refusal]";
        let result = call(&registry, over(&bench.kernel), python(code)).await;
        let text = result.joined_text();
        assert!(!result.is_error, "{text}");
        assert_eq!(written.load(Ordering::Relaxed), 0, "refused before it ran");
        assert!(
            text.contains("not admitted") || text.contains("NotAdmitted"),
            "{text}"
        );
        let value: Value = serde_json::from_str(text.split_once("result:\n").unwrap().1).unwrap();
        let names: Vec<&str> = value[0]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 4, "{names:?}");
        assert!(!names.contains(&"list") && !names.contains(&"then"));
    });
}

pub(super) fn orchestration() {
    let code = "try:\n    tool.conduct()\nexcept Exception as error:\n    result = type(error).__name__\nelse:\n    result = 'called'\nresult";
    block_on(async {
        let bench = Bench::with(|_| {});
        for (admitted, calls) in [
            (ADMITTED_DEFAULT, 0),
            (ADMITTED_DEFAULT | Effects::ORCHESTRATION, 1),
        ] {
            let registry = Registry::new();
            let (tool, count) = counting("conduct", Effects::ORCHESTRATION);
            registry.register(tool);
            let eval = EvalTool {
                admitted,
                ..over(&bench.kernel)
            };
            let result = call(&registry, eval, python(code)).await;
            assert!(!result.is_error, "{}", result.joined_text());
            assert_eq!(count.load(Ordering::Relaxed), calls);
        }
    });
}

/// Keeps the request and fails.
#[derive(Default)]
struct Keeping(Mutex<Vec<std::time::Duration>>);

impl EvalRunner for Keeping {
    fn run(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome> {
        self.0.lock().unwrap().push(request.timeout);
        request.cancel.cancel();
        Box::pin(std::future::pending())
    }

    fn reset(&self, _branch: String) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

pub(super) fn long_timeout() {
    block_on(async {
        let runner = Arc::new(Keeping::default());
        let tool = EvalTool {
            // An embedder that allows more than there is.
            timeout_max: std::time::Duration::from_secs(500),
            ..EvalTool::new(Arc::clone(&runner) as Arc<dyn EvalRunner>, open_gates())
        };
        let arguments = json!({"language": "python", "code": "1", "timeoutSeconds": 500});
        let registry = Registry::new();
        let waiting = call(&registry, tool, arguments);
        // Refused by the schema, or run with the hard limit by a runner that never ends.
        let waited = tokio::time::timeout(std::time::Duration::from_secs(1), waiting);
        if let Ok(result) = waited.await {
            assert!(result.is_error, "{}", result.joined_text());
        }
        let longest = runner.0.lock().unwrap().iter().max().copied();
        assert!(longest.is_none_or(|longest| longest.as_secs() <= 120));
        // What the embedder allows too much is clamped in the kernel as well.
        let bench = Bench::with(|options| {
            options.timeout_max = std::time::Duration::from_secs(500);
        });
        assert!(pirn_eval::TIMEOUT_MAX.as_secs() == 120);
        bench.kernel.close().await;
    });
}

pub(super) fn whole_question() {
    block_on(async {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let gates = Gates::new(ApprovalQueue::builder().answered_by(move |request| {
            seen.lock().unwrap().push(request.subject.clone());
            Answer::deny()
        }));
        let runner = Arc::new(Unreached::default());
        let tool = EvalTool::new(Arc::clone(&runner) as Arc<dyn EvalRunner>, gates);
        let code = format!(
            "# {}\nprint('\u{1b}[2J\u{202e}hidden')\nlast = 'line'",
            "long ".repeat(1_000)
        );
        let result = call(&Registry::new(), tool, python(&code)).await;
        assert!(result.is_error);
        let questions = asked.lock().unwrap();
        let [Subject::Program(question)] = questions.as_slice() else {
            panic!("{questions:?}");
        };
        // All of it, as it would run; whoever shows it escapes it.
        assert_eq!(question.source, code);
        assert_eq!(question.code_bytes, code.len());
        assert!(question.source.ends_with("last = 'line'"));
        assert_eq!(runner.0.load(Ordering::Relaxed), 0);
    });
}
