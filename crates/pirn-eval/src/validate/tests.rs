use proptest::prelude::*;
use serde_json::Value;

use super::{StateProblem, check_state, has_huge_integer};
use crate::limits::{STATE_BYTES_MAX, STATE_NODES_MAX};

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Invalid,
    TooLarge,
}

fn verdict(json: &str) -> Verdict {
    match check_state(json) {
        Ok(()) => Verdict::Good,
        Err(StateProblem::Invalid(_)) => Verdict::Invalid,
        Err(StateProblem::TooLarge(_)) => Verdict::TooLarge,
    }
}

#[test]
fn good_and_bad_states() {
    let big = "9".repeat(400);
    let cases = [
        ("{}", Verdict::Good),
        (" { \"a\" : [ 1 , 2.5e-3 , null ] } ", Verdict::Good),
        (
            r#"{"a":{"b":[{},[],"\u00e9\ud800\n",true,false,-0]}}"#,
            Verdict::Good,
        ),
        (&format!("{{\"n\":{big}}}"), Verdict::Good),
        ("", Verdict::Invalid),
        ("[]", Verdict::Invalid),
        ("null", Verdict::Invalid),
        ("{", Verdict::Invalid),
        ("{}}", Verdict::Invalid),
        ("{} {}", Verdict::Invalid),
        (r#"{"a"}"#, Verdict::Invalid),
        (r#"{"a":1,}"#, Verdict::Invalid),
        (r#"{"a":[1,]}"#, Verdict::Invalid),
        (r#"{"a":[1}"#, Verdict::Invalid),
        (r#"{"a":{"b":1]}"#, Verdict::Invalid),
        (r#"{"a":NaN}"#, Verdict::Invalid),
        (r#"{"a":01}"#, Verdict::Invalid),
        (r#"{"a":1.}"#, Verdict::Invalid),
        (r#"{"a":1e400}"#, Verdict::Invalid),
        (r#"{"a":"\x"}"#, Verdict::Invalid),
        ("{\"a\":\"\n\"}", Verdict::Invalid),
    ];
    for (json, expected) in cases {
        assert_eq!(verdict(json), expected, "{json}");
    }
}

#[test]
fn size_counts_compact_bytes() {
    let longest = format!("{{\"a\":\"{}\"}}", "x".repeat(STATE_BYTES_MAX - 8));
    assert_eq!(verdict(&longest), Verdict::Good);
    assert_eq!(verdict(&format!("  {longest}  ")), Verdict::Good);
    assert_eq!(
        verdict(&longest.replace("xx\"", "xxx\"")),
        Verdict::TooLarge
    );
}

#[test]
fn values_are_counted_with_their_containers() {
    // The root and the list are two.
    let list = |count: usize| format!("{{\"a\":[{}]}}", vec!["1"; count].join(","));
    assert_eq!(verdict(&list(STATE_NODES_MAX - 2)), Verdict::Good);
    assert_eq!(verdict(&list(STATE_NODES_MAX - 1)), Verdict::TooLarge);
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(99_000), "]".repeat(99_000));
    assert_eq!(verdict(&deep), Verdict::Good);
    let deeper = format!("{{\"a\":{}", "[".repeat(1_000_000));
    assert_eq!(verdict(&deeper), Verdict::TooLarge);
    assert!(!has_huge_integer(&"[".repeat(1_000_000)));
}

#[test]
fn huge_integers_are_seen() {
    assert!(!has_huge_integer(
        "[18446744073709551615,-9223372036854775808,1e300,0.1]"
    ));
    assert!(has_huge_integer("{\"a\":[1,18446744073709551616]}"));
    assert!(has_huge_integer("-9223372036854775809"));
    assert!(!has_huge_integer("\"18446744073709551616\""));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_as_an_object_is_good(value in any_json()) {
        let json = serde_json::json!({ "value": value }).to_string();
        prop_assert_eq!(verdict(&json), Verdict::Good);
    }

    #[test]
    fn agrees_with_a_parser(json in r#"\{("a":)?[\{\}\[\],:"0-9.+\-a-c ]{0,12}\}?"#) {
        // Without exponents, so that every number is finite.
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&json).is_ok();
        prop_assert_eq!(verdict(&json) == Verdict::Good, is_json);
    }
}
