//! Real work, confined and not: `cargo check` of this repository.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use pirn_sandbox::{Command, Network, OutputMode, Sandbox, SandboxPolicy};

use crate::Options;
use crate::report::Report;
use crate::stats::Samples;

/// Pairs, an even number; each run compiles the same crates again.
const PAIRS: usize = 20;
/// Bytes of cargo's messages that a failure shows.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// What is compiled again each time, and with it what depends on it.
const TOUCHED: &str = "crates/pirn-tool/src/lib.rs";
/// Nothing here compiles a C library or the guest again.
const PACKAGES: [&str; 4] = ["pirn-tool", "pirn-tools", "pirn-mcp", "pirn-eval"];

pub(crate) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("sandbox.cargo_check") {
        return Ok(());
    }
    let root = root()?;
    // In the workspace, which is what a confined child may write.
    let target = root.join("target").join("bench-check");
    let sandbox = Sandbox::prepare(SandboxPolicy {
        home: std::env::home_dir(),
        network: Network::Off,
        ..SandboxPolicy::new(&root, std::env::temp_dir())
    })?;
    // Both once, so that the dependencies are compiled and everything is in memory.
    check(&root, &target, None).await?;
    check(&root, &target, Some(&sandbox)).await?;
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        // Each goes first as often as the other, or the order would count as confinement.
        let is_confined_first = pair % 2 == 0;
        let first = check(&root, &target, is_confined_first.then_some(&sandbox)).await?;
        let second = check(&root, &target, (!is_confined_first).then_some(&sandbox)).await?;
        ratios.push(if is_confined_first {
            first / second
        } else {
            second / first
        });
    }
    report.add("sandbox.cargo_check", "x", 1.05, &Samples::new(ratios));
    Ok(())
}

/// Seconds of one `cargo check` after a change.
async fn check(root: &Path, target: &Path, sandbox: Option<&Sandbox>) -> Result<f64> {
    let touched = root.join(TOUCHED);
    let file = std::fs::File::options()
        .append(true)
        .open(&touched)
        .with_context(|| touched.display().to_string())?;
    file.set_modified(std::time::SystemTime::now())?;
    let mut command = Command::new("cargo")
        .args(["check", "--quiet", "--offline", "--locked"])
        .args(PACKAGES.iter().flat_map(|package| ["-p", package]))
        .current_dir(root)
        .envs(std::env::vars_os())
        .env("CARGO_TARGET_DIR", target)
        .output_mode(OutputMode::Merged);
    if let Some(sandbox) = sandbox {
        command = command.sandbox(sandbox);
    }
    let at = Instant::now();
    let mut child = command.spawn()?;
    let mut output = child.take_output().context("cargo has no output")?;
    let captured = output.read_bounded(MESSAGE_BYTES_MAX).await?;
    let status = child.wait().await;
    let elapsed = at.elapsed().as_secs_f64();
    if !status.is_success() {
        bail!(
            "cargo check ended with {status}:\n{}",
            String::from_utf8_lossy(&captured.bytes)
        );
    }
    Ok(elapsed)
}

/// The repository this was built from.
fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize()
        .with_context(|| root.display().to_string())
}
