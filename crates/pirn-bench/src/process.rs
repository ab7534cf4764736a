//! The whole process: start, run a script, end.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::Options;
use crate::report::Report;
use crate::stats::{Samples, sample};
use crate::sys::wait_with_peak;

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
    let mut peaks = Vec::new();
    let times = sample(50, || {
        let at = Instant::now();
        let child = Command::new(&pirn)
            .args(["exec", "-e", "return 1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| pirn.display().to_string())?;
        let (succeeded, peak_bytes) = wait_with_peak(&child)?;
        if !succeeded {
            bail!("{} failed", pirn.display());
        }
        #[expect(clippy::cast_precision_loss, reason = "megabytes with two decimals")]
        peaks.push(peak_bytes as f64 / 1e6);
        Ok(at.elapsed().as_secs_f64() * 1e3)
    })?;
    report.add("exec.process_ms", "ms", 25.0, &times);
    report.add("exec.process_mb", "MB", 40.0, &Samples::new(peaks));
    Ok(())
}
