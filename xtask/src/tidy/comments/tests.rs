use super::{short_doc_lines, short_docs};
use crate::tidy::repository::testing;

const TEXT: &str = "//! Short.\n\n/// Yes.\nstruct A;\n/// What it is.\n/// Which is more than three words.\nstruct B;\n\
    // These.\n/// Says what the name does not.\nstruct C;\n///\nstruct D;\n";

#[test]
fn short_comments_are_found_where_they_begin() {
    assert_eq!(short_doc_lines(TEXT), [1, 3, 11]);
}

#[test]
fn each_crate_is_told_once() {
    let repository = testing::with_files(&[
        ("crates/a/src/lib.rs", TEXT),
        ("crates/a/src/other.rs", TEXT),
        (
            "crates/b/src/lib.rs",
            "/// Says what the name does not.\nstruct C;\n",
        ),
    ]);
    let findings = short_docs(&repository);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].place, "crates/a");
    assert!(
        findings[0].message.starts_with(
            "6 doc comments of three words or fewer, the first at crates/a/src/lib.rs:1"
        )
    );
}
