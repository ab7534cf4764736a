//! Killing whoever takes part at moments nobody has chosen: nothing survives, and the state is what was committed last.
//!
//! All trials together kill 60 times, with `PIRN_SOAK=1` 300 times. `PIRN_SEED` is a number from which other choices follow.

use std::path::Path;
use std::time::{Duration, Instant};

use pirn_eval::Language;

use crate::host::{Host, Kind, LOOK_AGAIN, Process, Program, marked};
use crate::kills::{descendants, kill};
use crate::support::{AS_BROKER, Test};

pub(crate) const TESTS: &[Test] = &[
    ("leave_nothing_and_the_last_commit_1", trial::<1>),
    ("leave_nothing_and_the_last_commit_2", trial::<2>),
    ("leave_nothing_and_the_last_commit_3", trial::<3>),
    ("leave_nothing_and_the_last_commit_4", trial::<4>),
    ("leave_nothing_and_the_last_commit_5", trial::<5>),
    ("leave_nothing_and_the_last_commit_6", trial::<6>),
];

/// How often each trial kills with `PIRN_SOAK=1`.
const KILLS_SOAK: u32 = 50;
/// How often it does otherwise.
const KILLS: u32 = 10;
/// How long anything may survive.
const SURVIVAL_MAX: Duration = Duration::from_secs(2);
/// The kinds of hosts, as often as they shall be.
const KINDS: [Kind; 6] = [
    Kind::Fresh,
    Kind::Fresh,
    Kind::Fresh,
    Kind::Persistent,
    Kind::JavaScript,
    Kind::Lite,
];

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Host,
    Broker,
    /// What the workers of fresh evals are forked from.
    Zygote,
    Worker,
}

const VICTIMS: [Victim; 4] = [Victim::Host, Victim::Broker, Victim::Zygote, Victim::Worker];

/// What goes on when it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Situation {
    /// A program is about to be run and its state to be committed.
    Counting,
    Idle,
    Running(Program),
}

/// Numbers that look random: `SplitMix64`.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Waits for a moment that comes before `latest`.
    fn wait_below(&mut self, latest: Duration) {
        let wait = latest * u32::try_from(self.below(1000)).unwrap() / 1000;
        std::thread::sleep(wait); // sleeps: the moment of the kill is what varies
    }
}

/// One trial's hosts, which follow each other in one folder.
struct Siege<'a> {
    folder: &'a Path,
    generator: Generator,
    /// What is told when a check fails: the seed, and the kill.
    context: String,
    /// The last number that was told to be committed, in Python and in JavaScript.
    committed: [u64; 2],
    /// The longest time that anything survived the kill of a host, and of another.
    worst: [Duration; 2],
}

fn trial<const TRIAL: u64>() {
    let seed = std::env::var("PIRN_SEED").map_or(0x5eed, |seed| seed.parse().unwrap()) + TRIAL;
    let kills = match std::env::var_os("PIRN_SOAK") {
        Some(_) => KILLS_SOAK,
        None => KILLS,
    };
    let folder = tempfile::tempdir().unwrap();
    let mut siege = Siege {
        folder: folder.path(),
        generator: Generator(seed),
        context: String::new(),
        committed: [0; 2],
        worst: [Duration::ZERO; 2],
    };
    let mut host = None;
    for number in 1..=kills {
        siege.context = format!("PIRN_SEED={} trial {TRIAL} kill {number}", seed - TRIAL);
        let now = host.take().unwrap_or_else(|| {
            let kind = siege.generator.one_of(&KINDS);
            Host::start(kind, folder.path())
        });
        host = siege.kill_once(now);
    }
    drop(host);
    siege.context = format!("PIRN_SEED={} trial {TRIAL} the end", seed - TRIAL);
    siege.check_leftovers();
    println!(
        "trial {TRIAL}: {kills} kills; after that of a host all were gone in {:?} at most, after others in {:?}",
        siege.worst[0], siege.worst[1]
    );
}

impl Siege<'_> {
    fn committed(&mut self, host: &Host) -> &mut u64 {
        let [python, javascript] = &mut self.committed;
        match host.kind.counts_in() {
            Language::Python => python,
            Language::JavaScript => javascript,
        }
    }

    /// Kills somebody; gives the host if it was not it.
    fn kill_once(&mut self, mut host: Host) -> Option<Host> {
        let situation = match self.generator.below(3) {
            0 => Situation::Counting,
            1 => Situation::Idle,
            _ => Situation::Running(self.generator.one_of(&Program::ENDLESS)),
        };
        let victim = self.generator.one_of(&VICTIMS);
        self.context = format!(
            "{}: {:?}, {situation:?}, {victim:?}",
            self.context, host.kind
        );
        let is_new = self.enter(&mut host, situation);
        // A new host takes its time to the first commit.
        let latest = if is_new { 400 } else { 50 };
        self.generator.wait_below(Duration::from_millis(latest));
        let victims = Self::find(&host, situation, victim);
        if victims.is_empty() {
            self.kill_host(&mut host, situation);
            return None;
        }
        self.kill_others(&mut host, situation, &victims);
        Some(host)
    }

    /// Brings the host into a situation; says whether it had done nothing before.
    fn enter(&mut self, host: &mut Host, situation: Situation) -> bool {
        let mut before = Vec::new();
        descendants(host.id(), &mut before);
        let is_new = before.is_empty();
        if situation == Situation::Counting {
            host.order("count");
            return is_new;
        }
        self.count(host, 0);
        if let Situation::Running(program) = situation {
            host.order_run(program);
            let answer = host.answer(&self.context);
            assert_eq!(answer, "running", "{}", self.context);
        }
        false
    }

    /// Has it count, which may fail a few times.
    fn count(&mut self, host: &mut Host, failures_max: u32) {
        for failures in 0..=failures_max {
            host.order("count");
            let answer = host.answer(&self.context);
            if self.note_count(host, &answer) {
                break;
            }
            assert!(failures < failures_max, "{}: {answer}", self.context);
        }
        self.check_state(host);
    }

    /// Notes what was told about a count; says whether it was committed.
    fn note_count(&mut self, host: &Host, answer: &str) -> bool {
        let Some(number) = answer.strip_prefix("committed ") else {
            assert!(
                answer.starts_with("not committed: "),
                "{}: {answer}",
                self.context
            );
            return false;
        };
        let committed = self.committed(host);
        *committed += 1;
        let expected = committed.to_string();
        assert_eq!(number, expected, "{}", self.context);
        true
    }

    fn check_state(&mut self, host: &Host) {
        let committed = *self.committed(host);
        assert_eq!(host.counted(), committed, "{}", self.context);
    }

    /// The processes to be killed; none for the host, also where there is no other yet. Where one worker runs and another is
    /// ready for the next program, it is both, since they look alike.
    fn find(host: &Host, situation: Situation, victim: Victim) -> Vec<u32> {
        let mut processes = vec![];
        descendants(host.id(), &mut processes);
        let processes: Vec<Process> = processes.into_iter().filter_map(Process::look).collect();
        let language = match situation {
            Situation::Counting => host.kind.counts_in(),
            Situation::Idle | Situation::Running(_) => host.kind.runs_in(),
        };
        let workers: Vec<&Process> = processes
            .iter()
            .filter(|process| is_worker(process, language))
            .collect();
        let is_fork = |process: &&&Process| workers.iter().any(|other| other.id == process.parent);
        let forks: Vec<u32> = workers.iter().filter(is_fork).map(|one| one.id).collect();
        let others = workers.iter().filter(|one| !is_fork(one));
        let others: Vec<u32> = others.map(|one| one.id).collect();
        let broker = find_broker(&processes, language).into_iter().collect();
        let order = match victim {
            Victim::Host => return Vec::new(),
            Victim::Broker => [broker, Vec::new(), Vec::new()],
            Victim::Zygote => [others, broker, Vec::new()],
            Victim::Worker => [forks, others, broker],
        };
        let first = order.into_iter().find(|ids| !ids.is_empty());
        first.unwrap_or_default()
    }

    fn kill_host(&mut self, host: &mut Host, situation: Situation) {
        let mut recorded = Vec::new();
        descendants(host.id(), &mut recorded);
        let start = Instant::now();
        let rest = host.kill();
        let folder = self.folder;
        let took = self.check_gone(start, || {
            let mut left = marked(folder);
            left.extend(recorded.iter().copied().filter_map(Process::look));
            left
        });
        self.worst[0] = self.worst[0].max(took);
        let mut is_open = situation == Situation::Counting;
        for answer in rest.iter().filter(|_| situation == Situation::Counting) {
            is_open = false;
            self.note_count(host, answer);
        }
        // It may have been committed and not told.
        let counted = host.counted();
        let context = self.context.clone();
        let committed = self.committed(host);
        let is_next = is_open && counted == *committed + 1;
        assert!(
            counted == *committed || is_next,
            "{context}: {counted} for {committed}"
        );
        *committed = counted;
    }

    fn kill_others(&mut self, host: &mut Host, situation: Situation, victims: &[u32]) {
        let mut recorded = victims.to_vec();
        for victim in victims {
            descendants(*victim, &mut recorded);
        }
        let start = Instant::now();
        for victim in victims {
            kill(*victim);
        }
        let folder = self.folder;
        let took = self.check_gone(start, || {
            let left = recorded.iter().copied().filter_map(Process::look);
            let daemons = marked(folder).into_iter().filter(|one| one.has_word("600"));
            left.chain(daemons).collect()
        });
        self.worst[1] = self.worst[1].max(took);
        match situation {
            Situation::Counting => {
                let answer = host.answer(&self.context);
                self.note_count(host, &answer);
            }
            Situation::Idle => {}
            Situation::Running(_) => {
                let answer = host.answer(&self.context);
                let is_failed = ["ended worker_exit: ", "ended unsettled_calls: "]
                    .into_iter()
                    .any(|start| answer.starts_with(start));
                assert!(is_failed, "{}: {answer}", self.context);
            }
        }
        self.check_state(host);
        // Who was idle, or was ready for the next program, is missed by that program only.
        let is_noticed = matches!(situation, Situation::Running(_)) && victims.len() == 1;
        let failures_max = u32::from(!is_noticed);
        self.count(host, failures_max);
        self.run_short(host, failures_max);
    }

    fn run_short(&mut self, host: &mut Host, failures_max: u32) {
        for failures in 0..=failures_max {
            host.order_run(Program::Short);
            let answer = host.answer(&self.context);
            if answer == "ended " {
                return;
            }
            assert!(failures < failures_max, "{}: {answer}", self.context);
        }
    }

    /// Waits until nothing is left; tells how long that took.
    fn check_gone(&self, start: Instant, left: impl Fn() -> Vec<Process>) -> Duration {
        loop {
            let left = left();
            let took = start.elapsed();
            if left.is_empty() {
                return took;
            }
            let left: Vec<String> = left.iter().map(Process::shown).collect();
            assert!(took < SURVIVAL_MAX, "{}: left: {left:#?}", self.context);
            std::thread::sleep(LOOK_AGAIN); // sleeps: the end of strangers cannot be waited for
        }
    }

    /// Whatever those that were killed have left in the folders, the next one removes.
    fn check_leftovers(&mut self) {
        let start = Instant::now();
        self.check_gone(start, || marked(self.folder));
        for kind in [Kind::Fresh, Kind::JavaScript] {
            let mut host = Host::start(kind, self.folder);
            self.count(&mut host, 0);
            host.end();
        }
        let start = Instant::now();
        self.check_gone(start, || marked(self.folder));
        for (folder, expected) in [
            ("", vec![".state.json.lock", "state.json", "temp", "work"]),
            ("temp", vec![]),
            ("work", vec![]),
        ] {
            let entries = std::fs::read_dir(self.folder.join(folder)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            // The empty folder that stands in for the settings is removed by who has made it, unless that one is killed.
            names.retain(|name| {
                name != ".pirn"
                    || std::fs::read_dir(self.folder.join("work/.pirn"))
                        .unwrap()
                        .count()
                        > 0
            });
            names.sort();
            assert_eq!(names, expected, "{}: {folder}", self.context);
        }
    }
}

fn is_worker(process: &Process, language: Language) -> bool {
    let interpreter = match language {
        Language::Python => "python3",
        Language::JavaScript => "node",
    };
    let name = process.words.first();
    name.is_some_and(|name| name.rsplit('/').next() == Some(interpreter))
}

/// The broker of a language, or the only one. What it forks has its command line, too, and comes later.
fn find_broker(processes: &[Process], language: Language) -> Option<u32> {
    let is_broker = |process: &Process| process.has_word(AS_BROKER);
    let brokers = processes.iter().filter(|process| {
        let parent = processes.iter().find(|one| one.id == process.parent);
        is_broker(process) && !parent.is_some_and(is_broker)
    });
    let brokers: Vec<u32> = brokers.map(|broker| broker.id).collect();
    if let [broker] = brokers[..] {
        return Some(broker);
    }
    brokers.into_iter().find(|broker| {
        let mut below = Vec::new();
        descendants(*broker, &mut below);
        below
            .into_iter()
            .filter_map(Process::look)
            .any(|process| is_worker(&process, language))
    })
}
