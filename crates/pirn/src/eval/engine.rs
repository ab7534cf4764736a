//! JavaScript where there is no node: Pirn's own engine, with the globals that programs of the kernel have.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_codemode::{
    Abort, CallEnd, Environment, HostCall, Progress, RunOptions, Script, ScriptError,
    ScriptErrorKind, ScriptHost, ScriptLimits, ScriptResult, run_script, spread_global,
};
use pirn_eval::{
    EvalErrorKind, EvalFailure, FRAME_BYTES_MAX, FRAMES_MAX, ScriptEnd, ScriptEngine, ScriptRun,
    TIMEOUT_MAX,
};
use pirn_tool::CallStatus;
use pirn_vm::{EngineOptions, JsonText, Output, Settlement, VmEngine};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What results call the engine.
const NAME: &str = "pirn-vm";
/// The name that stack frames carry.
const FILE_NAME: &str = "program.js";
/// The global through which the globals of programs call tools.
const CALL: &str = "__call";
/// The key under which the globals find the state.
const STATE: &str = "state";
/// The key under which the globals find the tools.
const CATALOG: &str = "catalog";
/// Stands before the program in its first line, so that the program's lines keep their numbers.
const BEFORE: &str = "let state = load('state'); const tool = __makeTool(load('catalog')); \
                      const __program = async () => {";
/// Stands after the program: what the globals are made of, and what becomes of the end.
const AFTER: &str = include_str!("engine/prelude.js");
/// The kernel ends programs before; this is for the case that it does not.
const GRACE: Duration = Duration::from_secs(10);

/// Runs JavaScript in Pirn's own VM.
#[derive(Debug)]
pub(super) struct VmScripts;

impl ScriptEngine for VmScripts {
    fn name(&self) -> &str {
        NAME
    }

    fn run(&self, run: ScriptRun) -> BoxFuture<'static, ScriptEnd> {
        Box::pin(run_program(run))
    }
}

/// What the program's last line returns.
#[derive(Deserialize)]
struct Returned {
    value: Value,
    lossy: Vec<String>,
    state: Box<RawValue>,
}

async fn run_program(run: ScriptRun) -> ScriptEnd {
    let failed = |failure: EvalFailure| ScriptEnd {
        result: Err(failure),
        lossy: Vec::new(),
        state: run.state.clone(),
    };
    let limits = ScriptLimits::default();
    let engine = VmEngine::new(EngineOptions {
        live_vms_max: 2,
        memory_bytes_max: limits.vm.memory_bytes,
    });
    let bridge = Arc::new(Bridge(Arc::clone(&run.host)));
    let environment = Environment::new([], vec![spread_global(CALL)], bridge);
    let (engine, environment) = match (engine, environment) {
        (Ok(engine), Ok(environment)) => (engine, environment),
        (Err(error), _) => return failed(failure(EvalErrorKind::Spawn, error.to_string())),
        (_, Err(error)) => return failed(failure(EvalErrorKind::Spawn, error.to_string())),
    };
    let script = Script {
        code: format!("{BEFORE}{}\n}};\n{AFTER}", run.code),
        file_name: FILE_NAME.to_owned(),
        store: vec![
            (STATE.to_owned(), JsonText::new(run.state.clone())),
            (CATALOG.to_owned(), JsonText::new(catalog(&run))),
        ],
    };
    let host = Arc::clone(&run.host);
    let mut limits = ScriptLimits {
        wall: TIMEOUT_MAX + GRACE,
        calls_max: FRAMES_MAX,
        call_bytes_max: FRAME_BYTES_MAX,
        ..limits
    };
    limits.vm.cpu = limits.wall;
    let options = RunOptions {
        limits,
        abort: Abort::on(&run.cancel),
        progress: Some(Arc::new(move |progress: Progress<'_>| {
            if let Progress::Output(Output::Console(text) | Output::Text(text)) = progress {
                host.print(&format!("{text}\n"));
            }
        })),
    };
    let result = run_script(&engine, &script, &environment, options).await;
    match returned(&result) {
        Ok(returned) => ScriptEnd {
            result: Ok(returned.value),
            lossy: returned.lossy,
            state: returned.state.get().to_owned(),
        },
        Err(failure) => failed(failure),
    }
}

fn returned(result: &ScriptResult) -> Result<Returned, EvalFailure> {
    let broken = |problem: String| failure(EvalErrorKind::Protocol, problem);
    match &result.outcome {
        Ok(Some(json)) => {
            serde_json::from_str(json.as_str()).map_err(|error| broken(error.to_string()))
        }
        Ok(None) => Err(broken("the program ended without an answer".to_owned())),
        Err(error) => Err(told(error)),
    }
}

/// What the kernel is told about an error.
fn told(error: &ScriptError) -> EvalFailure {
    let kind = match (error.kind, error.name.as_deref()) {
        (ScriptErrorKind::Script, Some("StateInvalid")) => EvalErrorKind::StateInvalid,
        (ScriptErrorKind::Script, Some("StateTooLarge")) => EvalErrorKind::StateTooLarge,
        (ScriptErrorKind::Script, _) => EvalErrorKind::UserError,
        (ScriptErrorKind::Timeout | ScriptErrorKind::Cpu, _) => EvalErrorKind::Timeout,
        (ScriptErrorKind::Aborted, _) => EvalErrorKind::Aborted,
        (ScriptErrorKind::Memory | ScriptErrorKind::Sandbox, _) => EvalErrorKind::WorkerExit,
    };
    let message = match &error.name {
        Some(name) => format!("{name}: {}", error.message),
        None => error.message.to_string(),
    };
    EvalFailure {
        trace: error.stack.clone(),
        ..failure(kind, message)
    }
}

fn failure(kind: EvalErrorKind, message: String) -> EvalFailure {
    EvalFailure {
        kind,
        message,
        trace: None,
    }
}

/// What `tool.list()` gives.
fn catalog(run: &ScriptRun) -> String {
    let entries: Vec<Value> = run
        .capabilities
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

/// Brings the calls of a program to the kernel.
struct Bridge(Arc<dyn pirn_eval::ScriptHost>);

impl ScriptHost for Bridge {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        let arguments = call.arguments.as_ref().map(JsonText::parse);
        let Some(Ok((name, input))) = arguments.map(|value| value.map(pair)) else {
            return Box::pin(std::future::ready(CallEnd::error(
                "the input is nested too deep",
            )));
        };
        let answer = self.0.call(name, input);
        Box::pin(async move {
            match answer.await {
                Ok(value) => CallEnd::ok(Some(JsonText::from_value(&value))),
                Err(failure) => CallEnd {
                    settlement: Settlement::Rejected {
                        message: failure.message,
                        tool: None,
                        call_id: None,
                        kind: Some(failure.name),
                    },
                    status: CallStatus::Error,
                },
            }
        })
    }
}

/// The name and the input of a call.
fn pair(arguments: Value) -> (String, Value) {
    let Value::Array(mut arguments) = arguments else {
        return (String::new(), Value::Null);
    };
    let input = if arguments.len() > 1 {
        arguments.swap_remove(1)
    } else {
        Value::Null
    };
    let name = arguments.first().and_then(Value::as_str);
    (name.unwrap_or_default().to_owned(), input)
}

#[cfg(test)]
mod tests;
