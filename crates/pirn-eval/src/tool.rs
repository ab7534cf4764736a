//! The `eval` tool: one small program as an ordinary tool call.

mod arguments;
mod catalog;
mod confinement;
mod description;
mod names;
mod progress_reporter;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_sandbox::SandboxReport;
use pirn_tool::{
    CallContext, Effects, Exposure, Loadout, LoadoutChanges, LoadoutHook, Pipeline, Registry,
    Subject, Tool, ToolHandler, ToolResult, ToolSpec,
};
use serde_json::Value;

use crate::confirmation::{Gates, ProgramQuestion};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::limits::{CODE_BYTES_MAX, OUTPUT_BYTES_DEFAULT, TIMEOUT_MAX};
use crate::outcome::{EvalFailureKind, EvalOutcome};
use crate::output::EvalReport;
use crate::request::{EvalRequest, Language, Updates};
use crate::source::without_fence;
use catalog::{Catalog, PipelineCaller};
use progress_reporter::{ProgressReporter, output_sink};

pub use arguments::{EvalArguments, StateBefore};
pub use confinement::{confinement_effects, confinement_sentence};

/// The tool's name towards models.
pub const EVAL_TOOL_NAME: &str = "eval";

/// How long a program may run when the call says nothing.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// What a reader learns of a program that came as Markdown.
const FENCE_NOTE: &str =
    "The program came in a Markdown code fence, which was removed. Send only the code.";

/// The effects of tools that programs can call when the embedder says nothing.
pub const ADMITTED_DEFAULT: Effects = Effects::READ.union(Effects::PROCESS);

/// Runs programs. Implemented by the kernel.
pub trait EvalRunner: Send + Sync {
    /// Runs one program to its end.
    fn run(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome>;

    /// Ends what runs on a branch and forgets its state, in every language. Fails where it cannot be forgotten.
    fn reset(&self, branch: String) -> BoxFuture<'static, Result<(), Error>>;
}

impl EvalRunner for Kernel {
    fn run(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome> {
        let kernel = self.clone();
        Box::pin(async move { kernel.eval(request).await })
    }

    fn reset(&self, branch: String) -> BoxFuture<'static, Result<(), Error>> {
        let kernel = self.clone();
        Box::pin(async move { Self::reset(&kernel, &branch).await })
    }
}

/// The interpreters that run programs, where they are known: files, without links to follow on the way to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpreters {
    /// The program that runs Python.
    pub python: Option<PathBuf>,
    /// Runs JavaScript; without one, Pirn's own engine does.
    pub node: Option<PathBuf>,
}

impl Interpreters {
    /// The one for a language.
    pub fn of(&self, language: Language) -> Option<&Path> {
        match language {
            Language::Python => self.python.as_deref(),
            Language::JavaScript => self.node.as_deref(),
        }
    }
}

/// What the `eval` tool is made of. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct EvalTool {
    /// Runs the programs, such as a [`Kernel`].
    pub runner: Arc<dyn EvalRunner>,
    /// What every program passes before it starts.
    pub gates: Gates,
    /// The state branch that the next program belongs to, such as the session's present one.
    pub branch: Arc<dyn Fn() -> String + Send + Sync>,
    /// Tools with no other effects than these can be called.
    pub admitted: Effects,
    /// Tools that only programs see, such as [`crate::eval_adapters`]. A tool of the registry with the same name wins.
    pub adapters: Vec<Tool>,
    /// What confines programs, for descriptions and questions. `None`: nothing does.
    pub confinement: Option<SandboxReport>,
    /// What runs programs, for questions.
    pub interpreters: Interpreters,
    /// The longest time that a call can ask for; never more than 120 seconds.
    pub timeout_max: Duration,
    /// Bytes of text of a result; kept between 256 and 262,144.
    pub output_bytes_max: usize,
}

impl std::fmt::Debug for EvalTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EvalTool")
            .field("gates", &self.gates)
            .field("admitted", &self.admitted)
            .field("confinement", &self.confinement)
            .finish_non_exhaustive()
    }
}

impl EvalTool {
    /// The tool with default limits and admitted effects, no adapters, and one branch.
    pub fn new(runner: Arc<dyn EvalRunner>, gates: Gates) -> Self {
        Self {
            runner,
            gates,
            branch: Arc::new(|| "main".to_owned()),
            admitted: ADMITTED_DEFAULT,
            adapters: Vec::new(),
            confinement: None,
            interpreters: Interpreters::default(),
            timeout_max: TIMEOUT_MAX,
            output_bytes_max: OUTPUT_BYTES_DEFAULT,
        }
    }

    /// The effects of a call: those of a program in its confinement, and those of the tools that it can call.
    pub fn effects(&self) -> Effects {
        confinement_effects(self.confinement.as_ref()) | Effects::ORCHESTRATION | self.admitted
    }

    /// The description for models when these tools are there: the callable ones by name, with their effects.
    pub fn description(&self, registry: &Registry) -> String {
        let registry = registry.extended(self.adapters.clone());
        description::render(
            &Catalog::new(&registry, self.admitted),
            &confinement_sentence(self.confinement.as_ref()),
        )
    }

    /// Runs one program on behalf of the call that `context` belongs to. Its calls pass the same checks as all calls, through `pipeline`,
    /// as calls made inside that one. `updates` hears of what happens; it is never waited for.
    pub async fn evaluate(
        &self,
        pipeline: &Pipeline,
        context: &CallContext,
        arguments: EvalArguments,
        updates: Option<Updates>,
    ) -> EvalReport {
        let EvalArguments {
            language,
            code: written,
            timeout,
            state,
        } = arguments;
        let unwrapped = without_fence(&written);
        let was_fenced = unwrapped.is_some();
        let code = unwrapped.unwrap_or(written);
        if code.len() > CODE_BYTES_MAX {
            return too_large(language, code.len());
        }
        let registry = pipeline.registry().extended(self.adapters.clone());
        let catalog = Arc::new(Catalog::new(&registry, self.admitted));
        let question = self.question(language, &code, &catalog);
        let passed = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return aborted(language),
            passed = self.gates.pass(question, context) => passed,
        };
        let approval = match passed {
            Ok(approval) => approval,
            Err(denial) => return EvalReport::denied(language, denial),
        };
        let branch = (self.branch)();
        match state {
            StateBefore::Kept => {}
            StateBefore::Forgotten => {
                if let Err(problem) = self.runner.reset(branch.clone()).await {
                    return not_reset(language, &problem);
                }
            }
        }
        let updates = Some(output_sink(context, updates));
        // Ends the calls when this future is dropped, and leaves the caller's token alone.
        let cancel = context.cancel.child_token();
        let _ends_with_us = cancel.clone().drop_guard();
        let request = EvalRequest {
            language,
            code,
            timeout: self.timeout(timeout),
            clock: context.clock().clone(),
            branch,
            capabilities: catalog.capabilities(),
            caller: Arc::new(PipelineCaller {
                pipeline: pipeline.over(registry),
                context: context.clone(),
                catalog,
            }),
            updates,
            cancel,
        };
        let mut outcome = self.runner.run(request).await;
        if was_fenced {
            outcome.notes.push(FENCE_NOTE.to_owned());
        }
        EvalReport::Ran {
            outcome: Box::new(outcome),
            approval,
        }
    }

    /// How long a program may run that asks for `asked`.
    fn timeout(&self, asked: Option<Duration>) -> Duration {
        asked
            .unwrap_or(TIMEOUT_DEFAULT)
            .min(self.timeout_max)
            .min(TIMEOUT_MAX)
    }

    /// What holds a program and what runs it, in sentences for people.
    fn setting(&self, language: Language) -> String {
        let confinement = confinement_sentence(self.confinement.as_ref());
        match self.interpreters.of(language) {
            Some(interpreter) => {
                format!("{confinement} It is run by {}.", interpreter.display())
            }
            None => confinement,
        }
    }

    fn question(&self, language: Language, code: &str, catalog: &Catalog) -> ProgramQuestion {
        let effects = confinement_effects(self.confinement.as_ref())
            | Effects::ORCHESTRATION
            | catalog.effects();
        let confinement = self.setting(language);
        ProgramQuestion::new(language, code, effects, confinement, catalog.names())
    }

    async fn call(self, arguments: Value, context: CallContext) -> ToolResult {
        let Some(pipeline) = context.pipeline().cloned() else {
            return ToolResult::error("eval needs a pipeline to call tools through");
        };
        let arguments = match arguments::parse(&arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return ToolResult::error(problem),
        };
        let updates = ProgressReporter::updates(&context);
        let report = self.evaluate(&pipeline, &context, arguments, updates).await;
        report.to_result(self.output_bytes_max)
    }
}

/// The `eval` tool. Its description is completed by the loadout hook, which is [`EvalTool`] too: register both.
pub fn eval_tool(tool: EvalTool) -> Tool {
    let spec = ToolSpec::new(EVAL_TOOL_NAME, tool.description(&Registry::new()))
        .input_schema(arguments::schema())
        .exposure(Exposure::ModelOnly)
        .effects(tool.effects());
    let spec = description::GUIDELINES
        .iter()
        .fold(spec, |spec, guideline| spec.guideline(*guideline));
    Tool::new(spec, tool)
}

impl ToolHandler for EvalTool {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(Self::call(self.clone(), arguments, context))
    }

    /// The program. Which tools there will be is not known yet, so the question names their effects.
    fn approval_subject(&self, arguments: &Value) -> Option<Subject> {
        let EvalArguments { language, code, .. } = arguments::parse(arguments).ok()?;
        let callable = format!(
            "tools that do no more than {}",
            catalog::effect_names(self.admitted)
        );
        let confinement = self.setting(language);
        let code = without_fence(&code).unwrap_or(code);
        let question =
            ProgramQuestion::new(language, &code, self.effects(), confinement, vec![callable]);
        Some(Subject::Program(question.subject))
    }
}

impl LoadoutHook for EvalTool {
    fn prepare_loadout(&self, loadout: &Loadout) -> LoadoutChanges {
        let registry = Registry::new();
        for tool in &loadout.callable {
            registry.register(tool.clone());
        }
        let mut changes = LoadoutChanges::default();
        changes
            .descriptions
            .insert(EVAL_TOOL_NAME.to_owned(), self.description(&registry));
        changes
    }
}

fn too_large(language: Language, bytes: usize) -> EvalReport {
    EvalReport::refused(
        language,
        EvalFailureKind::CodeTooLarge,
        format!(
            "the code has {bytes} bytes, more than {CODE_BYTES_MAX}; put data into a file and read it, or split the program"
        ),
    )
}

fn not_reset(language: Language, problem: &Error) -> EvalReport {
    EvalReport::refused(
        language,
        EvalFailureKind::StateNotStored,
        format!("the state could not be forgotten, so nothing was run: {problem}"),
    )
}

fn aborted(language: Language) -> EvalReport {
    EvalReport::refused(
        language,
        EvalFailureKind::Aborted,
        "the call was aborted before the program was approved; nothing was run",
    )
}

#[cfg(test)]
mod tests;
