//! How fast a script stops, whatever it is doing.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pirn_vm::{End, EngineOptions, Limits, Step, VmEngine};

use crate::Options;
use crate::engine::started;
use crate::report::Report;
use crate::stats::Samples;

const RUNS: usize = 100;
/// How long each script runs before it is stopped; long enough to be deep in its work.
const BEFORE_STOP: Duration = Duration::from_millis(20);

const SCRIPTS: [&str; 5] = [
    "while (true) {}",
    "while (true) await null;",
    "/^(a+)+$/.test('a'.repeat(40) + '!');",
    "('a'.repeat(2e7)).indexOf('a'.repeat(1e7) + 'b');",
    "[3, 2, 1].sort(() => { for (;;) {} });",
];

/// The figure is the worst of the scripts' 99th percentiles.
pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("interrupt.p99_ms") {
        return Ok(());
    }
    let engine = VmEngine::new(EngineOptions {
        live_vms_max: 4,
        ..EngineOptions::default()
    })?;
    let mut worst = Samples::default();
    for script in SCRIPTS {
        let times = (0..RUNS)
            .map(|_| stop(&engine, script))
            .collect::<Result<Vec<_>>>()?;
        let samples = Samples::new(times);
        if worst.p99().is_nan() || samples.p99() > worst.p99() {
            worst = samples;
        }
    }
    report.add(
        "interrupt.p99_ms",
        "ms",
        5.0,
        &Samples::new(vec![worst.p99()]),
    );
    Ok(())
}

fn stop(engine: &VmEngine, script: &str) -> Result<f64> {
    let mut vm = started(engine, script, Limits::default())?;
    let handle = vm.interrupt_handle();
    let (sent, stopped_at) = mpsc::channel();
    let stopper = thread::spawn(move || {
        thread::sleep(BEFORE_STOP);
        let at = Instant::now();
        handle.interrupt();
        sent.send(at)
    });
    let step = vm.poll();
    let end = Instant::now();
    let at = stopped_at.recv().context("the stopping thread")?;
    if stopper.join().is_err() || !matches!(step, Step::Ended(End::Stopped(..))) {
        bail!("{script} was not stopped: {step:?}");
    }
    Ok(end.duration_since(at).as_secs_f64() * 1e3)
}
