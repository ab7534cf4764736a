use super::named_tests;
use crate::tidy::repository::{Repository, testing};
use serde_json::json;

fn checked(page: &str) -> Vec<String> {
    let mut repository: Repository = testing::with_files(&[
        ("docs/security.md", page),
        ("crates/pirn-vm/tests/vm/attacks.rs", "fn one() {}\n"),
        (
            "crates/pirn-vm/src/limits/tests.rs",
            "async fn bounds_hold() {}\n",
        ),
        (
            "crates/pirn-eval/tests/eval/main.rs",
            "const TESTS: &[&str] = &[\"made\"];\n",
        ),
        ("fuzz/fuzz_targets/wire.rs", ""),
        (
            "crates/pirn-sandbox/tests/escape/rows/git.rs",
            "            name: \"git-hooks\",\n",
        ),
    ]);
    repository.members = ["pirn-eval", "pirn-vm"]
        .map(|name| testing::package(name, json!([])))
        .into();
    let findings = named_tests(&repository);
    findings
        .into_iter()
        .map(|finding| format!("{}: {}", finding.place, finding.message))
        .collect()
}

#[test]
fn tests_that_are_named_are_there() {
    let page = "It holds (pirn-vm `attacks`, `attacks::one`, and\n`limits::tests::bounds_hold`; pirn-eval `made`), \
                also `fetch`, fuzz target `wire`.\n| git hooks | `git-hooks` |\n";
    assert_eq!(checked(page), Vec::<String>::new());
}

#[test]
fn tests_that_nobody_has_are_reported() {
    let page = "pirn-vm `attack`, `attacks::two`\npirn-eval `one`, `limits::bounds_hold`. Fuzz: fuzz target `lost`\n";
    assert_eq!(
        checked(page),
        [
            "docs/security.md:1: pirn-vm has no test `attack`",
            "docs/security.md:1: pirn-vm has no test `attacks::two`",
            "docs/security.md:2: pirn-eval has no test `one`",
            "docs/security.md:2: pirn-eval has no test `limits::bounds_hold`",
            "docs/security.md:2: fuzz has no test `lost`",
            "docs/security.md: the table of attempts lacks `git-hooks`",
        ]
    );
}
