//! Whatever crosses between a script and its host: any source, any settlement, and any bytes read as text.
//!
//! The input is cut at newlines that follow a zero byte: the script, then one settlement after the other.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use pirn_vm::{
    EngineOptions, Event, JsString, JsonText, Limits, Output, Program, Settlement, Step,
    ToolBinding, ToolTable, Vm, VmEngine,
};

static ENGINE: LazyLock<VmEngine> = LazyLock::new(|| {
    VmEngine::new(EngineOptions {
        live_vms_max: 4,
        memory_bytes_max: 16 << 20,
        ..EngineOptions::default()
    })
    .expect("the engine starts")
});

fn read_as_text(bytes: &[u8]) {
    let text = JsString::from_guest(bytes);
    assert_eq!(text.utf16_length(), text.utf16().count());
    let shown = text.to_string();
    assert_eq!(text.clone().into_string_lossy(), shown);
    let lossy = String::from_utf8_lossy(bytes);
    drop(JsonText::new(lossy.as_ref()).parse());
    if let Some(literal) = JsString::from_json_literal(&lossy) {
        let parsed = JsonText::new(lossy.as_ref())
            .parse()
            .expect("what is a literal is JSON");
        assert_eq!(parsed.as_str(), Some(literal.to_string().as_str()));
    }
}

fn run(source: &str, settlements: &[&[u8]]) {
    let limits = Limits {
        memory_bytes: 8 << 20,
        output_items: 1_000,
        ..Limits::default()
    };
    let mut vm = Vm::new(&ENGINE, limits).expect("a VM");
    vm.set_deadline(Some(Instant::now() + Duration::from_millis(50)));
    vm.start(&Program {
        source: source.into(),
        file_name: "script.js".into(),
        tools: ToolTable::new([ToolBinding {
            name: "call".into(),
            identifier: Some("call".into()),
            description: String::new().into(),
            shape: None,
        }]),
        ..Program::default()
    })
    .expect("a fresh VM");
    let mut settlements = settlements.iter();
    while let Step::Waiting { .. } = vm.poll() {
        let mut is_settled = false;
        for event in vm.events().drain() {
            match event {
                Event::Call { arguments, .. } => drop(arguments.map(|arguments| arguments.parse())),
                Event::Output(Output::Text(text) | Output::Console(text)) | Event::Notify(text) => {
                    drop(text.to_string())
                }
                Event::Output(Output::Image { .. } | Output::Audio { .. })
                | Event::Yield
                | Event::Note(_)
                | Event::Cancel(_)
                | Event::LastStatement => {}
            }
        }
        let open: Vec<_> = vm.open_calls().map(|(id, ..)| id).collect();
        for call in open {
            let Some(bytes) = settlements.next() else {
                break;
            };
            let text = String::from_utf8_lossy(bytes).into_owned();
            let settlement = match bytes.first() {
                Some(b'!') => Settlement::Rejected {
                    message: text,
                    tool: None,
                    call_id: None,
                    kind: None,
                    data: None,
                },
                Some(_) => Settlement::Resolved(Some(JsonText::new(text))),
                None => Settlement::Resolved(None),
            };
            vm.settle(call, settlement).expect("an open call");
            is_settled = true;
        }
        if !is_settled {
            break;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    read_as_text(data);
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\0\n") {
        parts.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    parts.push(rest);
    if let Some((source, settlements)) = parts.split_first() {
        run(&String::from_utf8_lossy(source), settlements);
    }
});
