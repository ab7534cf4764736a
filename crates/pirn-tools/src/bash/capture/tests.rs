use super::{Capture, HALF, STRUCTURED_OUTPUT_BYTES_MAX};

async fn captured(chunks: &[&[u8]]) -> (Capture, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(folder.path().to_path_buf());
    for chunk in chunks {
        capture.push(chunk).await;
    }
    (capture, folder)
}

#[tokio::test]
async fn keeps_small_output_whole_and_without_a_file() {
    let (mut capture, folder) = captured(&[b"one\ntw", b"o\nthree"]).await;
    assert_eq!(capture.structured(), ("one\ntwo\nthree".to_owned(), false));
    assert_eq!((capture.total_lines(), capture.last_line_bytes()), (3, 5));
    assert_eq!(capture.full_output().await, Ok(None));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn keeps_both_ends_of_large_output_and_all_of_it_in_a_file() {
    let chunk = vec![b'a'; 50_000];
    for chunks in [20, 21, 22, 43, 100] {
        let mut pieces: Vec<&[u8]> = vec![&chunk; chunks];
        pieces.push(b"\nend\n");
        let total = chunks * chunk.len() + 5;
        let (mut capture, _folder) = captured(&pieces).await;
        let (text, truncated) = capture.structured();
        assert_eq!(truncated, total > STRUCTURED_OUTPUT_BYTES_MAX, "{chunks}");
        assert!(text.ends_with("a\nend\n"), "{chunks}");
        if truncated {
            let marker = format!("\n[... {} bytes omitted ...]\n", total - 2 * HALF);
            assert_eq!(text.find(&marker), Some(HALF), "{chunks}");
            assert_eq!(text.len(), 2 * HALF + marker.len(), "{chunks}");
        } else {
            assert_eq!(text.len(), total, "{chunks}");
        }
        let path = capture.full_output().await.unwrap().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), pieces.concat(), "{chunks}");
    }
}

#[tokio::test]
async fn output_goes_on_when_the_file_cannot_be_written() {
    let mut capture = Capture::new("/no/such/folder".into());
    capture.push(&vec![b'x'; 60_000]).await;
    assert_eq!(capture.structured().0.len(), 60_000);
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
        let (mut capture, _folder) = runtime.block_on(captured(&pieces));
        let (text, truncated) = capture.structured();
        if truncated {
            let (start, end) = (&bytes[..HALF], &bytes[total - HALF..]);
            proptest::prop_assert_eq!(&text.as_bytes()[..HALF], start);
            proptest::prop_assert_eq!(&text.as_bytes()[text.len() - HALF..], end);
        } else {
            proptest::prop_assert_eq!(text.as_bytes(), &bytes);
        }
        proptest::prop_assert_eq!(truncated, total > STRUCTURED_OUTPUT_BYTES_MAX);
        proptest::prop_assert_eq!(capture.tail(), crate::limits::keep_tail(&bytes));
        if let Some(path) = runtime.block_on(capture.full_output()).unwrap() {
            proptest::prop_assert_eq!(std::fs::read(path).unwrap(), bytes);
        }
    }
}
