//! Comparing what happened with what the row says.

use std::fmt::Write as _;

use pirn_mcp::ErrorKind;

use crate::driver::Outcome;
use crate::row::{Called, Connect, Expect, Healthy, Kind, Over, PROMPT, Row, Saw, Tools};

/// How long a server may take to be gone after it was closed: the end of its input, SIGTERM and SIGKILL each get their time.
const CLOSED_WITHIN: std::time::Duration = std::time::Duration::from_secs(8);

/// Every difference at once, since each run of a row costs time.
pub(crate) fn check(row: &Row, over: Over, outcome: &Outcome) -> Result<(), String> {
    let mut wrong = Vec::new();
    wrong.extend(connect(row, outcome).err());
    wrong.extend(tools(row, outcome).err());
    if outcome.calls.len() == row.calls.len() {
        for (call, called) in row.calls.iter().zip(&outcome.calls) {
            let found = expect(&call.expect, called).and_then(|()| {
                if called.took > call.within {
                    return Err(format!(
                        "took {:?}, wanted {:?} at most",
                        called.took, call.within
                    ));
                }
                Ok(())
            });
            wrong.extend(
                found
                    .err()
                    .map(|text| format!("call of {}: {text}", call.tool)),
            );
        }
    } else {
        wrong.push("not every call was made".to_owned());
    }
    wrong.extend(healthy(row, outcome).err());
    for saw in &row.saw {
        wrong.extend(seen(saw, outcome).err());
    }
    if outcome.closing_took > CLOSED_WITHIN {
        wrong.push(format!("closing took {:?}", outcome.closing_took));
    }
    if over == Over::Stdio && outcome.processes_left > 0 {
        wrong.push(format!("{} processes are left", outcome.processes_left));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let mut report = wrong.join("\n");
    let _infallible = write!(
        report,
        "\nconnecting: {}",
        shorten(&format!("{:?}", outcome.connected))
    );
    for called in &outcome.calls {
        let _infallible = write!(report, "\ncalled: {}", shorten(&format!("{called:?}")));
    }
    let methods: Vec<&str> = outcome
        .seen
        .iter()
        .map(|seen| seen.method.as_str())
        .collect();
    let _infallible = write!(report, "\nthe server saw: {}", shorten(&methods.join(", ")));
    for warning in &outcome.warnings {
        let _infallible = write!(report, "\nwarning: {}", shorten(warning));
    }
    Err(report)
}

fn connect(row: &Row, outcome: &Outcome) -> Result<(), String> {
    match (&row.connect, &outcome.connected) {
        (Connect::Works, Ok(())) | (Connect::Ends, _) => Ok(()),
        (Connect::Works, Err((kind, text))) => Err(format!(
            "connecting failed with {kind:?}: {}",
            shorten(text)
        )),
        (Connect::Fails(..), Ok(())) => Err("connecting worked".to_owned()),
        (Connect::Fails(kind, says), Err((found, text))) => {
            if !is_kind(*kind, found) {
                return Err(format!(
                    "connecting failed with {found:?}, wanted {kind:?}: {}",
                    shorten(text)
                ));
            }
            contains(text, says)
        }
    }
}

fn is_kind(kind: Kind, found: &ErrorKind) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Start => *found == ErrorKind::Start,
        Kind::Timeout => *found == ErrorKind::Timeout,
        Kind::Closed => *found == ErrorKind::Closed,
        Kind::Protocol => *found == ErrorKind::Protocol,
        Kind::Http(status) => *found == ErrorKind::Http { status },
        Kind::NeedsAuthorization => *found == ErrorKind::NeedsAuthorization,
    }
}

/// Whether the tools are those of the row. Also asked while the server may still be changing them.
pub(crate) fn tools(row: &Row, outcome: &Outcome) -> Result<(), String> {
    let found = &outcome.tools;
    let has = |name: &&str| {
        found.iter().any(|(registry, server)| {
            if name.starts_with("mcp__") {
                registry == name
            } else {
                server == name
            }
        })
    };
    let is_right = match &row.tools {
        Tools::Any => true,
        Tools::Count(count) => found.len() == *count,
        Tools::With(names) => names.iter().all(has),
        Tools::Exactly(names) => names.len() == found.len() && names.iter().all(has),
    };
    if is_right {
        Ok(())
    } else {
        Err(format!(
            "wanted the tools {:?}, found {}",
            row.tools,
            shorten(&format!("{found:?}"))
        ))
    }
}

fn expect(expect: &Expect, called: &Called) -> Result<(), String> {
    match expect {
        Expect::Ends => Ok(()),
        Expect::Text(text) if called.is_error => Err(format!(
            "wanted {text:?}, got the error {}",
            shorten(&called.text)
        )),
        Expect::Text(text) => contains(&called.text, &[text]),
        Expect::Error(_) if !called.is_error => {
            Err(format!("wanted an error, got {}", shorten(&called.text)))
        }
        Expect::Error(says) => contains(&called.text, says),
        Expect::Cancelled if called.was_cancelled => Ok(()),
        Expect::Cancelled => Err(format!("was not cancelled: {}", shorten(&called.text))),
        Expect::Result(_) if called.is_error => Err(format!("failed: {}", shorten(&called.text))),
        Expect::Result(check) => check(called),
    }
}

fn healthy(row: &Row, outcome: &Outcome) -> Result<(), String> {
    match (row.healthy, &outcome.healthy) {
        (Healthy::Works | Healthy::Again | Healthy::IfPresent, Some(called)) => {
            expect(&Expect::Text("fine"), called).and_then(|()| {
                if called.took > PROMPT {
                    return Err(format!("took {:?}", called.took));
                }
                Ok(())
            })
        }
        (Healthy::Fails(says), Some(called)) => expect(&Expect::Error(vec![says]), called),
        (Healthy::Absent | Healthy::IfPresent, None) | (Healthy::Ends, Some(_)) => Ok(()),
        (Healthy::Absent, Some(_)) => Err("is there".to_owned()),
        (Healthy::Works | Healthy::Again | Healthy::Ends | Healthy::Fails(_), None) => {
            Err("is not there".to_owned())
        }
    }
    .map_err(|text| format!("the healthy tool: {text}"))
}

fn seen(saw: &Saw, outcome: &Outcome) -> Result<(), String> {
    match saw {
        Saw::Times(method, least, most) => {
            let count = outcome
                .seen
                .iter()
                .filter(|seen| seen.method == *method)
                .count();
            if (*least..=*most).contains(&count) {
                Ok(())
            } else {
                Err(format!(
                    "the server saw {method} {count} times, wanted {least} to {most}"
                ))
            }
        }
        Saw::That(what, is_true) => {
            if is_true(&outcome.seen) {
                Ok(())
            } else {
                Err(format!("the server did not see {what}"))
            }
        }
    }
}

fn contains(text: &str, wanted: &[&str]) -> Result<(), String> {
    match wanted.iter().find(|wanted| !text.contains(**wanted)) {
        None => Ok(()),
        Some(missing) => Err(format!("{missing:?} is not in {}", shorten(text))),
    }
}

/// Enough of a text to see what it is.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 600;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
