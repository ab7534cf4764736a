//! Writing to standard output and standard error.

use std::io::{self, Write as _};

use anyhow::Context as _;

use crate::failure::Failure;
use crate::invocation::message_style;

/// Writes to standard output. A reader that is gone has had enough, which is no error.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(unless_closed(written).context("standard output cannot be written")?)
}

/// Takes a reader that is gone for success.
pub(crate) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes to standard error. When that fails there is nobody left to tell.
pub(crate) fn write_error(text: &str) {
    let mut error = io::stderr().lock();
    let _nobody_to_tell = error
        .write_all(text.as_bytes())
        .and_then(|()| error.flush());
}

/// Shows why the program ends.
pub(crate) fn report(failure: &Failure) {
    write_error(&failure.render(message_style()));
}

/// Shows a remark that is no error.
pub(crate) fn note(remark: &str) {
    write_error(&format!("{} {remark}\n", message_style().note("note:")));
}
