use pirn_file::SpillFolder;

use super::{Capture, END_BYTES, KeptOutput};
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX};

async fn captured(reader: Reader, chunks: &[&[u8]]) -> (Capture, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(reader, SpillFolder::new(folder.path()));
    for chunk in chunks {
        capture.push(chunk).await;
    }
    (capture, folder)
}

#[tokio::test]
async fn keeps_small_output_whole_and_without_a_file() {
    for reader in [Reader::Eyes, Reader::Program] {
        let (mut capture, folder) = captured(reader, &[b"one\ntw", b"o\nthree"]).await;
        assert_eq!(capture.whole(), Some("one\ntwo\nthree".to_owned()));
        assert_eq!((capture.total_lines(), capture.last_line_bytes()), (3, 5));
        assert_eq!(capture.full_output().await, Ok(None));
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

#[tokio::test]
async fn programs_get_the_whole_or_a_file() {
    let chunk = vec![b'a'; 1_048_575];
    for chunks in [1, 15, 16, 17, 20] {
        let mut pieces: Vec<&[u8]> = vec![&chunk; chunks];
        pieces.push(b"\nend\n");
        let total = chunks * chunk.len() + 5;
        let (mut capture, _folder) = captured(Reader::Program, &pieces).await;
        let whole = capture.whole();
        let kept = capture.full_output().await.unwrap();
        if total <= SCRIPT_RESULT_BYTES_MAX {
            assert_eq!((whole.unwrap().len(), kept), (total, None), "{chunks}");
        } else {
            assert_eq!(whole, None);
            let KeptOutput { path, is_whole } = kept.unwrap();
            assert!(is_whole);
            assert_eq!(std::fs::read(path).unwrap(), pieces.concat());
        }
    }
}

#[tokio::test]
async fn output_is_whole_also_when_its_reading_is_given_up_in_between() {
    let (mut capture, _folder) = captured(Reader::Eyes, &[&vec![b'a'; 60_000]]).await;
    for piece in [b"b", b"c", b"d"] {
        let pushing = std::pin::pin!(capture.push(piece));
        // Whether it had to wait or not.
        let _dropped = futures_util::poll!(pushing);
    }
    let kept = capture.full_output().await.unwrap().unwrap();
    let content = std::fs::read(kept.path).unwrap();
    assert_eq!(content.len(), 60_003);
    assert!(content.ends_with(b"abcd"));
}

#[tokio::test]
async fn output_goes_on_when_the_file_cannot_be_written() {
    let mut capture = Capture::new(Reader::Eyes, SpillFolder::new("/proc/no/such/folder"));
    capture.push(&vec![b'x'; 60_000]).await;
    assert_eq!(capture.whole().unwrap().len(), 60_000);
    assert!(capture.full_output().await.is_err());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// However the output arrives, the same is kept of it.
    #[test]
    fn pieces_do_not_matter(lengths in proptest::collection::vec(1..65_536_usize, 0..60), line in 1..3_000_usize) {
        let total = lengths.iter().sum();
        let bytes: Vec<u8> = (0..total).map(|at| if at % line == 0 { b'\n' } else { b'x' }).collect();
        let mut rest = bytes.as_slice();
        let pieces: Vec<&[u8]> = lengths.iter().map(|length| {
            let (piece, after) = rest.split_at(*length);
            rest = after;
            piece
        }).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut capture, _folder) = runtime.block_on(captured(Reader::Eyes, &pieces));
        proptest::prop_assert_eq!(capture.whole().is_some(), total <= END_BYTES);
        proptest::prop_assert_eq!(capture.tail(), crate::limits::keep_tail(&bytes));
        if let Some(kept) = runtime.block_on(capture.full_output()).unwrap() {
            proptest::prop_assert_eq!(std::fs::read(kept.path).unwrap(), bytes);
        }
    }
}
