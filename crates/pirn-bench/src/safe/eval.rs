//! Evals through the whole kernel: host, broker, confined worker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pirn_eval::{
    BrokerProgram, Capability, CapabilityCaller, CapabilityFailure, EvalFailureKind, EvalOutcome,
    EvalRequest, Kernel, KernelOptions, Language, MemoryStateStore,
};
use pirn_sandbox::{NetworkMode, PolicySpec};
use pirn_tool::{Effects, WaitClock};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Options;
use crate::process::pirn;
use crate::report::Report;
use crate::stats::Samples;

/// Enough for a stable median.
const RUNS: usize = 100;
/// Calls that one program makes.
const CALLS: usize = 2_000;
const PRINTED_BYTES: usize = 8 * 1_024 * 1_024;
/// The deadline of programs that ignore every signal they can.
const STUCK_AFTER: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_mins(1);

const CALL: &str = "eval.call_us";
const PRINT: &str = "eval.print_8mb_ms";
const STUCK: &str = "eval.stuck_gone_ms";

/// A figure and its bar.
type Figure = (&'static str, Option<f64>);

/// A small program, and the figures of its start.
struct Start {
    language: Language,
    code: &'static str,
    /// As its caller sees it.
    whole: Figure,
    /// The part of its worker.
    inside: Figure,
}

const STARTS: [Start; 2] = [
    Start {
        language: Language::Python,
        code: "1+1",
        whole: ("eval.python_ms", Some(15.0)),
        inside: ("eval.python_zygote_ms", Some(5.0)),
    },
    Start {
        language: Language::JavaScript,
        code: "return 1+1",
        whole: ("eval.javascript_ms", None),
        inside: ("eval.javascript_worker_ms", None),
    },
];

pub(crate) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let wants = |names: &[&str]| names.iter().any(|name| options.wants(name));
    let folder = tempfile::tempdir()?;
    let kernel = kernel(folder.path())?;
    if wants(&STARTS.map(|start| start.whole.0)) || wants(&STARTS.map(|start| start.inside.0)) {
        starts(&kernel, report).await?;
    }
    if wants(&[CALL]) {
        calls(&kernel, report).await?;
    }
    if wants(&[PRINT]) {
        prints(&kernel, report).await?;
    }
    if wants(&[STUCK]) {
        ends(&kernel, report).await?;
    }
    kernel.close().await;
    Ok(())
}

fn kernel(folder: &std::path::Path) -> Result<Kernel> {
    let broker = BrokerProgram {
        program: pirn()?,
        arguments: vec!["--eval-broker".into()],
    };
    let confinement = PolicySpec {
        home: std::env::home_dir(),
        network: NetworkMode::Off,
        ..PolicySpec::new(folder, std::env::temp_dir())
    };
    let state = Arc::new(MemoryStateStore::new());
    let mut options = KernelOptions::new(broker, confinement, state);
    options.environment = std::env::vars_os().collect();
    Ok(Kernel::new(options))
}

/// One small program, warm: as its caller sees it, and from the zygote.
async fn starts(kernel: &Kernel, report: &mut Report) -> Result<()> {
    for Start {
        language,
        code,
        whole,
        inside,
    } in STARTS
    {
        let (mut ends, mut workers) = (Vec::new(), Vec::new());
        for run in 0..RUNS + 5 {
            let at = Instant::now();
            let outcome = kernel.eval(request(language, code, LONG)).await;
            let elapsed = at.elapsed();
            expect(&outcome, &json!(2))?;
            if run >= 5 {
                ends.push(elapsed.as_secs_f64() * 1e3);
                workers.push(outcome.elapsed.as_secs_f64() * 1e3);
            }
            // A spare worker gets the time it has between two calls of a model.
            if language == Language::JavaScript {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        for ((name, bar), samples) in [(whole, ends), (inside, workers)] {
            let samples = Samples::new(samples);
            match bar {
                Some(bar) => report.add(name, "ms", bar, &samples),
                None => report.add_plain(name, "ms", &samples),
            }
        }
    }
    Ok(())
}

/// A call from Python to the host and back, in a row of many.
async fn calls(kernel: &Kernel, report: &mut Report) -> Result<()> {
    let code = format!(
        "import time\nat = time.perf_counter()\nfor number in range({CALLS}):\n    tool.nothing(number=number)\n\
         (time.perf_counter() - at) / {CALLS} * 1e6"
    );
    let mut times = Vec::new();
    for _ in 0..15 {
        let outcome = kernel.eval(request(Language::Python, &code, LONG)).await;
        match outcome.value.as_ref().and_then(Value::as_f64) {
            Some(microseconds) => times.push(microseconds),
            None => bail!("the calls failed: {outcome:?}"),
        }
    }
    report.add(CALL, "µs", 60.0, &Samples::new(times));
    Ok(())
}

/// More output than is kept.
async fn prints(kernel: &Kernel, report: &mut Report) -> Result<()> {
    let code = format!(
        "for _ in range(8192):\n    print('x' * {})",
        PRINTED_BYTES / 8_192 - 1
    );
    let mut times = Vec::new();
    for _ in 0..5 {
        let at = Instant::now();
        let outcome = kernel.eval(request(Language::Python, &code, LONG)).await;
        times.push(at.elapsed().as_secs_f64() * 1e3);
        if outcome.failure.is_some() || !outcome.is_cut || outcome.stdout.len() > 64 * 1_024 {
            bail!("8 MB were not captured in bounds: {:?}", outcome.failure);
        }
    }
    report.add_plain(PRINT, "ms", &Samples::new(times));
    Ok(())
}

/// From the deadline of a program that ignores every signal it can, with a child that does, to the end of all of it.
async fn ends(kernel: &Kernel, report: &mut Report) -> Result<()> {
    let code = "import signal, subprocess\nfor number in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(number, signal.SIG_IGN)\n\
                subprocess.Popen(['sleep', '100'])\nwhile True:\n    pass";
    let mut times = Vec::new();
    for _ in 0..10 {
        let at = Instant::now();
        let outcome = kernel
            .eval(request(Language::Python, code, STUCK_AFTER))
            .await;
        let over = at.elapsed().saturating_sub(STUCK_AFTER);
        if outcome.failure.as_ref().map(|failure| failure.kind) != Some(EvalFailureKind::Timeout) {
            bail!("the program did not time out: {outcome:?}");
        }
        times.push(over.as_secs_f64() * 1e3);
        // The next one starts warm.
        let warm = kernel.eval(request(Language::Python, "1+1", LONG)).await;
        expect(&warm, &json!(2))?;
    }
    report.add(STUCK, "ms", 300.0, &Samples::new(times));
    Ok(())
}

fn expect(outcome: &EvalOutcome, wanted: &Value) -> Result<()> {
    if outcome.value.as_ref() == Some(wanted) {
        return Ok(());
    }
    Err(anyhow::anyhow!("{outcome:?}")).context("an eval gave something else")
}

fn request(language: Language, code: &str, timeout: Duration) -> EvalRequest {
    EvalRequest {
        language,
        code: code.to_owned(),
        timeout,
        clock: WaitClock::default(),
        branch: "bench".to_owned(),
        capabilities: vec![Capability {
            name: "nothing".to_owned(),
            description: "Does nothing.".to_owned(),
            effects: Effects::READ,
            input_schema: json!({"type": "object"}),
        }],
        caller: Arc::new(NoopCaller),
        updates: None,
        cancel: CancellationToken::new(),
    }
}

struct NoopCaller;

impl CapabilityCaller for NoopCaller {
    fn call(
        &self,
        _name: String,
        _input: Value,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        async { Ok(Value::Null) }.boxed()
    }
}
