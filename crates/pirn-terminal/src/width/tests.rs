use super::{clusters, prefix, width};

#[test]
fn columns_of_clusters() {
    let cases = [
        ("abc", 3, false),
        ("e\u{301}", 1, false),
        ("漢字", 4, false),
        ("한", 2, false),
        ("❤\u{fe0f}", 2, true),
        ("👨\u{200d}👩\u{200d}👧", 2, true),
        ("1\u{fe0f}\u{20e3}", 2, true),
        ("→", 1, false),
    ];
    for (text, columns, is_disputed) in cases {
        assert_eq!(width(text), columns, "{text}");
        let any = clusters(text).any(|cluster| cluster.is_disputed);
        assert_eq!(any, is_disputed, "{text}");
    }
}

#[test]
fn a_wide_character_is_not_cut() {
    assert_eq!(prefix("a漢b", 2), ("a", 1));
    assert_eq!(prefix("a漢b", 3), ("a漢", 3));
    assert_eq!(prefix("abc", 9), ("abc", 3));
}
