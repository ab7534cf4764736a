//! Runs scripts against tools that answer at once.

use std::sync::LazyLock;

use pirn_vm::{
    CallId, CallTarget, End, EngineOptions, Event, JsonText, Limits, Output, Program, Settlement,
    Step, ToolBinding, ToolTable, Vm, VmEngine,
};

/// One engine for all tests of a process, as in a product.
pub(crate) static ENGINE: LazyLock<VmEngine> = LazyLock::new(|| {
    VmEngine::new(EngineOptions {
        live_vms_max: 1_100,
        memory_total_bytes: u64::MAX,
        ..EngineOptions::default()
    })
    .expect("the engine starts")
});

/// What a script did.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) end: End,
    pub(crate) output: Vec<String>,
    pub(crate) calls: Vec<(String, Option<String>)>,
}

impl Finished {
    /// The JSON that the script returned.
    pub(crate) fn value(&self) -> &str {
        match &self.end {
            End::Returned(Some(json)) => json.as_str(),
            other => panic!("no value: {other:?}; output {:?}", self.output),
        }
    }

    /// The error's stack, or its message.
    pub(crate) fn failure(&self) -> String {
        match &self.end {
            End::Failed(failure) => failure
                .stack
                .clone()
                .unwrap_or_else(|| failure.message.to_string()),
            other => panic!("no failure: {other:?}"),
        }
    }
}

pub(crate) fn program(source: &str, tools: &[&str]) -> Program {
    Program {
        source: source.to_owned(),
        file_name: "script.js".to_owned(),
        tools: ToolTable::new(tools.iter().map(|name| ToolBinding {
            name: (*name).to_owned(),
            identifier: Some((*name).to_owned()),
            description: format!("The tool {name}").into(),
            shape: None,
        })),
        ..Program::default()
    }
}

pub(crate) fn started(source: &str, tools: &[&str], limits: Limits) -> Vm {
    let mut vm = Vm::new(&ENGINE, limits).expect("a VM");
    vm.start(&program(source, tools)).expect("a fresh VM");
    vm
}

/// Runs a script whose tools return their argument; the tool `fail` rejects with it.
pub(crate) fn run(source: &str) -> Finished {
    run_with(source, Limits::default())
}

pub(crate) fn run_with(source: &str, limits: Limits) -> Finished {
    finish(started(source, &["echo", "fail"], limits))
}

pub(crate) fn finish(mut vm: Vm) -> Finished {
    let mut finished = Finished {
        end: End::Returned(None),
        output: Vec::new(),
        calls: Vec::new(),
    };
    loop {
        let step = vm.poll();
        let open = take(&vm, &mut finished);
        match step {
            Step::Ended(end) => {
                finished.end = end;
                return finished;
            }
            Step::Waiting { wake_at } => {
                if open.is_empty()
                    && let Some(at) = wake_at
                {
                    std::thread::sleep(at.saturating_duration_since(std::time::Instant::now())); // sleeps: a timer of the script is due then
                }
                for (id, name, argument) in open {
                    vm.settle(id, answer(&name, argument))
                        .expect("an open call");
                }
            }
        }
    }
}

fn answer(name: &str, argument: Option<JsonText>) -> Settlement {
    if name == "fail" {
        return Settlement::Rejected {
            message: argument.map_or_else(|| "failed".to_owned(), JsonText::into_string),
            tool: Some(name.to_owned()),
            call_id: Some("call/1".to_owned()),
            kind: Some("failed".to_owned()),
            data: None,
        };
    }
    Settlement::Resolved(argument)
}

/// Takes the events; returns the calls that are open.
fn take(vm: &Vm, finished: &mut Finished) -> Vec<(CallId, String, Option<JsonText>)> {
    let mut open = Vec::new();
    for event in vm.events().drain() {
        match event {
            Event::Call {
                id,
                target,
                name,
                arguments,
            } => {
                assert_eq!(target, CallTarget::Tool);
                finished
                    .calls
                    .push((name.clone(), arguments.clone().map(JsonText::into_string)));
                open.push((id, name, arguments));
            }
            Event::Output(Output::Text(text) | Output::Console(text)) => {
                finished.output.push(text.to_string());
            }
            Event::Output(Output::Image { mime_type, .. } | Output::Audio { mime_type, .. }) => {
                finished.output.push(mime_type);
            }
            Event::Notify(text) => finished.output.push(format!("notify {text}")),
            Event::Yield => finished.output.push("yield".to_owned()),
            Event::Note(note) => finished.output.push(format!("note {note}")),
            Event::Cancel(_) | Event::LastStatement => {}
        }
    }
    open
}

/// Takes what the script showed since the last look.
pub(crate) fn take_output(vm: &Vm) -> Vec<String> {
    let mut finished = Finished {
        end: End::Returned(None),
        output: Vec::new(),
        calls: Vec::new(),
    };
    drop(take(vm, &mut finished));
    finished.output
}
