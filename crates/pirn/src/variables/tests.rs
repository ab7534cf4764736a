use std::path::Path;

/// Ways to the environment; the table has its own.
const NEEDLES: [&str; 4] = ["env::var(", "env::var_os(", "env::vars", "env::home_dir"];
/// The table, and the place where the home folder of the system is asked for.
const ALLOWED: [&str; 3] = ["variables.rs", "variables/tests.rs", "invocation.rs"];

fn check(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check(&path, root, found);
            continue;
        }
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let is_code =
            path.extension().is_some_and(|end| end == "rs") && !name.ends_with("tests.rs");
        if !is_code || ALLOWED.contains(&name.as_str()) || name == "reference.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if NEEDLES.iter().any(|needle| text.contains(needle)) {
            found.push(name);
        }
    }
}

#[test]
fn nothing_reads_the_environment_around_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    check(&root, &root, &mut found);
    assert_eq!(found, [""; 0]);
    let text = std::fs::read_to_string(root.join("invocation.rs")).unwrap();
    assert!(
        !text.contains("env::var"),
        "invocation.rs reads through the table"
    );
}
