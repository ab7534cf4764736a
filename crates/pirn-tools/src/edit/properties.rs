//! Whatever a file holds and whatever is replaced in it.

use std::ops::Range;

use super::tests::apply;

fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap()
}

fn any_file() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let line = "[a-c \u{201C}\u{2014}\u{E9}\u{FB01}\u{A0}\u{2028}\"-]{0,6}[ \t]{0,2}";
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\r\r\n")];
    let mixed = prop::collection::vec((line, end.clone()), 0..10);
    let uniform = (prop::collection::vec(line, 0..10), end)
        .prop_map(|(lines, end)| lines.into_iter().map(|line| (line, end)).collect());
    (prop_oneof![mixed, uniform], any::<bool>(), line).prop_map(|(lines, is_marked, last)| {
        let mark = if is_marked { "\u{FEFF}" } else { "" };
        let lines: String = lines.iter().flat_map(|(line, end)| [line, *end]).collect();
        format!("{mark}{lines}{last}")
    })
}

/// A place of `old` that is no other one's, by comparing at every byte.
fn only_place(content: &str, old: &str) -> Option<usize> {
    let mut places =
        (0..content.len()).filter(|at| content.as_bytes()[*at..].starts_with(old.as_bytes()));
    places.next().filter(|_| places.next().is_none())
}

/// Whether a position is within a line end.
fn splits_end(content: &str, at: usize) -> bool {
    at > 0
        && content.as_bytes()[at - 1] == b'\r'
        && matches!(content.as_bytes().get(at), Some(b'\n' | b'\r'))
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(3_000))]

    /// Whatever is replaced exactly, all bytes beside it stay, and those of the new text arrive.
    #[test]
    fn an_exact_edit_is_a_splice_of_bytes(
        content in any_file(),
        from in proptest::arbitrary::any::<proptest::sample::Selector>(),
        to in proptest::arbitrary::any::<proptest::sample::Selector>(),
        new in "[a-c\u{E9}\u{201D}]{1,6}",
    ) {
        let boundaries: Vec<usize> = (0..=content.len()).filter(|at| content.is_char_boundary(*at)).collect();
        let (one, other) = (*from.select(&boundaries), *to.select(&boundaries));
        let (start, end) = (one.min(other), one.max(other));
        let old = part(&content, start..end);
        let is_plain = !old.contains('\u{FEFF}') && !splits_end(&content, start) && !splits_end(&content, end);
        let is_only = !old.is_empty() && only_place(&content, old) == Some(start);
        if !(is_plain && is_only) { return Ok(()); }
        let wanted = format!("{}{new}{}", part(&content, 0..start), part(&content, end..content.len()));
        proptest::prop_assert_eq!(apply(&content, &[(old, &new)]), Ok(wanted));
    }

    /// What programs do: they split at line feeds and change a word of one line.
    #[test]
    fn a_line_given_back_with_another_word_changes_that_word(
        content in any_file(),
        index in proptest::arbitrary::any::<proptest::sample::Selector>(),
    ) {
        let lines: Vec<&str> = content.split('\n').collect();
        let line = *index.select(&lines);
        let changed = line.replacen('a', "word", 1);
        if !(changed != line && only_place(&content, line).is_some()) { return Ok(()); }
        let wanted = content.replacen(line, &changed, 1);
        proptest::prop_assert_eq!(apply(&content, &[(line, &changed)]), Ok(wanted));
    }

    /// What does not match exactly must not damage anything else.
    #[test]
    fn a_near_match_changes_its_characters_only(
        content in any_file(),
        from in proptest::arbitrary::any::<proptest::sample::Selector>(),
        to in proptest::arbitrary::any::<proptest::sample::Selector>(),
    ) {
        let boundaries: Vec<usize> = (0..=content.len()).filter(|at| content.is_char_boundary(*at)).collect();
        let (one, other) = (*from.select(&boundaries), *to.select(&boundaries));
        let (start, end) = (one.min(other), one.max(other));
        let old: String = part(&content, start..end).chars().map(|c| match c {
            '\u{201C}' => '"',
            '\u{2014}' => '-',
            '\u{A0}' => ' ',
            c => c,
        }).collect();
        if !(old.trim() == old && old.len() > 1 && !old.contains(['\r', '\u{FEFF}'])) { return Ok(()); }
        if let Ok(after) = apply(&content, &[(&old, "NEW")]) {
            let at = after.find("NEW").unwrap();
            let (before, behind) = (part(&after, 0..at), part(&after, at + 3..after.len()));
            proptest::prop_assert!(content.starts_with(before) && content.ends_with(behind));
            let replaced = part(&content, before.len()..content.len() - behind.len());
            let plain = |text: &str| super::view::View::of(text, super::view::Spelling::Plain).text;
            proptest::prop_assert_eq!(plain(replaced), plain(&old));
        }
    }

    #[test]
    fn carriage_returns_never_pile_up(
        content in proptest::prop_oneof!["(a|\n|\r\n){0,9}", "(a|\r){0,9}"],
        old in "[a\r\n]{1,4}",
        new in "[a\r\n]{0,6}",
    ) {
        let piles = |text: &str| text.matches("\r\r\n").count();
        if let Ok(after) = apply(&content, &[(&old, &new)]) {
            proptest::prop_assert!(piles(&after) <= piles(&content), "{after:?}");
        }
    }
}
