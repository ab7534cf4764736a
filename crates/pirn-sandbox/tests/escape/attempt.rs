//! What an attempt to get out is made of.

use pirn_sandbox::{Layer, Level};

use crate::stage::Stage;

/// One attempt, which is made at every level and as every user that the tests can be.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    /// What stops it, for people.
    pub(crate) stopped_by: &'static str,
    /// Python that runs confined, after [`crate::prelude::PRELUDE`].
    pub(crate) program: &'static str,
    /// What is made ready outside, and what is special about the policy.
    pub(crate) prepare: fn(&mut Stage) -> Result<(), String>,
    pub(crate) expect: Expect,
    /// What it does without confinement.
    pub(crate) control: Control,
    /// What must hold outside afterwards; not asked where the attempt gets through.
    pub(crate) intact: fn(&Stage) -> Result<(), String>,
}

/// Whether an attempt is made without confinement as well, to see that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// No: it would harm the machine, needs root, or has no effect even so.
    No,
    /// Some try gets through.
    GetsThrough,
}

/// What comes of an attempt, by level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expect {
    pub(crate) basic: Outcome,
    pub(crate) standard: Outcome,
    pub(crate) strict: Outcome,
}

impl Expect {
    pub(crate) fn at(&self, level: Level) -> Outcome {
        match level {
            Level::Basic => self.basic,
            Level::Standard => self.standard,
            Level::Strict => self.strict,
        }
    }
}

/// What comes of an attempt at one level.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// Every try is refused, with one of these errors.
    Denied(&'static [&'static str]),
    /// Tries may succeed, inside; nothing outside changes.
    Contained,
    /// The level cannot stop it, and the report says so by naming this layer as missing. Where the kernel can, it does not.
    Through(Layer),
    /// Refused where the report has this layer; elsewhere the report names it as missing.
    Needs(Layer, &'static [&'static str]),
    /// Refused unless the report names this layer as missing.
    Unless(Layer, &'static [&'static str]),
}

/// Nothing to make ready, and nothing to look at.
pub(crate) const PLAIN: Attempt = Attempt {
    name: "",
    stopped_by: "",
    program: "",
    prepare: |_stage| Ok(()),
    expect: always(Outcome::Denied(&[])),
    control: Control::No,
    intact: |_stage| Ok(()),
};

/// The same at every level.
pub(crate) const fn always(outcome: Outcome) -> Expect {
    Expect {
        basic: outcome,
        standard: outcome,
        strict: outcome,
    }
}

/// Refused at every level.
pub(crate) const fn denied(errors: &'static [&'static str]) -> Expect {
    always(Outcome::Denied(errors))
}

/// What the lowest level cannot stop; the others refuse it.
pub(crate) const fn through_lite(layer: Layer, errors: &'static [&'static str]) -> Expect {
    Expect {
        basic: Outcome::Through(layer),
        standard: Outcome::Denied(errors),
        strict: Outcome::Denied(errors),
    }
}

/// By rules on files and by mounts, or because the place is not there at all.
pub(crate) const FILES: &[&str] = &["EACCES", "EROFS", "ENOENT", "EPERM", "ENOTDIR"];
/// By the filter on system calls.
pub(crate) const FILTER: &[&str] = &["EPERM"];
