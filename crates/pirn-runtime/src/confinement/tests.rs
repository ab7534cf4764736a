use pirn_sandbox::{Layer, Level, MissingLayer, NetworkMode, Profile, SandboxReport};

use super::{listed, shortcoming};

#[test]
fn the_default_list_stands_in_the_place_of_its_entry() {
    let entries = ["~/x", "...", "/y"].map(str::to_owned);
    assert_eq!(listed(&entries, &["a", "b"]), ["~/x", "a", "b", "/y"]);
    assert_eq!(listed(&entries[..1], &["a"]), ["~/x"]);
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
