use std::time::Duration;

use pirn_tool::{CallStatus, Receipt};
use serde_json::{Value, json};

use super::*;
use crate::limits::OUTPUT_BYTES_DEFAULT;
use crate::outcome::{KernelState, ProgramCall};

fn outcome() -> EvalOutcome {
    EvalOutcome {
        language: Language::Python,
        stdout: String::new(),
        stderr: String::new(),
        is_cut: false,
        value: None,
        value_text: None,
        displays: Vec::new(),
        lossy: Vec::new(),
        failure: None,
        calls: Vec::new(),
        decisions: Vec::new(),
        state: KernelState::Committed,
        is_kernel_reused: false,
        elapsed: Duration::from_millis(7),
        interpreter: "python 3.11.7".to_owned(),
        sandbox: None,
        notes: Vec::new(),
    }
}

fn ran(outcome: EvalOutcome) -> EvalReport {
    EvalReport::Ran {
        outcome: Box::new(outcome),
        approval: Approval::Given,
    }
}

fn text(outcome: EvalOutcome) -> String {
    ran(outcome).to_result(OUTPUT_BYTES_DEFAULT).joined_text()
}

fn failure(message: &str) -> EvalFailure {
    EvalFailure {
        kind: EvalFailureKind::UserError,
        message: message.to_owned(),
        trace: Some("line 1\n".to_owned()),
    }
}

fn call(name: &str, status: CallStatus) -> ProgramCall {
    let mut receipt = Receipt::with_start("1", name, "{}");
    receipt.end(status, Duration::from_millis(2), None);
    ProgramCall {
        receipt,
        effects: vec!["read".to_owned()],
    }
}

#[test]
fn sections_come_in_order_and_empty_ones_are_left_out() {
    let rows: [(&str, &str, Option<Value>, &str); 6] = [
        (
            "",
            "",
            None,
            "The program ended without output and without a value.",
        ),
        ("a\nb\n", "", None, "stdout:\na\nb"),
        ("", "w\n", Some(json!(1)), "stderr:\nw\n\nresult:\n1"),
        (
            "o",
            "e",
            Some(json!("raw \"text\"")),
            "stdout:\no\n\nstderr:\ne\n\nresult:\nraw \"text\"",
        ),
        (
            "",
            "",
            Some(json!({"a": [1]})),
            "result:\n{\n  \"a\": [\n    1\n  ]\n}",
        ),
        ("", "", Some(json!(false)), "result:\nfalse"),
    ];
    for (stdout, stderr, value, expected) in rows {
        let outcome = EvalOutcome {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            value,
            ..outcome()
        };
        assert_eq!(text(outcome), expected);
    }
}

#[test]
fn a_failure_says_first_what_was_called_and_keeps_the_output() {
    let outcome = EvalOutcome {
        stdout: "before\n".to_owned(),
        failure: Some(failure("ValueError: no")),
        calls: vec![
            call("read_text", CallStatus::Ok),
            call("read_text", CallStatus::Error),
        ],
        state: KernelState::Unchanged,
        ..outcome()
    };
    let result = ran(outcome).to_result(OUTPUT_BYTES_DEFAULT);
    assert!(result.is_error);
    assert_eq!(
        result.joined_text(),
        "user_error after 2 capability calls: ValueError: no\n`state` is as it was before this program.\n\n\
         trace:\nline 1\n\nstdout:\nbefore"
    );
    let details = result.details.unwrap();
    assert_eq!(
        details,
        json!({
            "ok": false,
            "language": "python",
            "elapsedMs": 7,
            "capabilityCalls": 2,
            "capabilityInvocations": [
                {"name": "read_text", "effects": ["read"], "elapsedMs": 2, "ok": true},
                {"name": "read_text", "effects": ["read"], "elapsedMs": 2, "ok": false},
            ],
            "kernelReused": false,
            "truncated": false,
            "denied": false,
            "state": "unchanged",
            "interpreter": "python 3.11.7",
            "error": {"kind": "user_error", "message": "ValueError: no", "trace": "line 1\n"},
            "approval": "given",
        })
    );
}

#[test]
fn texts_are_cut_at_characters_and_the_value_survives_much_output() {
    for (bytes_max, limit) in [
        (0, OUTPUT_BYTES_LEAST),
        (300, 300),
        (OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_DEFAULT),
        (usize::MAX, OUTPUT_BYTES_MOST),
    ] {
        let outcome = EvalOutcome {
            stdout: "漢".repeat(200_000),
            stderr: "ä".repeat(200_000),
            value: Some(json!({"found": 3})),
            ..outcome()
        };
        let result = ran(outcome).to_result(bytes_max);
        let text = result.joined_text();
        assert!(text.len() <= limit, "{} of {limit}", text.len());
        assert!(text.len() > limit - 100, "{} of {limit}", text.len());
        assert!(text.ends_with("result:\n{\n  \"found\": 3\n}"));
        assert_eq!(text.matches(" bytes cut]").count(), 2);
        assert_eq!(result.details.unwrap()["truncated"], true);
    }
}

#[test]
fn a_long_error_is_cut_and_its_beginning_stays() {
    let outcome = EvalOutcome {
        failure: Some(failure(&"x".repeat(300_000))),
        stderr: "e".repeat(300_000),
        ..outcome()
    };
    let text = ran(outcome).to_result(OUTPUT_BYTES_LEAST).joined_text();
    assert!(text.len() <= OUTPUT_BYTES_LEAST);
    assert!(text.starts_with("user_error after 0 capability calls: xxx"));
}

#[test]
fn pictures_become_blocks_and_losses_are_told() {
    let display = Display {
        mime_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
    };
    let pictures = EvalOutcome {
        displays: vec![display; 2],
        ..outcome()
    };
    let result = ran(pictures.clone()).to_result(OUTPUT_BYTES_DEFAULT);
    assert_eq!(
        (result.content.len(), result.joined_text()),
        (2, String::new())
    );
    let outcome = EvalOutcome {
        value: Some(json!([1])),
        value_text: Some("a table".to_owned()),
        lossy: vec!["value.items: 1 entry was left out".to_owned()],
        notes: vec!["3 pictures were left out".to_owned()],
        ..pictures
    };
    let result = ran(outcome).to_result(OUTPUT_BYTES_DEFAULT);
    assert_eq!(result.content.len(), 3);
    assert_eq!(
        result.joined_text(),
        "result:\na table\n\n[the value was converted: value.items: 1 entry was left out]\n[3 pictures were left out]"
    );
}

#[test]
fn what_was_denied_says_so() {
    let result = EvalReport::denied(Language::JavaScript, Denial::Declined { words: None })
        .to_result(OUTPUT_BYTES_DEFAULT);
    assert!(result.is_error);
    assert!(
        result
            .joined_text()
            .starts_with("not_approved: approval denied")
    );
    let details = result.details.unwrap();
    assert_eq!(
        (&details["denied"], &details["error"]["kind"]),
        (&json!(true), &json!("not_approved"))
    );
    let result = EvalReport::refused(Language::Python, EvalFailureKind::CodeTooLarge, "too long")
        .to_result(0);
    assert_eq!(result.details.unwrap()["denied"], false);
}

#[test]
fn thousands_of_calls_are_counted_and_some_are_listed() {
    let outcome = EvalOutcome {
        calls: vec![call("x", CallStatus::Ok); 3_000],
        ..outcome()
    };
    let details = ran(outcome).to_result(0).details.unwrap();
    assert_eq!(details["capabilityCalls"], 3_000);
    assert_eq!(
        details["capabilityInvocations"].as_array().unwrap().len(),
        256
    );
}
