//! A confinement that is ready for children.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::error::Error;
use crate::explain::Denial;
use crate::network::NetworkDecision;
use crate::paths::{FileRules, FileRulesCache, HeldRoots};
use crate::policy::{Level, LevelChoice, Profile, SandboxPolicy};
use crate::report::SandboxReport;
use crate::status::ExitStatus;

#[cfg(target_os = "linux")]
#[path = "sandbox/linux.rs"]
mod backend;
#[cfg(target_os = "macos")]
#[path = "sandbox/macos.rs"]
mod backend;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[path = "sandbox/unsupported.rs"]
mod backend;
#[cfg(target_os = "linux")]
mod folders;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod placeholders;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod reasons;

pub(crate) use backend::PreparedLevel;
#[cfg(target_os = "linux")]
pub(crate) use backend::{Purpose, explain_failure};

/// A confinement that is ready for children, with a private temporary folder that lives as long as it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    policy: SandboxPolicy,
    /// What its places led to at first, for commands and file tools alike.
    roots: Arc<HeldRoots>,
    prepared: OnceLock<Preparation>,
    /// Held while it is prepared.
    preparing: Mutex<()>,
    file_rules: FileRulesCache,
    /// Whether what commands of a killed Pirn made has been looked at.
    #[cfg(target_os = "linux")]
    recovered: OnceLock<()>,
    /// What there is to tell that no command's result has told.
    notes: Mutex<Vec<String>>,
}

/// What a preparation came to.
#[derive(Debug)]
struct Preparation {
    report: SandboxReport,
    /// What holds commands; `None` with [`Profile::Off`].
    confined: Option<PreparedLevel>,
}

impl Preparation {
    fn of(policy: &SandboxPolicy, roots: &Arc<HeldRoots>) -> Result<Self, Error> {
        let nothing = nothing_in_force(policy);
        let (report, confined) = match policy.profile {
            Profile::Off => (nothing, None),
            Profile::ReadOnly | Profile::WorkspaceWrite => {
                let (confined, report) =
                    PreparedLevel::prepare(policy, nothing, Arc::clone(roots))?;
                (report, Some(confined))
            }
        };
        Ok(Self { report, confined })
    }
}

fn nothing_in_force(policy: &SandboxPolicy) -> SandboxReport {
    SandboxReport {
        profile: policy.profile,
        network: policy.network.mode(),
        level: None,
        layers: Vec::new(),
        missing: Vec::new(),
    }
}

impl Sandbox {
    /// Finds out what the machine can give, once per process, creates the private temporary folder and prepares what every child
    /// needs: some milliseconds. Fails with [`crate::ErrorKind::Confinement`] where it cannot be had, whatever the reason: a
    /// level that the machine does not have, a full disk, a folder that is in the way.
    pub fn prepare(policy: SandboxPolicy) -> Result<Self, Error> {
        let sandbox = Self::on_demand(policy);
        sandbox.prepared()?;
        Ok(sandbox)
    }

    /// A sandbox that is prepared when something of it is needed for the first time: a child, its report, its private folder.
    /// Who never starts a child does not wait for it. Where it cannot be prepared, no child starts: each gets the error, and the
    /// next one tries again.
    pub fn on_demand(policy: SandboxPolicy) -> Self {
        Self {
            inner: Arc::new(Inner {
                policy,
                roots: Arc::default(),
                prepared: OnceLock::new(),
                preparing: Mutex::new(()),
                file_rules: FileRulesCache::default(),
                #[cfg(target_os = "linux")]
                recovered: OnceLock::new(),
                notes: Mutex::default(),
            }),
        }
    }

    fn prepared(&self) -> Result<&Preparation, Error> {
        let Inner {
            policy,
            prepared,
            preparing,
            ..
        } = &*self.inner;
        if let Some(prepared) = prepared.get() {
            return Ok(prepared);
        }
        let _turn = preparing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = prepared.get() {
            return Ok(prepared);
        }
        self.recover().map_err(|source| Error::preparing(&source))?;
        let made = Preparation::of(policy, &self.inner.roots)?;
        Ok(prepared.get_or_init(|| made))
    }

    /// Looks at what commands of a Pirn that was killed have made, once, before anything is run or opened for somebody.
    #[cfg(target_os = "linux")]
    fn recover(&self) -> std::io::Result<()> {
        if self.inner.recovered.get().is_some() {
            return Ok(());
        }
        let found = journal::recover(&self.inner.policy)?;
        let mut notes = self
            .inner
            .notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        notes.extend(found);
        self.inner.recovered.get_or_init(|| ());
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    fn recover(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// What there is to tell that no command's result has told: what was set aside of what commands made before Pirn was killed, one
    /// sentence each.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(
            &mut *self
                .inner
                .notes
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Looks at what children have made so far and sets aside what would start programs in the user's name, while they go on. Says
    /// what, one sentence each. Blocks for as long as it takes to ask each writable folder for changes.
    pub fn look_meanwhile(&self) -> Vec<String> {
        let mut notes = self.take_notes();
        #[cfg(target_os = "linux")]
        if let Some(confined) = self.prepared_level() {
            notes.extend(confined.cache().look_meanwhile(self.policy()));
        }
        notes
    }

    /// Whether it has been prepared. Nothing ran in it before.
    pub fn is_prepared(&self) -> bool {
        self.inner.prepared.get().is_some()
    }

    /// What it was prepared for.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.inner.policy
    }

    /// Which files our own process may use for somebody whose commands run in this sandbox. It needs the policy only, so nothing
    /// is prepared for it.
    pub fn file_rules(&self) -> Arc<FileRules> {
        let Inner {
            policy,
            prepared,
            file_rules,
            ..
        } = &*self.inner;
        let confined = prepared
            .get()
            .and_then(|prepared| prepared.confined.as_ref());
        let private_temp = confined.map(PreparedLevel::private_temp);
        if let Err(error) = self.recover() {
            return Arc::new(FileRules::unknown(policy, &error));
        }
        file_rules.get(policy, &self.inner.roots, private_temp, Instant::now())
    }

    /// What is in force for its children. Prepares it, and fails as [`Sandbox::prepare`] does.
    pub fn report(&self) -> Result<&SandboxReport, Error> {
        Ok(&self.prepared()?.report)
    }

    /// The private temporary folder, by its path outside. Inside it has the same path, and is `/tmp` as well. `None` with
    /// [`crate::Profile::Off`]. Prepares it, and fails as [`Sandbox::prepare`] does.
    ///
    /// Confined programs can put links there: whoever writes to it from outside creates files anew and follows none.
    pub fn private_temp(&self) -> Result<Option<&Path>, Error> {
        let confined = self.prepared()?.confined.as_ref();
        Ok(confined.map(PreparedLevel::private_temp))
    }

    /// Says what the confinement refused to a command that failed, for a note to whoever reads its output. `output_tail` is the
    /// end of what it wrote, `decisions` what [`crate::NetworkProxy::decisions_since`] gives for the time in which it ran.
    pub fn explain(
        &self,
        output_tail: &str,
        status: ExitStatus,
        decisions: &[NetworkDecision],
    ) -> Vec<Denial> {
        // Where it was never prepared nothing ran.
        let prepared = self.inner.prepared.get();
        let confined = prepared.and_then(|prepared| prepared.confined.as_ref());
        confined.map_or_else(Vec::new, |confined| {
            confined.explain(&self.inner.policy, output_tail, status, decisions)
        })
    }

    /// Says which paths in the text of a command or program, which has ended, are not there for it though they exist. Relative ones
    /// are below `folder`.
    pub fn explain_source(&self, source: &str, folder: &Path) -> Vec<Denial> {
        #[cfg(target_os = "linux")]
        if let Some(confined) = self.prepared_level() {
            return confined.explain_source(self.policy(), source, folder);
        }
        #[cfg(not(target_os = "linux"))]
        let _nothing_stands_in = (source, folder);
        Vec::new()
    }

    /// Says that `who`, such as `the command`, was killed for its memory, and what to do; see [`crate::Child::was_out_of_memory`].
    pub fn explain_out_of_memory(&self, who: &str) -> String {
        let bound = self
            .policy()
            .limits
            .memory_bytes
            .map(|bytes| format!(" of {} MiB", bytes >> 20))
            .unwrap_or_default();
        format!(
            "Sandbox: {who} was killed because it used more memory than its bound{bound}; the setting sandbox.memoryMb raises it."
        )
    }

    /// A child of it starts.
    #[cfg(target_os = "linux")]
    pub(crate) fn child_starts(&self) -> ChildPresence {
        if let Some(confined) = self.prepared_level() {
            confined.cache().child_starts();
        }
        ChildPresence(self.clone())
    }

    /// Looks at what children have made until `ended` and sets aside what would start programs in the user's name. Says what, one
    /// sentence each.
    #[cfg(target_os = "linux")]
    pub(crate) fn look(&self, ended: Instant) -> Vec<String> {
        let mut notes = self.take_notes();
        if let Some(confined) = self.prepared_level() {
            notes.extend(confined.cache().look(self.policy(), ended));
        }
        notes
    }

    #[cfg(target_os = "linux")]
    fn prepared_level(&self) -> Option<&PreparedLevel> {
        self.inner.prepared.get()?.confined.as_ref()
    }

    /// What confines its children; `None` with [`Profile::Off`] alone.
    #[cfg(unix)]
    pub(crate) fn confined(&self) -> Result<Option<&PreparedLevel>, Error> {
        Ok(self.prepared()?.confined.as_ref())
    }
}

/// A child of a sandbox, until it is gone with everything that it started.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct ChildPresence(Sandbox);

#[cfg(target_os = "linux")]
impl ChildPresence {
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.0
    }
}

#[cfg(target_os = "linux")]
impl Drop for ChildPresence {
    fn drop(&mut self) {
        if let Some(confined) = self.0.prepared_level() {
            confined.cache().child_is_gone();
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Inner {
    fn drop(&mut self) {
        // A child that nobody waited for has been killed by now, or is about to be.
        if let Some(confined) = self.prepared.get().and_then(|made| made.confined.as_ref()) {
            confined.look_at_last(&self.policy);
        }
    }
}

/// For each level, weakest first, what would be in force for this policy on this machine, or why the level cannot be had. For
/// people who look for what is wrong: it takes some ten milliseconds.
pub fn levels_here(policy: &SandboxPolicy) -> Vec<(Level, Result<SandboxReport, Error>)> {
    Level::ALL
        .into_iter()
        .map(|level| {
            let mut policy = policy.clone();
            policy.level = LevelChoice::AtMost(level);
            policy.require = Some(level);
            policy.profile = match policy.profile {
                Profile::Off | Profile::WorkspaceWrite => Profile::WorkspaceWrite,
                Profile::ReadOnly => Profile::ReadOnly,
            };
            let report = Sandbox::on_demand(policy).report().cloned();
            (level, report)
        })
        .collect()
}
