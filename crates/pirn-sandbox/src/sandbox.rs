//! A confinement that is ready for children.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::error::Error;
use crate::explain::Denial;
use crate::network::NetworkDecision;
use crate::paths::{FileRules, FileRulesCache};
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
mod placeholders;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod reasons;

use backend::PreparedLevel;
#[cfg(target_os = "linux")]
pub(crate) use backend::explain_failure;

/// A confinement that is ready for children, with a private temporary folder that lives as long as it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    policy: SandboxPolicy,
    prepared: OnceLock<Preparation>,
    file_rules: FileRulesCache,
}

/// What a preparation came to.
#[derive(Debug)]
struct Preparation {
    report: SandboxReport,
    /// `None` with [`Profile::Off`], and where nothing can be confined.
    confined: Option<PreparedLevel>,
    /// Why nothing is confined, though it should be.
    refusal: Option<String>,
}

impl Preparation {
    fn of(policy: &SandboxPolicy) -> Result<Self, Error> {
        let nothing = nothing_in_force(policy);
        let (report, confined) = match policy.profile {
            Profile::Off => (nothing, None),
            Profile::ReadOnly | Profile::WorkspaceWrite => {
                let (confined, report) = PreparedLevel::prepare(policy, nothing)?;
                (report, confined)
            }
        };
        Ok(Self {
            report,
            confined,
            refusal: None,
        })
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
    /// Finds out what the machine can give, creates the private temporary folder and prepares what every child needs. Starts
    /// one process that sets itself up as a child would and ends: some milliseconds. Fails with
    /// [`crate::ErrorKind::Confinement`] where the required level cannot be had.
    pub fn prepare(policy: SandboxPolicy) -> Result<Self, Error> {
        let prepared = Preparation::of(&policy)?;
        Ok(Self {
            inner: Arc::new(Inner {
                policy,
                prepared: OnceLock::from(prepared),
                file_rules: FileRulesCache::default(),
            }),
        })
    }

    /// A sandbox that is prepared when something of it is needed for the first time: a child, its report, its private folder.
    /// Who never starts a child does not wait for it. Where it cannot be prepared, children are **not** confined and
    /// [`Sandbox::refusal`] says why: use [`Sandbox::prepare`] where that is not good enough.
    pub fn on_demand(policy: SandboxPolicy) -> Self {
        Self {
            inner: Arc::new(Inner {
                policy,
                prepared: OnceLock::new(),
                file_rules: FileRulesCache::default(),
            }),
        }
    }

    fn prepared(&self) -> &Preparation {
        let policy = &self.inner.policy;
        self.inner.prepared.get_or_init(|| {
            Preparation::of(policy).unwrap_or_else(|error| Preparation {
                report: nothing_in_force(policy),
                confined: None,
                refusal: Some(error.to_string()),
            })
        })
    }

    /// Whether it has been prepared. Nothing ran in it before.
    pub fn is_prepared(&self) -> bool {
        self.inner.prepared.get().is_some()
    }

    /// Why children are not confined, though they should be. `None` before it has been prepared.
    pub fn refusal(&self) -> Option<&str> {
        self.inner.prepared.get()?.refusal.as_deref()
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
        } = &*self.inner;
        let confined = prepared
            .get()
            .and_then(|prepared| prepared.confined.as_ref());
        let private_temp = confined.map(PreparedLevel::private_temp);
        file_rules.get(policy, private_temp, Instant::now())
    }

    /// What is in force for its children.
    pub fn report(&self) -> &SandboxReport {
        &self.prepared().report
    }

    /// The private temporary folder, by its path outside. Inside it has the same path, and is `/tmp` as well. `None` with
    /// [`crate::Profile::Off`].
    ///
    /// Confined programs can put links there: whoever writes to it from outside creates files anew and follows none.
    pub fn private_temp(&self) -> Option<&Path> {
        self.prepared()
            .confined
            .as_ref()
            .map(PreparedLevel::private_temp)
    }

    /// Says what the confinement refused to a command that failed, for a note to whoever reads its output. `output_tail` is the
    /// end of what it wrote, `decisions` what [`crate::NetworkProxy::decisions_since`] gives for the time in which it ran.
    pub fn explain(
        &self,
        output_tail: &str,
        status: ExitStatus,
        decisions: &[NetworkDecision],
    ) -> Vec<Denial> {
        let confined = self.prepared().confined.as_ref();
        confined.map_or_else(Vec::new, |confined| {
            confined.explain(&self.inner.policy, output_tail, status, decisions)
        })
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

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub(crate) fn confined(&self) -> Option<&PreparedLevel> {
        self.prepared().confined.as_ref()
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
            let report = Sandbox::prepare(policy).map(|sandbox| sandbox.report().clone());
            (level, report)
        })
        .collect()
}
