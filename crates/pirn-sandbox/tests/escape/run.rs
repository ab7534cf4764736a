//! Making an attempt, and judging what came of it.

use std::path::Path;
use std::time::Duration;

use pirn_sandbox::{Command, ExitStatus, Layer, Level, Profile, SandboxReport};

use crate::attempt::{Attempt, Outcome};
use crate::prelude::PRELUDE;
use crate::stage::{Stage, expect, text};

/// The longest an attempt may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Output beyond this is cut.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// What an attempt printed, and what it was confined by.
struct Record {
    lines: Vec<String>,
    status: ExitStatus,
    report: SandboxReport,
}

/// Makes an attempt in an empty folder.
pub(crate) fn attempt(attempt: &Attempt, level: Level, root: &Path) -> Result<(), String> {
    let mut stage = Stage::set(root, level)?;
    (attempt.prepare)(&mut stage)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(text)?;
    let record = runtime.block_on(make(attempt, &stage))?;
    judge(attempt, level, &mut stage, &record).map_err(|wrong| {
        format!(
            "{wrong}\nprinted: {:#?}\nended: {:?}\nreport: {:#?}",
            record.lines, record.status, record.report
        )
    })
}

/// Makes an attempt without confinement.
pub(crate) fn control(attempt: &Attempt, root: &Path) -> Result<(), String> {
    let mut stage = Stage::set(root, Level::Basic)?;
    (attempt.prepare)(&mut stage)?;
    stage.policy.profile = Profile::Off;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(text)?;
    let record = runtime.block_on(make(attempt, &stage))?;
    expect(record.lines.iter().any(|line| line == "through"), || {
        format!(
            "nothing gets through without confinement: {:#?}",
            record.lines
        )
    })
}

async fn make(attempt: &Attempt, stage: &Stage) -> Result<Record, String> {
    let sandbox = stage.sandbox()?;
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", &format!("{PRELUDE}{}", attempt.program)])
        .envs(
            stage
                .variables
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
        .current_dir(stage.path("work"))
        .sandbox(&sandbox)
        .spawn()
        .map_err(text)?;
    let mut output = child.take_output().ok_or("no output")?;
    if let Some(pause) = stage.kill_after {
        let finished = tokio::time::timeout(pause, child.wait_all()).await;
        expect(finished.is_err(), || "it ended by itself".to_owned())?;
        child.kill_all().await;
    }
    let captured = tokio::time::timeout(PATIENCE, output.read_bounded(OUTPUT_BYTES_MAX))
        .await
        .map_err(|_elapsed| "it does not end".to_owned())?
        .map_err(text)?;
    let status = tokio::time::timeout(PATIENCE, child.wait())
        .await
        .map_err(|_elapsed| "it does not end".to_owned())?;
    child.kill_all().await;
    Ok(Record {
        lines: String::from_utf8_lossy(&captured.bytes)
            .lines()
            .map(str::to_owned)
            .collect(),
        status,
        report: sandbox.report().map_err(text)?.clone(),
    })
}

fn judge(
    attempt: &Attempt,
    level: Level,
    stage: &mut Stage,
    record: &Record,
) -> Result<(), String> {
    let report = &record.report;
    let lines = &record.lines;
    let found = report.level.ok_or("nothing is confined")?;
    // A machine may give less than was asked for, but then it says so.
    expect(found == level || !report.missing.is_empty(), || {
        format!("the level is {}", found.as_str())
    })?;
    let outcome = match found {
        Level::Basic => attempt.expect.basic,
        Level::Standard => attempt.expect.standard,
        Level::Strict => attempt.expect.strict,
    };
    expect(!lines.is_empty(), || "it printed nothing".to_owned())?;
    let refused = |errors: &[&str]| {
        let other = lines.iter().find(|line| !errors.contains(&line.as_str()));
        other.map_or(Ok(()), |line| {
            Err(format!("a try gave {line:?}, wanted one of {errors:?}"))
        })
    };
    let is_reported = |layer: Layer| {
        expect(
            report.missing.iter().any(|missing| missing.layer == layer),
            || format!("the report does not name {} as missing", layer.as_str()),
        )
    };
    match outcome {
        Outcome::Contained => {}
        Outcome::Through(layer) => {
            let is_through = lines.iter().any(|line| line == "through");
            // A newer kernel may stop more, and then the report must not complain.
            expect(is_through == is_reported(layer).is_ok(), || {
                format!("through: {is_through}, and {:?}", is_reported(layer))
            })?;
            if is_through {
                return Ok(());
            }
        }
        Outcome::Needs(layer, errors) if report.layers.contains(&layer) => refused(errors)?,
        Outcome::Needs(layer, _) => return is_reported(layer),
        Outcome::Unless(layer, _) if is_reported(layer).is_ok() => return Ok(()),
        Outcome::Denied(errors) | Outcome::Unless(_, errors) => refused(errors)?,
    }
    stage.outside_is_intact()?;
    stage.victim_is_well()?;
    (attempt.intact)(stage)
}
