//! Bytes that claim to be a snapshot: refused with an error of that kind, or resumed without harm.
//!
//! The first byte says how the rest is used: as the whole snapshot, as changes to a good one, or as changes to what a good one
//! holds, with length and checksum made right again.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use pirn_vm::{
    EngineOptions, ErrorKind, JsonText, Limits, Program, Settlement, ToolBinding, ToolTable, Vm, VmEngine,
};
use sha2::{Digest as _, Sha256};

/// Where the body's checksum, its length and the compressed body begin (`snapshot.rs`).
const DIGEST_AT: usize = 40;
const BODY_AT: usize = 80;
const LIMITS_MEMORY_BYTES: u32 = 8 << 20;

static ENGINE: LazyLock<VmEngine> = LazyLock::new(|| {
    VmEngine::new(EngineOptions {
        live_vms_max: 4,
        memory_bytes_max: 16 << 20,
        ..EngineOptions::default()
    })
    .expect("the engine starts")
});

static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let limits = Limits {
        memory_bytes: LIMITS_MEMORY_BYTES,
        ..Limits::default()
    };
    let mut vm = Vm::new(&ENGINE, limits).expect("a VM");
    vm.start(&Program {
        source: "const kept = new Map([[1, {a: [2]}]]); const all = await Promise.all([tools.call(1), tools.call(2)]); return [...kept, all];".into(),
        file_name: "script.js".into(),
        tools: ToolTable::new([ToolBinding { name: "call".into(), identifier: Some("call".into()), description: String::new().into(), shape: None }]),
        ..Program::default()
    })
    .expect("a fresh VM");
    vm.poll();
    vm.events().drain();
    vm.snapshot(b"owner").expect("a waiting script")
});

static GOOD_BODY: LazyLock<Vec<u8>> =
    LazyLock::new(|| zstd::bulk::decompress(&GOOD[BODY_AT..], 64 << 20).expect("its own body"));

/// Each six bytes: where, the new byte, and how often it is repeated.
fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    for change in changes.chunks_exact(6) {
        let [a, b, c, d, value, repeat] = *change else {
            continue;
        };
        let at = u32::from_le_bytes([a, b, c, d]) as usize % (bytes.len() + 1);
        if repeat == 255 {
            bytes.truncate(at);
        }
        let end = (at + 1 + usize::from(repeat)).min(bytes.len());
        bytes[at.min(end)..end].fill(value);
    }
}

fn forge(changes: &[u8]) -> Vec<u8> {
    let mut body = GOOD_BODY.clone();
    change(&mut body, changes);
    let compressed = zstd::bulk::compress(&body, 1).expect("it compresses");
    let mut bytes = GOOD[..DIGEST_AT].to_vec();
    bytes.extend_from_slice(&Sha256::digest(&compressed));
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&compressed);
    bytes
}

fuzz_target!(|data: &[u8]| {
    let Some((&mode, data)) = data.split_first() else {
        return;
    };
    let bytes = match mode % 3 {
        0 => data.to_vec(),
        1 => {
            let mut bytes = GOOD.clone();
            change(&mut bytes, data);
            bytes
        }
        _ => forge(data),
    };
    match Vm::restore(&ENGINE, &bytes) {
        Err(error) => assert!(
            matches!(error.kind(), ErrorKind::Snapshot | ErrorKind::Exhausted),
            "{error}"
        ),
        Ok((mut vm, _)) => {
            vm.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
            let open: Vec<_> = vm.open_calls().map(|(id, ..)| id).take(64).collect();
            for call in open {
                vm.settle(
                    call,
                    Settlement::Resolved(Some(JsonText::new("{\"a\":[1]}"))),
                )
                .expect("an open call");
            }
            vm.poll();
        }
    }
});
