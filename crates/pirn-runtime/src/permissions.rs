//! What the user allowed and denied beforehand, and the policies that follow from it.

use std::path::PathBuf;

use pirn_sandbox::{NetworkMode, Profile};
use pirn_settings::SandboxSettings;
use pirn_tool::Effects;

use crate::agent_policy::{AgentPolicy, Commands};
use crate::effect_policy::{EffectPolicy, Otherwise};

/// What the user allowed and denied beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Effects that are allowed without a question.
    pub allowed: Effects,
    /// Effects that are denied, whatever else is allowed: the flag `--deny`.
    pub denied: Effects,
    /// Patterns of tools that a model may call, whatever they do: the flag `--allow-tool`.
    pub tools: Vec<String>,
    /// What can be allowed at all.
    pub reach: Reach,
}

/// What can be allowed at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Each effect, where the user allows it.
    #[default]
    Everything,
    /// Reading alone: the flag `--read-only`.
    Reading,
}

impl Permissions {
    /// Decides by effects; `otherwise` says what becomes of what is neither allowed nor denied.
    pub fn policy(&self, otherwise: Otherwise) -> EffectPolicy {
        match self.reach {
            Reach::Everything => {
                EffectPolicy::new(self.allowed, otherwise).deny(self.denied, "--deny")
            }
            Reach::Reading => {
                let changing = Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
                let otherwise = Otherwise::deny("--read-only allows reading only");
                EffectPolicy::new(Effects::NONE, otherwise).deny(changing, "--read-only")
            }
        }
    }

    /// Decides about the calls of a model that works in `folder`, with commands that are confined as `sandbox` says.
    pub fn agent_policy(
        &self,
        otherwise: Otherwise,
        folder: impl Into<PathBuf>,
        sandbox: &SandboxSettings,
    ) -> AgentPolicy {
        let holds = sandbox.profile != Profile::Off && sandbox.network != NetworkMode::On;
        AgentPolicy::new(self.policy(otherwise), folder)
            .write_roots(&sandbox.write_roots)
            .allow_tools(self.tools.clone())
            .commands(if holds {
                Commands::Confined
            } else {
                Commands::Unconfined
            })
    }

    /// Allows everything: for what the user does, and no model.
    pub fn of_user() -> EffectPolicy {
        let everything = Effects::ALL
            .into_iter()
            .fold(Effects::NONE, |sum, (effect, _)| sum | effect);
        EffectPolicy::new(everything, Otherwise::Ask)
    }
}
