//! Runs recorded cases against this crate: `cargo test -p pirn-codemode --test conformance`.
//!
//! `PIRN_CASES` names another folder of cases. An argument limits the run to cases whose `topic/name` contains it. A case that
//! `tests/deviations.json` lists must differ from its recording, and says there why; one that `tests/superseded.json` lists is
//! not run, since the rule named there replaced it; every other case must agree.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::string_slice,
    reason = "a test: a broken case file must stop it"
)]

mod cases;
mod compare;
mod encode;
mod kinds;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value;

use crate::cases::{Case, CaseFolder};
use crate::compare::Difference;

/// The name under which test runners that list tests know this one.
const TEST_NAME: &str = "conformance";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--list") {
        if !has("--ignored") {
            say(&format!("{TEST_NAME}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let filter = arguments
        .iter()
        .find(|argument| !argument.starts_with('-') && *argument != TEST_NAME);
    let folder = CaseFolder::find();
    let deviations = cases::load_list("deviations.json", "reason");
    // Replaced by a rule that tests/codemode shows; whether such a case still agrees says nothing.
    let superseded = cases::load_list("superseded.json", "rule");
    let mut report = Report::default();
    for path in folder.files() {
        for case in cases::load_file(&path) {
            if superseded.contains_key(&case.label) {
                report.superseded += 1;
            } else if filter.is_none_or(|filter| case.label.contains(filter.as_str())) {
                report.add(&case, deviations.get(&case.label), &folder);
            }
        }
    }
    report.finish()
}

#[derive(Default)]
struct Report {
    passed: usize,
    superseded: usize,
    failed: usize,
}

impl Report {
    fn add(&mut self, case: &Case, deviation: Option<&String>, folder: &CaseFolder) {
        let Some(run) = kinds::runner(&case.kind) else {
            return self.fail(case, &[format!("unknown kind \"{}\"", case.kind)]);
        };
        let started = Instant::now();
        let outcome = run(&case.value, folder);
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let actual = match outcome {
            Ok(actual) => actual,
            Err(problem) => return self.fail(case, &[format!("could not be run: {problem}")]),
        };
        let mut problems = Vec::new();
        for difference in
            compare::differences(&case.expect, &compare::drop_unfixed(&case.expect, &actual))
        {
            if case.depends_on_engine(&difference.path) {
                say(&format!(
                    "note {}: depends on the engine: {difference}",
                    case.label
                ));
            } else {
                problems.push(difference);
            }
        }
        let too_slow = case
            .value
            .get("max_ms")
            .and_then(Value::as_u64)
            .filter(|max_ms| elapsed_ms > *max_ms);
        match (deviation, problems.is_empty(), too_slow) {
            (Some(reason), true, _) => self.fail(
                case,
                &[format!(
                    "agrees, but tests/deviations.json says that it differs: {reason}"
                )],
            ),
            (Some(_), false, _) | (None, true, None) => self.passed += 1,
            (None, _, too_slow) => {
                let mut lines: Vec<String> = problems.iter().map(Difference::to_string).collect();
                lines
                    .extend(too_slow.map(|max_ms| format!("took {elapsed_ms} ms, limit {max_ms}")));
                self.fail(case, &lines);
            }
        }
    }

    fn fail(&mut self, case: &Case, problems: &[String]) {
        self.failed += 1;
        say(&format!("FAIL {}", case.label));
        for problem in problems {
            say(&format!("  {}", problem.replace('\n', "\n  ")));
        }
    }

    fn finish(&self) -> ExitCode {
        say(&format!(
            "{} passed, {} failed, {} superseded",
            self.passed, self.failed, self.superseded
        ));
        if self.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Prints a line; a reader that has gone away is no failure.
fn say(line: &str) {
    let _closed_pipe = writeln!(std::io::stdout(), "{line}");
}
