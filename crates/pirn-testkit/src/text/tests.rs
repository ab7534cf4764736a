//! Placeholders, one case a line.

use serde_json::json;

use super::{Names, fill};
use crate::log::{Log, Seen};

#[track_caller]
fn check(text: &str, expected: &str) {
    let log = Log::in_memory();
    let call = |id: u32| {
        json!({
            "id": id,
            "method": "tools/call",
            "params": {"name": "ok", "_meta": {"progressToken": "t"}},
        })
    };
    log.push(Seen::message(call(6)));
    let names = Names {
        origin: "http://own".to_owned(),
        neighbour: "http://other".to_owned(),
        ..Names::default()
    };
    let filled = fill(text.as_bytes(), &Seen::message(call(7)), &names, &log);
    assert_eq!(String::from_utf8(filled).unwrap(), expected);
}

#[test]
fn placeholders_are_filled_in() {
    check("", "");
    check("nothing to fill", "nothing to fill");
    check(r#"{"id":$ID}"#, r#"{"id":7}"#);
    check(r#"{"id":"$ID"}"#, r#"{"id":7}"#);
    check(r#"{"id":$ID.0}"#, r#"{"id":7.0}"#);
    check(r#"{"id":$STRING_ID}"#, r#"{"id":"7"}"#);
    check(r#"{"id":$CALL_ID}"#, r#"{"id":6}"#);
    check(r#"{"token":"$TOKEN"}"#, r#"{"token":"t"}"#);
    check(r#""page-$COUNT page-$COUNT""#, r#""page-0 page-1""#);
    check("$ORIGIN/a $NEIGHBOUR/b", "http://own/a http://other/b");
    check("<$X(5)>", "<xxxxx>");
    check("$ $X( $UNKNOWN", "$ $X( $UNKNOWN");
}
