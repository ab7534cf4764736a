//! The client against servers that misbehave, one misbehaviour a row, over every transport on which it can happen.
//!
//! Whatever a server does, each call ends in an answer or in an error that says why, within its limit, and costs nobody
//! another tool. The rows are data, see `rows`; the servers are scripts of `pirn-testkit`. Over pipes this very program is the
//! server, started with `PIRN_FAKE_SERVER` naming the row.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::expect_used,
    clippy::format_collect,
    clippy::match_wild_err_arm,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "helpers of tests fail like tests"
)]

mod check;
mod driver;
mod row;
mod rows;
mod session;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use row::{Place, Row};

/// The row that this process plays the server of.
pub(crate) const SERVER_VARIABLE: &str = "PIRN_FAKE_SERVER";
/// Where it writes what it sees.
pub(crate) const LOG_VARIABLE: &str = "PIRN_FAKE_LOG";

fn main() -> ExitCode {
    let rows = rows::all();
    if let Ok(name) = std::env::var(SERVER_VARIABLE) {
        return serve(&rows, &name);
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "a name stands for one row");
    let trials = rows.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// One row over all its transports, side by side: most of them wait most of the time.
fn trial(row: Row) -> Trial {
    Trial::test(row.name, move || {
        let runtime = runtime()?;
        let runs: Vec<_> = row
            .over
            .iter()
            .map(|over| {
                let (row, over) = (row.clone(), *over);
                let run = async move { check::check(&row, over, &driver::run(&row, over).await) };
                (over, runtime.spawn(run))
            })
            .collect();
        let mut wrong = Vec::new();
        for (over, run) in runs {
            match runtime.block_on(run) {
                Ok(Ok(())) => {}
                Ok(Err(text)) => wrong.push(format!("over {}: {text}", over.name())),
                Err(panic) => wrong.push(format!("over {}: {}", over.name(), message(panic))),
            }
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("\n\n").into())
        }
    })
}

/// What a task said when it panicked.
fn message(panic: tokio::task::JoinError) -> String {
    let payload = panic.into_panic();
    match payload.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => payload
            .downcast_ref::<&str>()
            .map_or_else(String::new, |text| (*text).to_owned()),
    }
}

/// Plays the server of a row until the process is to end.
fn serve(rows: &[Row], name: &str) -> ExitCode {
    let Some(Place::Fake(script)) = rows
        .iter()
        .find(|row| row.name == name)
        .map(|row| row.place.clone())
    else {
        return ExitCode::FAILURE;
    };
    let log = PathBuf::from(std::env::var_os(LOG_VARIABLE).unwrap_or_default());
    let served = runtime().and_then(|runtime| {
        let end = runtime.block_on(pirn_testkit::serve_stdio(*script, &log));
        // A thread that reads standard input would be waited for otherwise.
        runtime.shutdown_background();
        end
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the fake server failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}
