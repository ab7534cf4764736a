use super::{PARTS, assembly};
use crate::tidy::repository::testing;

#[test]
fn a_command_puts_nothing_together() {
    for (part, _) in PARTS {
        let text = format!("//! {part}\nfn run() {{\n    let made = {part}();\n}}\n");
        for (path, expected) in [
            (
                "crates/pirn/src/exec.rs",
                &["crates/pirn/src/exec.rs:3"][..],
            ),
            (
                "crates/pirn/src/prompt.rs",
                &["crates/pirn/src/prompt.rs:3"],
            ),
            (
                "crates/pirn/src/interactive/orders.rs",
                &["crates/pirn/src/interactive/orders.rs:3"],
            ),
            ("crates/pirn/src/exec/tests.rs", &[]),
            ("crates/pirn-runtime/src/builder.rs", &[]),
        ] {
            let repository = testing::with_files(&[(path, &text)]);
            let places: Vec<String> = assembly(&repository)
                .into_iter()
                .map(|finding| finding.place)
                .collect();
            assert_eq!(places, expected, "{part}");
        }
    }
}
