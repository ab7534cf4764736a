use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::lines::rfc3339;
use super::{FILE_BYTES_MAX, Trace, TraceDirection, TraceLine, read_trace};

fn lines(path: &Path) -> Vec<TraceLine> {
    read_trace(path).expect("a trace").collect()
}

/// What a text becomes in a trace: message, text, bytes.
fn written(write: impl FnOnce(&Trace)) -> (Option<Value>, Option<String>, Option<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.jsonl");
    write(&Trace::to_file(path.clone()));
    let mut lines = lines(&path);
    assert_eq!(lines.len(), 1);
    let line = lines.remove(0);
    (line.message, line.text, line.bytes)
}

#[test]
fn messages_texts_and_notes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/er/trace.jsonl");
    let trace = Trace::to_file(path.clone());
    assert!(!path.exists());
    trace.sent(r#"{"id":1,"method":"ping"}"#);
    trace.received(b"{\"id\":\"1\"}", &[r#"{"id":1}"#.to_owned()]);
    trace.received(b"[1,2]", &["1".to_owned(), "2".to_owned()]);
    trace.received(b"hello\xff\nyou", &[]);
    trace.note("gone");
    trace.note("12");
    let lines = lines(&path);
    let directions: Vec<TraceDirection> = lines.iter().map(|line| line.direction).collect();
    assert_eq!(
        directions,
        [
            TraceDirection::Sent,
            TraceDirection::Received,
            TraceDirection::Received,
            TraceDirection::Received,
            TraceDirection::Note,
            TraceDirection::Note
        ]
    );
    assert_eq!(lines[0].message, Some(json!({"id": 1, "method": "ping"})));
    assert_eq!(lines[0].repaired, None);
    assert_eq!(lines[1].message, Some(json!({"id": "1"})));
    assert_eq!(lines[1].repaired, Some(json!({"id": 1})));
    assert_eq!(lines[2].repaired, Some(json!([1, 2])));
    assert_eq!(lines[3].text.as_deref(), Some("hello\u{fffd}\nyou"));
    assert_eq!(lines[4].text.as_deref(), Some("gone"));
    assert_eq!(lines[5].text.as_deref(), Some("12"));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/er/trace.jsonl");
    Trace::to_file(path.clone()).note("a");
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().expect("a folder")), 0o700);
}

#[test]
fn secrets_are_hidden() {
    let message = json!({"result": {"access_token": "abc", "a": [{"clientSecret": {"x": 1}, "Authorization": "Bearer abc", "token": "t"}]}});
    let (written_message, _, _) = written(|trace| trace.sent(&message.to_string()));
    assert_eq!(
        written_message,
        Some(
            json!({"result": {"access_token": "(hidden)", "a": [{"clientSecret": "(hidden)", "Authorization": "(hidden)", "token": "(hidden)"}]}})
        )
    );
    let (_, text, _) = written(|trace| trace.note("header authorization: Bearer abc"));
    assert_eq!(
        text.as_deref(),
        Some("header authorization: Bearer (hidden)")
    );
    let long = format!(r#"{{"a":"{}","refresh_token":"abc"}}"#, "x".repeat(100_000));
    let (_, text, bytes) = written(|trace| trace.received(long.as_bytes(), &[]));
    assert!(text.expect("the beginning").ends_with("xx"));
    assert_eq!(bytes, Some(long.len() as u64 + "(hidden)".len() as u64 - 3));
}

#[test]
fn long_messages_are_cut() {
    let long = "é".repeat(40_000);
    let (message, text, bytes) =
        written(|trace| trace.received(format!("x{long}").as_bytes(), &[]));
    assert_eq!(message, None);
    assert_eq!(text.map(|text| text.len()), Some(65_535));
    assert_eq!(bytes, Some(80_001));
}

#[test]
fn a_full_file_is_moved_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.jsonl");
    let trace = Trace::to_file(path.clone());
    let other = Trace::to_file(path.clone());
    let message = format!("\"{}\"", "x".repeat(60_000));
    let count = usize::try_from(FILE_BYTES_MAX).expect("small") / 60_000 + 10;
    for _ in 0..count {
        trace.sent(&message);
        other.sent(&message);
    }
    let moved = folder.path().join("trace.jsonl.1");
    assert!(moved.metadata().expect("moved").len() < FILE_BYTES_MAX + 200_000);
    assert!(path.metadata().expect("new").len() < FILE_BYTES_MAX + 200_000);
    assert!(lines(&path).len() > count);
}

#[test]
fn what_cannot_be_written_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = Trace::to_file(folder.path().to_path_buf());
    trace.note("a");
    trace.note("b");
    assert!(read_trace(&folder.path().join("none")).is_err());
}

#[test]
fn damaged_lines_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.jsonl");
    Trace::to_file(path.clone()).note("a");
    let whole = std::fs::read(&path).expect("a line");
    let damaged = [b"what\n", whole.as_slice(), b"{\"time\":\"2026"].concat();
    std::fs::write(&path, damaged).expect("written");
    assert_eq!(lines(&path).len(), 1);
}

#[test]
fn times() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_795_953_599_007, "2026-11-29T11:59:59.007Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ];
    for (millis, expected) in cases {
        assert_eq!(
            rfc3339(UNIX_EPOCH + Duration::from_millis(millis)),
            expected
        );
    }
}
