use std::ffi::OsString;

use super::normalised;

fn check(typed: &[&str], expected: &[&str]) {
    let words = typed.iter().map(OsString::from);
    assert_eq!(normalised(words), expected, "{typed:?}");
}

#[test]
fn short_ways_of_writing_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "").unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (script, other) = (path("a.ts"), path("a.md"));
    check(&["pirn", &script], &["pirn", "exec", &script]);
    check(&["pirn", &other], &["pirn", &other]);
    check(&["pirn", "gone.ts"], &["pirn", "gone.ts"]);
    check(&["pirn", "exec", &script], &["pirn", "exec", &script]);
    check(
        &["pirn", "exec", "--yes", "process,write", &script],
        &["pirn", "exec", "--yes=process,write", &script],
    );
    check(
        &["pirn", "exec", "--yes", &script],
        &["pirn", "exec", "--yes", &script],
    );
    check(
        &["pirn", "eval", "--yes", "process"],
        &["pirn", "eval", "--yes", "process"],
    );
}
