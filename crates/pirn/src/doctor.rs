//! `pirn doctor`: does Pirn work on this machine, and what to do where it does not.

mod checks;
mod confinement;
mod interpreters;
#[cfg(unix)]
mod terminal;

use serde_json::{Value, json};

use crate::arguments::{DoctorArguments, DoctorTopic};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use checks::Check;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// As it should be.
    Good,
    /// Pirn works, but not all of it.
    Lacking,
    /// Pirn does not work.
    Bad,
}

impl Finding {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Lacking => "warning",
            Self::Bad => "failed",
        }
    }
}

/// One line of the report.
#[derive(Debug)]
struct Report {
    name: &'static str,
    finding: Finding,
    what: String,
    /// What to do about it.
    remedy: Option<String>,
    /// More about it, line by line.
    lines: Vec<String>,
    /// The same for programs: a name and a value.
    data: Option<(&'static str, Value)>,
}

impl Report {
    fn new(finding: Finding, what: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            name: "",
            finding,
            what: what.into(),
            remedy,
            lines: Vec::new(),
            data: None,
        }
    }

    fn good(what: impl Into<String>) -> Self {
        Self::new(Finding::Good, what, None)
    }

    fn lacking(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Finding::Lacking, what, Some(remedy.into()))
    }

    fn bad(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Finding::Bad, what, Some(remedy.into()))
    }
}

pub(crate) fn run(arguments: &DoctorArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    match arguments.topic {
        #[cfg(unix)]
        Some(DoctorTopic::Terminal) => return terminal::run(invocation),
        #[cfg(not(unix))]
        Some(DoctorTopic::Terminal) => {
            return Err(Failure::usage("terminals can be looked at on Unix only"));
        }
        None => {}
    }
    let reports: Vec<Report> = checks::ALL
        .iter()
        .map(|Check { name, run }| Report {
            name,
            ..run(invocation)
        })
        .collect();
    let text = if arguments.json {
        as_json(&reports)
    } else {
        as_text(&reports, invocation)
    };
    standard::write_out(&text)?;
    let bad: Vec<&str> = reports
        .iter()
        .filter(|report| report.finding == Finding::Bad)
        .map(|report| report.name)
        .collect();
    if bad.is_empty() {
        return Ok(Exit::Success);
    }
    Err(Failure::new(
        Exit::Failed,
        format!("Pirn does not work here: {}", bad.join(", ")),
    ))
}

fn as_text(reports: &[Report], invocation: &Invocation) -> String {
    let mut table = invocation.table().wrapping();
    for report in reports {
        table.row([report.finding.word(), report.name, &report.what]);
        if let Some(remedy) = &report.remedy {
            table.below(&format!("remedy: {remedy}"));
        }
        for line in &report.lines {
            table.below(line);
        }
    }
    table.render()
}

fn as_json(reports: &[Report]) -> String {
    let checks = reports.iter().map(|report| {
        let mut row =
            json!({"name": report.name, "status": report.finding.word(), "text": report.what});
        if let Some(remedy) = &report.remedy {
            row["remedy"] = json!(remedy);
        }
        if let Some((name, value)) = &report.data {
            row[*name] = value.clone();
        }
        row
    });
    let is_ok = reports.iter().all(|report| report.finding != Finding::Bad);
    format!(
        "{:#}\n",
        json!({"ok": is_ok, "checks": checks.collect::<Value>()})
    )
}
