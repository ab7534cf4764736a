//! Scripts that try to hang, fill, confuse or end the process. Each must end in time, within its memory, in a known way.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pirn_vm::{End, Event, Limits, Settlement, Step, Vm};

use crate::support::{ENGINE, run, started};

mod table;
use table::{ATTACKS, Kind};

/// What the contract allows a script beyond its deadline.
const OVERTIME_MAX: Duration = Duration::from_millis(50);
/// What the contract allows a VM's memory beyond image and limit.
const MEMORY_SLACK_BYTES: usize = 8 << 20;
const LIMITS: Limits = Limits {
    memory_bytes: 64 << 20,
    stack_bytes: 1 << 20,
    cpu: Duration::from_secs(2),
    output_characters: 16_777_216,
    output_items: 100_000,
    store_value_characters: 262_144,
    store_total_characters: 1_048_576,
};
/// A busy machine may take the processor away for longer than the overtime allowed; it will not do so every time.
const ATTEMPTS_MAX: u32 = 5;

/// How one attack went.
struct Outcome {
    kind: Kind,
    end: End,
    overtime: Duration,
    memory_bytes: usize,
}

/// The attacks are run in parts, so that no test takes long, and one at a time, so that they can be timed.
const PARTS: usize = 4;
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn every_attack_of_part_1_ends_in_time_within_its_memory_in_a_known_way() {
    run_part(0);
}

#[test]
fn every_attack_of_part_2_ends_in_time_within_its_memory_in_a_known_way() {
    run_part(1);
}

#[test]
fn every_attack_of_part_3_ends_in_time_within_its_memory_in_a_known_way() {
    run_part(2);
}

#[test]
fn every_attack_of_part_4_ends_in_time_within_its_memory_in_a_known_way() {
    run_part(3);
}

fn run_part(part: usize) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let image_bytes = Vm::new(&ENGINE, LIMITS).expect("a VM").memory_bytes();
    let memory_bytes_max = image_bytes + LIMITS.memory_bytes as usize + MEMORY_SLACK_BYTES;
    let mut wrong = Vec::new();
    for (name, deadline_ms, expected) in ATTACKS.iter().skip(part).step_by(PARTS) {
        let source = std::fs::read_to_string(format!("{}/{name}.js", table::FOLDER)).expect(name);
        let mut outcome = attack(&source, Duration::from_millis(*deadline_ms));
        for _ in 1..ATTEMPTS_MAX {
            if outcome.overtime > OVERTIME_MAX || !expected.contains(&outcome.kind) {
                outcome = attack(&source, Duration::from_millis(*deadline_ms));
            }
        }
        let is_bounded =
            outcome.overtime <= OVERTIME_MAX && outcome.memory_bytes <= memory_bytes_max;
        if !expected.contains(&outcome.kind) || !is_bounded {
            let end: String = format!("{:?}", outcome.end).chars().take(200).collect();
            let memory_mib = outcome.memory_bytes >> 20;
            wrong.push(format!(
                "{name}: {:?}, {:?} over, {memory_mib} MiB: {end}",
                outcome.kind, outcome.overtime
            ));
        }
        assert_eq!(run("return 'next';").value(), "\"next\"", "after {name}");
    }
    assert!(
        wrong.is_empty(),
        "{} attacks went wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_table_and_the_folder_hold_the_same_attacks() {
    let listed: BTreeSet<String> = ATTACKS
        .iter()
        .map(|(name, ..)| format!("{name}.js"))
        .collect();
    let found: BTreeSet<String> = std::fs::read_dir(table::FOLDER)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(listed, found);
    assert_eq!(listed.len(), ATTACKS.len());
}

/// Runs one script to its end, answering its calls at once.
fn attack(source: &str, time: Duration) -> Outcome {
    let mut vm = started(source, &["echo"], LIMITS);
    let deadline = Instant::now() + time;
    vm.set_deadline(Some(deadline));
    let mut memory_bytes = 0;
    loop {
        let step = vm.poll();
        let overtime = Instant::now().saturating_duration_since(deadline);
        memory_bytes = memory_bytes.max(vm.memory_bytes());
        match step {
            Step::Ended(end) => {
                return Outcome {
                    kind: kind_of(&end),
                    end,
                    overtime,
                    memory_bytes,
                };
            }
            Step::Waiting { wake_at } => {
                let mut is_idle = true;
                for event in vm.events().drain() {
                    if let Event::Call { id, arguments, .. } = event {
                        vm.settle(id, Settlement::Resolved(arguments))
                            .expect("an open call");
                        is_idle = false;
                    }
                }
                if is_idle {
                    let until = wake_at.unwrap_or(deadline).min(deadline);
                    std::thread::sleep(until.saturating_duration_since(Instant::now())); // sleeps: nothing happens before
                }
            }
        }
    }
}

fn kind_of(end: &End) -> Kind {
    match end {
        End::Returned(_) => Kind::Returned,
        End::Failed(_) => Kind::Failed,
        End::Stopped(..) => Kind::Stopped,
        End::OutOfMemory(_) => Kind::OutOfMemory,
        End::Crashed(_) => Kind::Crashed,
    }
}
