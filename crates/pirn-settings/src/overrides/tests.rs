use super::FlagValues;
use crate::{HostEnv, Loaded, Place, Settings, Source, Trust};

/// What counts with this file of the user's, `PIRN_SHELL`, and these flags.
fn loaded(file: &str, shell: &str, flags: &FlagValues) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.json"), file).unwrap();
    let host = HostEnv {
        pirn_home: Some(folder.path().to_owned()),
        environment: vec![("PIRN_SHELL".into(), shell.into())],
        ..HostEnv::default()
    };
    Settings::load_with_flags("/srv/project".as_ref(), Trust::Untrusted, &host, flags)
}

fn said(loaded: &Loaded) -> Vec<String> {
    let problems = loaded.problems.iter();
    problems
        .map(|problem| format!("{} {problem}", problem.severity.as_str()))
        .collect()
}

#[test]
fn flags_win_over_variables_and_these_over_files() {
    let file =
        r#"{"bash": {"shell": "/bin/dash"}, "sandbox": {"network": "off", "allowedHosts": ["a"]}}"#;
    let plain = loaded(file, "", &FlagValues::default());
    assert_eq!(plain.settings.bash.shell.as_deref(), Some("/bin/dash"));
    let mut flags = FlagValues::default();
    flags
        .set("--network", "sandbox.network", Some("allow-list"))
        .set("--allow-host", "sandbox.allowedHosts", Some(vec!["b", "a"]))
        .set("--memory-mb", "codemode.memoryMb", None::<u64>);
    let loaded = loaded(file, "zsh", &flags);
    assert_eq!(said(&loaded), [""; 0]);
    assert_eq!(loaded.settings.bash.shell.as_deref(), Some("zsh"));
    assert_eq!(
        loaded.sources.of("bash.shell"),
        [Source::Environment("PIRN_SHELL".to_owned())]
    );
    assert_eq!(
        loaded.sources.of("sandbox.network"),
        [Source::Flag("--network".to_owned())]
    );
    assert_eq!(loaded.settings.sandbox.allowed_hosts, ["a", "b"]);
    let sources = loaded.sources.of("sandbox.allowedHosts");
    assert!(
        matches!(sources, [Source::File { line: 1, .. }, Source::Flag(flag)] if flag == "--allow-host"),
        "{sources:?}"
    );
    assert_eq!(loaded.sources.of("codemode.memoryMb"), []);
}

#[test]
fn problems_name_the_flag_or_the_variable() {
    let mut flags = FlagValues::default();
    flags
        .set("--memory-mb", "codemode.memoryMb", Some(1_u64))
        .set("--network", "sandbox.network", Some("onn"));
    assert_eq!(
        said(&loaded("", " ", &flags)),
        [
            "error PIRN_SHELL: bash.shell: must be a path or a name",
            "error --memory-mb: codemode.memoryMb: must be a whole number from 8 to 2048",
            "error --network: sandbox.network: must be \"off\", \"allow-list\" or \"on\"; did you mean \"on\"?",
        ]
    );
}

#[test]
fn a_network_needs_a_sandbox() {
    let file = r#"{"sandbox": {"profile": "off", "network": "off"}}"#;
    assert_eq!(
        said(&loaded(file, "", &FlagValues::default())).len(),
        1,
        "a note of the file"
    );
    let mut flags = FlagValues::default();
    flags.set("--network", "sandbox.network", Some("off"));
    let loaded = loaded(file, "", &flags);
    let problem = loaded.error().unwrap();
    assert_eq!(problem.place, Place::Flag("--network".to_owned()));
    assert!(
        problem
            .message
            .contains("needs a sandbox, and it is off (user /"),
        "{}",
        problem.message
    );
}
