//! Starting `/bin/true`, confined and not.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use pirn_sandbox::{Command, Level, LevelChoice, Sandbox, SandboxPolicy};

use crate::Options;
use crate::report::Report;
use crate::stats::Samples;

/// Enough for a stable median.
const RUNS: usize = 200;
const PROGRAM: &str = "/bin/true";

pub(crate) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("sandbox.spawn") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let sandbox = |level| {
        Sandbox::prepare(SandboxPolicy {
            home: std::env::home_dir(),
            level: LevelChoice::AtMost(level),
            ..SandboxPolicy::new(folder.path(), std::env::temp_dir())
        })
    };
    let (strict, standard, basic) = (
        sandbox(Level::Strict)?,
        sandbox(Level::Standard)?,
        sandbox(Level::Basic)?,
    );
    if strict.report()?.level != Some(Level::Strict) {
        report.note(
            "sandbox.spawn measures a weaker level than `strict`: this machine cannot give it",
        );
    }
    let mut plain_times = Vec::new();
    let mut strict_over = Vec::new();
    let mut standard_over = Vec::new();
    let mut basic_over = Vec::new();
    let mut peer_over = Vec::new();
    // In turns, so that a slow moment of the machine meets all of them.
    for _ in 0..RUNS {
        let plain = spawn(None).await?;
        plain_times.push(plain);
        strict_over.push(spawn(Some(&strict)).await? - plain);
        standard_over.push(spawn(Some(&standard)).await? - plain);
        basic_over.push(spawn(Some(&basic)).await? - plain);
        if let Some((bubblewrap, bare)) = bubblewrap() {
            peer_over.push(bubblewrap - bare);
        }
    }
    report.add_plain("sandbox.spawn.plain_ms", "ms", &Samples::new(plain_times));
    report.add(
        "sandbox.spawn.strict_ms",
        "ms",
        2.0,
        &Samples::new(strict_over),
    );
    report.add_plain(
        "sandbox.spawn.standard_ms",
        "ms",
        &Samples::new(standard_over),
    );
    report.add_plain("sandbox.spawn.basic_ms", "ms", &Samples::new(basic_over));
    if peer_over.is_empty() {
        report.note("sandbox.spawn.bubblewrap_ms is left out: `bwrap` is not installed");
    } else {
        report.add_plain(
            "sandbox.spawn.bubblewrap_ms",
            "ms",
            &Samples::new(peer_over),
        );
    }
    Ok(())
}

/// Milliseconds from the start to the end of the program.
async fn spawn(sandbox: Option<&Sandbox>) -> Result<f64> {
    let mut command = Command::new(PROGRAM);
    if let Some(sandbox) = sandbox {
        command = command.sandbox(sandbox);
    }
    let at = Instant::now();
    let child = command.spawn().context(PROGRAM)?;
    let status = child.wait().await;
    let elapsed = at.elapsed().as_secs_f64() * 1e3;
    if !status.is_success() {
        bail!("{PROGRAM} ended with {status}");
    }
    child.wait_all().await;
    Ok(elapsed)
}

/// The same with a minimal root in bubblewrap, and bare by the same means: milliseconds of both.
fn bubblewrap() -> Option<(f64, f64)> {
    let time = |program: &str, arguments: &[&str]| {
        let at = Instant::now();
        let status = std::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .ok()?;
        status.success().then(|| at.elapsed().as_secs_f64() * 1e3)
    };
    let confined = time(
        "bwrap",
        &[
            "--unshare-all",
            "--share-net",
            "--die-with-parent",
            "--ro-bind",
            "/usr",
            "/usr",
            "--symlink",
            "usr/bin",
            "/bin",
            "--symlink",
            "usr/lib",
            "/lib",
            "--symlink",
            "usr/lib64",
            "/lib64",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            PROGRAM,
        ],
    )?;
    Some((confined, time(PROGRAM, &[])?))
}
