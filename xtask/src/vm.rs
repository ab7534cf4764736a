//! `cargo xtask vm [--check]`: the WebAssembly guest of pirn-vm, which the published package carries.
//!
//! Writes `guest/pirn-vm.wasm`, which git ignores, and `guest/artifact.sha256`, which git keeps: the digests of the module and
//! of what it was made from. `--check` compiles and compares instead, so that nobody has to trust the recorded digest.

#[path = "../../crates/pirn-vm/build/compile.rs"]
mod compile;
#[cfg(test)]
#[path = "../../crates/pirn-vm/build/wasm.rs"]
mod wasm;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("`cargo xtask vm` takes --check or nothing"),
    };
    let guest = root.join("crates/pirn-vm/guest");
    let work = root.join("target/guest");
    println!("compiling the guest; this takes half a minute");
    let wasm = compile::compile_guest(&guest, &work, root).map_err(|problem| anyhow!(problem))?;
    let sources = compile::sources_digest(&guest).map_err(|problem| anyhow!(problem))?;
    let record = format!(
        "{}  pirn-vm.wasm\n{sources}  sources\n",
        compile::digest(&wasm)
    );
    let path = guest.join("artifact.sha256");
    if check {
        let recorded = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        if recorded != record {
            bail!(
                "the guest does not match {}; after a change run `cargo xtask vm` with ziglang {}\nrecorded:\n{recorded}made:\n{record}",
                path.display(),
                compile::ZIG_VERSION
            );
        }
        println!("the guest matches its recorded digest");
        return Ok(());
    }
    for (path, bytes) in [
        (guest.join("pirn-vm.wasm"), wasm.as_slice()),
        (path, record.as_bytes()),
    ] {
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    println!(
        "{} bytes of WebAssembly, recorded in crates/pirn-vm/guest/artifact.sha256",
        wasm.len()
    );
    Ok(())
}
