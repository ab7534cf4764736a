//! Makes what the crate embeds: the guest as WebAssembly, its memory image with the prelude evaluated, and ahead-of-time
//! code for the target and a baseline CPU.

#![allow(
    clippy::disallowed_methods,
    reason = "a build script is a program of its own"
)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build script talks to cargo and to people in just these ways"
)]

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use wasmtime::{Config, Engine};

mod compile;
#[path = "../src/engine_config.rs"]
mod engine_config;
mod image;
mod wasm;

fn main() {
    if let Err(message) = build() {
        println!("cargo::error={}", message.replace('\n', " "));
        eprintln!("{message}");
        process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let package =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let target = env::var("TARGET").map_err(|error| format!("TARGET: {error}"))?;
    for watched in ["guest", "build", "src/engine_config.rs"] {
        println!(
            "cargo::rerun-if-changed={}",
            package.join(watched).display()
        );
    }
    println!("cargo::rerun-if-env-changed=PIRN_ZIG");
    println!("cargo::rustc-check-cfg=cfg(pirn_engine_sources)");

    let wasm = guest_module(&package.join("guest"), &out, &package.join("../.."))?;
    let image = image::memory_image(&wasm)?;
    // Snapshots hold what differs from the image, so it is the image that they are bound to.
    println!(
        "cargo::rustc-env=PIRN_VM_ARTIFACT={}",
        compile::digest(&image)
    );
    let code = ahead_of_time_code(&image, &target)?;
    fs::write(out.join("vm.cwasm"), code).map_err(|error| format!("vm.cwasm: {error}"))
}

/// The compiled guest: the one the package carries where it belongs to these sources, else a fresh one.
fn guest_module(guest: &Path, out: &Path, workspace: &Path) -> Result<Vec<u8>, String> {
    let recorded = fs::read_to_string(guest.join("artifact.sha256")).unwrap_or_default();
    let recorded_for = |name: &str| {
        recorded
            .lines()
            .find_map(|line| line.strip_suffix(name))
            .map(str::trim)
            .unwrap_or_default()
            .to_owned()
    };
    let sources = compile::sources_digest(guest)?;
    let is_recorded = recorded_for("sources") == sources;
    if is_recorded
        && let Ok(carried) = fs::read(guest.join("pirn-vm.wasm"))
        && compile::digest(&carried) == recorded_for("pirn-vm.wasm")
    {
        return Ok(carried);
    }
    // Compiling takes half a minute, so the result is kept for as long as its sources are the same.
    let kept = out.join(format!("guest-{sources}.wasm"));
    if let Ok(wasm) = fs::read(&kept) {
        return Ok(wasm);
    }
    let wasm = compile::compile_guest(guest, out, workspace)?;
    if is_recorded && compile::digest(&wasm) != recorded_for("pirn-vm.wasm") {
        println!(
            "cargo::warning=the guest differs from the recorded artifact: another compiler than ziglang {} made it",
            compile::ZIG_VERSION
        );
    }
    fs::write(&kept, &wasm).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(wasm)
}

fn ahead_of_time_code(wasm: &[u8], target: &str) -> Result<Vec<u8>, String> {
    let mut config = engine_config::base();
    for_target(&mut config, target).map_err(|error| format!("target {target}: {error:?}"))?;
    let engine =
        Engine::new(&config).map_err(|error| format!("compiler for {target}: {error:?}"))?;
    engine
        .precompile_module(wasm)
        .map_err(|error| format!("ahead-of-time code: {error:?}"))
}

/// Compiles for `target` and the oldest CPU it is meant for, never for the build host's own.
fn for_target(config: &mut Config, target: &str) -> wasmtime::Result<()> {
    config.target(target)?;
    if target.starts_with("x86_64") {
        // x86-64-v2: every 64-bit processor since about 2009.
        for flag in [
            "has_sse3",
            "has_ssse3",
            "has_sse41",
            "has_sse42",
            "has_popcnt",
        ] {
            #[allow(
                unsafe_code,
                reason = "the compiler's flags are only reachable this way"
            )]
            // SAFETY: the flag exists for this target and only states what the processor must have; the runtime checks it.
            unsafe {
                config.cranelift_flag_enable(flag);
            }
        }
    }
    Ok(())
}
