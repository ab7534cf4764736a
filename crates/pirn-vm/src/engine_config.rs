//! The engine's settings that ahead-of-time code depends on. Used by the crate and by its build script, which must agree.

use wasmtime::Config;

/// The machine stack of running wasm code. The engine's own check (1 MiB of its shadow stack) must end deep recursion first.
pub(crate) const WASM_STACK_BYTES: usize = 32 << 20;

/// Settings that the compiled code depends on.
pub(crate) fn base() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.consume_fuel(cfg!(feature = "instructions"));
    config.memory_init_cow(true);
    config.max_wasm_stack(WASM_STACK_BYTES);
    config.async_stack_size(WASM_STACK_BYTES + (1 << 20));
    config.wasm_backtrace_max_frames(None);
    config.wasm_relaxed_simd(false);
    config
}
