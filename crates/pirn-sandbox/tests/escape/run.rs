//! Making an attempt, and judging what came of it.

use std::path::Path;
use std::time::Duration;

use pirn_sandbox::{Command, Error, ErrorKind, ExitStatus, Layer, Level, Profile, SandboxReport};

use crate::attempt::{Attempt, Outcome};
use crate::evil::Evil;
use crate::prelude::PRELUDE;
use crate::stage::{SECRET, Stage, expect, text};

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
    let record = runtime
        .block_on(make(attempt, &stage))
        .map_err(Unmade::into_text)?;
    judge(attempt, level, &mut stage, &record).map_err(|wrong| {
        format!(
            "{wrong}\nprinted: {:#?}\nended: {:?}\nreport: {:#?}",
            record.lines, record.status, record.report
        )
    })
}

/// Makes an attempt in a workspace that gets in the way: it is refused for that reason, or nothing comes of it.
pub(crate) fn attempt_in(
    attempt: &Attempt,
    level: Level,
    root: &Path,
    evil: &Evil,
) -> Result<(), String> {
    evil.before(root)?;
    let mut stage = Stage::set(root, level)?;
    (attempt.prepare)(&mut stage)?;
    let _during = evil.after(root)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(text)?;
    let (record, is_through_anyway) = match runtime.block_on(make(attempt, &stage)) {
        Ok(record) => {
            let found = record.report.level.ok_or("nothing is confined")?;
            expect(found == level || !record.report.missing.is_empty(), || {
                format!("the level is {}", found.as_str())
            })?;
            let is_open = match attempt.expect.at(found) {
                Outcome::Denied(_) => false,
                Outcome::Contained | Outcome::Through(_) => true,
                Outcome::Needs(layer, _) | Outcome::Unless(layer, _) => {
                    !record.report.layers.contains(&layer)
                }
            };
            (Some(record), is_open)
        }
        Err(Unmade::Refused(_cause)) => (None, false),
        Err(Unmade::Failed(wrong)) => return Err(wrong),
    };
    if let Some(record) = &record {
        let is_out = |line: &String| line == "through" || line.contains(SECRET);
        expect(
            is_through_anyway || !record.lines.iter().any(is_out),
            || format!("it got through: {:#?}", record.lines),
        )?;
        if is_through_anyway && !matches!(attempt.expect.at(level), Outcome::Contained) {
            return Ok(());
        }
    }
    stage.outside_is_intact()?;
    stage.victim_is_well()?;
    (attempt.intact)(&stage)
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
    let record = runtime
        .block_on(make(attempt, &stage))
        .map_err(Unmade::into_text)?;
    expect(record.lines.iter().any(|line| line == "through"), || {
        format!(
            "nothing gets through without confinement: {:#?}",
            record.lines
        )
    })
}

/// Why there is no record of an attempt.
enum Unmade {
    /// The sandbox refused it, with this cause.
    Refused(String),
    /// Something else went wrong.
    Failed(String),
}

impl Unmade {
    fn into_text(self) -> String {
        match self {
            Self::Refused(text) | Self::Failed(text) => text,
        }
    }
}

impl From<String> for Unmade {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<&str> for Unmade {
    fn from(text: &str) -> Self {
        Self::Failed(text.to_owned())
    }
}

impl From<Error> for Unmade {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error.kind() {
            ErrorKind::Confinement => Self::Refused(text),
            _ => Self::Failed(text),
        }
    }
}

async fn make(attempt: &Attempt, stage: &Stage) -> Result<Record, Unmade> {
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
        .spawn()?;
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
    let outcome = attempt.expect.at(found);
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
