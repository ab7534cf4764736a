use std::sync::Mutex;

use super::*;

#[test]
fn progress_reads_as_a_message_or_as_numbers() {
    let cases = [
        (3.0, Some(10.0), None, "Progress 3/10"),
        (0.25, None, None, "Progress 0.25"),
        (3.0, Some(0.0), Some(""), "Progress 3"),
        (3.0, Some(10.0), Some("Reading\nfile  7"), "Reading file 7"),
    ];
    for (progress, total, message, expected) in cases {
        assert_eq!(progress_text(progress, total, message), expected);
    }
}

#[test]
fn progress_becomes_updates_where_somebody_listens() {
    let context = CallContext::detached("1");
    assert!(progress_sink(&context).is_none());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink_seen = Arc::clone(&seen);
    let context = context.with_updates(Arc::new(move |update| {
        sink_seen.lock().unwrap().push(update.text);
    }));
    progress_sink(&context).unwrap()("Progress 1/2".to_owned());
    assert_eq!(*seen.lock().unwrap(), ["Progress 1/2"]);
}
