//! Nothing that Pirn starts outlives it, however it ends and however its servers behave.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::installed::{Installed, write_servers};
use crate::place::Place;
use crate::processes::{MARK, gone, marked};

/// How often Pirn is killed, where `PIRN_KILLS` does not say.
const KILLS: u32 = 100;
/// Makes the moments the same in every run, as far as a machine allows.
const SEED: u64 = 0x5eed;
/// Servers that behave badly, by their habit.
const RUDE: [&str; 4] = [
    "ignores-the-end",
    "has-a-child",
    "floods",
    "starts-a-daemon",
];
/// Pirn, each server with its supervisor, a child and a daemon.
const PROCESSES: usize = 1 + 2 * (2 + RUDE.len()) + 2;
/// How long a run may need to get to the call that hangs.
const PATIENCE: Duration = Duration::from_secs(40);

/// A place with two real servers and all the rude ones.
struct Fleet {
    place: Place,
}

impl Fleet {
    fn new() -> Self {
        let (installed, place) = (Installed::find(), Place::new());
        let mut servers = json!({"time": installed.time(), "everything": installed.everything()});
        for habit in RUDE {
            servers[habit] = installed.rude(habit, habit, &place);
        }
        write_servers(&place, &servers);
        Self { place }
    }

    /// Starts Pirn with a script that calls every server, then does what `last` says.
    fn start(&self, name: &str, last: &str) -> Run<'_> {
        let mark = format!("{}-{name}", self.place.path().display());
        let hangs = self.place.path().join(format!("{name}.hangs"));
        // A file, because nobody reads meanwhile.
        let errors = self.place.path().join(format!("{name}.stderr"));
        let mut code = "await Promise.all([\
             tools.mcp__time__get_current_time({timezone: 'UTC'}), tools.mcp__everything__get_sum({a: 1, b: 2})"
            .to_owned();
        for habit in RUDE {
            write!(code, ", tools.{}({{}})", tool(habit, "hello")).unwrap();
        }
        code.push_str("]);");
        code.push_str(&last.replace("HANGS", &json!(hangs).to_string()));
        let child = self
            .place
            .pirn(&["exec", "--quiet", "--yes", "-e", &code])
            .env(MARK, &mark)
            .stdout(Stdio::null())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        Run {
            _fleet: self,
            child,
            mark,
            hangs,
            errors,
            started: Instant::now(),
        }
    }

    /// The same, with a call that never returns at the end.
    fn start_hanging(&self, name: &str, server: &str) -> Run<'_> {
        let call = format!("await tools.{}({{path: HANGS}})", tool(server, "hang"));
        self.start(name, &call)
    }
}

/// How scripts call a tool.
fn tool(server: &str, tool: &str) -> String {
    format!("mcp__{}__{tool}", server.replace('-', "_"))
}

/// One run of Pirn.
struct Run<'a> {
    _fleet: &'a Fleet,
    child: Child,
    mark: String,
    hangs: PathBuf,
    errors: PathBuf,
    started: Instant,
}

impl Run<'_> {
    /// What it wrote to standard error.
    fn told(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    fn is_hanging(&self) -> bool {
        self.hangs.exists()
    }

    /// Waits until the last call hangs, but not longer than until this moment after the start.
    fn wait_until(&mut self, moment: Duration) {
        while !self.is_hanging() && self.started.elapsed() < moment {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{} ended by itself: {status}: {}", self.mark, self.told());
            }
            thread::sleep(Duration::from_millis(1)); // sleeps: the moment is random
        }
    }

    /// Waits until the last call hangs, and tells when that was.
    fn wait_until_hanging(&mut self) -> Duration {
        self.wait_until(PATIENCE);
        let usual = self.started.elapsed();
        assert!(
            self.is_hanging(),
            "{} does not get to its end: {}",
            self.mark,
            self.told()
        );
        // Those without any pipe of ours are found too.
        let alive = marked(&self.mark);
        let sleepers = alive.iter().filter(|line| line.contains("sleep 600"));
        assert_eq!(sleepers.count(), 2, "{alive:#?}");
        assert_eq!(alive.len(), PROCESSES, "{alive:#?}");
        usual
    }

    fn kill(mut self) -> Duration {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(
            status.signal(),
            Some(Signal::KILL.as_raw()),
            "{}",
            self.mark
        );
        gone(&self.mark)
    }

    /// The run's own end.
    fn end(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        gone(&self.mark);
        status
    }

    /// The end of a run that goes well.
    fn end_well(mut self) {
        let status = self.end();
        assert!(status.success(), "{status}: {}", self.told());
    }
}

/// A number that looks random, from 0 to below 1.
fn random(index: u32) -> f64 {
    let mut state = SEED.wrapping_add(u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(u32::MAX)
}

/// When to kill, as a share of the time that is needed to get to the call that hangs; sometimes a little later than that. Every
/// other one comes early, where programs are being started.
fn moment(index: u32) -> f64 {
    let latest = if index.is_multiple_of(2) { 1.3 } else { 0.1 };
    random(index) * latest
}

/// Kills Pirn a quarter of all times, again and again in one place, with a call that hangs in this server.
fn check_kills(server: &str) {
    let kills = std::env::var("PIRN_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let kills = kills.div_ceil(u32::try_from(RUDE.len()).unwrap());
    let quarter = RUDE.iter().position(|rude| *rude == server).unwrap();
    let start = u32::try_from(quarter).unwrap() * kills;
    let fleet = Fleet::new();
    let mut run = fleet.start_hanging("first", server);
    let usual = run.wait_until_hanging();
    run.kill();
    let mut hanging = 1;
    for index in start + 1..start + kills {
        let mut run = fleet.start_hanging(&index.to_string(), server);
        run.wait_until(Duration::mul_f64(usual, moment(index)));
        hanging += u32::from(run.is_hanging());
        let moment = run.started.elapsed();
        let gone_after = run.kill();
        println!("kill {index} after {moment:?}, all gone {gone_after:?} later");
    }
    println!("{hanging} of {kills} kills while a call was hanging, usually after {usual:?}");
    // Whatever was being written when it was killed, it works again.
    fleet.start("last", "").end_well();
}

#[test]
fn nothing_outlives_a_kill_with_a_server_that_ignores_the_end() {
    check_kills("ignores-the-end");
}

#[test]
fn nothing_outlives_a_kill_with_a_server_that_has_a_child() {
    check_kills("has-a-child");
}

#[test]
fn nothing_outlives_a_kill_with_a_server_that_floods() {
    check_kills("floods");
}

#[test]
fn nothing_outlives_a_kill_with_a_server_that_starts_a_daemon() {
    check_kills("starts-a-daemon");
}

/// Each of these signals ends the work in order, with the exit code of an interruption.
fn check_signal(signal: Signal) {
    let fleet = Fleet::new();
    let mut run = fleet.start_hanging("signal", RUDE[0]);
    run.wait_until_hanging();
    kill_process(Pid::from_child(&run.child), signal).unwrap();
    let status = run.end();
    assert_eq!(status.code(), Some(130), "{status}: {}", run.told());
}

#[test]
fn nothing_outlives_control_c() {
    check_signal(Signal::INT);
}

#[test]
fn nothing_outlives_a_terminated_pirn() {
    check_signal(Signal::TERM);
}

#[test]
fn nothing_outlives_a_closed_terminal() {
    check_signal(Signal::HUP);
}

#[test]
fn nothing_outlives_a_script() {
    Fleet::new().start("end", "").end_well();
}
