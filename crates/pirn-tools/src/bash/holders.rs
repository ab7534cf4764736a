//! Which processes keep the output of a command open after its shell has ended.

use pirn_sandbox::ChildOutput;

/// Processes that are named; who started more knows which.
#[cfg(target_os = "linux")]
const NAMED_MAX: usize = 3;

/// Bytes shown of a command line.
#[cfg(target_os = "linux")]
const COMMAND_BYTES_MAX: usize = 80;

/// Processes that are looked at, far more than one session has.
#[cfg(target_os = "linux")]
const PROCESSES_MAX: usize = 4_096;

/// The command lines of processes that can still write to `output`, oldest first. What the system does not show is left out.
#[cfg(target_os = "linux")]
pub(super) fn command_lines(output: &ChildOutput) -> Vec<String> {
    let Ok(pipe) = rustix::fs::fstat(output) else {
        return Vec::new();
    };
    let link = format!("pipe:[{}]", pipe.st_ino);
    let own = std::process::id();
    let mut processes: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own)
        .take(PROCESSES_MAX)
        .collect();
    processes.sort_unstable();
    processes
        .into_iter()
        .filter(|process| holds(*process, &link))
        .filter_map(command_line)
        .take(NAMED_MAX)
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn command_lines(_output: &ChildOutput) -> Vec<String> {
    Vec::new()
}

/// Whether a process has the pipe open for writing.
#[cfg(target_os = "linux")]
fn holds(process: u32, pipe: &str) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    /// What the mode of a descriptor's link says of one that is open for writing.
    const WRITABLE: u32 = 0o200;
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    descriptors.flatten().any(|descriptor| {
        let path = descriptor.path();
        std::fs::read_link(&path).is_ok_and(|link| link.as_os_str() == pipe)
            && std::fs::symlink_metadata(&path)
                .is_ok_and(|metadata| metadata.mode() & WRITABLE != 0)
    })
}

/// How a process was started, its arguments joined by blanks.
#[cfg(target_os = "linux")]
fn command_line(process: u32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    let text = text.trim_end();
    if text.is_empty() {
        return None;
    }
    let end = text.floor_char_boundary(COMMAND_BYTES_MAX);
    let more = if end < text.len() { "..." } else { "" };
    Some(format!("{}{more}", text.get(..end).unwrap_or_default()))
}
