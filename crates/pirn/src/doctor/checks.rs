//! What `pirn doctor` looks at.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pirn_sandbox::{Command, ExitStatus};
use pirn_vm::{End, EngineOptions, Limits, Program, Step, Vm, VmEngine};

use super::interpreters::{find_program, on_path, set_program};
use super::{Report, confinement, interpreters};
use crate::consent::Asking;
use crate::event_loop;
use crate::invocation::{Display, Invocation, Stream};
use crate::mcp;
use crate::settings;
use crate::trust;

/// One thing to look at.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) run: fn(&Invocation) -> Report,
}

/// Everything, in the order of the report.
pub(super) const ALL: &[Check] = &[
    Check {
        name: "version",
        run: version,
    },
    Check {
        name: "script engine",
        run: engine,
    },
    Check {
        name: "temporary folder",
        run: temp_folder,
    },
    Check {
        name: "child processes",
        run: children,
    },
    Check {
        name: "bash",
        run: bash,
    },
    Check {
        name: "git",
        run: git,
    },
    Check {
        name: "terminal",
        run: terminal,
    },
    Check {
        name: "PIRN_HOME",
        run: pirn_home,
    },
    Check {
        name: "settings",
        run: settings,
    },
    Check {
        name: "confinement",
        run: confinement::levels,
    },
    Check {
        name: "python",
        run: interpreters::python,
    },
    Check {
        name: "node",
        run: interpreters::node,
    },
    Check {
        name: "project trust",
        run: project_trust,
    },
    Check {
        name: "MCP servers",
        run: mcp_servers,
    },
];

/// VMs that are started to measure how long that takes; the median of fewer would jump.
const STARTS: usize = 21;
/// How long `true` may take to run on the busiest machine.
const CHILD_WAIT: Duration = Duration::from_secs(10);

fn version(_invocation: &Invocation) -> Report {
    Report::good(format!(
        "pirn {} for {} on {}, engine {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        VmEngine::artifact()
    ))
}

fn engine(_invocation: &Invocation) -> Report {
    match median_start() {
        Ok(start) => Report::good(format!("a script starts in {} µs", start.as_micros())),
        Err(error) => Report::bad(
            error.to_string(),
            "the engine needs a 64-bit processor and address space: look at `ulimit -v`, and report it otherwise",
        ),
    }
}

/// From nothing to the end of a script that returns at once.
fn median_start() -> anyhow::Result<Duration> {
    let options = EngineOptions {
        live_vms_max: 1,
        memory_bytes_max: Limits::default().memory_bytes,
        ..EngineOptions::default()
    };
    let engine = VmEngine::new(options)?;
    let program = Program {
        source: "return 1".into(),
        file_name: "doctor.js".into(),
        ..Program::default()
    };
    let mut starts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut vm = Vm::new(&engine, Limits::default())?;
        vm.start(&program)?;
        match vm.poll() {
            Step::Ended(End::Returned(Some(value))) if value.as_str() == "1" => {
                starts.push(started.elapsed());
            }
            other => anyhow::bail!("a script that returns 1 ended with {other:?}"),
        }
    }
    starts.sort_unstable();
    Ok(starts.get(STARTS / 2).copied().unwrap_or_default())
}

fn temp_folder(invocation: &Invocation) -> Report {
    let folder = invocation.host.temp_dir.display();
    let written = tempfile::tempfile_in(&invocation.host.temp_dir)
        .and_then(|mut file| file.write_all(b"pirn"));
    match written {
        Ok(()) => Report::good(format!("{folder} is writable")),
        Err(error) => Report::bad(
            format!("{folder} is not writable: {error}"),
            "set TMPDIR to a folder that is; long outputs and pictures are kept there",
        ),
    }
}

fn children(invocation: &Invocation) -> Report {
    match run_true(invocation) {
        Ok(()) => Report::good("start, end and are cleaned up"),
        Err(error) => Report::bad(
            error.to_string(),
            "check that `true` is on the PATH and that `ulimit -u` leaves room",
        ),
    }
}

fn run_true(invocation: &Invocation) -> anyhow::Result<()> {
    event_loop::on_main_thread()?.block_on(async {
        let child = Command::new("true")
            .envs(invocation.host.environment.iter().cloned())
            .spawn()?;
        let ended = tokio::time::timeout(CHILD_WAIT, async {
            let status = child.wait().await;
            child.wait_all().await;
            status
        });
        match ended.await {
            Ok(ExitStatus::Code(0)) => Ok(()),
            Ok(other) => anyhow::bail!("`true` ended with {other:?}"),
            Err(_) => anyhow::bail!("`true` did not end within {} s", CHILD_WAIT.as_secs()),
        }
    })
}

fn bash(invocation: &Invocation) -> Report {
    if let Some((shell, from)) = set_program("bash.shell", invocation) {
        return match find_program(&shell) {
            Some(path) => Report::good(format!("{}, from {from}", path.display())),
            None => Report::lacking(
                format!("{shell} was not found, from {from}"),
                format!("correct {from} or take it out; the tool bash cannot run"),
            ),
        };
    }
    let usual = PathBuf::from("/bin/bash");
    let found = usual.is_file().then_some(usual).or_else(|| on_path("bash"));
    match found {
        Some(path) => Report::good(path.display().to_string()),
        None => Report::lacking(
            "not found",
            "install bash; until then the tool bash runs sh",
        ),
    }
}

fn git(_invocation: &Invocation) -> Report {
    match on_path("git") {
        Some(path) => Report::good(path.display().to_string()),
        None => Report::lacking(
            "not found",
            "install git; scripts that ask it say less without it",
        ),
    }
}

fn terminal(invocation: &Invocation) -> Report {
    let name = |stream: Stream| match stream {
        Stream::Terminal => "terminal",
        Stream::Other => "other",
    };
    let streams = format!(
        "stdin {}, stdout {}, stderr {}",
        name(invocation.stdin),
        name(invocation.stdout),
        name(invocation.stderr)
    );
    let width = pirn_terminal::columns()
        .map(|columns| format!(", {columns} columns"))
        .unwrap_or_default();
    let display = match invocation.display {
        Display::Moving => "running calls are repainted",
        Display::Lines => "calls are plain lines",
    };
    let asking = match invocation.asking() {
        Asking::Possible => "questions are asked",
        Asking::Impossible => "nobody can be asked, --yes allows effects",
    };
    Report::good(format!("{streams}{width}; {display}; {asking}"))
}

fn pirn_home(invocation: &Invocation) -> Report {
    let Some(home) = &invocation.host.pirn_home else {
        return Report::lacking("there is no home folder", "set HOME or PIRN_HOME");
    };
    let shown = home.display();
    match std::fs::metadata(home) {
        Ok(metadata) if metadata.is_dir() => Report::good(shown.to_string()),
        Ok(_) => Report::lacking(
            format!("{shown} is not a folder"),
            "move it away or set PIRN_HOME",
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Report::good(format!("{shown}, which does not exist yet"))
        }
        Err(error) => Report::lacking(
            format!("{shown}: {error}"),
            "make it readable or set PIRN_HOME",
        ),
    }
}

fn settings(invocation: &Invocation) -> Report {
    match settings::summary(invocation) {
        Ok(summary) => Report::good(summary),
        Err(problem) => Report::lacking(
            problem,
            "correct it there; docs/settings.md lists all settings",
        ),
    }
}

fn project_trust(invocation: &Invocation) -> Report {
    match trust::summary(invocation) {
        Ok(summary) => Report::good(summary),
        Err(error) => Report::lacking(
            error.to_string(),
            "repair the file or move it away; until then nothing of the project counts",
        ),
    }
}

fn mcp_servers(invocation: &Invocation) -> Report {
    let overview = match mcp::overview(invocation) {
        Ok(overview) => overview,
        Err(error) => return Report::lacking(error.to_string(), "see the line above"),
    };
    let what = match (overview.enabled, overview.disabled) {
        (0, 0) => "none are configured".to_owned(),
        (enabled, 0) => format!("{enabled} configured"),
        (enabled, disabled) => format!("{enabled} configured, {disabled} switched off"),
    };
    match overview.problem {
        None => Report::good(what),
        Some(problem) => Report::lacking(
            format!("{what}; {problem}"),
            "correct it there; `pirn mcp list` shows everything that is wrong",
        ),
    }
}
