use super::{forbidden_text, lines, test_code, unsafe_code};
use crate::tidy::Finding;
use crate::tidy::repository::{Repository, testing};

#[track_caller]
fn check(rule: fn(&Repository) -> Vec<Finding>, path: &str, text: &str, expected: &[usize]) {
    let repository = testing::with_files(&[(path, text)]);
    let places: Vec<String> = rule(&repository)
        .into_iter()
        .map(|finding| finding.place)
        .collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("{path}:{line}"))
        .collect();
    assert_eq!(places, expected);
}

#[test]
fn inline_test_module_is_test_code() {
    let text =
        "fn a() {}\n#[cfg(test)]\nmod elsewhere;\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n";
    let repository = testing::with_files(&[("src/a.rs", text)]);
    let flags: Vec<bool> = lines(&repository.files[0])
        .map(|line| line.is_test)
        .collect();
    assert_eq!(flags, [false, false, false, false, false, true, true]);
}

#[test]
fn few_crates_allow_unsafe_code() {
    let text = "// (unsafe_code\n#![allow(unsafe_code, reason = \"x\")]\n";
    check(unsafe_code, "crates/pirn-tool/src/lib.rs", text, &[2]);
    check(unsafe_code, "crates/pirn-vm/src/engine.rs", text, &[]);
    check(unsafe_code, "crates/pirn-tool/src/a/tests.rs", text, &[]);
}

#[test]
fn tests_neither_sleep_nor_rest() {
    let text = "#[test]\n#[ignore = \"slow\"]\nfn a() {\nstd::thread::sleep(x);\n\
        tokio::time::sleep(x).await; // sleeps: the clock is paused\n}\n";
    check(test_code, "crates/pirn-tool/tests/a/main.rs", text, &[2, 4]);
    check(test_code, "crates/pirn-tool/src/wait.rs", text, &[2]);
}

#[test]
fn paths_of_one_machine_are_reported() {
    let home = "/home";
    let text = format!(
        "{home}/user/project\n{home}/carol/project\nhttps://example.com{home}/carol\n{home}/\n\
         /somewhere/checkout/src\n/somewhere/else\n"
    );
    check(forbidden_text, "docs/a.md", &text, &[2, 5, 6]);
}

#[test]
fn conflicts_are_reported() {
    let text = format!("{} theirs\nfine\n", "<".repeat(7));
    check(forbidden_text, "docs/a.md", &text, &[1]);
}
