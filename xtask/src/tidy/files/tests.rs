use super::{CODE_LINES_AIM, CODE_LINES_MAX, modules, root_folder, sizes};
use crate::tidy::repository::testing;
use crate::tidy::{Finding, Severity};

fn places(findings: &[Finding]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding.place.as_str())
        .collect()
}

#[test]
fn stray_files_in_the_root_are_reported() {
    let repository = testing::with_files(&[
        ("Cargo.toml", ""),
        ("crates/pirn/src/main.rs", ""),
        ("PLAN.md", ""),
        ("notes/today.md", ""),
    ]);
    assert_eq!(places(&root_folder(&repository)), ["PLAN.md", "notes"]);
}

#[test]
fn long_files_are_reported_without_their_tests() {
    let code = |lines: usize| "let a = 1;\n".repeat(lines);
    let with_tests = format!(
        "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        code(CODE_LINES_AIM - 1),
        code(CODE_LINES_MAX)
    );
    let repository = testing::with_files(&[
        ("crates/a/src/aim.rs", &with_tests),
        ("crates/a/src/comments.rs", &"// why\n\n".repeat(900)),
        ("crates/a/src/long.rs", &code(CODE_LINES_AIM + 1)),
        ("crates/a/src/longer.rs", &code(CODE_LINES_MAX + 1)),
        ("crates/a/tests/a/main.rs", &code(CODE_LINES_MAX + 1)),
    ]);
    let findings = sizes(&repository);
    assert_eq!(
        places(&findings),
        ["crates/a/src/long.rs", "crates/a/src/longer.rs"]
    );
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Error]);
}

#[test]
fn forgotten_modules_are_reported() {
    let repository = testing::with_files(&[
        ("crates/a/build.rs", ""),
        (
            "crates/a/src/lib.rs",
            "mod one;\npub(crate) mod two;\n// mod lost;\n",
        ),
        ("crates/a/src/one.rs", "mod deep;\n"),
        ("crates/a/src/one/deep.rs", ""),
        ("crates/a/src/one/lost.rs", ""),
        ("crates/a/src/two/mod.rs", ""),
        ("crates/a/src/lost.rs", ""),
        ("crates/a/tests/a/main.rs", "mod cases;\n"),
        ("crates/a/tests/a/cases.rs", ""),
        ("crates/a/tests/a/lost.rs", ""),
        ("crates/a/tests/single.rs", ""),
    ]);
    assert_eq!(
        places(&modules(&repository)),
        [
            "crates/a/src/one/lost.rs",
            "crates/a/src/two/mod.rs",
            "crates/a/src/lost.rs",
            "crates/a/tests/a/lost.rs",
        ]
    );
}
