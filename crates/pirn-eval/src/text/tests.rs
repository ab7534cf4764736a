use super::{Tail, cut, cut_marked};
use crate::limits::STDERR_TAIL_BYTES;

#[test]
fn cutting_keeps_characters_whole() {
    assert_eq!(cut("añb", 2), "a");
    assert_eq!(cut("añb", 3), "añ");
    assert_eq!(cut("añb", 9), "añb");
    assert_eq!(cut_marked("ññññ".to_owned(), 6), "ñ…");
    assert_eq!(cut_marked("short".to_owned(), 5), "short");
}

#[test]
fn a_tail_keeps_the_end() {
    let mut tail = Tail::default();
    tail.push(&vec![b'a'; STDERR_TAIL_BYTES]);
    tail.push(b"end");
    let text = tail.text();
    assert_eq!(text.len(), STDERR_TAIL_BYTES);
    assert!(text.ends_with("aend"));
}
