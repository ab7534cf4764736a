use pirn_sandbox::{Layer, Level, MissingLayer, NetworkMode, Profile, SandboxReport};
use pirn_settings::SandboxSettings;

use super::{shortcoming, unreadable};

#[test]
fn the_default_list_covers_a_folder_elsewhere() {
    let home = std::path::PathBuf::from("/srv/pirn");
    let listed = unreadable(&SandboxSettings::default(), Some(&home));
    assert!(
        listed
            .iter()
            .any(|entry| entry == "/srv/pirn/mcp-auth.json"),
        "{listed:?}"
    );
    assert!(listed.iter().any(|entry| entry == "~/.ssh"), "{listed:?}");
    let settings = SandboxSettings {
        unreadable: vec!["~/x".to_owned()],
        ..SandboxSettings::default()
    };
    assert_eq!(unreadable(&settings, Some(&home)), ["~/x"]);
}

#[test]
fn what_is_missing_is_told_once() {
    let missing = |layer| MissingLayer {
        layer,
        reason: "The kernel forbids it.".to_owned(),
        remedy: Some("allow it".to_owned()),
    };
    let report = |level, layers: &[Layer]| SandboxReport {
        profile: Profile::WorkspaceWrite,
        network: NetworkMode::On,
        level,
        layers: Vec::new(),
        missing: layers.iter().copied().map(missing).collect(),
    };
    let cases = [
        (report(Some(Level::Strict), &[]), None),
        (report(Some(Level::Strict), &[Layer::CgroupMemory]), None),
        (
            report(
                Some(Level::Basic),
                &[
                    Layer::UserNamespace,
                    Layer::CgroupMemory,
                    Layer::PrivateRoot,
                ],
            ),
            Some(
                "commands are confined at the level basic, without user-namespace, private-root: The kernel forbids it; allow it; \
                 `pirn doctor` tells more",
            ),
        ),
    ];
    for (report, expected) in cases {
        assert_eq!(shortcoming(&report).as_deref(), expected);
    }
}
