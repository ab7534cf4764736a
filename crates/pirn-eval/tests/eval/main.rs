//! The one integration binary of this crate. It is also the broker, and a host to be killed, when it is started as such.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::format_collect,
    reason = "a failing test panics and says where; the lints only know tests of the built-in harness"
)]

mod calls;
mod clock;
mod engine;
mod faults;
mod host;
mod inventory;
mod kills;
mod lifecycle;
mod network;
mod output;
mod programs;
mod random_kills;
mod state;
mod support;
mod workers;

use std::os::fd::AsFd as _;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(support::AS_BROKER) => act_as_broker(),
        Some(support::AS_HOST) => host::act_as_host(&arguments.next().unwrap_or_default()),
        _ => {
            let mut trials: Vec<Trial> = Vec::new();
            for (module, tests) in [
                ("calls", calls::TESTS),
                ("clock", clock::TESTS),
                ("engine", engine::TESTS),
                ("faults", faults::TESTS),
                ("kills", kills::TESTS),
                ("lifecycle", lifecycle::TESTS),
                ("network", network::TESTS),
                ("output", output::TESTS),
                ("programs", programs::TESTS),
                ("random_kills", random_kills::TESTS),
                ("state", state::TESTS),
                ("workers", workers::TESTS),
            ] {
                trials.extend(tests.iter().map(|(name, test)| {
                    let test = *test;
                    Trial::test(format!("{module}::{name}"), move || {
                        test();
                        Ok(())
                    })
                }));
            }
            trials.extend(inventory::tests().into_iter().map(|(name, test)| {
                Trial::test(format!("inventory::{name}"), move || {
                    test();
                    Ok(())
                })
            }));
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}

fn act_as_broker() -> ExitCode {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    ExitCode::from(pirn_eval::broker::run(stdin, stdout))
}
