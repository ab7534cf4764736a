//! `cargo xtask bench`: builds and starts the benchmark crate, which needs the whole of Pirn and is
//! therefore not part of this program.

use crate::command;
use anyhow::{Result, bail};
use std::path::Path;

/// The package that measures, see the layer table in `tidy/layers.rs`.
const BENCH_PACKAGE: &str = "pirn-bench";

/// The suite that counts instructions, and the feature that makes it possible.
const COUNTING: &str = "instructions";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    if !root.join("crates").join(BENCH_PACKAGE).is_dir() {
        bail!("the workspace has no package `{BENCH_PACKAGE}`, so there is nothing to measure");
    }
    // Counting makes the guest slower, so it has a build of its own, and nothing else is measured there.
    if arguments.first().is_some_and(|suite| suite == COUNTING) {
        let features = ["--features", COUNTING, "--"];
        return command::run(
            command::cargo(root)
                .args(["run", "--release", "--package", BENCH_PACKAGE])
                .args(features)
                .args(arguments),
        );
    }
    // The product itself is measured too, as a whole process.
    command::run(command::cargo(root).args([
        "build",
        "--release",
        "--package",
        "pirn",
        "--package",
        BENCH_PACKAGE,
    ]))?;
    command::run(
        command::cargo(root)
            .args(["run", "--release", "--package", BENCH_PACKAGE, "--"])
            .args(arguments),
    )
}
