//! A host that is there to be killed: a process with a kernel, driven over its standard input, that tells what was committed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pirn_eval::{
    EvalOutcome, EvalUpdate, FileStateStore, Kernel, KernelState, Language, MemoryStateStore,
    PythonEngine, StateStore,
};
use pirn_sandbox::{Level, LevelChoice};
use tokio_util::sync::CancellationToken;

use crate::support::{AS_HOST, PATIENCE, block_on, failure_of, javascript, options, request};

/// Workers have the host's folder in their environment by this name, and so does what they start.
const MARK: &str = "PIRN_TEST_HOST";

/// What a host runs programs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each in a new Python, at the strongest level.
    Fresh,
    /// Each in a new Python, at the weakest level.
    Lite,
    /// In a live Python; what is counted is counted in JavaScript, since live namespaces commit nothing.
    Persistent,
    /// Each in a new JavaScript.
    JavaScript,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Fresh, Self::Lite, Self::Persistent, Self::JavaScript];

    /// The language whose committed state it counts in.
    pub(crate) fn counts_in(self) -> Language {
        match self {
            Self::Fresh | Self::Lite => Language::Python,
            Self::Persistent | Self::JavaScript => Language::JavaScript,
        }
    }

    /// Where its programs run.
    pub(crate) fn runs_in(self) -> Language {
        match self {
            Self::Fresh | Self::Lite | Self::Persistent => Language::Python,
            Self::JavaScript => Language::JavaScript,
        }
    }
}

/// A program that a host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Ends at once, with a value.
    Short,
    /// Runs for ever without waiting for anything.
    Busy,
    /// Waits for a call for ever.
    Call,
    /// Runs for ever and ignores signals. In JavaScript it cannot.
    Stubborn,
    /// Runs for ever and has started something that is nobody's child. In JavaScript it cannot.
    Daemon,
}

impl Program {
    const ALL: [Self; 5] = [
        Self::Short,
        Self::Busy,
        Self::Call,
        Self::Stubborn,
        Self::Daemon,
    ];
    /// Those that do not end.
    pub(crate) const ENDLESS: [Self; 4] = [Self::Busy, Self::Call, Self::Stubborn, Self::Daemon];

    fn source(self, language: Language) -> &'static str {
        match (language, self) {
            (Language::Python, Self::Short) => "1",
            (Language::Python, Self::Busy) => "tool.echo()\nwhile True: pass",
            (Language::Python, Self::Call) => "tool.echo()\ntool.hang()",
            (Language::Python, Self::Stubborn) => {
                "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntool.echo()\nwhile True: time.sleep(60)"
            }
            (Language::Python, Self::Daemon) => {
                "import subprocess\nsubprocess.run(['/bin/sh', '-c', '/bin/sleep 600 &'], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)\ntool.echo()\nwhile True: pass"
            }
            (Language::JavaScript, Self::Short) => "return 1",
            (Language::JavaScript, Self::Call) => "await tool.echo({}); await tool.hang({})",
            (Language::JavaScript, Self::Busy | Self::Stubborn | Self::Daemon) => {
                "await tool.echo({}); for (;;);"
            }
        }
    }
}

/// What a program counts with.
fn counter(language: Language) -> &'static str {
    match language {
        Language::Python => "state['n'] = state.get('n', 0) + 1\nstate['n']",
        Language::JavaScript => "state.n = (state.n ?? 0) + 1; return state.n",
    }
}

/// Does what standard input says, until it ends.
pub(crate) fn act_as_host(arguments: &str) -> ExitCode {
    let (kind, folder) = arguments.split_once(':').unwrap();
    let kind = by_name(&Kind::ALL, kind);
    let is_left = CancellationToken::new();
    let (lines, mut orders) = tokio::sync::mpsc::unbounded_channel();
    let leave = is_left.clone().drop_guard();
    std::thread::spawn(move || {
        let _leave = leave;
        for line in std::io::stdin().lines().map_while(Result::ok) {
            lines.send(line).unwrap();
        }
    });
    block_on(async {
        let kernel = kernel(kind, Path::new(folder));
        while let Some(order) = orders.recv().await {
            let answer = async {
                match order.strip_prefix("run ") {
                    None => count(&kernel, kind).await,
                    Some(program) => run(&kernel, kind, by_name(&Program::ALL, program)).await,
                }
            };
            tokio::select! {
                answer = answer => tell(&answer),
                () = is_left.cancelled() => {}
            }
        }
        kernel.close().await;
    });
    ExitCode::SUCCESS
}

fn by_name<T: Copy + std::fmt::Debug>(all: &[T], name: &str) -> T {
    *all.iter()
        .find(|one| format!("{one:?}") == name)
        .unwrap_or_else(|| panic!("nothing is called {name}"))
}

/// The test may have gone.
fn tell(line: &str) {
    let _gone = writeln!(std::io::stdout(), "{line}");
}

fn kernel(kind: Kind, folder: &Path) -> Kernel {
    let mut options = options(&Arc::new(MemoryStateStore::default()), folder);
    options.state = Arc::new(FileStateStore::open(folder.join(STATE)).unwrap());
    options.environment.push((MARK.into(), folder.into()));
    match kind {
        Kind::Lite => options.confinement.level = LevelChoice::AtMost(Level::Basic),
        Kind::Persistent => options.python_engine = PythonEngine::Persistent,
        Kind::Fresh | Kind::JavaScript => {}
    }
    Kernel::new(options)
}

async fn eval(kernel: &Kernel, language: Language, code: &str) -> EvalOutcome {
    let mut request = match language {
        Language::Python => request(code),
        Language::JavaScript => javascript(code),
    };
    request.timeout = 5 * PATIENCE;
    // Programs that stay call something first.
    request.updates = Some(Arc::new(|update| {
        if matches!(update, EvalUpdate::CallEnded { name, .. } if name == "echo") {
            tell("running");
        }
    }));
    kernel.eval(request).await
}

async fn count(kernel: &Kernel, kind: Kind) -> String {
    let language = kind.counts_in();
    let outcome = eval(kernel, language, counter(language)).await;
    match outcome.state {
        KernelState::Committed => format!("committed {}", outcome.value.unwrap_or_default()),
        _ => format!("not committed: {}", failure_of(&outcome)),
    }
}

async fn run(kernel: &Kernel, kind: Kind, program: Program) -> String {
    let language = kind.runs_in();
    let outcome = eval(kernel, language, program.source(language)).await;
    format!("ended {}", failure_of(&outcome))
}

/// The file with the state, in the folder of a host.
const STATE: &str = "state.json";

/// The driver's side of a host.
pub(crate) struct Host {
    pub(crate) kind: Kind,
    folder: PathBuf,
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Host {
    pub(crate) fn start(kind: Kind, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([AS_HOST, &format!("{kind:?}:{}", folder.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (lines, answers) = channel();
        // Ends with the host.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            kind,
            folder: folder.to_owned(),
            child,
            orders,
            answers,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    pub(crate) fn order_run(&mut self, program: Program) {
        self.order(&format!("run {program:?}"));
    }

    /// The next line it says; `context` is told where there is none.
    pub(crate) fn answer(&self, context: &str) -> String {
        self.answers
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{context}: the host says nothing: {error}"))
    }

    /// Kills it; gives what it had still said.
    pub(crate) fn kill(&mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = Vec::new();
        while let Ok(line) = self.answers.recv_timeout(PATIENCE) {
            rest.push(line);
        }
        rest
    }

    /// Lets it end by itself.
    pub(crate) fn end(&mut self) {
        drop(self.orders.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// What is committed, as the file says.
    pub(crate) fn counted(&self) -> u64 {
        let store = FileStateStore::open(self.folder.join(STATE)).unwrap();
        let state = store.load("main", self.kind.counts_in()).unwrap();
        let Some(state) = state else { return 0 };
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        state["n"].as_u64().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It has ended already, except in a test that fails.
        let _ended = self.child.kill();
        let _collected = self.child.wait();
    }
}

/// A process that belongs to a host.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    /// Its command line, in words.
    pub(crate) words: Vec<String>,
}

impl Process {
    /// `None` where it is gone, or about to be collected.
    pub(crate) fn look(id: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0);
        Some(Self {
            id,
            parent,
            words: words
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
        })
    }

    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }

    /// For people: the programs of workers are long.
    pub(crate) fn shown(&self) -> String {
        let words = self.words.iter().filter(|word| word.len() < 200);
        let words: Vec<&str> = words.map(String::as_str).collect();
        format!("{} of {}: {}", self.id, self.parent, words.join(" "))
    }
}

/// Every process that has this folder's name in its command line or its environment.
pub(crate) fn marked(folder: &Path) -> Vec<Process> {
    let name = folder.as_os_str().as_encoded_bytes();
    let finder = memchr::memmem::Finder::new(name);
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id: &u32| {
            ["cmdline", "environ"].into_iter().any(|file| {
                std::fs::read(format!("/proc/{id}/{file}"))
                    .is_ok_and(|content| finder.find(&content).is_some())
            })
        })
        .filter_map(Process::look)
        .collect()
}

/// How often is looked whether processes are gone.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(5);
