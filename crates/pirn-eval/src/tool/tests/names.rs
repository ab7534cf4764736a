//! What tools are called inside programs.

use super::*;

#[test]
fn names_are_members_that_can_be_written() {
    let names = [
        "read",
        "mcp__Docs__getPage",
        "a-b",
        "a.b",
        "list",
        "then",
        "call",
        "parallel",
        "constructor",
        "import",
        "9lives",
        "_x",
        "日本",
        "",
    ];
    let given = capability_names(&names);
    assert_eq!(given[..2], ["read", "mcp__docs__getpage"]);
    assert_eq!(
        given[4..12],
        [
            "tool_list",
            "tool_then",
            "tool_call",
            "tool_parallel",
            "tool_constructor",
            "tool_import",
            "tool_9lives",
            "tool_x"
        ]
    );
    assert!(given[2].starts_with("a_b_") && given[3].starts_with("a_b_") && given[2] != given[3]);
    let long = "x".repeat(100);
    let long = capability_names(&[&long]);
    assert_eq!(long[0].len(), 64);
    let mut unique = given.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), given.len());
    for name in &given {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fine),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_tool_is_found_by_its_own_name_too() {
    let bench = Bench::new([
        echo("mcp__Docs__getPage", Effects::READ),
        echo("list", Effects::READ),
    ]);
    let values = bench
        .values(json!([
            ["mcp__Docs__getPage", {}],
            ["mcp__docs__getpage", {}],
            ["list", {}],
            ["tool_list", {}]
        ]))
        .await;
    assert_eq!(values, vec![json!("{}"); 4]);
}
