//! Machines that give less: made by a namespace around the test in which something is switched off.

use pirn_sandbox::{
    ErrorKind, Layer, Level, LevelChoice, Network, NetworkOptions, NetworkProxy, NetworkRules,
    Sandbox, SandboxReport,
};

use super::Place;

/// The variable that marks a test which runs on such a machine.
const WEAKER: &str = "PIRN_SANDBOX_TEST_WEAKER";

/// Whether this process runs on such a machine. If not, runs the test of this name there, after a preparation.
fn is_weaker(preparation: &str, name: &str) -> bool {
    if std::env::var_os(WEAKER).is_some() {
        return true;
    }
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--pid", "--fork"])
        .args(["--mount-proc", "sh", "-e", "-c"])
        .arg(format!("{preparation}\nexec \"$0\" --exact {name}"))
        .arg(std::env::current_exe().unwrap())
        .env(WEAKER, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{errors}"
    );
    false
}

/// The reason that a report gives for a missing layer.
fn reason(report: &SandboxReport, layer: Layer) -> &str {
    let missing: Vec<&str> = report
        .missing
        .iter()
        .filter(|missing| missing.layer == layer)
        .map(|missing| missing.reason.as_str())
        .collect();
    assert_eq!(missing.len(), 1, "{layer:?} {report:?}");
    missing.first().unwrap()
}

#[tokio::test]
async fn without_user_namespaces_the_weakest_level_is_left() {
    if !is_weaker(
        "echo 0 > /proc/sys/user/max_user_namespaces",
        "confined::weaker::without_user_namespaces_the_weakest_level_is_left",
    ) {
        return;
    }
    let place = Place::new();
    let mut policy = place.policy(Level::Strict);
    policy.require = None;
    policy.level = LevelChoice::Strongest;
    let sandbox = Sandbox::prepare(policy.clone()).unwrap();
    assert_eq!(sandbox.report().unwrap().level, Some(Level::Basic));
    for layer in [Layer::UserNamespace, Layer::PrivateRoot] {
        let reason = reason(sandbox.report().unwrap(), layer);
        assert!(reason.contains("user.max_user_namespaces"), "{reason}");
    }
    place.check(&sandbox, "echo works", "works\n").await;
    policy.require = Some(Level::Standard);
    let error = Sandbox::prepare(policy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Confinement);
    let text = error.to_string();
    assert!(
        text.contains("`standard`") && text.contains("sysctl"),
        "{text}"
    );
}

#[tokio::test]
async fn with_a_masked_proc_there_is_none_inside() {
    if !is_weaker(
        "mount -t tmpfs none /proc/sys",
        "confined::weaker::with_a_masked_proc_there_is_none_inside",
    ) {
        return;
    }
    let place = Place::new();
    let sandbox = place.sandbox(Level::Strict);
    assert!(
        !sandbox
            .report()
            .unwrap()
            .layers
            .contains(&Layer::PrivateProc)
    );
    reason(sandbox.report().unwrap(), Layer::PrivateProc);
    place
        .check(&sandbox, "ls /proc; echo works", "works\n")
        .await;
}

#[tokio::test]
async fn without_network_namespaces_the_network_is_off() {
    if !is_weaker(
        "echo 0 > /proc/sys/user/max_net_namespaces",
        "confined::weaker::without_network_namespaces_the_network_is_off",
    ) {
        return;
    }
    let place = Place::new();
    let proxy = NetworkProxy::new(NetworkRules::default(), NetworkOptions::default());
    for network in [Network::Off, Network::AllowList(proxy)] {
        let mut policy = place.policy(Level::Strict);
        policy.network = network.clone();
        let sandbox = Sandbox::prepare(policy).unwrap();
        let said = reason(sandbox.report().unwrap(), Layer::NetworkNamespace);
        assert!(said.contains("max_net_namespaces"), "{said}");
        if network.as_str() == "allow-list" {
            reason(sandbox.report().unwrap(), Layer::NetworkProxy);
        }
        let script = "python3 -c 'import socket; socket.socket()' 2>&1 | tail -1";
        let refused = "PermissionError: [Errno 1] Operation not permitted\n";
        place.check(&sandbox, script, refused).await;
    }
}
