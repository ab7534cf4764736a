use pirn_settings::{FlagValues, HostEnv, Settings, Trust};

use super::ConfinementArguments;

fn flags(line: &str) -> Result<ConfinementArguments, clap::Error> {
    use clap::{Args as _, FromArgMatches as _};
    let command = ConfinementArguments::augment_args(clap::Command::new("pirn"));
    let matches =
        command.try_get_matches_from(std::iter::once("pirn").chain(line.split_whitespace()))?;
    ConfinementArguments::from_arg_matches(&matches)
}

/// What counts with a user's file and these flags.
fn effective(file: &str, line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.json"), file).unwrap();
    let host = HostEnv {
        pirn_home: Some(folder.path().to_owned()),
        ..HostEnv::default()
    };
    let mut given = FlagValues::default();
    if flags(line).unwrap().add_to(&mut given).is_err() {
        return "usage".to_owned();
    }
    let project = "/srv/project".as_ref();
    let loaded = Settings::load_with_flags(project, Trust::Untrusted, &host, &given);
    if let Some(problem) = loaded.error() {
        return problem.to_string();
    }
    let sandbox = &loaded.settings.sandbox;
    format!(
        "{} {} [{}]",
        sandbox.profile.as_str(),
        sandbox.network.as_str(),
        sandbox.allowed_hosts.join(" ")
    )
}

#[test]
fn flags_win_over_settings() {
    let off = r#"{"sandbox": {"profile": "off"}}"#;
    let listed = r#"{"sandbox": {"network": "allow-list", "allowedHosts": ["a"]}}"#;
    for (file, line, expected) in [
        ("", "", "workspace-write on []"),
        ("", "--sandbox read-only --network off", "read-only off []"),
        (
            "",
            "--allow-host b,*.c:80",
            "workspace-write allow-list [b *.c:80]",
        ),
        (listed, "--allow-host b", "workspace-write allow-list [a b]"),
        (listed, "--network on", "workspace-write on [a]"),
        ("", "--network on --allow-host b", "usage"),
        (
            "",
            "--sandbox off --allow-host b",
            "--allow-host: sandbox.network: allow-list needs a sandbox, and it is off (flag --sandbox); give --sandbox \
             workspace-write or --sandbox read-only",
        ),
        (off, "--network off --sandbox read-only", "read-only off []"),
        (off, "", "off on []"),
    ] {
        assert_eq!(effective(file, line), expected, "{line}");
    }
    for line in [
        "--sandbox none",
        "--network maybe",
        "--allow-host http://a/",
    ] {
        assert!(flags(line).is_err(), "{line}");
    }
}
