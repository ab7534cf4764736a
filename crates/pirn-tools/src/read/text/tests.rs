use proptest::prelude::*;

use super::{Error, Limits, Range, Scan};
use crate::limits::{BYTES_MAX, LINES_MAX};

/// The same answer with the whole text at hand; without the advice in an overlong first line's notice.
fn simple(text: &str, offset: i64, limit: Option<i64>) -> Result<String, u64> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = usize::try_from(offset.max(1) - 1).unwrap();
    if first > 0 && first >= lines.len() {
        return Err(lines.len() as u64);
    }
    let wanted = limit.map_or(usize::MAX, |limit| usize::try_from(limit.max(1)).unwrap());
    let mut kept = String::new();
    let mut next = first;
    let mut cut = None;
    for line in lines.iter().skip(first).take(wanted) {
        if next - first == LINES_MAX {
            cut = Some("");
            break;
        }
        if kept.len() + line.trim_end_matches('\n').len() > BYTES_MAX {
            cut = Some(" (50.0KB limit)");
            break;
        }
        kept.push_str(line);
        next += 1;
    }
    if cut.is_some() && next == first {
        return Ok("too long".to_owned());
    }
    let total = lines.len();
    let notice = match cut {
        Some(limit) => {
            format!(
                "[Showing lines {}-{next} of {total}{limit}. Use offset={} to continue.]",
                first + 1,
                next + 1
            )
        }
        None if next < total => format!(
            "[{} more lines in file. Use offset={} to continue.]",
            total - next,
            next + 1
        ),
        None => return Ok(kept),
    };
    Ok(format!(
        "{}\n\n{notice}",
        kept.strip_suffix('\n').unwrap_or(&kept)
    ))
}

/// Feeds bytes in pieces of these lengths, over and over.
fn feed(scan: &mut Scan, mut bytes: &[u8], lengths: &[usize]) {
    for length in lengths.iter().cycle() {
        if bytes.is_empty() {
            return;
        }
        let (piece, rest) = bytes.split_at((*length).min(bytes.len()));
        scan.feed(piece);
        bytes = rest;
    }
}

/// Texts of lines that are mostly short, sometimes over the limit, with or without a last line feed.
fn texts() -> impl Strategy<Value = String> {
    let length = prop_oneof![6 => 0..30_usize, 2 => 4_000..12_000_usize, 1 => 51_195..51_205_usize];
    let lines = prop_oneof![3 => prop::collection::vec(length, 0..40), 1 => prop::collection::vec(0..3_usize, 1_990..2_010)];
    (lines, any::<bool>()).prop_map(|(lengths, ended)| {
        let lines: Vec<_> = lengths
            .into_iter()
            .map(|length| "x".repeat(length))
            .collect();
        let mut text = lines.join("\n");
        if ended {
            text.push('\n');
        }
        text
    })
}

proptest! {
    #[test]
    fn any_pieces_give_the_simple_answer(
        text in texts(),
        offset in prop_oneof![Just(1_i64), -2..60_i64],
        limit in prop::option::of(prop_oneof![-1..50_i64, 1_900..2_100_i64]),
        lengths in prop::collection::vec(prop_oneof![1..50_usize, 1_000..70_000_usize], 1..5),
    ) {
        let range = Range::new(Some(offset), limit);
        let mut scan = Scan::new(range, Limits::MODEL);
        feed(&mut scan, text.as_bytes(), &lengths);
        let found = match scan.into_shown("f") {
            Ok(found) if found.starts_with("[Line ") => Ok("too long".to_owned()),
            Ok(found) => Ok(found),
            Err(Error::Offset { lines, .. }) => Err(lines),
            Err(error) => panic!("{error:?}"),
        };
        prop_assert_eq!(found, simple(&text, offset, limit));

        let mut scan = Scan::new(range, Limits { lines: u64::MAX, bytes: usize::MAX });
        feed(&mut scan, text.as_bytes(), &lengths);
        let first = usize::try_from(offset.max(1) - 1).unwrap();
        let wanted = limit.map_or(usize::MAX, |limit| usize::try_from(limit.max(1)).unwrap());
        let exact: String = text.split_inclusive('\n').skip(first).take(wanted).collect();
        match scan.into_exact() {
            Ok(found) => prop_assert_eq!(found, exact),
            Err(error) => {
                let is_beyond = matches!(error, Error::Offset { .. });
                prop_assert!(is_beyond && exact.is_empty());
            }
        }
    }
}

#[test]
fn a_hole_counts_like_its_bytes() {
    for (offset, limit) in [(1, None), (2, Some(1)), (3, None), (3, Some(1)), (4, None)] {
        let range = Range::new(Some(offset), limit);
        for hole in [0, 1, 50_000, 60_000, 5_000_000] {
            let mut skipped = Scan::new(range, Limits::MODEL);
            let mut read = Scan::new(range, Limits::MODEL);
            for scan in [&mut skipped, &mut read] {
                scan.feed(b"one\ntwo\nthr");
            }
            skipped.feed_hole(hole);
            read.feed(&vec![0; usize::try_from(hole).unwrap()]);
            for scan in [&mut skipped, &mut read] {
                scan.feed(b"ee\nfour\n");
            }
            assert_eq!(
                skipped.into_shown("f"),
                read.into_shown("f"),
                "{offset} {limit:?} {hole}"
            );
        }
    }
}
