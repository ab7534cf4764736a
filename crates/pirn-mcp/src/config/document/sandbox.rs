//! `sandbox` of an entry.

use pirn_jsonc::{Node, Tree};
use pirn_sandbox::{HostRule, NetworkMode, Profile};

use super::fields::Fields;
use crate::config::SandboxEntry;
use crate::config::keys::{NETWORKS, PROFILES, SANDBOX_KEYS};

const PREFIX: &str = "sandbox.";

/// Reads it. `None` where there is none, or where it is wrong.
pub(super) fn read(fields: &mut Fields<'_>, server: &Node) -> Option<SandboxEntry> {
    let node = server.get("sandbox")?;
    match node.value {
        Tree::Bool(true) => return Some(SandboxEntry::default()),
        Tree::Bool(false) => return None,
        Tree::Object(_) => {}
        Tree::Null | Tree::Number(_) | Tree::Text(_) | Tree::List(_) => {
            let message = "must be true, false, or an object with \"profile\" and \"network\"";
            fields.error(node.line, "sandbox", message);
            return None;
        }
    }
    fields.check_names(node, SANDBOX_KEYS, PREFIX);
    let defaults = SandboxEntry::default();
    let profile = |word: &str| Profile::from_name(word).filter(|found| *found != Profile::Off);
    let profile = fields.choice(node, (PREFIX, "profile"), PROFILES, profile);
    let network = fields.choice(node, (PREFIX, "network"), NETWORKS, NetworkMode::from_name);
    let network = network.unwrap_or(defaults.network);
    let allowed_hosts = hosts(fields, node);
    if network != NetworkMode::AllowList && !allowed_hosts.is_empty() {
        let line = node.get("allowedHosts").map_or(node.line, |node| node.line);
        let message = "is ignored: it has a meaning only where network is \"allow-list\"";
        fields.note(line, "sandbox.allowedHosts", message);
    }
    Some(SandboxEntry {
        profile: profile.unwrap_or(defaults.profile),
        network,
        write_roots: fields.texts(node, PREFIX, "writeRoots"),
        read_roots: node
            .get("readRoots")
            .map(|_| fields.texts(node, PREFIX, "readRoots")),
        allowed_hosts,
    })
}

fn hosts(fields: &mut Fields<'_>, node: &Node) -> Vec<HostRule> {
    let line = node.get("allowedHosts").map_or(node.line, |node| node.line);
    let mut hosts = Vec::new();
    for text in fields.texts(node, PREFIX, "allowedHosts") {
        match text.parse::<HostRule>() {
            Ok(host) => hosts.push(host),
            Err(error) => fields.error(line, "sandbox.allowedHosts", error.to_string()),
        }
    }
    hosts
}
