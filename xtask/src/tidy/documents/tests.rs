use super::{architecture, changelog, links};
use crate::tidy::Finding;
use crate::tidy::repository::testing;
use serde_json::json;

fn messages(findings: Vec<Finding>) -> Vec<String> {
    findings
        .into_iter()
        .map(|finding| format!("{}: {}", finding.place, finding.message))
        .collect()
}

#[test]
fn architecture_names_every_crate() {
    let mut repository = testing::with_files(&[("ARCHITECTURE.md", "`pirn-vm` runs scripts\n")]);
    repository.members = vec![
        testing::package("pirn-vm", json!([])),
        testing::package("pirn-tool", json!([])),
    ];
    assert_eq!(
        messages(architecture(&repository)),
        ["ARCHITECTURE.md: does not mention the crate `pirn-tool`"]
    );
}

#[test]
fn architecture_stays_short() {
    let repository = testing::with_files(&[("ARCHITECTURE.md", &"line\n".repeat(251))]);
    assert_eq!(
        messages(architecture(&repository)),
        ["ARCHITECTURE.md: has 251 lines, the maximum is 250"]
    );
}

#[test]
fn changelog_has_a_place_for_the_next_change() {
    let good = testing::with_files(&[("CHANGELOG.md", "# Changes\n\n## Unreleased\n")]);
    assert_eq!(messages(changelog(&good)), Vec::<String>::new());
    let bad = testing::with_files(&[("CHANGELOG.md", "# Changes\n\n## 1.0.0\n")]);
    assert_eq!(messages(changelog(&bad)).len(), 1);
}

#[test]
fn links_lead_somewhere() {
    let text = "[a](../README.md#start) [b](https://example.com) [c](#here) [d](lost.md)\n\
        [e](../examples/) [f](../../outside.md)\n";
    let repository = testing::with_files(&[
        ("README.md", ""),
        ("docs/guide.md", text),
        ("examples/one.ts", ""),
    ]);
    assert_eq!(
        messages(links(&repository)),
        [
            "docs/guide.md:1: the link `lost.md` leads nowhere",
            "docs/guide.md:2: the link `../../outside.md` leads nowhere",
        ]
    );
}
