use proptest::prelude::*;

use super::Capture;

/// Feeds the pieces and gives the whole text and whether it was cut.
fn captured(limit_bytes: usize, pieces: &[&[u8]]) -> (String, bool) {
    let mut capture = Capture::new(limit_bytes);
    let mut out = String::new();
    for piece in pieces {
        capture.push(piece, &mut out);
    }
    capture.finish(&mut out);
    (out, capture.is_cut())
}

#[test]
fn text_up_to_the_limit_is_whole() {
    let text = "x".repeat(256);
    assert_eq!(captured(256, &[text.as_bytes()]), (text, false));
}

#[test]
fn one_byte_more_is_cut_with_a_marker_below_the_limit() {
    let (text, is_cut) = captured(256, &[&[b'x'; 250], &[b'x'; 7]]);
    assert!(is_cut);
    assert!(text.ends_with("\n[cut here: 65 more bytes]\n"), "{text}");
    assert!(text.len() <= 256);
}

#[test]
fn characters_split_between_pieces_arrive_whole() {
    let snowman = "☃".as_bytes();
    let pieces: Vec<&[u8]> = snowman.chunks(1).collect();
    assert_eq!(captured(256, &pieces), ("☃".to_owned(), false));
}

#[test]
fn bad_bytes_become_replacement_characters() {
    assert_eq!(
        captured(256, &[b"a\xffb\xe2\x98"]),
        ("a\u{fffd}b\u{fffd}".to_owned(), false)
    );
}

proptest! {
    #[test]
    fn any_split_gives_the_same(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0_usize..600) {
        let at = at.min(bytes.len());
        let whole = captured(256, &[&bytes]);
        let split = captured(256, &[&bytes[..at], &bytes[at..]]);
        prop_assert!(whole.0.len() <= 256);
        prop_assert_eq!(whole, split);
    }
}
