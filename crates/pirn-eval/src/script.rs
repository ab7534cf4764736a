//! JavaScript where there is no node: a program as a script of Pirn's own engine, with the globals that programs have.

use std::sync::Arc;

use pirn_codemode::{
    EngineOptions, JsonText, Script, ScriptError, ScriptErrorKind, ScriptLimits, ScriptResult,
    VmEngine,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind};
use crate::outcome::{EvalFailure, EvalFailureKind};
use crate::request::Capability;

/// Gives Pirn's own JavaScript engine when the first program needs it; making one takes a moment that most kernels never spend.
pub type ScriptEngineSource = Arc<dyn Fn() -> Result<VmEngine, Error> + Send + Sync>;

/// Programs at the same time for an engine of the kernel's own: it runs one, and one that was dropped may still be ending.
const LIVE_VMS_MAX: u32 = 2;

/// An engine for programs alone, made anew for each.
pub fn own_script_engine() -> ScriptEngineSource {
    Arc::new(|| {
        VmEngine::new(EngineOptions {
            live_vms_max: LIVE_VMS_MAX,
            memory_bytes_max: ScriptLimits::default().vm.memory_bytes,
            ..EngineOptions::default()
        })
        .map_err(|error| Error::new(ErrorKind::ScriptEngine, error.to_string()).because(error))
    })
}

/// What results call the engine.
pub(crate) const ENGINE_NAME: &str = "pirn-vm";
/// The global through which the globals of programs call tools: its arguments are the name and the input.
pub(crate) const CALL: &str = "__call";
/// The name that stack frames carry.
const FILE_NAME: &str = "program.js";
/// The key under which the globals find the state.
const STATE: &str = "state";
/// The key under which the globals find the tools.
const CATALOG: &str = "catalog";
/// Stands before the program in its first line, so that the program's lines keep their numbers.
const BEFORE: &str = "let state = load('state'); const tool = __makeTool(load('catalog')); \
                      tools = tool; const __program = async () => {";
/// Stands after the program: what the globals are made of, and what becomes of the end.
const AFTER: &str = include_str!("script/prelude.js");

/// A program as a script. `state` is the committed state, an object as JSON text.
pub(crate) fn script_of(code: &str, state: &str, capabilities: &[Capability]) -> Script {
    Script {
        code: format!("{BEFORE}{code}\n}};\n{AFTER}"),
        file_name: FILE_NAME.to_owned(),
        store: vec![
            (STATE.to_owned(), JsonText::new(state.to_owned())),
            (CATALOG.to_owned(), JsonText::new(catalog(capabilities))),
        ],
    }
}

/// What `tool.list()` gives, as JSON text.
fn catalog(capabilities: &[Capability]) -> String {
    let entries: Vec<Value> = capabilities
        .iter()
        .map(|capability| {
            serde_json::json!({
                "name": capability.name,
                "description": capability.description,
                "effect": capability.effects.names().collect::<Vec<_>>().join(", "),
                "parameters": capability.input_schema,
            })
        })
        .collect();
    Value::Array(entries).to_string()
}

/// What a program that succeeded left.
#[derive(Debug, Deserialize)]
pub(crate) struct Returned {
    pub(crate) value: Value,
    /// Places of the value that could not be given back whole.
    pub(crate) lossy: Vec<String>,
    /// The state it left; not checked yet.
    pub(crate) state: Box<RawValue>,
}

/// What a script that was made by [`script_of`] ended with.
pub(crate) fn returned(result: &ScriptResult) -> Result<Returned, EvalFailure> {
    let broken = |problem: String| EvalFailure {
        kind: EvalFailureKind::Protocol,
        message: problem,
        trace: None,
    };
    match &result.outcome {
        Ok(Some(json)) => {
            serde_json::from_str(json.as_str()).map_err(|error| broken(error.to_string()))
        }
        Ok(None) => Err(broken("The program ended without an answer.".to_owned())),
        Err(error) => Err(failure_of(error)),
    }
}

fn failure_of(error: &ScriptError) -> EvalFailure {
    let kind = match (error.kind, error.name.as_deref()) {
        (ScriptErrorKind::Script, Some("StateInvalid")) => EvalFailureKind::StateInvalid,
        (ScriptErrorKind::Script, Some("StateTooLarge")) => EvalFailureKind::StateTooLarge,
        (ScriptErrorKind::Script, _) => EvalFailureKind::UserError,
        (ScriptErrorKind::Timeout | ScriptErrorKind::Cpu, _) => EvalFailureKind::Timeout,
        (ScriptErrorKind::Aborted, _) => EvalFailureKind::Aborted,
        (ScriptErrorKind::Memory | ScriptErrorKind::Sandbox, _) => EvalFailureKind::WorkerExit,
    };
    let message = match &error.name {
        Some(name) => format!("{name}: {}", error.message),
        None => error.message.to_string(),
    };
    EvalFailure {
        kind,
        message,
        trace: error.stack.clone(),
    }
}
