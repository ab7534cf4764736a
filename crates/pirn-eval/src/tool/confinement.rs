//! What confines programs, in words and as effects.

use pirn_sandbox::{NetworkMode, Profile, SandboxReport};
use pirn_tool::Effects;

/// What a program can do by itself in this confinement. `None`: nothing confines it.
pub fn confinement_effects(report: Option<&SandboxReport>) -> Effects {
    let everything = Effects::READ | Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
    // Without a level nothing is in force, whatever was asked for.
    let Some(report) = report.filter(|report| report.level.is_some()) else {
        return everything;
    };
    let mut effects = Effects::READ | Effects::PROCESS;
    match report.profile {
        Profile::Off => return everything,
        Profile::ReadOnly => {}
        Profile::WorkspaceWrite => effects = effects | Effects::WRITE,
    }
    if report.network == NetworkMode::Off {
        effects
    } else {
        effects | Effects::NETWORK
    }
}

/// What confines a program, in one sentence that promises no more than holds.
pub fn confinement_sentence(report: Option<&SandboxReport>) -> String {
    const OPEN: &str = "Programs are not confined: they have all rights of the user.";
    let Some(report) = report else {
        return OPEN.to_owned();
    };
    let (Some(level), true) = (report.level, report.profile != Profile::Off) else {
        return OPEN.to_owned();
    };
    let writes = match report.profile {
        Profile::Off | Profile::ReadOnly => "write only to a private temporary folder",
        Profile::WorkspaceWrite => {
            "write only below the working folder and to a private temporary folder"
        }
    };
    let network = match report.network {
        NetworkMode::Off => "have no network",
        NetworkMode::AllowList => "reach only allowed hosts",
        NetworkMode::On => "can use the network",
    };
    let missing = if report.missing.is_empty() {
        String::new()
    } else {
        let layers: Vec<&str> = report
            .missing
            .iter()
            .map(|missing| missing.layer.as_str())
            .collect();
        format!("; not in force on this machine: {}", layers.join(", "))
    };
    format!(
        "Programs are confined by the operating system (level {}): they can {writes}, cannot read common places of credentials, \
         and {network}{missing}.",
        level.as_str()
    )
}
