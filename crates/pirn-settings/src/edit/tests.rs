use std::path::PathBuf;

use super::{ChangeError, SettingKey};
use crate::{HostEnv, Layer, Settings, Source, Trust};

struct Fixture {
    folder: tempfile::TempDir,
    host: HostEnv,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = HostEnv {
            home: Some(folder.path().join("home")),
            pirn_home: Some(folder.path().join("home/.pirn")),
            ..HostEnv::default()
        };
        Self { folder, host }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn file(&self, layer: Layer) -> PathBuf {
        super::settings_file(layer, &self.project(), &self.host).unwrap()
    }

    fn text(&self, layer: Layer) -> String {
        std::fs::read_to_string(self.file(layer)).unwrap_or_default()
    }

    fn write(&self, layer: Layer, text: &str) {
        let file = self.file(layer);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn set(&self, layer: Layer, key: &str, words: &[&str]) -> Result<(), ChangeError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let key = SettingKey::find(key).unwrap();
        let value = key.typed(&words)?;
        key.set(layer, &value, &self.project(), &self.host)?;
        Ok(())
    }
}

#[test]
fn a_change_keeps_what_is_around_it() {
    let fixture = Fixture::new();
    fixture.write(
        Layer::User,
        "{\n  // Careful\n  \"sandbox\": {\n    \"network\": \"off\", // for now\n  },\n}\n",
    );
    fixture
        .set(Layer::User, "sandbox.network", &["on"])
        .unwrap();
    fixture
        .set(Layer::User, "eval.timeoutSeconds", &["60"])
        .unwrap();
    assert_eq!(
        fixture.text(Layer::User),
        "{\n  // Careful\n  \"sandbox\": {\n    \"network\": \"on\", // for now\n  },\n  \"eval\": {\n    \"timeoutSeconds\": 60\n  },\n}\n"
    );
    let key = SettingKey::find("sandbox.network").unwrap();
    let unset = || {
        key.unset(Layer::User, &fixture.project(), &fixture.host)
            .unwrap()
            .1
    };
    assert_eq!((unset(), unset()), (true, false));
    assert!(fixture.text(Layer::User).contains("// Careful"));
    assert!(!fixture.text(Layer::User).contains("network"));
}

#[test]
fn a_wrong_value_is_refused_with_those_allowed() {
    let fixture = Fixture::new();
    let cases: &[(&str, &[&str], &str)] = &[
        (
            "sandbox.network",
            &["offf"],
            "sandbox.network: must be \"off\", \"allow-list\" or \"on\"; did you mean \"off\"?",
        ),
        (
            "eval.timeoutSeconds",
            &["900"],
            "eval.timeoutSeconds: must be a whole number from 1 to 120",
        ),
        (
            "eval.requireConfirmation",
            &["maybe"],
            "eval.requireConfirmation: must be true or false, without quotes",
        ),
        (
            "sandbox.writeRoots",
            &["out"],
            "sandbox.writeRoots: \"out\" must be absolute or begin with ~/",
        ),
        (
            "sandbox.network",
            &["on", "off"],
            "sandbox.network: takes one value",
        ),
        (
            "sandbox.allowedHosts",
            &["[1"],
            "sandbox.allowedHosts: `[1` is not a JSON array",
        ),
    ];
    for (key, words, message) in cases {
        let error = fixture.set(Layer::User, key, words).unwrap_err();
        assert_eq!(error.to_string(), *message);
    }
    assert_eq!(fixture.text(Layer::User), "");
    let meant = |typed| SettingKey::find(typed).unwrap_err().meant;
    assert_eq!(meant("sandbox.netwrok"), Some("sandbox.network"));
    assert_eq!(meant("rememberApprovals"), Some("eval.rememberApprovals"));
    assert_eq!(meant("nothing.like.it"), None);
}

#[test]
fn a_project_is_only_made_stricter() {
    let fixture = Fixture::new();
    fixture
        .set(Layer::Project, "sandbox.network", &["off"])
        .unwrap();
    let before = fixture.text(Layer::Project);
    for (key, word) in [
        ("sandbox.profile", "off"),
        ("eval.python", "./evil"),
        ("defaultProjectTrust", "always"),
        ("sandbox.writeRoots", "/"),
    ] {
        let error = fixture.set(Layer::Project, key, &[word]).unwrap_err();
        assert!(matches!(error, ChangeError::Weaker(_)), "{key}: {error}");
    }
    assert_eq!(fixture.text(Layer::Project), before);
}

#[test]
fn every_value_knows_where_it_comes_from() {
    let fixture = Fixture::new();
    fixture.write(
        Layer::User,
        "{\"sandbox\": {\n\"network\": \"allow-list\",\n\"allowedHosts\": [\"a\", \"b\"], \"deniedHosts\": [\"c\"]}}",
    );
    fixture.write(
        Layer::Project,
        "{\"sandbox\": {\n\"network\": \"on\",\n\"allowedHosts\": [\"b\"],\n\"deniedHosts\": [\"d\"]}}",
    );
    let loaded = Settings::load(&fixture.project(), Trust::Trusted, &fixture.host);
    let from = |key: &str| -> Vec<String> {
        let sources = loaded.value(SettingKey::find(key).unwrap()).sources.iter();
        sources
            .map(|source| match source {
                Source::File { layer, path, line } => {
                    assert_eq!(*path, fixture.file(*layer));
                    format!("{}:{line}", layer.as_str())
                }
                Source::Flag(flag) => flag.clone(),
                Source::Environment(name) => name.clone(),
            })
            .collect()
    };
    // A weaker value of a project changes nothing, also not where a value comes from.
    assert_eq!(from("sandbox.network"), ["user:2"]);
    assert_eq!(from("sandbox.allowedHosts"), ["project:3"]);
    assert_eq!(from("sandbox.deniedHosts"), ["user:3", "project:4"]);
    assert_eq!(from("sandbox.profile"), [""; 0]);
    assert_eq!(loaded.values().count(), SettingKey::all().count());
}
