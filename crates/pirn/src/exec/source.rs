//! Where the script comes from.

use std::io::{self, Read as _};
use std::path::Path;

use pirn_codemode::{DEFAULT_FILE_NAME, Source, parse_source};

use crate::arguments::ExecArguments;
use crate::failure::Failure;
use crate::surroundings::{Stream, Surroundings};

/// Bytes of a script; the contract's number. Nobody writes more, and a file of that size is a wrong one.
const SOURCE_BYTES_MAX: u64 = 1 << 20;
/// What stack frames call a script from standard input.
const STDIN_NAME: &str = "<stdin>";
/// What stands for standard input on the command line.
const STDIN_ARGUMENT: &str = "-";

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
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        let (text, name, shown) = match (&arguments.code, &arguments.file) {
            (Some(code), _) => (
                code.clone(),
                DEFAULT_FILE_NAME.to_owned(),
                "the code after -e".to_owned(),
            ),
            (None, Some(path)) if path == Path::new(STDIN_ARGUMENT) => {
                let bytes = read_bounded(io::stdin().lock()).map_err(|error| {
                    Failure::usage_because(error, "the script cannot be read from standard input")
                })?;
                let shown = "the script on standard input";
                (
                    decode(bytes, shown)?,
                    STDIN_NAME.to_owned(),
                    shown.to_owned(),
                )
            }
            (None, Some(path)) => {
                let name = path.to_string_lossy().into_owned();
                (read_file(path, surroundings)?, name.clone(), name)
            }
            (None, None) => return Err(nothing_given(surroundings)),
        };
        let source = parse_source(&text)
            .map_err(|error| Failure::usage_because(error, format!("{shown} cannot be run")))?;
        Ok(Self { source, name })
    }
}

fn nothing_given(surroundings: &Surroundings) -> Failure {
    let failure = Failure::usage("no script was given");
    match surroundings.stdin {
        Stream::Terminal => failure.hint("name a file, or give code: pirn exec -e 'return 1 + 1'"),
        Stream::Other => failure.hint("`pirn exec -` reads the script from standard input"),
    }
}

fn read_file(path: &Path, surroundings: &Surroundings) -> Result<String, Failure> {
    let shown = path.display();
    let full = surroundings.cwd.join(path);
    let unreadable = |error: io::Error| {
        let kind = error.kind();
        let failure = Failure::usage_because(error, format!("{shown} cannot be read"));
        match kind {
            io::ErrorKind::NotFound if looks_like_code(path) => {
                failure.hint("-e runs code: pirn exec -e 'CODE'")
            }
            io::ErrorKind::NotFound => failure.hint(format!(
                "relative paths start at {}",
                surroundings.cwd.display()
            )),
            _ => failure,
        }
    };
    let file = std::fs::File::open(&full).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Failure::usage(format!("{shown} is a folder, not a script"))
            .hint("name a file in it; --cwd sets the folder in which tools work"));
    }
    decode(read_bounded(file).map_err(unreadable)?, &shown.to_string())
}

/// Whether somebody forgot `-e`.
fn looks_like_code(path: &Path) -> bool {
    path.to_string_lossy().contains([' ', '(', ';', '\n'])
}

/// Reads one byte more than a script may have.
fn read_bounded(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decode(bytes: Vec<u8>, what: &str) -> Result<String, Failure> {
    if bytes.len() as u64 > SOURCE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "{what} is larger than 1 MiB, the most a script may have"
        ))
        .hint("put data into a file of its own and let the script read it with tools.read"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        let is_utf16 = [[0xff, 0xfe], [0xfe, 0xff]]
            .iter()
            .any(|mark| error.as_bytes().starts_with(mark));
        let failure = Failure::usage(format!(
            "{what} is not valid UTF-8: line {line}, byte {valid}"
        ));
        if is_utf16 {
            failure.hint("it looks like UTF-16; save it as UTF-8")
        } else {
            failure.hint("save it as UTF-8")
        }
    })
}
