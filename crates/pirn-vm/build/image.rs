//! The memory image: runs the guest's set-up once, and writes the memory that it leaves back into the module as data.

use std::ops::Range;

use wasmtime::{Engine, Instance, Linker, Module, OptLevel, Store, Val};

use crate::wasm::{self, Data, Image};

/// Prepares the interpreter, evaluates the prelude and freezes the built-ins.
const SET_UP: &str = "vm_build";
/// Runs the constructors of the C library; comes before everything else.
const INITIALIZE: &str = "_initialize";
/// By this name the stack pointer can be read while the image is made.
const STACK_POINTER: &str = "stack_pointer";
/// The unit in which memory is compared with zero.
const PAGE_BYTES: usize = 4 << 10;

/// A module that starts with the memory that the set-up of `guest` leaves, and no longer has the set-up as an export.
pub(crate) fn memory_image(guest: &[u8]) -> Result<Vec<u8>, String> {
    let observable = wasm::with_global_export(guest, STACK_POINTER)?;
    let mut config = wasmtime::Config::new();
    // It runs once, so code that is compiled fast is better than fast code.
    config.cranelift_opt_level(OptLevel::None);
    let failed = |what: &'static str| move |error: wasmtime::Error| format!("{what}: {error:?}");
    let engine = Engine::new(&config).map_err(failed("a compiler for this machine"))?;
    let module = Module::new(&engine, &observable).map_err(failed("the guest's code"))?;
    let mut linker: Linker<()> = Linker::new(&engine);
    link_build_imports(&mut linker).map_err(failed("imports of the guest"))?;
    let mut store = Store::new(&engine, ());
    let instance = linker
        .instantiate(&mut store, &module)
        .map_err(failed("an instance of the guest"))?;
    let stack_end = stack_pointer(&instance, &mut store)?;
    for name in [INITIALIZE, SET_UP] {
        instance
            .get_typed_func::<(), ()>(&mut store, name)
            .and_then(|function| function.call(&mut store, ()))
            .map_err(failed("the guest's set-up"))?;
    }
    if stack_pointer(&instance, &mut store)? != stack_end {
        return Err("the guest's set-up leaves something on its stack".to_owned());
    }
    let memory = instance
        .get_memory(&mut store, "memory")
        .ok_or("the guest has no memory")?;
    let bytes = memory.data(&store);
    wasm::with_image(
        guest,
        &Image {
            pages: memory.size(&store),
            // The stack comes first, and what functions that have returned left there means nothing.
            data: used_ranges(bytes, stack_end)
                .filter_map(|range| {
                    Some(Data {
                        offset: u32::try_from(range.start).ok()?,
                        bytes: bytes.get(range)?,
                    })
                })
                .collect(),
            removed_exports: &[INITIALIZE, SET_UP],
        },
    )
}

fn stack_pointer(instance: &Instance, store: &mut Store<()>) -> Result<usize, String> {
    let global = instance.get_global(&mut *store, STACK_POINTER);
    match global.map(|global| global.get(&mut *store)) {
        Some(Val::I32(value)) => {
            usize::try_from(value).map_err(|_| "the guest's stack pointer is negative".to_owned())
        }
        _ => Err("the guest's stack pointer is not a number of 32 bits".to_owned()),
    }
}

/// The ranges from `start` on that are not zero, in whole pages.
fn used_ranges(memory: &[u8], start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut used: Vec<Range<usize>> = Vec::new();
    for at in (start..memory.len()).step_by(PAGE_BYTES) {
        let end = memory.len().min(at + PAGE_BYTES);
        let is_blank = memory
            .get(at..end)
            .is_none_or(|page| page.iter().all(|byte| *byte == 0));
        match used.last_mut() {
            _ if is_blank => {}
            Some(last) if last.end == at => last.end = end,
            Some(_) | None => used.push(at..end),
        }
    }
    used.into_iter()
}

/// Clock and entropy are constants while the image is made, so that it is the same on every machine.
fn link_build_imports(linker: &mut Linker<()>) -> wasmtime::Result<()> {
    linker.func_wrap(
        "pirn",
        "host_call",
        |_: i32, _: i32, _: u32, _: u32, _: u32, _: u32| 0_i32,
    )?;
    linker.func_wrap(
        "pirn",
        "host_output",
        |mut caller: wasmtime::Caller<'_, ()>, kind: i32, at: u32, length: u32| {
            // Only a failing prelude writes anything.
            let mut text = vec![0; length as usize];
            if let Some(memory) = caller
                .get_export("memory")
                .and_then(wasmtime::Extern::into_memory)
            {
                let _ = memory.read(&mut caller, at as usize, &mut text);
            }
            eprintln!("guest output {kind}: {}", String::from_utf8_lossy(&text));
        },
    )?;
    linker.func_wrap("pirn", "host_clock", |_: i32| 1_000_000_000_i64)?;
    linker.func_wrap("pirn", "host_random", || 0x5eed_i64)?;
    Ok(())
}
