use pirn_sandbox::{NetworkMode, Profile};

use super::ConfinementArguments;
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
