//! What the user allowed on the command line.

use pirn_runtime::{EffectPolicy, Otherwise};
use pirn_tool::Effects;

/// Whether somebody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Possible,
    Impossible,
}

/// Allows reading and `allowed`; what becomes of the rest depends on whether somebody can be asked. `allowing` is the flag that
/// allows effects.
pub(crate) fn effect_policy(allowed: Effects, asking: Asking, allowing: &str) -> EffectPolicy {
    let otherwise = match asking {
        Asking::Possible => Otherwise::Ask,
        Asking::Impossible => Otherwise::Deny {
            because: "there is no terminal to ask on".to_owned(),
            allowed_by: Some(allowing.to_owned()),
        },
    };
    EffectPolicy::new(allowed, otherwise)
}

pub(crate) fn read_only_policy() -> EffectPolicy {
    let otherwise = Otherwise::deny("--read-only allows reading only");
    EffectPolicy::new(Effects::NONE, otherwise)
}
