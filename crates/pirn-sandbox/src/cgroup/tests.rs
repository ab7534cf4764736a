//! Groups on this machine where it gives any, and reading of what other machines say.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::base::{Base, Version, candidates};
use super::{Cgroups, Controller, Group, read_file, remove, sweep};
use crate::policy::Limits;
use crate::report::Layer;

const HYBRID: &str = "8:pids:/\n4:memory:/group/one\n9:name=systemd:/\n0::/\n";
const HYBRID_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
const UNIFIED: &str = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope\n";
const UNIFIED_MOUNTS: &str =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn places_for_groups_are_found() {
    let find = |own, mounts, controller| -> Vec<String> {
        candidates(own, mounts, controller)
            .into_iter()
            .map(|base| format!("{:?} {}", base.version, base.folder.display()))
            .collect()
    };
    assert_eq!(
        find(HYBRID, HYBRID_MOUNTS, Controller::Memory),
        [
            "One /sys/fs/cgroup/memory/group/one",
            "Two /sys/fs/cgroup/unified"
        ]
    );
    assert_eq!(
        find(HYBRID, HYBRID_MOUNTS, Controller::Processes),
        ["One /sys/fs/cgroup/pids", "Two /sys/fs/cgroup/unified"]
    );
    let user = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service";
    assert_eq!(
        find(UNIFIED, UNIFIED_MOUNTS, Controller::Memory),
        [
            format!("Two {user}/app.slice/terminal.scope"),
            format!("Two {user}/app.slice"),
            format!("Two {user}"),
        ]
    );
    // A container sees a part of the tree, or a tree it is not in.
    let part = "30 23 0:26 /a\\040b /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
    assert_eq!(
        find("0::/a b/c\n", part, Controller::Memory),
        ["Two /sys/fs/cgroup/c", "Two /sys/fs/cgroup"]
    );
    assert_eq!(find("0::/other\n", part, Controller::Memory), [""; 0]);
    assert_eq!(find("", "", Controller::Memory), [""; 0]);
}

/// Runs a shell script in a group, and gives its status and the group's counter of killed processes.
fn run_in(group: &Group, script: &str) -> (std::process::ExitStatus, String) {
    let files: Vec<PathBuf> = group
        .folders
        .iter()
        .map(|folder| folder.join("cgroup.procs"))
        .collect();
    let status = Command::new("/bin/sh")
        .args([
            "-c",
            "script=$1; shift; for file; do echo 0 > \"$file\" || exit 99; done; eval \"$script\"",
            "sh",
            script,
        ])
        .args(&files)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let events = group.folders.iter().find_map(|folder| {
        ["memory.oom_control", "memory.events"]
            .iter()
            .find_map(|name| read_file(&folder.join(name)).ok())
    });
    (status, events.unwrap_or_default())
}

fn remove_patiently(folders: &[PathBuf]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !remove(folders) {
        assert!(Instant::now() < deadline, "{folders:?} stay");
        std::thread::sleep(Duration::from_millis(5)); // sleeps: nothing tells when the kernel has let go of the last process
    }
}

fn limits(memory_bytes: Option<u64>, processes: Option<u64>) -> Limits {
    Limits {
        memory_bytes,
        processes,
        ..Limits::default()
    }
}

/// Makes a group with both limits, or checks that it is said why there is none.
fn group(limits: &Limits, layer: Layer) -> Option<Group> {
    let cgroups = Cgroups::of_machine();
    let group = cgroups.make(limits).unwrap();
    let missing = cgroups.missing(limits);
    if group.layers.contains(&layer) {
        assert!(missing.iter().all(|missing| missing.layer != layer));
        return Some(group);
    }
    assert!(missing.iter().any(|missing| missing.layer == layer
        && missing.reason.ends_with('.')
        && missing.remedy.is_some()));
    remove_patiently(&group.folders);
    None
}

#[test]
fn memory_is_bounded() {
    let limits = limits(Some(64 << 20), None);
    if let Some(group) = group(&limits, Layer::CgroupMemory) {
        let (status, events) = run_in(
            &group,
            "exec python3 -c 'x = bytearray(300 << 20); print(len(x))'",
        );
        assert_eq!(status.signal(), Some(9), "{status:?} {events}");
        assert!(
            events
                .lines()
                .any(|line| line.starts_with("oom_kill ") && line != "oom_kill 0")
        );
        assert!(group.events.is_some());
        remove_patiently(&group.folders);
    }
}

#[test]
fn processes_are_bounded() {
    let limits = limits(None, Some(20));
    if let Some(group) = group(&limits, Layer::CgroupProcesses) {
        let (status, _) = run_in(
            &group,
            "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); done; exit 5",
        );
        // The shell gives up at the first fork that fails.
        assert_eq!(status.code(), Some(2), "{status:?}");
        let left = read_file(&group.folders[0].join("cgroup.procs")).unwrap();
        let left: Vec<&str> = left.lines().collect();
        assert_eq!(left.len(), 19);
        assert!(Command::new("kill").args(&left).status().unwrap().success());
        remove_patiently(&group.folders);
    }
}

#[test]
fn without_limits_there_is_no_group() {
    let group = Cgroups::of_machine().make(&limits(None, None)).unwrap();
    assert_eq!(group.folders, Vec::<PathBuf>::new());
    assert!(group.join.is_empty());
    assert!(
        Cgroups::of_machine()
            .missing(&limits(None, None))
            .is_empty()
    );
}

/// Ordinary folders, which behave the same as long as they are empty.
#[test]
fn groups_of_dead_processes_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "pirn-1-0", "pirn-2-0", "pirn-2-7", "pirn-x-0", "pirn-2", "other",
    ] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let base = Base {
        folder: folder.path().to_owned(),
        version: Version::One,
    };
    sweep(&base, |process| process == "1");
    let mut left: Vec<String> = folder
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["other", "pirn-1-0", "pirn-2", "pirn-x-0"]);
    assert!(remove(&[Path::new("/nowhere/at/all").to_owned()]));
}
