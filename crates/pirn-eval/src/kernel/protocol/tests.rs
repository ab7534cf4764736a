use super::{Completion, EvalProtocol, Step};
use crate::frame::parse_worker_frame;
use crate::limits::{DISPLAYS_MAX, LOSSY_MAX};

const CALL: &str = r#"{"type":"capability_call","evalId":"e","callId":"1","name":"n","input":{}}"#;
const DISPLAY: &str = r#"{"type":"display","evalId":"e","mimeType":"image/png","data":"aGk="}"#;
const RESULT: &str = r#"{"type":"eval_result","id":"e","ok":true,"value":7,"state":{}}"#;
const COMPLETE: &str = r#"{"type":"eval_complete","id":"e","token":"t"}"#;
const READY: &str = r#"{"type":"ready","runtime":"python"}"#;

fn take(protocol: &mut EvalProtocol, line: &str) -> Result<(), String> {
    let frame = parse_worker_frame(line.as_bytes())?;
    protocol.on_frame(frame).map(|_| ())
}

/// An eval up to a phase: 0 not started, 1 running, 2 with a result, 3 with the token out, 4 complete.
fn at(phase: usize) -> EvalProtocol {
    let mut protocol = EvalProtocol::new("e".to_owned());
    for step in 1..=phase {
        match step {
            1 => protocol.start(),
            2 => take(&mut protocol, RESULT).unwrap(),
            3 => protocol.finalize("t".to_owned()),
            _ => take(&mut protocol, COMPLETE).unwrap(),
        }
    }
    protocol
}

#[test]
fn every_frame_has_its_time() {
    // Which phases take which frame.
    let table = [
        (READY, [false, false, false, false, false]),
        (CALL, [false, true, false, false, false]),
        (DISPLAY, [false, true, false, false, false]),
        (RESULT, [false, true, false, false, false]),
        (COMPLETE, [false, false, false, true, false]),
    ];
    for (line, legal) in table {
        for (phase, is_legal) in legal.into_iter().enumerate() {
            let result = take(&mut at(phase), line);
            assert_eq!(
                result.is_ok(),
                is_legal,
                "{line} in phase {phase}: {result:?}"
            );
        }
    }
}

#[test]
fn frames_of_another_eval_are_refused() {
    for line in [CALL, DISPLAY, RESULT] {
        let other = line.replace("\"e\"", "\"f\"");
        assert!(take(&mut at(1), &other).is_err(), "{other}");
    }
    for other in [
        COMPLETE.replace("\"e\"", "\"f\""),
        COMPLETE.replace("\"t\"", "\"u\""),
    ] {
        assert!(take(&mut at(3), &other).is_err(), "{other}");
    }
}

#[test]
fn a_result_counts_only_when_complete() {
    assert!(at(1).into_result().is_none());
    for (phase, completion) in [
        (2, Completion::Open),
        (3, Completion::Open),
        (4, Completion::Complete),
    ] {
        let (result, found) = at(phase).into_result().unwrap();
        assert_eq!(found, completion);
        assert_eq!(result.value, Some(7.into()));
    }
}

#[test]
fn what_a_result_carries_is_bounded() {
    let mut protocol = at(1);
    for _ in 0..DISPLAYS_MAX + 3 {
        take(&mut protocol, DISPLAY).unwrap();
    }
    assert_eq!(protocol.displays.len(), DISPLAYS_MAX);
    assert_eq!(protocol.displays_left_out, 3);
    let lossy = vec!["x".repeat(1000); LOSSY_MAX + 1];
    let line = serde_json::json!({"type": "eval_result", "id": "e", "ok": true, "lossy": lossy});
    let line = line.to_string();
    let frame = parse_worker_frame(line.as_bytes()).unwrap();
    assert!(matches!(protocol.on_frame(frame), Ok(Step::Settle)));
    let (result, _) = protocol.into_result().unwrap();
    assert_eq!(result.lossy.len(), LOSSY_MAX);
    assert!(result.lossy[0].len() < 300);
}
