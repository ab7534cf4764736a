//! Confinement as it is typed and told: flags, and the report for programs.

mod flags;

use pirn_runtime::Confinement;
use pirn_sandbox::NetworkMode;
use serde_json::{Value, json};

pub(crate) use flags::{ConfinementArguments, chosen_network, network_flags, network_parser};

/// All there is to say about a confinement, for programs.
pub(crate) fn to_json(confinement: &Confinement) -> Value {
    let Some(sandbox) = confinement.sandbox() else {
        return json!({
            "profile": confinement.profile().as_str(),
            "network": NetworkMode::On.as_str(),
            "layers": [],
        });
    };
    let report = sandbox
        .is_prepared()
        .then(|| sandbox.report().ok())
        .flatten();
    let Some(report) = report else {
        return json!({
            "profile": confinement.profile().as_str(),
            "network": sandbox.policy().network.as_str(),
            "prepared": false,
            "layers": [],
        });
    };
    let mut value = json!(report);
    if let Some(decisions) = confinement.network_decisions() {
        value["decisions"] = json!(decisions);
    }
    value
}

#[cfg(test)]
mod tests;
