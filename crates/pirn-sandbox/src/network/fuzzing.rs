//! What the fuzz target drives.

use super::http::{BodyLength, BodyScanner, parse_head};
use super::socks::{parse_greeting, parse_request};

/// Gives the bytes of a client to every parser of the proxy. No prefix of a message may give another answer than the whole
/// unless it is "not yet", and the end of a body does not depend on how it arrives. The first byte says where to cut.
pub fn fuzz_proxy(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else {
        return;
    };
    let cut = usize::from(*cut).min(bytes.len());
    check_prefix(parse_head, bytes, cut);
    check_prefix(parse_greeting, bytes, cut);
    check_prefix(parse_request, bytes, cut);
    for length in [BodyLength::Chunks, BodyLength::Bytes(cut as u64)] {
        check_body(length, bytes, cut);
    }
}

fn check_prefix<T: PartialEq + std::fmt::Debug, E: PartialEq + std::fmt::Debug>(
    parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>,
    bytes: &[u8],
    cut: usize,
) {
    let whole = parse(bytes);
    if let Ok(Some((_, length))) = &whole {
        assert!(*length <= bytes.len(), "a message ends where the bytes end");
    }
    let front = parse(bytes.get(..cut).unwrap_or_default());
    assert!(
        matches!(front, Ok(None)) || front == whole,
        "{front:?} at {cut}, but {whole:?} in whole"
    );
}

fn check_body(length: BodyLength, bytes: &[u8], cut: usize) {
    let whole = BodyScanner::new(length).advance(bytes);
    let mut scanner = BodyScanner::new(length);
    let (front, back) = bytes.split_at_checked(cut).unwrap_or((bytes, &[]));
    let pieces = scanner.advance(front).and_then(|used| {
        let more = if used == front.len() {
            scanner.advance(back)?
        } else {
            0
        };
        Ok(used + more)
    });
    assert_eq!(whole, pieces, "a body cut at {cut}");
}
