//! How well commands can be confined here.

use std::path::Path;

use pirn_runtime::policy_spec;
use pirn_sandbox::{Error, Level, Limits, Network, SandboxReport, levels_here};
use serde_json::{Value, json};

use super::Report;
use crate::event_loop;
use crate::invocation::Invocation;
use pirn_settings::SandboxSettings;

/// A bound that needs everything that bounds on memory need.
const MEMORY_BYTES: u64 = 1 << 30;

/// What each level would come to on this machine.
pub(super) fn levels(invocation: &Invocation) -> Report {
    let settings = SandboxSettings::default();
    // A folder of no importance: what is found depends on the machine alone.
    let Ok(folder) = tempfile::tempdir_in(&invocation.host.temp_dir) else {
        return Report::lacking(
            "cannot be tried out: there is no place for temporary files",
            "see the line about the temporary folder",
        );
    };
    let Ok(policy) = policy_spec(&settings, folder.path(), &invocation.host) else {
        return Report::lacking(
            "cannot be tried out",
            "the default settings are not a valid policy",
        );
    };
    let mut policy = policy.with_network(Network::Off);
    policy.limits = Limits {
        memory_bytes: Some(MEMORY_BYTES),
        ..policy.limits
    };
    policy.home = policy.home.filter(|home| home != Path::new("/"));
    let Ok(runtime) = event_loop::on_main_thread() else {
        return Report::lacking("cannot be tried out", "the event loop cannot start");
    };
    let _entered = runtime.enter();
    report(&levels_here(&policy))
}

fn report(levels: &[(Level, Result<SandboxReport, Error>)]) -> Report {
    let strongest = levels.iter().rev().find(|(_, result)| result.is_ok());
    let mut found = match strongest {
        Some((Level::Strict, Ok(report))) if report.missing.is_empty() => {
            Report::good("commands are confined at the strongest level, strict")
        }
        Some((level, Ok(report))) => {
            let remedy = report
                .missing
                .iter()
                .find_map(|missing| missing.remedy.clone())
                .unwrap_or_else(|| "none is known".to_owned());
            Report::lacking(
                format!(
                    "commands are confined at the level {}, with less than there could be",
                    level.as_str()
                ),
                remedy,
            )
        }
        Some((_, Err(_))) | None => Report::lacking(
            "commands cannot be confined",
            "see below; `--sandbox off` and the setting sandbox.profile run them without",
        ),
    };
    found.lines = levels.iter().rev().flat_map(lines).collect();
    found.data = Some(("levels", levels.iter().rev().map(row).collect()));
    found
}

fn lines((level, result): &(Level, Result<SandboxReport, Error>)) -> Vec<String> {
    let level = level.as_str();
    match result {
        Ok(report) => {
            let layers: Vec<&str> = report.layers.iter().map(|layer| layer.as_str()).collect();
            let mut lines = vec![format!("{level:<8}  {}", layers.join(", "))];
            for missing in &report.missing {
                lines.push(format!(
                    "          without {}: {}",
                    missing.layer.as_str(),
                    missing.reason
                ));
                if let Some(remedy) = &missing.remedy {
                    lines.push(format!("            remedy: {remedy}"));
                }
            }
            lines
        }
        Err(error) => vec![format!("{level:<8}  not here: {error}")],
    }
}

fn row((level, result): &(Level, Result<SandboxReport, Error>)) -> Value {
    match result {
        Ok(report) => json!({
            "level": level.as_str(),
            "available": true,
            "layers": report.layers,
            "missing": report.missing,
        }),
        Err(error) => json!({
            "level": level.as_str(),
            "available": false,
            "reason": error.to_string(),
        }),
    }
}
