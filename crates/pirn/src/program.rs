//! Where a program comes from: the command line, a file, or standard input.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::invocation::{Invocation, Stream};

/// Bytes of a script; the contract's number. Nobody writes more, and a file of that size is a wrong one.
const SOURCE_BYTES_MAX: u64 = 1 << 20;
/// What stands for standard input on the command line.
const STDIN_ARGUMENT: &str = "-";

/// Where a program was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin<'a> {
    CommandLine,
    StandardInput,
    File(&'a Path),
}

/// A program as it was found.
#[derive(Debug)]
pub(crate) struct ProgramText<'a> {
    pub(crate) text: String,
    /// Where it was found.
    pub(crate) origin: Origin<'a>,
    /// What messages call it.
    pub(crate) shown: String,
}

impl<'a> ProgramText<'a> {
    /// Reads what the command line of `command` names: `code`, or else `file`.
    pub(crate) fn load(
        code: Option<&String>,
        file: Option<&'a PathBuf>,
        command: &str,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        match (code, file) {
            (Some(code), _) => Ok(Self {
                text: code.clone(),
                origin: Origin::CommandLine,
                shown: "the code after -e".to_owned(),
            }),
            (None, Some(path)) if path == Path::new(STDIN_ARGUMENT) => {
                let bytes = read_bounded(io::stdin().lock()).map_err(|error| {
                    Failure::usage_because(error, "the script cannot be read from standard input")
                })?;
                let shown = "the script on standard input";
                Ok(Self {
                    text: decode(bytes, shown)?,
                    origin: Origin::StandardInput,
                    shown: shown.to_owned(),
                })
            }
            (None, Some(path)) => Ok(Self {
                text: read_file(path, command, invocation)?,
                origin: Origin::File(path),
                shown: path.to_string_lossy().into_owned(),
            }),
            (None, None) => Err(nothing_given(command, invocation)),
        }
    }
}

fn nothing_given(command: &str, invocation: &Invocation) -> Failure {
    let failure = Failure::usage("no script was given");
    match invocation.stdin {
        Stream::Terminal => failure.hint(format!(
            "name a file, or give code: {command} -e 'return 1 + 1'"
        )),
        Stream::Other => failure.hint(format!(
            "`{command} -` reads the script from standard input"
        )),
    }
}

fn read_file(path: &Path, command: &str, invocation: &Invocation) -> Result<String, Failure> {
    let shown = path.display();
    let full = invocation.host.cwd.join(path);
    let unreadable = |error: io::Error| {
        let kind = error.kind();
        let failure = Failure::usage_because(error, format!("{shown} cannot be read"));
        match kind {
            io::ErrorKind::NotFound if looks_like_code(path) => {
                failure.hint(format!("-e runs code: {command} -e 'CODE'"))
            }
            io::ErrorKind::NotFound => failure.hint(format!(
                "relative paths start at {}",
                invocation.host.cwd.display()
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
