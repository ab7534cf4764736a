//! A policy that is sent arrives as it was.

use std::path::PathBuf;
use std::time::Duration;

use super::PolicySpec;
use crate::mode::NetworkMode;
use crate::network::NetworkRules;
use crate::policy::{Level, LevelChoice, Limits, Profile, Protection, Readable};

/// A name that is not UTF-8, where there can be one.
fn odd_path() -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        PathBuf::from(std::ffi::OsString::from_vec(b"/srv/\xff".to_vec()))
    }
    #[cfg(not(unix))]
    PathBuf::from("/srv/odd")
}

#[test]
fn every_field_survives_the_way() {
    let plain = PolicySpec::new("/srv/work", "/tmp");
    let full = PolicySpec {
        profile: Profile::ReadOnly,
        network: NetworkMode::AllowList,
        network_rules: NetworkRules {
            allow: vec!["*.example.com:443".parse().unwrap(), "*".parse().unwrap()],
            deny: vec!["[2001:db8::7]:80".parse().unwrap()],
        },
        private_networks: true,
        working_folder: odd_path(),
        write_roots: vec![odd_path(), "/var/cache".into()],
        readable: Readable::Only(vec![odd_path()]),
        unreadable: vec!["~/.ssh".to_owned()],
        home: Some(odd_path()),
        protection: Protection {
            unwritable: vec!["**/x".to_owned()],
            home_readable: Vec::new(),
            pirn_home: Some(odd_path()),
            pirn_home_readable: vec![odd_path()],
            files_max: 1,
            places_max: u64::MAX,
        },
        temp_dir: odd_path(),
        limits: Limits {
            memory_bytes: Some(u64::MAX),
            processes: None,
            file_bytes: Some(1),
            open_files: Some(2),
            cpu: Some(Duration::from_millis(1_500)),
        },
        level: LevelChoice::AtMost(Level::Standard),
        require: Some(Level::Basic),
    };
    for spec in [plain, full] {
        let json = serde_json::to_string(&spec).unwrap();
        let read: PolicySpec = serde_json::from_str(&json).unwrap();
        assert_eq!(read, spec, "{json}");
    }
}

#[test]
fn names_that_nothing_has_are_refused() {
    let json = serde_json::to_value(PolicySpec::new("/srv", "/tmp")).unwrap();
    for (field, value) in [
        ("profile", "write-everything"),
        ("network", "some"),
        ("require", "strongest"),
    ] {
        let mut json = json.clone();
        json[field] = value.into();
        let error = serde_json::from_value::<PolicySpec>(json).unwrap_err();
        assert!(error.to_string().contains(value), "{error}");
    }
}
