//! What this machine can give, found out once, on a policy that nobody else has a say in.
//!
//! A level counts as missing only when the kernel has refused something that it would refuse to everybody, twice in a row, in a
//! folder that was made for it. A full disk, too many open files or a shortage of memory say nothing about the machine: they are
//! errors, and whoever wanted to start something is told. So nothing that a workspace holds, and nothing that happens to go
//! wrong, makes a confinement weaker.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::backend::{PreparedLevel, ProcessNumbers, Purpose};
use super::plan::Proc;
use super::reasons::{self, LevelFailure};
use crate::error::Error;
use crate::policy::{Level, LevelChoice, SandboxPolicy};
use crate::report::Layer;
use crate::sys::{self, Failure, LoopbackService, PrivateNetwork, Stage, TrialError};

/// How often the kernel has to refuse in a row before the machine counts as one that cannot.
const REFUSALS_NEEDED: usize = 2;

/// What a level turned out to be here.
#[derive(Debug, Clone)]
pub(super) struct LevelFacts {
    pub(super) proc: Proc,
    pub(super) process_numbers: ProcessNumbers,
    /// What it has to do without.
    pub(super) lacks: Vec<LevelFailure>,
}

impl LevelFacts {
    /// Before anything was tried.
    fn hoped_for() -> Self {
        Self {
            proc: Proc::Own,
            process_numbers: ProcessNumbers::here(),
            lacks: Vec::new(),
        }
    }
}

/// The level that a policy gets on this machine.
#[derive(Debug)]
pub(super) struct ChosenLevel {
    pub(super) level: Level,
    pub(super) facts: LevelFacts,
    /// Why stronger ones cannot be had.
    pub(super) failures: Vec<LevelFailure>,
}

/// What is known about one thing the machine may be able to do.
type Known<T> = Mutex<Option<Result<T, LevelFailure>>>;

static LEVELS: [Known<LevelFacts>; 3] = [const { Mutex::new(None) }; 3];
static NETWORK: Known<()> = Mutex::new(None);

/// The strongest level that the machine has and the policy allows. Fails where it is weaker than what the policy requires, and
/// where it cannot be found out.
pub(super) fn strongest(policy: &SandboxPolicy) -> Result<ChosenLevel, Error> {
    let most = match policy.level {
        LevelChoice::Strongest => Level::Strict,
        LevelChoice::AtMost(level) => level,
    };
    let mut failures = Vec::new();
    for (level, known) in Level::ALL.into_iter().zip(&LEVELS).rev() {
        if level > most {
            continue;
        }
        if policy.require.is_some_and(|required| level < required) {
            break;
        }
        match found_out(known, || try_level(level, &policy.temp_dir))? {
            Ok(facts) => {
                return Ok(ChosenLevel {
                    level,
                    facts,
                    failures,
                });
            }
            Err(failure) => failures.push(failure),
        }
    }
    Err(Error::confinement(reasons::refusal(policy, &failures)))
}

/// Whether children can have a network of their own, at a level that has namespaces.
pub(super) fn network(level: Level) -> Result<Result<(), LevelFailure>, Error> {
    found_out(&NETWORK, || {
        match PrivateNetwork::make(LoopbackService::Nothing) {
            Ok((_network, _listener)) => Ok(Ok(())),
            Err(TrialError::Failed(failure)) => Ok(Err(
                LevelFailure::new(level, failure, None).about(Layer::NetworkNamespace)
            )),
            Err(TrialError::Io(source)) => Err(Error::preparing(&source)),
        }
    })
}

/// What is known, or else what trying tells. Only what says something about the machine is kept.
fn found_out<T: Clone>(
    known: &Known<T>,
    mut attempt: impl FnMut() -> Result<Result<T, LevelFailure>, Error>,
) -> Result<Result<T, LevelFailure>, Error> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known {
        return Ok(known.clone());
    }
    for _refusal in 1..REFUSALS_NEEDED {
        match attempt()? {
            Err(failure) if failure.is_of_machine() => {}
            Err(failure) => return Err(failure.into_error()),
            Ok(facts) => return Ok(known.insert(Ok(facts)).clone()),
        }
    }
    match attempt()? {
        Err(failure) if !failure.is_of_machine() => Err(failure.into_error()),
        told => Ok(known.insert(told).clone()),
    }
}

/// Gives up what a level can do without, one after the other, until a child can be set up.
fn try_level(level: Level, temp_dir: &Path) -> Result<Result<LevelFacts, LevelFailure>, Error> {
    let mut facts = LevelFacts::hoped_for();
    let mut seen_before = false;
    loop {
        let (confined, policy) = PreparedLevel::neutral(level, &facts, temp_dir)?;
        if level == Level::Basic && !confined.has_file_rules(&policy)? {
            let failure = Failure {
                stage: Stage::Landlock,
                step: 0,
                errno: libc::ENOSYS,
            };
            return Ok(Err(LevelFailure::new(level, failure, None)));
        }
        let launch = confined
            .launch(&policy, None, Vec::new(), Purpose::Try)
            .map_err(|source| Error::preparing(&source))?;
        let steps = launch.mounts();
        let failure = match sys::try_out(launch) {
            Ok(()) => return Ok(Ok(facts)),
            Err(TrialError::Failed(failure)) => failure,
            Err(TrialError::Io(source)) => return Err(Error::preparing(&source)),
        };
        let failure = LevelFailure::new(level, failure, steps.as_deref());
        let is_optional = failure.is_proc() && facts.proc == Proc::Own || failure.is_bound();
        if !is_optional {
            return Ok(Err(failure));
        }
        if !failure.is_of_machine() {
            return Err(failure.into_error());
        }
        if !std::mem::replace(&mut seen_before, true) {
            continue;
        }
        seen_before = false;
        if failure.is_proc() {
            facts.proc = Proc::Empty;
            facts.lacks.push(failure.about(Layer::PrivateProc));
        } else {
            facts.process_numbers = ProcessNumbers::Unbounded;
        }
    }
}
