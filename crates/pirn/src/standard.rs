//! What the program says besides what it was asked for.

use anyhow::Context as _;

use crate::failure::Failure;
use crate::invocation::message_style;

/// Writes to standard output. A reader that is gone has had enough, which is no error.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    Ok(pirn_terminal::write_output(text).context("standard output cannot be written")?)
}

/// Shows why the program ends.
pub(crate) fn report(failure: &Failure) {
    pirn_terminal::write_error(&failure.render(message_style()));
}

/// Shows a remark that is no error.
pub(crate) fn note(remark: &str) {
    pirn_terminal::note(message_style(), remark);
}
