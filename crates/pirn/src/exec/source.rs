//! Where the script comes from.

use pirn_codemode::{DEFAULT_FILE_NAME, Source, parse_source};

use crate::arguments::ExecArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::program::{Origin, ProgramText};

/// What stack frames call a script from standard input.
const STDIN_NAME: &str = "<stdin>";

/// A script that can be run.
#[derive(Debug)]
pub(super) struct ScriptFile {
    /// The code, its options, and notes about what was unusual.
    pub(super) source: Source,
    /// What stack frames call it.
    pub(super) name: String,
}

impl ScriptFile {
    /// Reads what the command line names.
    pub(super) fn load(
        arguments: &ExecArguments,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let program = ProgramText::load(
            arguments.code.as_ref(),
            arguments.file.as_ref(),
            "pirn exec",
            invocation,
        )?;
        let name = match program.origin {
            Origin::CommandLine => DEFAULT_FILE_NAME.to_owned(),
            Origin::StandardInput => STDIN_NAME.to_owned(),
            Origin::File(path) => path.to_string_lossy().into_owned(),
        };
        let source = parse_source(&program.text).map_err(|error| {
            Failure::usage_because(error, format!("{} cannot be run", program.shown))
        })?;
        Ok(Self { source, name })
    }
}
