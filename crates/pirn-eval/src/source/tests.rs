use super::{prepare_source, without_fence};
use crate::limits::CODE_BYTES_MAX;
use crate::request::Language::{JavaScript, Python};

#[test]
fn common_indentation_goes_and_the_rest_stays() {
    let cases = [
        ("1", "1"),
        ("  a\n  b", "a\nb"),
        ("\n    if x:\n        y\n\n    z\n", "\nif x:\n    y\n\nz\n"),
        ("    a\n  b\n", "  a\nb\n"),
        ("a\n    b\n", "a\n    b\n"),
        ("\ta\n\tb", "a\nb"),
        ("\ta\n    b", "\ta\n    b"),
        ("  a\n \n  b\r\n", "a\n\nb\r\n"),
        ("  a  \n", "a  \n"),
        ("", ""),
        ("   \n", "   \n"),
    ];
    for (code, expected) in cases {
        assert_eq!(prepare_source(Python, code).unwrap(), expected, "{code:?}");
        assert_eq!(prepare_source(JavaScript, code).unwrap(), code);
    }
}

#[test]
fn a_code_fence_goes_and_lines_stay() {
    for (code, expected) in [
        ("```python\nx = 1\nx\n```", Some("\nx = 1\nx")),
        ("\n```\nreturn 1\n```\n", Some("\n\nreturn 1")),
        ("x = '''\n```\n'''", None),
        ("```py\na\n```\n```py\nb\n```", None),
        ("1", None),
    ] {
        assert_eq!(without_fence(code).as_deref(), expected, "{code:?}");
    }
}

#[test]
fn the_size_counts_after_dedenting() {
    let longest = format!("  {}", "x".repeat(CODE_BYTES_MAX));
    assert!(prepare_source(Python, &longest).is_ok());
    assert_eq!(
        prepare_source(JavaScript, &longest),
        Err(CODE_BYTES_MAX + 2)
    );
    let characters = "ñ".repeat(CODE_BYTES_MAX / 2 + 1);
    assert_eq!(prepare_source(Python, &characters), Err(CODE_BYTES_MAX + 2));
}
