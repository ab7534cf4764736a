use super::is_acceptable;

#[test]
fn expressions() {
    let cases = [
        ("MIT", true),
        ("MIT OR Apache-2.0", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
        ("GPL-3.0-only OR MIT AND Zlib", true),
        ("GPL-3.0-only", false),
        ("LGPL-2.1", false),
        ("MIT AND LGPL-2.1", false),
        ("Apache-2.0 WITH Other-exception", false),
        ("(MIT", false),
        ("MIT MIT", false),
        ("MIT OR", false),
        ("", false),
    ];
    for (expression, expected) in cases {
        assert_eq!(is_acceptable(expression), expected, "{expression:?}");
    }
}
