use proptest::prelude::*;

use super::fuzz_worker;

/// Lines of good frames, damaged ones, and bytes.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let frames = prop::sample::select(vec![
        r#"{"type":"capability_call","evalId":"e","callId":"1","name":"n","input":{"a":[1,2]}}"#,
        r#"{"type":"display","evalId":"e","mimeType":"image/png","data":"aGk="}"#,
        r#"{"type":"eval_result","id":"e","ok":true,"value":7,"state":{"a":1},"lossy":["a"]}"#,
        r#"{"type":"eval_complete","id":"e","token":"x"}"#,
        r#"{"type":"ready","runtime":"python"}"#,
    ]);
    let line = prop_oneof![
        4 => frames.prop_map(|frame| frame.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|line| line.into_iter().chain([b'\n']))
            .collect()
    })
}

proptest! {
    #[test]
    fn what_a_worker_writes_does_no_harm(size: u8, bytes in written()) {
        fuzz_worker(&[&[size], bytes.as_slice()].concat());
    }
}
