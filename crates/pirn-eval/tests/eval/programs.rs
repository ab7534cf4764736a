//! The programs inside the interpreters, without the kernel: `tests/workers/test_workers.py` drives them over sockets. In parts,
//! because each case starts an interpreter.

use std::process::Command;

use crate::support::Test;

/// Into how many parts the cases are divided.
const PARTS: usize = 6;

pub(crate) const TESTS: &[Test] = &[
    ("keep_to_the_protocol_1", part::<1>),
    ("keep_to_the_protocol_2", part::<2>),
    ("keep_to_the_protocol_3", part::<3>),
    ("keep_to_the_protocol_4", part::<4>),
    ("keep_to_the_protocol_5", part::<5>),
    ("keep_to_the_protocol_6", part::<6>),
];

fn part<const PART: usize>() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workers/test_workers.py");
    let output = Command::new("python3")
        .args(["-B", script, "--part", &format!("{PART}/{PARTS}")])
        .output()
        .expect("python3 is needed");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
