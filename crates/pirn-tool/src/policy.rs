//! Whether a call may run: rules by effect, tool name and origin.

use serde_json::Value;

use crate::approval::Offer;
use crate::context::Origin;
use crate::tool::{Effects, ToolSpec};

/// What a policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call runs without a question.
    Allow,
    /// Ask a person; with nobody to ask it is denied.
    Ask {
        /// Why, for the question.
        reason: String,
    },
    /// Do not run it.
    Deny {
        /// Why, for the error.
        reason: String,
    },
}

/// A call as a policy sees it: validated, after the hooks.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// What the called tool says about itself.
    pub tool: &'a ToolSpec,
    /// The arguments it would get.
    pub arguments: &'a Value,
    /// Who made the call.
    pub origin: Origin,
}

/// Decides about calls. Must not block.
pub trait Policy: Send + Sync {
    /// Decides about one call.
    fn decide(&self, input: PolicyInput<'_>) -> Decision;

    /// What a person who is asked about a call may answer, and which place the call touches.
    fn offer(&self, input: PolicyInput<'_>) -> Offer {
        Offer::for_tool(input.tool)
    }
}

/// The verdict of a [`Rule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs without a question, if all its effects are allowed.
    Allow,
    /// A person is asked first.
    Ask,
    /// The call does not run, whatever other rules say.
    Deny,
}

/// One row of a [`RulePolicy`]. Every condition that is given must hold.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What happens to a matching call.
    pub verdict: Verdict,
    /// Which effects the rule is about; [`Effects::NONE`] is every tool. To ask about or deny a call, one of them is enough; to
    /// allow it, all of the tool's effects must be allowed, by this rule or by several together.
    pub effects: Effects,
    /// Matches the tool's name; `*` stands for any characters.
    pub name_pattern: Option<String>,
    /// Matches calls of this origin.
    pub origin: Option<Origin>,
}

impl Rule {
    /// A rule for calls with these effects.
    pub fn for_effects(verdict: Verdict, effects: Effects) -> Self {
        Self {
            verdict,
            effects,
            name_pattern: None,
            origin: None,
        }
    }

    /// A rule for tools whose name matches `pattern`.
    pub fn for_name(verdict: Verdict, pattern: impl Into<String>) -> Self {
        Self {
            verdict,
            effects: Effects::NONE,
            name_pattern: Some(pattern.into()),
            origin: None,
        }
    }

    /// Whether name and origin fit.
    fn concerns(&self, input: PolicyInput<'_>) -> bool {
        self.name_pattern
            .as_deref()
            .is_none_or(|pattern| matches_pattern(pattern, &input.tool.name))
            && self.origin.is_none_or(|origin| origin == input.origin)
    }

    /// Whether a rule that asks or denies is about one of the tool's effects.
    fn touches(&self, input: PolicyInput<'_>) -> bool {
        self.concerns(input)
            && (self.effects == Effects::NONE || self.effects.intersects(input.tool.effects))
    }

    fn condition(&self, tool: &ToolSpec) -> String {
        if let Some(pattern) = &self.name_pattern {
            return format!("rule for tools named `{pattern}`");
        }
        let shared: Vec<_> = tool
            .effects
            .names()
            .filter(|name| Effects::from_name(name).is_some_and(|e| self.effects.contains(e)))
            .collect();
        if shared.is_empty() {
            "rule for every tool".into()
        } else {
            format!("effect: {}", shared.join(", "))
        }
    }
}

/// A list of rules. A rule that denies wins over one that asks, and that over those that allow; a call is allowed only if every
/// effect of its tool is allowed. What no rule decides, the default does.
#[derive(Debug, Clone)]
pub struct RulePolicy {
    /// The rules; their order does not count.
    pub rules: Vec<Rule>,
    /// The verdict when no rule matches.
    pub default: Verdict,
}

impl RulePolicy {
    /// A policy without rules, under which every call runs.
    pub fn allow_all() -> Self {
        Self {
            rules: Vec::new(),
            default: Verdict::Allow,
        }
    }
}

impl Policy for RulePolicy {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        let first = |verdict: Verdict| {
            self.rules
                .iter()
                .find(|rule| rule.verdict == verdict && rule.touches(input))
        };
        if let Some(rule) = first(Verdict::Deny) {
            let reason = rule.condition(input.tool);
            return Decision::Deny { reason };
        }
        if let Some(rule) = first(Verdict::Ask) {
            let reason = rule.condition(input.tool);
            return Decision::Ask { reason };
        }
        if self.allows(input) {
            return Decision::Allow;
        }
        let reason = "default of the policy".to_owned();
        match self.default {
            Verdict::Allow => Decision::Allow,
            Verdict::Ask => Decision::Ask { reason },
            Verdict::Deny => Decision::Deny { reason },
        }
    }
}

impl RulePolicy {
    /// Whether the rules that allow cover every effect of the tool together.
    fn allows(&self, input: PolicyInput<'_>) -> bool {
        let mut allowing = self
            .rules
            .iter()
            .filter(|rule| rule.verdict == Verdict::Allow && rule.concerns(input))
            .peekable();
        if allowing.peek().is_none() {
            return false;
        }
        let mut allowed = Effects::NONE;
        for rule in allowing {
            if rule.effects == Effects::NONE {
                return true;
            }
            allowed = allowed | rule.effects;
        }
        allowed.contains(input.tool.effects)
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters, also none.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}
