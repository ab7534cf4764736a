//! Reading a [`SandboxReport`] that a broker has written.

use pirn_sandbox::{Layer, Level, MissingLayer, Network, Profile, SandboxReport};
use serde_json::Value;

/// Every layer a report can name.
const LAYERS: [Layer; 20] = [
    Layer::UserNamespace,
    Layer::MountNamespace,
    Layer::PrivateRoot,
    Layer::ProcessNamespace,
    Layer::PrivateProc,
    Layer::NetworkNamespace,
    Layer::IpcNamespace,
    Layer::HostNameNamespace,
    Layer::LandlockFiles,
    Layer::LandlockScopes,
    Layer::Seccomp,
    Layer::ResourceLimits,
    Layer::CgroupMemory,
    Layer::CgroupProcesses,
    Layer::NoNewPrivileges,
    Layer::ProtectedPaths,
    Layer::UnreadablePaths,
    Layer::NetworkProxy,
    Layer::Seatbelt,
    Layer::JobObject,
];

/// Reads a report from its JSON; `None` where it is none.
pub(super) fn read_report(json: &Value) -> Option<SandboxReport> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let list = |name: &str| json.get(name).and_then(Value::as_array);
    Some(SandboxReport {
        profile: Profile::from_name(json.get("profile")?.as_str()?)?,
        network: match json.get("network")?.as_str()? {
            "off" => Network::Off.as_str(),
            "on" => Network::On.as_str(),
            _ => "allow-list",
        },
        level: text(json, "level").and_then(|name| Level::from_name(&name)),
        layers: list("layers")?.iter().filter_map(read_layer).collect(),
        missing: list("missing")
            .into_iter()
            .flatten()
            .filter_map(|missing| {
                Some(MissingLayer {
                    layer: read_layer(missing.get("layer")?)?,
                    reason: text(missing, "reason")?,
                    remedy: text(missing, "remedy"),
                })
            })
            .collect(),
    })
}

fn read_layer(name: &Value) -> Option<Layer> {
    LAYERS
        .into_iter()
        .find(|layer| Some(layer.as_str()) == name.as_str())
}
