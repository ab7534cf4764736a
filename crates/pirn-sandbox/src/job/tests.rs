//! Limits of policies as limits of jobs.

use std::time::Duration;

use super::{JobLimits, LimitFlags};
use crate::policy::Limits;
use crate::report::Layer;

const NONE: Limits = Limits {
    memory_bytes: None,
    processes: None,
    file_bytes: None,
    open_files: None,
    cpu: None,
};
const ALWAYS: u32 = LimitFlags::KILL_ON_JOB_CLOSE | LimitFlags::DIE_ON_UNHANDLED_EXCEPTION;

#[test]
fn a_job_without_limits_still_ends_with_its_owner() {
    let (job, missing) = JobLimits::of(&NONE);
    assert_eq!(job.flags.0, ALWAYS);
    assert_eq!(missing, None);
}

#[test]
fn limits_become_those_of_the_job() {
    let (job, missing) = JobLimits::of(&Limits {
        memory_bytes: Some(1 << 20),
        processes: Some(7),
        cpu: Some(Duration::from_millis(1_500)),
        ..NONE
    });
    assert_eq!(
        job,
        JobLimits {
            flags: LimitFlags(
                ALWAYS
                    | LimitFlags::JOB_MEMORY
                    | LimitFlags::ACTIVE_PROCESS
                    | LimitFlags::PROCESS_TIME
            ),
            process_time: 15_000_000,
            active_processes: 7,
            job_memory: 1 << 20,
        }
    );
    assert_eq!(missing, None);
}

#[test]
fn huge_limits_are_the_highest_there_are() {
    let (job, _) = JobLimits::of(&Limits {
        processes: Some(u64::MAX),
        cpu: Some(Duration::MAX),
        ..NONE
    });
    assert_eq!(job.active_processes, u32::MAX);
    assert_eq!(job.process_time, i64::MAX);
}

#[test]
fn what_no_job_can_keep_is_reported() {
    for limits in [
        Limits {
            file_bytes: Some(1),
            ..NONE
        },
        Limits {
            open_files: Some(1),
            ..NONE
        },
    ] {
        let (_, missing) = JobLimits::of(&limits);
        assert_eq!(missing.unwrap().layer, Layer::ResourceLimits);
    }
}
