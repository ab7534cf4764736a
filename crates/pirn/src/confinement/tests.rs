use pirn_sandbox::{Layer, Level, MissingLayer, NetworkMode, Profile, SandboxReport};

use super::{ConfinementArguments, shortcoming, unreadable};
use pirn_settings::SandboxSettings;

fn flags(line: &str) -> Result<ConfinementArguments, clap::Error> {
    use clap::{Args as _, FromArgMatches as _};
    let command = ConfinementArguments::augment_args(clap::Command::new("pirn"));
    let matches =
        command.try_get_matches_from(std::iter::once("pirn").chain(line.split_whitespace()))?;
    ConfinementArguments::from_arg_matches(&matches)
}

#[test]
fn flags_win_over_settings() {
    let off = SandboxSettings {
        profile: Profile::Off,
        ..SandboxSettings::default()
    };
    let listed = SandboxSettings {
        network: NetworkMode::AllowList,
        allowed_hosts: vec!["a".to_owned()],
        ..SandboxSettings::default()
    };
    for (settings, line, expected) in [
        (SandboxSettings::default(), "", "workspace-write on []"),
        (
            SandboxSettings::default(),
            "--sandbox read-only --network off",
            "read-only off []",
        ),
        (
            SandboxSettings::default(),
            "--allow-host b,*.c:80",
            "workspace-write allow-list [b *.c:80]",
        ),
        (
            listed.clone(),
            "--allow-host b",
            "workspace-write allow-list [a b]",
        ),
        (listed, "--network on", "workspace-write on [a]"),
        (
            SandboxSettings::default(),
            "--network on --allow-host b",
            "error",
        ),
        (off.clone(), "--network off", "error"),
        (
            off.clone(),
            "--network off --sandbox read-only",
            "read-only off []",
        ),
        (off, "", "off on []"),
    ] {
        let mut settings = settings;
        let found = match flags(line).unwrap().apply(&mut settings) {
            Ok(()) => format!(
                "{} {} [{}]",
                settings.profile.as_str(),
                settings.network.as_str(),
                settings.allowed_hosts.join(" ")
            ),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(found, expected, "{line}");
    }
    for line in [
        "--sandbox none",
        "--network maybe",
        "--allow-host http://a/",
    ] {
        assert!(flags(line).is_err(), "{line}");
    }
}

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
        network: "on",
        level,
        layers: Vec::new(),
        missing: layers.iter().copied().map(missing).collect(),
    };
    let cases = [
        (report(Some(Level::Min), &[]), None),
        (report(Some(Level::Min), &[Layer::CgroupMemory]), None),
        (
            report(
                Some(Level::Lite),
                &[
                    Layer::UserNamespace,
                    Layer::CgroupMemory,
                    Layer::PrivateRoot,
                ],
            ),
            Some(
                "commands are confined at the level lite, without user-namespace, private-root: The kernel forbids it; allow it; \
                 `pirn doctor` tells more",
            ),
        ),
    ];
    for (report, expected) in cases {
        assert_eq!(shortcoming(&report).as_deref(), expected);
    }
}
