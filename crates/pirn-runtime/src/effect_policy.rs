//! A policy by effects: what is allowed without a question, what is denied, and what becomes of the rest.

use pirn_tool::{Containment, Decision, Effects, Policy, PolicyInput, ToolSpec};

/// What becomes of a call with an effect that is neither allowed nor denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Otherwise {
    /// A person is asked.
    Ask,
    /// It is denied, with these words.
    Deny {
        /// Why, as the end of a sentence.
        because: String,
        /// The flag or setting that allows effects, such as `--yes`, where there is one.
        allowed_by: Option<String>,
    },
}

impl Otherwise {
    /// Denies it, because of this.
    pub fn deny(because: impl Into<String>) -> Self {
        Self::Deny {
            because: because.into(),
            allowed_by: None,
        }
    }
}

/// Decides by the effects of a tool. A call runs without a question only if all of its effects are allowed, and it is denied if
/// any of them is. Allowing processes allows those that Pirn confines: a tool whose processes nothing holds, such as one of a
/// server without a sandbox, is allowed only where everything is.
#[derive(Debug, Clone)]
pub struct EffectPolicy {
    allowed: Effects,
    denied: Effects,
    denied_by: String,
    otherwise: Otherwise,
}

impl EffectPolicy {
    /// Allows reading and `allowed`; a process can write and reach the network, so allowing it allows both.
    pub fn new(allowed: Effects, otherwise: Otherwise) -> Self {
        let implied = if allowed.contains(Effects::PROCESS) {
            Effects::WRITE | Effects::NETWORK
        } else {
            Effects::NONE
        };
        Self {
            allowed: allowed | Effects::READ | implied,
            denied: Effects::NONE,
            denied_by: String::new(),
            otherwise,
        }
    }

    /// Denies tools with any of these effects, whatever else is allowed; `by` names the flag or setting that says so.
    #[must_use]
    pub fn deny(mut self, denied: Effects, by: impl Into<String>) -> Self {
        self.denied = denied;
        self.denied_by = by.into();
        self
    }
}

impl EffectPolicy {
    /// Whether a person is asked about what is neither allowed nor denied.
    pub(crate) fn asks(&self) -> bool {
        self.otherwise == Otherwise::Ask
    }

    /// Whether these effects are allowed.
    pub(crate) fn allows(&self, effects: Effects) -> bool {
        self.allowed.contains(effects)
    }

    /// Whether one of these effects is denied, whatever else is allowed.
    pub(crate) fn denies(&self, effects: Effects) -> bool {
        only(effects, |effect| self.denied.contains(effect)) != Effects::NONE
    }

    /// The effects of a tool that are not allowed.
    fn open(&self, tool: &ToolSpec) -> Effects {
        let everything = only_of(|_| true);
        let covers_processes = match tool.containment {
            Containment::Held => true,
            Containment::Free => self.allowed.contains(everything),
        };
        only(tool.effects, |effect| {
            !self.allowed.contains(effect) || (effect == Effects::PROCESS && !covers_processes)
        })
    }
}

impl Policy for EffectPolicy {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        let effects = input.tool.effects;
        let denied = only(effects, |effect| self.denied.contains(effect));
        if denied != Effects::NONE {
            return Decision::Deny {
                reason: format!(
                    "effect: {}; {} rules it out",
                    denied.listed(),
                    self.denied_by
                ),
            };
        }
        let open = self.open(input.tool);
        if open == Effects::NONE {
            return Decision::Allow;
        }
        let names = open.listed();
        match &self.otherwise {
            Otherwise::Ask => Decision::Ask {
                reason: format!("effect: {names}; not allowed by the user"),
            },
            Otherwise::Deny {
                because,
                allowed_by,
            } => Decision::Deny {
                reason: match allowed_by {
                    Some(flag)
                        if input.tool.containment == Containment::Free
                            && open.contains(Effects::PROCESS) =>
                    {
                        format!(
                            "effect: {names}; {because}, and nothing confines the tool: {flag} without effects allows it, or \
                             \"sandbox\", \"effects\" or \"trustAnnotations\" in the server's entry of mcp.json"
                        )
                    }
                    Some(flag) => format!(
                        "effect: {names}; {because}, {flag}={} allows it",
                        fewest_names(open)
                    ),
                    None => format!("effect: {names}; {because}"),
                },
            },
        }
    }
}

/// The effects for which `condition` holds.
fn only(effects: Effects, condition: impl Fn(Effects) -> bool) -> Effects {
    only_of(|effect| effects.contains(effect) && condition(effect))
}

/// Of all effects those for which `condition` holds.
fn only_of(condition: impl Fn(Effects) -> bool) -> Effects {
    Effects::ALL
        .into_iter()
        .filter(|(effect, _)| condition(*effect))
        .fold(Effects::NONE, |sum, (effect, _)| sum | effect)
}

/// The effects that allow all of these, in as few words as possible.
fn fewest_names(effects: Effects) -> String {
    let is_process = effects.contains(Effects::PROCESS);
    let named = only(effects, |effect| {
        !is_process || !(Effects::WRITE | Effects::NETWORK).contains(effect)
    });
    named.names().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
