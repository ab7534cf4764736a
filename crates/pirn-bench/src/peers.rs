//! The same work in pi's code mode package, where it is at hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::Options;
use crate::report::Report;

const FIGURES: [&str; 4] = [
    "vm.fresh_us",
    "call.engine_us",
    "call.pipeline_us",
    "calls.concurrent_10k_ms",
];

/// Prints one JSON object: figure name to median.
const SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
const { CodemodeSandbox } = await import(pathToFileURL(process.argv[2]).href);
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const sandbox = new CodemodeSandbox({ tools: [{ name: "echo", execute: async (args) => args }] });
const timed = async (runs, code) => {
  const times = [];
  for (let i = 0; i < runs; i++) {
    const at = performance.now();
    const result = await sandbox.execute(code);
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    times.push(performance.now() - at);
  }
  return median(times);
};
const start = await timed(20, "return 1");
const sequential = await timed(5, "let t = 0; for (let i = 0; i < 10000; i++) t += (await tools.echo({i})).i; return t;");
const concurrent = await timed(5, "const all = await Promise.all(Array.from({length: 10000}, (_, i) => tools.echo({i}))); return all.length;");
console.log(JSON.stringify({
  "vm.fresh_us": start * 1000,
  "call.engine_us": (sequential - start) / 10000 * 1000,
  "call.pipeline_us": (sequential - start) / 10000 * 1000,
  "calls.concurrent_10k_ms": concurrent,
}));
await sandbox.close();
"#;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let Some(modules) = std::env::var_os("PIRN_PEERS").map(PathBuf::from) else {
        return Ok(());
    };
    if !FIGURES.iter().any(|figure| options.wants(figure)) {
        return Ok(());
    }
    let library = modules.join("@earendil-works/pi-codemode/dist/index.js");
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("peer.mjs");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new(node(&modules))
        .arg(&script)
        .arg(&library)
        .output()
        .context("node, which pi-codemode needs")?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            library.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let figures: Value = serde_json::from_slice(&output.stdout)?;
    for (name, median) in figures.as_object().into_iter().flatten() {
        report.add_peer(name, median.as_f64().unwrap_or(f64::NAN));
    }
    Ok(())
}

/// The node of the modules folder, else the one on the path.
fn node(modules: &Path) -> PathBuf {
    let own = modules.join("node/bin/node");
    if own.exists() {
        own
    } else {
        PathBuf::from("node")
    }
}
