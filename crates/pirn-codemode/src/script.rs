//! Running a script to its end, in the task that asks for it.

use pirn_vm::{JsonText, Program, Vm, VmEngine};
use tokio::sync::mpsc;

use crate::abort::Abort;
use crate::check::{notes, refusal, strip_and_check};
use crate::explain::ScriptText;
use crate::host::Environment;
use crate::limits::{Limit, ScriptLimits};
use crate::result::{ScriptError, ScriptErrorKind, ScriptResult};
use crate::runner::{Pause, ProgressSink, ResultBudget, Run};
use crate::typescript::{SyntaxError, import_advice};

/// The name that stack frames carry unless a script has a file of its own.
pub const DEFAULT_FILE_NAME: &str = "codemode.js";

/// A script to run.
#[derive(Debug, Clone)]
pub struct Script {
    /// JavaScript or TypeScript: the body of an async function.
    pub code: String,
    /// The name that stack frames carry.
    pub file_name: String,
    /// What `load()` finds: keys and JSON.
    pub store: Vec<(String, JsonText)>,
}

impl Script {
    /// A script with an empty store.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            file_name: DEFAULT_FILE_NAME.to_owned(),
            store: Vec::new(),
        }
    }
}

/// How a script is run.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// What it may use.
    pub limits: ScriptLimits,
    /// Stops the script from outside.
    pub abort: Abort,
    /// Told what happens meanwhile.
    pub progress: Option<ProgressSink>,
    /// For whom the script runs. Where the engine is full, each caller gets its turn.
    pub caller: String,
    /// What the results of all scripts may take that wait to be read.
    pub results: ResultBudget,
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunOptions")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Runs a script to its end. Dropping the future stops the script and its calls.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use pirn_codemode::{CallEnd, Environment, HostCall, RunOptions, Script, ScriptHost, run_script};
/// use pirn_vm::{JsonText, VmEngine};
///
/// struct Doubler;
/// impl ScriptHost for Doubler {
///     fn call(&self, call: HostCall) -> futures_util::future::BoxFuture<'static, CallEnd> {
///         let number: f64 = call.arguments.and_then(|json| json.as_str().parse().ok()).unwrap_or(0.0);
///         Box::pin(async move { CallEnd::ok(Some(JsonText::new((number * 2.0).to_string()))) })
///     }
/// }
///
/// let engine = VmEngine::new(Default::default())?;
/// let tools = [("double".to_owned(), "Doubles a number".to_owned())];
/// let environment = Environment::new(tools, Vec::new(), Arc::new(Doubler))?;
/// let script = Script::new("return Promise.all([1, 2, 3].map(tools.double));");
/// let result = run_script(&engine, &script, &environment, RunOptions::default()).await;
/// assert_eq!(result.outcome.unwrap().unwrap().as_str(), "[2,4,6]");
/// # Ok(()) }
/// ```
pub async fn run_script(
    engine: &VmEngine,
    script: &Script,
    environment: &Environment,
    options: RunOptions,
) -> ScriptResult {
    let mut run = match prepare(engine, script, environment, options).await {
        Ok(run) => run,
        Err(error) => return ScriptResult::not_run(error),
    };
    // Nobody gives orders: the sender is gone.
    let (_, mut orders) = mpsc::channel(1);
    match run.run(&mut orders, &|_, _| Vec::new()).await {
        Pause::Ended(result) => with_hints(*result, environment),
        // Nobody asked for it.
        Pause::Suspended => {
            ScriptResult::not_run(ScriptError::new(ScriptErrorKind::Sandbox, "suspended"))
        }
    }
}

/// Looks at a script without running it: whether it is a program, and the mistakes that its text shows.
///
/// # Errors
/// What running it would have ended with before its first call.
pub fn check_script(script: &Script, environment: &Environment) -> Result<(), ScriptError> {
    checked(script, environment).map(drop)
}

/// The script without its types, if nothing is wrong with it that can be seen, and notes about what may be.
fn checked(
    script: &Script,
    environment: &Environment,
) -> Result<(String, Vec<String>), ScriptError> {
    let (source, found) = strip_and_check(&script.code, &environment.surroundings())
        .map_err(|error| mistake_error("SyntaxError", &error, &script.file_name))?;
    if let Some((name, error, others)) = refusal(&script.code, &found.mistakes) {
        let mut error = mistake_error(name, &error, &script.file_name);
        let hints = [
            Some(NOTHING_RAN.to_owned()),
            others,
            hint(&error, environment),
        ];
        error.hint = Some(hints.into_iter().flatten().collect::<Vec<_>>().join("\n"));
        return Err(error);
    }
    Ok((source.code, notes(&script.code, &found.doubts)))
}

/// Makes a VM with the script in it, once there is room for one.
pub(crate) async fn prepare(
    engine: &VmEngine,
    script: &Script,
    environment: &Environment,
    options: RunOptions,
) -> Result<Run, ScriptError> {
    let aborted = || ScriptError::new(ScriptErrorKind::Aborted, options.abort.reason());
    if options.abort.is_aborted() {
        return Err(aborted());
    }
    let (bytes, bytes_max) = (script.code.len(), options.limits.source_bytes_max);
    if bytes > bytes_max {
        let message = format!(
            "The script has {bytes} bytes, the limit is {bytes_max}; keep data in files and read it with tools"
        );
        return Err(ScriptError {
            hint: Some(Limit::Source.advice()),
            ..ScriptError::new(ScriptErrorKind::Script, message)
        });
    }
    let (source, notes) = checked(script, environment)?;
    let sandbox =
        |error: pirn_vm::Error| ScriptError::new(ScriptErrorKind::Sandbox, error.to_string());
    let room = tokio::select! {
        biased;
        room = engine.room(&options.caller, options.limits.vm.memory_bytes) => room.map_err(sandbox)?,
        () = options.abort.aborted() => return Err(aborted()),
    };
    let mut vm = Vm::in_room(engine, room, options.limits.vm).map_err(sandbox)?;
    let text = ScriptText::new(&script.code, &script.file_name);
    let program = Program {
        source,
        file_name: script.file_name.clone(),
        tools: environment.tools.table.clone(),
        globals: environment.globals.to_vec(),
        store: script.store.clone(),
        missing: environment.missing.to_vec(),
        explainer: Some(text.explainer()),
    };
    vm.start(&program).map_err(sandbox)?;
    Ok(Run::new(vm, environment.clone(), options)
        .with_text(text)
        .with_notes(notes))
}

/// Follows an error that was found before the script ran.
const NOTHING_RAN: &str = "Found before anything ran; no call was made.";

fn mistake_error(name: &str, error: &SyntaxError, file_name: &str) -> ScriptError {
    let stack = format!(
        "{name}: {}\n    at {file_name}:{}:{}\n{}",
        error.message, error.line, error.column, error.frame
    );
    ScriptError {
        name: Some(name.to_owned()),
        stack: Some(stack.trim_end().to_owned()),
        ..ScriptError::new(ScriptErrorKind::Script, error.message.clone())
    }
}

/// Names every script has, for errors about unknown ones.
const GLOBALS: &str = "tools, ALL_TOOLS, text, image, audio, console, exit, store, load, notify, yield_control, \
                       setTimeout, clearTimeout, sleep, parallel and the built-ins of JavaScript";

/// What follows an error that was a rejection nobody handled.
const UNHANDLED: &str =
    "A promise was rejected and nobody handled it: await it, or add .catch(...).";

/// How the engine's refusal of a dynamic import begins; the specifier follows, in quotes.
const IMPORT_REFUSED: &str = "cannot import \"";

/// Adds what an error of the engine does not say.
pub(crate) fn with_hints(mut result: ScriptResult, environment: &Environment) -> ScriptResult {
    if let Err(error) = &mut result.outcome {
        let hint = hint(error, environment);
        error.hint = error.hint.take().or(hint);
    }
    result
}

/// How errors begin that a limit of the VM is the reason of, the name that they have, and the limit.
const LIMITS_REACHED: [(&str, &str, Limit); 5] = [
    ("InternalError", "out of memory", Limit::Memory),
    (
        "RangeError",
        "Maximum call stack size exceeded",
        Limit::Stack,
    ),
    (
        "RangeError",
        "Script output exceeds the limit of ",
        Limit::Output,
    ),
    ("RangeError", "store(): the value has ", Limit::StoreValue),
    (
        "RangeError",
        "store(): all values together would have ",
        Limit::StoreTotal,
    ),
];

/// The limit that ended the script.
fn limit_reached(error: &ScriptError) -> Option<Limit> {
    match error.kind {
        ScriptErrorKind::Timeout => Some(Limit::Wall),
        ScriptErrorKind::Cpu => Some(Limit::Cpu),
        ScriptErrorKind::Memory => Some(Limit::Memory),
        ScriptErrorKind::Aborted | ScriptErrorKind::Sandbox => None,
        ScriptErrorKind::Script => {
            let (name, message) = (error.name.as_deref()?, error.message.as_str()?);
            let reached = LIMITS_REACHED
                .iter()
                .find(|(of, start, _)| *of == name && message.starts_with(start));
            reached.map(|(_, _, limit)| *limit)
        }
    }
}

fn hint(error: &ScriptError, environment: &Environment) -> Option<String> {
    if let Some(limit) = limit_reached(error) {
        return Some(limit.advice());
    }
    let message = error.message.as_str()?;
    if let Some(rest) = message.strip_prefix(IMPORT_REFUSED) {
        return Some(import_advice(rest.split('"').next()?));
    }
    if let Some(unhandled) = &error.unhandled {
        let others = unhandled.count.saturating_sub(1);
        return Some(match others {
            0 => UNHANDLED.to_owned(),
            _ => format!("{UNHANDLED} {others} more were rejected like it."),
        });
    }
    if error.name.as_deref() != Some("ReferenceError") || !message.ends_with(" is not defined") {
        return None;
    }
    let mut names: Vec<&str> = environment
        .globals
        .iter()
        .map(|global| global.name.as_str())
        .collect();
    names.push(GLOBALS);
    let names = names.join(", ");
    Some(format!(
        "Scripts have {names}; there is no fetch, process, require or file system."
    ))
}
