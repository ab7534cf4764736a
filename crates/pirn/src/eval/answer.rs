//! In which form the user gets the result.

use std::path::PathBuf;

use pirn_codemode::OutputFolder;
use pirn_eval::{Denial, EvalFailure, EvalFailureKind, EvalOutcome, EvalReport, KernelState};
use pirn_runtime::Confinement;
use serde_json::{Value, json};

use super::arguments::EvalArguments;
use super::images;
use crate::exec::{CallDisplay, Items, Screen, ScreenOptions};
use crate::failure::{Exit, Failure};
use crate::invocation::{Display, Invocation};
use crate::standard;

/// How the result is shown.
#[derive(Debug)]
pub(super) struct Answering {
    form: Form,
    is_quiet: bool,
    folder: PathBuf,
    /// Whether the folder was named.
    has_folder: bool,
    /// Whether the state is kept.
    keeps_state: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Output as it comes, then the value.
    Stream,
    /// One object at the end.
    Json,
}

impl Answering {
    /// What the command line asks for.
    pub(super) fn new(arguments: &EvalArguments, invocation: &Invocation) -> Result<Self, Failure> {
        let folder = match &arguments.output {
            Some(folder) => {
                let folder = invocation.host.cwd.join(folder);
                if folder.exists() && !folder.is_dir() {
                    return Err(Failure::usage(format!(
                        "--output {} is not a folder",
                        folder.display()
                    )));
                }
                folder
            }
            None => invocation.host.temp_dir.clone(),
        };
        Ok(Self {
            form: if arguments.json {
                Form::Json
            } else {
                Form::Stream
            },
            is_quiet: arguments.quiet,
            folder,
            has_folder: arguments.output.is_some(),
            keeps_state: arguments.state.is_some(),
        })
    }

    /// Whether output is shown as it comes.
    pub(super) fn streams(&self) -> bool {
        self.form == Form::Stream
    }

    /// What is shown while the program runs.
    pub(super) fn screen_options(&self, invocation: &Invocation) -> ScreenOptions {
        let calls = match (self.form, invocation.display) {
            _ if self.is_quiet => CallDisplay::Hidden,
            (Form::Json, _) | (_, Display::Lines) => CallDisplay::Lines,
            (Form::Stream, Display::Moving) => CallDisplay::Moving,
        };
        ScreenOptions {
            items: Items::None,
            calls,
            folder: OutputFolder::new(&self.folder),
        }
    }

    /// Shows what was not shown yet, and says how the program ended.
    pub(super) fn conclude(
        &self,
        report: &EvalReport,
        confinement: Option<&Confinement>,
        screen: Screen,
    ) -> Result<Exit, Failure> {
        if self.form == Form::Stream
            && let Some(text) = report.value_text()
        {
            screen.text(format!("{}\n", text.trim_end_matches('\n')));
        }
        screen
            .finish()
            .map_err(|error| Failure::from(anyhow::Error::from(error)))?;
        match self.form {
            Form::Stream => self.show_pictures(report)?,
            Form::Json => {
                standard::write_out(&format!("{}\n", self.to_json(report)?))?;
            }
        }
        let refused_hosts = confinement.and_then(Confinement::refused_hosts);
        for note in notes(report).into_iter().chain(refused_hosts) {
            standard::note(&note);
        }
        match report {
            EvalReport::Refused {
                failure, denial, ..
            } => Err(refused(failure, denial.as_ref())),
            EvalReport::Ran { outcome, .. } => match &outcome.failure {
                Some(failure) => Err(self.failed(outcome, failure)),
                None => Ok(Exit::Success),
            },
        }
    }

    fn show_pictures(&self, report: &EvalReport) -> Result<(), Failure> {
        for display in report.displays() {
            let path = images::save(display, &self.folder)?;
            standard::note(&format!("the program showed a picture: {}", path.display()));
        }
        Ok(())
    }

    fn to_json(&self, report: &EvalReport) -> Result<Value, Failure> {
        let mut object = report.details(false);
        if let EvalReport::Ran { outcome, .. } = report {
            object["stdout"] = outcome.stdout.as_str().into();
            object["stderr"] = outcome.stderr.as_str().into();
            object["value"] = outcome.value.clone().unwrap_or_default();
            if let Some(text) = &outcome.value_text {
                object["valueText"] = text.as_str().into();
            }
        }
        let mut pictures = Vec::new();
        for display in report.displays() {
            pictures.push(if self.has_folder {
                let path = images::save(display, &self.folder)?;
                json!({"mimeType": display.mime_type, "path": path.to_string_lossy()})
            } else {
                json!({"mimeType": display.mime_type, "data": display.data})
            });
        }
        object["images"] = pictures.into();
        Ok(object)
    }

    /// A program that failed.
    fn failed(&self, outcome: &EvalOutcome, failure: &EvalFailure) -> Failure {
        let mut told = Failure::new(exit(failure.kind), failure.message.clone());
        if let Some(trace) = &failure.trace {
            let places = without_message(trace.trim_end(), &failure.message);
            if !places.is_empty() {
                told = told.detail(places);
            }
        }
        match outcome.calls.len() {
            0 => {}
            1 => told = told.detail("1 call was made before the failure; nothing is undone"),
            calls => {
                told = told.detail(format!(
                    "{calls} calls were made before the failure; nothing is undone"
                ));
            }
        }
        if self.keeps_state {
            told = told.detail(match outcome.state {
                KernelState::Committed => "The state was kept.",
                KernelState::Unchanged => "The state is as it was before.",
                KernelState::Mutated => "The state has the changes made until then.",
                KernelState::Lost => "The state is lost.",
            });
        }
        match hint(failure.kind) {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }
}

/// What is not seen from the rest.
fn notes(report: &EvalReport) -> Vec<String> {
    let EvalReport::Ran { outcome, .. } = report else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    if outcome.is_cut {
        notes.push("the output was longer than is kept, and was cut".to_owned());
    }
    notes.extend(outcome.notes.iter().cloned());
    notes.extend(
        outcome
            .lossy
            .iter()
            .map(|place| format!("the value was converted: {place}")),
    );
    notes
}

/// A trace without the line that says what was said already: the last of Python, the first of JavaScript.
fn without_message<'t>(trace: &'t str, message: &str) -> &'t str {
    let rest = trace
        .strip_suffix(message)
        .or_else(|| trace.strip_prefix(message));
    rest.map_or(trace, |rest| rest.trim_matches('\n'))
}

/// A program that was not run.
fn refused(failure: &EvalFailure, denial: Option<&Denial>) -> Failure {
    let told = Failure::new(exit(failure.kind), failure.message.clone());
    match denial {
        Some(Denial::NobodyToAsk | Denial::Unanswered { .. }) => {
            told.hint("--yes runs it without asking")
        }
        Some(Denial::Declined { .. }) | None => told,
    }
}

/// The exit code of a program that failed.
fn exit(kind: EvalFailureKind) -> Exit {
    match kind {
        EvalFailureKind::Timeout => Exit::Deadline,
        EvalFailureKind::Aborted => Exit::Interrupted,
        EvalFailureKind::CodeTooLarge => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn hint(kind: EvalFailureKind) -> Option<&'static str> {
    match kind {
        EvalFailureKind::Timeout => Some("--timeout gives it more time, at most 120 seconds"),
        EvalFailureKind::Spawn => Some(
            "the settings eval.python and eval.node name interpreters; `pirn doctor` tells what is there",
        ),
        _ => None,
    }
}
