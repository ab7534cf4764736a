use super::*;
use crate::config_value::ConfigSource;

fn file(content: &str, mode: u32) -> (tempfile::TempDir, AuthFile) {
    let folder = tempfile::tempdir().unwrap();
    let file = AuthFile::new(folder.path());
    std::fs::write(file.path(), content).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(file.path(), permissions).unwrap();
    }
    (folder, file)
}

#[test]
fn keys_and_foreign_sign_ins_are_told_apart() {
    let content = r#"{
        // by hand
        "a": {"type": "api_key", "key": "s3cret"},
        "b": {"type": "oauth", "access": "t0ken"},
        "c": {"type": "api_key", "key": "$C_KEY", "env": {"C_KEY": "1"}},
    }"#;
    let (_folder, file) = file(content, 0o600);
    let entries = file.read().unwrap();
    let shown = format!("{entries:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("t0ken"),
        "{shown}"
    );
    assert!(
        matches!(&entries["a"], AuthEntry::ApiKey { key, .. } if key.source() == ConfigSource::Literal)
    );
    assert!(matches!(&entries["b"], AuthEntry::SignIn));
    assert!(
        matches!(&entries["c"], AuthEntry::ApiKey { variables, .. } if variables["C_KEY"] == "1")
    );
}

#[test]
fn what_is_wrong_is_named_and_no_key_is_shown() {
    let cases = [
        ("[]", "must hold an object of providers"),
        ("{\"a\": 1}", "a: `type` must be \"api_key\" or \"oauth\""),
        ("{\"a\": {\"type\": \"api_key\"}}", "a has no `key`"),
        (
            "{\"a\": {\"type\": \"api_key\", \"key\": \" \"}}",
            "a has no `key`",
        ),
        (
            "{\"a\": {\"type\": \"api_key\", \"key\": \"s3cret\", \"env\": {\"X\": 1}}}",
            "a: `env` must hold texts by their names",
        ),
    ];
    for (content, expected) in cases {
        let (_folder, file) = file(content, 0o600);
        let error = file.read().unwrap_err().to_string();
        assert_eq!(error, format!("{} {expected}", file.path().display()));
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_use_is_refused() {
    for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
        let (_folder, file) = file(r#"{"a": {"type": "api_key", "key": "s3cret"}}"#, mode);
        let error = file.read().unwrap_err();
        assert!(
            error.to_string().contains(&format!("(mode {mode:o})")),
            "{error}"
        );
        assert!(error.hint().unwrap().starts_with("`chmod 600 "));
        assert!(file.store("b", "k").is_err(), "nothing is added to it");
        assert_eq!(
            std::fs::read_to_string(file.path()).unwrap(),
            r#"{"a": {"type": "api_key", "key": "s3cret"}}"#
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_judged_by_the_file_it_leads_to() {
    let (folder, file) = file(r#"{"a": {"type": "api_key", "key": "k"}}"#, 0o644);
    let linked = folder.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(file.path(), linked.join("auth.json")).unwrap();
    let error = AuthFile::new(&linked).read().unwrap_err();
    assert!(error.to_string().contains("(mode 644)"), "{error}");
}

#[test]
fn keys_are_kept_and_taken_out_with_all_else_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = AuthFile::new(&folder.path().join("new/.pirn"));
    assert!(file.read().unwrap().is_empty());
    file.store("groq", "k1").unwrap();
    file.store("groq", "k2").unwrap();
    std::fs::write(
        file.path(),
        std::fs::read_to_string(file.path())
            .unwrap()
            .replace('{', "{ // mine\n"),
    )
    .unwrap();
    file.store("xai", "k3").unwrap();
    assert_eq!(file.read().unwrap().len(), 2);
    assert!(file.remove("groq").unwrap());
    assert!(!file.remove("groq").unwrap());
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(
        text.contains("// mine") && text.contains("k3") && !text.contains("k2"),
        "{text}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(file.path()), 0o600);
        assert_eq!(mode(file.path().parent().unwrap()), 0o700);
    }
}

#[test]
fn processes_that_store_at_the_same_time_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = AuthFile::new(folder.path());
    std::thread::scope(|scope| {
        for index in 0..8 {
            let file = &file;
            scope.spawn(move || file.store(&format!("p{index}"), "k").unwrap());
        }
    });
    assert_eq!(file.read().unwrap().len(), 8);
}
