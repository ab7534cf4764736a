//! Whether somebody can be asked, and what becomes of calls that would have to be asked about.

use pirn_runtime::Otherwise;

/// Whether somebody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Possible,
    Impossible,
}

impl Asking {
    /// What becomes of a call that is neither allowed nor denied. `allowing` is the flag that allows effects.
    pub(crate) fn otherwise(self, allowing: &str) -> Otherwise {
        match self {
            Self::Possible => Otherwise::Ask,
            Self::Impossible => Otherwise::Deny {
                because: "there is no terminal to ask on".to_owned(),
                allowed_by: Some(allowing.to_owned()),
            },
        }
    }
}
