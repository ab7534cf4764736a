//! What is done about confinement for one command, and what there is to say about it afterwards.

use std::path::Path;

use pirn_file::SpillFolder;
use pirn_sandbox::{Child, Command, ExitStatus, Network, NetworkProxy, Profile, Sandbox};
use serde_json::{Value, json};

use crate::options::ToolsOptions;

use super::report::End;

/// The confinement of one command.
pub(super) struct Confinement<'a> {
    sandbox: Option<&'a Sandbox>,
    /// Decisions of the proxy up to this one were made before.
    decisions_before: u64,
}

/// What there is to say about a command's confinement.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The layers in force, for receipts.
    pub(super) sandbox: Option<Value>,
    /// Why something was refused and what would allow it, a line each.
    pub(super) explanations: Vec<String>,
}

impl<'a> Confinement<'a> {
    pub(super) fn of(sandbox: Option<&'a Sandbox>) -> Self {
        Self {
            sandbox,
            decisions_before: proxy_of(sandbox).map_or(0, NetworkProxy::decision_cursor),
        }
    }

    /// The command as it runs, held by the sandbox.
    pub(super) fn apply(&self, command: Command) -> Command {
        match self.sandbox {
            Some(sandbox) => command.sandbox(sandbox),
            None => command,
        }
    }

    /// Where commands can read and write files of a moment.
    pub(super) fn temp_dir<'o>(&'o self, options: &'o ToolsOptions) -> &'o Path {
        self.private_temp().unwrap_or(&options.temp_dir)
    }

    /// Where the whole output is kept: where commands can read it, too.
    pub(super) fn spill(&self, options: &ToolsOptions) -> SpillFolder {
        match self.private_temp() {
            Some(folder) => options.spill.within(folder),
            None => options.spill.clone(),
        }
    }

    fn private_temp(&self) -> Option<&Path> {
        // Where it cannot be prepared, the command does not start either.
        self.sandbox?.private_temp().ok()?
    }

    /// What there is to say after the end. `output` is the end of what the command wrote.
    /// `source` is the command, `folder` where it ran.
    pub(super) fn findings(
        &self,
        output: &[u8],
        (source, folder): (&str, &Path),
        child: &Child,
        end: &End,
    ) -> Findings {
        let Some(sandbox) = self.sandbox else {
            return Findings::default();
        };
        let mut explanations = Vec::new();
        if child.was_out_of_memory() {
            explanations.push(sandbox.explain_out_of_memory("the command"));
        }
        let status = match end {
            End::Exited(status) => Some(*status),
            // A program that waits for a host that it cannot reach is stopped by somebody else.
            End::TimedOut(_) | End::TimedOutInBackground(_) => Some(ExitStatus::Lost),
            End::Aborted => None,
        };
        if let Some(status) = status {
            let decisions = proxy_of(Some(sandbox))
                .map(|proxy| proxy.decisions_since(self.decisions_before))
                .unwrap_or_default();
            let text = String::from_utf8_lossy(output);
            let mut denials = sandbox.explain(&text, status, &decisions);
            for denial in sandbox.explain_source(source, folder) {
                if !denials.iter().any(|known| known.subject == denial.subject) {
                    denials.push(denial);
                }
            }
            explanations.extend(denials.into_iter().map(|denial| denial.sentence));
        }
        explanations.extend(child.set_aside());
        Findings {
            sandbox: summary(sandbox),
            explanations,
        }
    }
}

/// What a model should know beforehand, so that it does not find out by failing.
pub(super) fn guideline(sandbox: &Sandbox) -> Option<String> {
    let policy = sandbox.policy();
    let writable = match policy.profile {
        Profile::Off => return None,
        Profile::ReadOnly => "only a private temporary folder ($TMPDIR)",
        Profile::WorkspaceWrite => "the working directory and a private temporary folder ($TMPDIR)",
    };
    let network = match policy.network {
        Network::On => "",
        Network::AllowList(_) => " They reach allowed hosts only.",
        Network::Off => " They have no network.",
    };
    Some(format!(
        "bash runs commands in a sandbox: they can write {writable}.{network} What was refused is named at the end of the \
         result; do not try to get around it."
    ))
}

/// The proxy that commands reach the network through.
fn proxy_of(sandbox: Option<&Sandbox>) -> Option<&NetworkProxy> {
    match &sandbox?.policy().network {
        Network::AllowList(proxy) => Some(proxy),
        Network::Off | Network::On => None,
    }
}

/// The report without its sentences, which stand in front of every run where they matter.
fn summary(sandbox: &Sandbox) -> Option<Value> {
    let report = sandbox.report().ok()?;
    let mut summary = json!({
        "profile": report.profile,
        "network": report.network,
    });
    if let Some(level) = report.level {
        summary["level"] = json!(level);
    }
    summary["layers"] = json!(report.layers);
    if !report.missing.is_empty() {
        summary["missing"] = report.missing.iter().map(|m| json!(m.layer)).collect();
    }
    Some(summary)
}
