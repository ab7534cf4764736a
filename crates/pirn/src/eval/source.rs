//! The program, and which language it is in.

use std::path::Path;

use pirn_eval::Language;

use super::arguments::EvalArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::program::{Origin, ProgramText};

/// A program that can be run.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) language: Language,
    pub(super) code: String,
}

impl Program {
    /// Reads what the command line names.
    pub(super) fn load(
        arguments: &EvalArguments,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let program = ProgramText::load(
            arguments.code.as_ref(),
            arguments.file.as_ref(),
            "pirn eval",
            invocation,
        )?;
        let language = match (arguments.language(), program.origin) {
            (Some(language), _) => language,
            (None, Origin::File(path)) => by_ending(path)?,
            (None, Origin::CommandLine | Origin::StandardInput) => {
                return Err(Failure::usage(format!(
                    "the language of {} is not known",
                    program.shown
                ))
                .hint("add --python or --javascript"));
            }
        };
        if program.text.trim().is_empty() {
            return Err(Failure::usage(format!("{} is empty", program.shown)));
        }
        Ok(Self {
            language,
            code: program.text,
        })
    }
}

fn by_ending(path: &Path) -> Result<Language, Failure> {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        "py" => Ok(Language::Python),
        "js" | "mjs" | "cjs" => Ok(Language::JavaScript),
        "ts" | "mts" | "cts" => Err(Failure::usage(format!(
            "{} is TypeScript, which eval does not run",
            path.display()
        ))
        .hint("`pirn exec` runs TypeScript")),
        _ => Err(Failure::usage(format!(
            "the ending of {} does not tell its language",
            path.display()
        ))
        .hint("add --python or --javascript")),
    }
}
