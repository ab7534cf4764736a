//! In which form the user gets the result.

use anyhow::Context as _;
use pirn_codemode::{
    LaidOut, LayoutKind, LayoutOptions, OUTPUT_TOKENS_DEFAULT, OutputFolder, ScriptError,
    ScriptErrorKind, ScriptResult, SourceOptions, lay_out,
};
use pirn_runtime::Confinement;
use pirn_terminal::on_one_line;
use pirn_tool::{ContentBlock, Receipt, Registry};
use pirn_vm::Output;

use super::screen::{CallDisplay, Items, Screen, ScreenOptions};
use crate::arguments::ExecArguments;
use crate::calls;
use crate::confinement;
use crate::failure::{Exit, Failure};
use crate::invocation::{Display, Invocation};
use crate::standard;

/// Lines of the header that a model reads; what follows is about a cut.
const HEADER_LINES: usize = 3;

/// How the result is shown.
#[derive(Debug)]
pub(super) struct Answering {
    form: Form,
    is_quiet: bool,
    folder: OutputFolder,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    /// Items as they come, like the output of any program.
    Stream,
    /// Items at the end, cut to a budget.
    Cut {
        tokens_max: u64,
    },
    /// What a model would read.
    Laid {
        kind: LayoutKind,
        tokens_max: u64,
    },
    Json,
}

impl Answering {
    /// What the command line asks for, or else the options line.
    pub(super) fn new(
        arguments: &ExecArguments,
        options: SourceOptions,
        folder: OutputFolder,
    ) -> Self {
        let budget = arguments.max_output_tokens.or(options.max_output_tokens);
        let form = match (arguments.layout, budget) {
            _ if arguments.json => Form::Json,
            (Some(layout), budget) => Form::Laid {
                kind: layout.into(),
                tokens_max: budget.unwrap_or(OUTPUT_TOKENS_DEFAULT),
            },
            (None, Some(tokens_max)) => Form::Cut { tokens_max },
            (None, None) => Form::Stream,
        };
        Self {
            form,
            is_quiet: arguments.quiet,
            folder,
        }
    }

    /// Whether the answer itself tells people why the script failed.
    pub(super) fn holds_error(&self) -> bool {
        match self.form {
            Form::Laid { .. } => true,
            // A program reads it; the person in front of the terminal does not.
            Form::Json | Form::Stream | Form::Cut { .. } => false,
        }
    }

    /// What is shown while the script runs.
    pub(super) fn screen_options(&self, invocation: &Invocation) -> ScreenOptions {
        let items = match self.form {
            Form::Stream => Items::All,
            Form::Cut { .. } => Items::Console,
            Form::Laid { .. } | Form::Json => Items::None,
        };
        let calls = self.calls(invocation.display);
        ScreenOptions {
            items,
            calls,
            folder: self.folder.clone(),
        }
    }

    /// How calls are shown while the script runs.
    pub(super) fn calls(&self, display: Display) -> CallDisplay {
        match (self.form, display) {
            _ if self.is_quiet => CallDisplay::Hidden,
            (Form::Json, _) | (_, Display::Lines) => CallDisplay::Lines,
            (_, Display::Moving) => CallDisplay::Moving,
        }
    }

    /// Whether the result's remarks are shown with it.
    pub(super) fn shows_remarks(&self) -> bool {
        match self.form {
            Form::Laid { .. } => true,
            Form::Stream | Form::Cut { .. } => !self.is_quiet,
            Form::Json => false,
        }
    }

    /// Shows what was not shown yet.
    pub(super) fn show(
        &self,
        result: &ScriptResult,
        confinement: Option<&Confinement>,
        screen: Screen,
    ) -> Result<(), Failure> {
        if let (Form::Stream, Some(value)) = (self.form, result.value()) {
            let value = ScriptResult {
                outcome: Ok(Some(value.clone())),
                output: Vec::new(),
                calls: Vec::new(),
                notes: Vec::new(),
                ..result.clone()
            };
            let (text, _) = shown(&self.lay_out(&value, LayoutKind::Items, u64::MAX));
            screen.text(text);
        }
        screen
            .finish()
            .context("standard output cannot be written")?;
        if matches!(self.form, Form::Stream | Form::Cut { .. }) && self.shows_remarks() {
            for remark in result.remarks() {
                standard::note(&remark);
            }
        }
        match self.form {
            Form::Stream => Ok(()),
            Form::Cut { tokens_max } => {
                let (text, cut) =
                    shown(&self.lay_out(&without_console(result), LayoutKind::Items, tokens_max));
                standard::write_out(&text)?;
                if let Some(remark) = cut {
                    standard::note(&remark);
                }
                Ok(())
            }
            Form::Laid { kind, tokens_max } => {
                let laid_out = self.lay_out(result, kind, tokens_max);
                let text: String = laid_out.content.iter().map(block_text).collect();
                standard::write_out(&text)
            }
            Form::Json => {
                let mut answer = result.to_json();
                if let Some(confinement) = confinement {
                    answer["sandbox"] = confinement::to_json(confinement);
                }
                standard::write_out(&format!("{answer}\n"))
            }
        }
    }

    fn lay_out(&self, result: &ScriptResult, kind: LayoutKind, output_tokens_max: u64) -> LaidOut {
        let folder = Some(self.folder.clone());
        lay_out(
            result,
            &LayoutOptions {
                kind,
                output_tokens_max,
                folder,
                notes: Vec::new(),
            },
        )
    }
}

/// A result without what went to standard error already.
fn without_console(result: &ScriptResult) -> ScriptResult {
    let mut rest = result.clone();
    rest.output
        .retain(|output| !matches!(output, Output::Console(_)));
    rest.outcome = Ok(result.value().cloned());
    rest.calls.clear();
    rest.notes.clear();
    rest
}

/// One item as text; pictures go into a file.
pub(super) fn item_text(output: &Output, folder: &OutputFolder) -> String {
    match output {
        Output::Text(text) => with_line_end(text.to_string()),
        Output::Console(text) => format!("{text}\n"),
        Output::Image { .. } | Output::Audio { .. } => {
            let result = ScriptResult {
                outcome: Ok(None),
                output: vec![output.clone()],
                calls: Vec::new(),
                store_writes: Vec::new(),
                notifications: Vec::new(),
                notes: Vec::new(),
                wall: std::time::Duration::ZERO,
                cpu: std::time::Duration::ZERO,
            };
            let folder = Some(folder.clone());
            let options = LayoutOptions {
                kind: LayoutKind::Items,
                output_tokens_max: u64::MAX,
                folder,
                notes: Vec::new(),
            };
            shown(&lay_out(&result, &options)).0
        }
    }
}

/// The text below the header, and what the header says about a cut.
fn shown(laid_out: &LaidOut) -> (String, Option<String>) {
    let mut blocks = laid_out.content.iter();
    let header = blocks
        .next()
        .and_then(ContentBlock::as_text)
        .unwrap_or_default();
    let remarks: Vec<&str> = header.lines().skip(HEADER_LINES).collect();
    let remarks =
        (!remarks.is_empty()).then(|| remarks.join(" ").trim_matches(['[', ']']).to_owned());
    (blocks.map(block_text).collect(), remarks)
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => with_line_end(text.clone()),
        // The block before it names the file.
        ContentBlock::Image { .. } => String::new(),
        ContentBlock::Audio { mime_type, .. } => {
            format!("[Audio not shown ({mime_type}); --json has it]\n")
        }
    }
}

/// A text whose last line is ended.
fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The exit code of a script that failed.
pub(super) fn exit(kind: ScriptErrorKind) -> Exit {
    match kind {
        ScriptErrorKind::Timeout => Exit::Deadline,
        ScriptErrorKind::Aborted => Exit::Interrupted,
        ScriptErrorKind::Script
        | ScriptErrorKind::Cpu
        | ScriptErrorKind::Memory
        | ScriptErrorKind::Sandbox => Exit::Failed,
    }
}

/// A script's error without the message that the line of the failed call has said whole; `None` for any other error.
fn said_by_call(error: &ScriptError, records: &[Receipt], calls: CallDisplay) -> Option<String> {
    let message = error.message.as_str().filter(|text| !text.contains('\n'))?;
    let failed = records
        .iter()
        .rfind(|call| call.error.as_deref() == Some(message))?;
    if !calls.line_of(failed)?.contains(&on_one_line(message)) {
        return None;
    }
    let frames = error.stack.as_ref()?.strip_prefix("Error: ")?;
    let frames = frames.strip_prefix(message)?;
    Some(format!("{} failed, as its line says{frames}", failed.name))
}

/// A failed script: the error with its stack, what its calls did, and advice.
pub(super) fn failure(
    error: &ScriptError,
    records: &[Receipt],
    registry: &Registry,
    calls: CallDisplay,
) -> Failure {
    let said = said_by_call(error, records, calls);
    let text = match (&error.stack, &error.name) {
        (Some(stack), _) => stack.trim_end().to_owned(),
        (None, Some(name)) => format!("{name}: {}", error.message),
        // Anything can be thrown, `undefined` too.
        (None, None)
            if error.kind == ScriptErrorKind::Script
                && !error.message.to_string().starts_with("The script threw ") =>
        {
            format!("the script threw {}", error.message)
        }
        (None, None) => error.message.to_string(),
    };
    let text = said.unwrap_or(text);
    // What follows "error:" need not say so again.
    let text = text.strip_prefix("Error: ").unwrap_or(&text);
    let mut failure = Failure::new(exit(error.kind), text);
    if let Some(summary) = calls::summary(records, registry) {
        failure = failure.detail(summary);
    }
    let advice = match error.kind {
        ScriptErrorKind::Sandbox => Some("`pirn doctor` checks the script engine"),
        ScriptErrorKind::Timeout
        | ScriptErrorKind::Cpu
        | ScriptErrorKind::Memory
        | ScriptErrorKind::Script
        | ScriptErrorKind::Aborted => None,
    };
    for hint in error.hint.as_deref().into_iter().chain(advice) {
        failure = failure.hint(hint);
    }
    failure
}
