//! The effects of what a program may call, for receipts.

use std::collections::BTreeMap;

use crate::request::EvalRequest;

/// The effect of names that nothing has.
const UNKNOWN: &str = "unknown";

/// The names of effects, by what a program may call.
pub(super) struct EffectNames(BTreeMap<String, Vec<String>>);

impl EffectNames {
    /// Those of one eval.
    pub(super) fn new(request: &EvalRequest) -> Self {
        let capabilities = request.capabilities.iter();
        Self(
            capabilities
                .map(|capability| {
                    let effects = capability.effects.names().map(str::to_owned).collect();
                    (capability.name.clone(), effects)
                })
                .collect(),
        )
    }

    /// Those of a name, whether anything has it or not.
    pub(super) fn of(&self, name: &str) -> Vec<String> {
        self.0
            .get(name)
            .cloned()
            .unwrap_or_else(|| vec![UNKNOWN.to_owned()])
    }
}
