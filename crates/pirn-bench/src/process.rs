//! The whole process: start, run a script, end.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::Options;
use crate::report::Report;
use crate::stats::{Samples, sample};
use crate::sys::children_peak_bytes;

/// The binary beside this one.
pub(crate) fn pirn() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("pirn");
    if !path.exists() {
        bail!(
            "{} is missing; build it with `cargo build --release -p pirn`",
            path.display()
        );
    }
    Ok(path)
}

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("exec.process") {
        return Ok(());
    }
    let pirn = pirn()?;
    let times = sample(50, || {
        let at = Instant::now();
        let status = Command::new(&pirn)
            .args(["exec", "-e", "return 1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .with_context(|| pirn.display().to_string())?;
        if !status.success() {
            bail!("{} ended with {status}", pirn.display());
        }
        Ok(at.elapsed().as_secs_f64() * 1e3)
    })?;
    report.add("exec.process_ms", "ms", 25.0, &times);
    #[expect(clippy::cast_precision_loss, reason = "megabytes with two decimals")]
    let megabytes = children_peak_bytes() as f64 / 1e6;
    report.add(
        "exec.process_mb",
        "MB",
        40.0,
        &Samples::new(vec![megabytes]),
    );
    Ok(())
}
