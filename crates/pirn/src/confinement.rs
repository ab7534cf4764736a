//! Confinement as it is typed and told: flags, and the report for programs.

mod flags;

use pirn_runtime::Confinement;
use pirn_sandbox::NetworkMode;
use serde_json::{Value, json};

pub(crate) use flags::{ConfinementArguments, chosen_network, network_parser};

/// All there is to say about a confinement, for programs.
pub(crate) fn to_json(confinement: &Confinement) -> Value {
    let Some(sandbox) = confinement.sandbox() else {
        let mut value = json!({
            "profile": confinement.profile().as_str(),
            "network": NetworkMode::On.as_str(),
            "layers": [],
        });
        if let Some(reason) = confinement.refusal() {
            value["reason"] = json!(reason);
        }
        return value;
    };
    if !sandbox.is_prepared() {
        return json!({
            "profile": confinement.profile().as_str(),
            "network": sandbox.policy().network.as_str(),
            "prepared": false,
            "layers": [],
        });
    }
    let mut value = json!(sandbox.report());
    if let Some(reason) = sandbox.refusal() {
        value["reason"] = json!(reason);
    }
    if let Some(decisions) = confinement.network_decisions() {
        value["decisions"] = json!(decisions);
    }
    value
}

#[cfg(test)]
mod tests;
