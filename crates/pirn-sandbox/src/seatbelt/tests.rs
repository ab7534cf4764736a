//! Profiles for made-up paths.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{BASICS, NETWORK_SERVICES, NetworkAccess, arguments, profile};
use crate::paths::{Paths, Unreadable};

fn paths() -> Paths {
    Paths {
        working_folder: "/Users/user/work".into(),
        write_roots: vec!["/Users/user/work".into(), "/srv/odd \"name\\".into()],
        pinned: vec!["/Users/user/work/.git".into()],
        protected: vec![
            "/Users/user/work/.git/hooks".into(),
            "/Users/user/work/.pirn".into(),
        ],
        unreadable: vec![Unreadable {
            path: "/Users/user/.ssh".into(),
            is_folder: true,
        }],
        ..Paths::default()
    }
}

fn after_basics(paths: &Paths, reach: NetworkAccess) -> String {
    let profile = profile(paths, Path::new("/private/tmp/p"), reach);
    profile.strip_prefix(BASICS).unwrap().to_owned()
}

#[test]
fn writing_is_bounded_and_credentials_are_hidden() {
    assert_eq!(
        after_basics(&paths(), NetworkAccess::Nothing),
        r#"(allow file-read*)
(allow file-read* file-write*
  (subpath "/Users/user/work")
  (subpath "/srv/odd \"name\\")
  (subpath "/private/tmp/p"))
(deny file-write-unlink
  (literal "/Users/user/work/.git"))
(deny file-write*
  (subpath "/Users/user/work/.git/hooks")
  (subpath "/Users/user/work/.pirn"))
(deny file-read* file-write*
  (subpath "/Users/user/.ssh"))
"#
    );
}

#[test]
fn nothing_but_chosen_places_is_readable() {
    let paths = Paths {
        read_roots: Some(vec![PathBuf::from("/usr"), "/Users/user/work".into()]),
        ..Paths::default()
    };
    assert_eq!(
        after_basics(&paths, NetworkAccess::Nothing),
        r#"(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read*
  (subpath "/usr")
  (subpath "/Users/user/work"))
(allow file-read* file-write*
  (subpath "/private/tmp/p"))
"#
    );
}

#[test]
fn the_network_is_closed_but_for_the_proxy() {
    let nothing = after_basics(&Paths::default(), NetworkAccess::Nothing);
    assert!(!nothing.contains("network"));
    let proxy = after_basics(&Paths::default(), NetworkAccess::Proxy(3128));
    assert_eq!(
        proxy.strip_prefix(&nothing).unwrap(),
        "(allow network-outbound (remote ip \"localhost:3128\"))\n"
    );
    let everything = after_basics(&Paths::default(), NetworkAccess::Everything);
    assert_eq!(
        everything.strip_prefix(&nothing).unwrap(),
        format!("(allow network*)\n{NETWORK_SERVICES}")
    );
}

#[test]
fn every_bracket_is_closed() {
    for reach in [
        NetworkAccess::Nothing,
        NetworkAccess::Proxy(1),
        NetworkAccess::Everything,
    ] {
        let profile = profile(&paths(), Path::new("/t"), reach);
        let count = |bracket| profile.matches(bracket).count();
        assert_eq!(count('('), count(')'));
    }
}

#[test]
fn the_program_comes_after_the_profile() {
    let given = [OsString::from("-x"), "y".into()];
    let all: Vec<&OsStr> = arguments("(version 1)", OsStr::new("/bin/ls"), &given).collect();
    assert_eq!(all, ["-p", "(version 1)", "/bin/ls", "-x", "y"]);
}
