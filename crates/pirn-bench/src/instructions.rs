//! WebAssembly instructions of the guest, which are the same on a machine that is busy.

use anyhow::{Result, bail};
use pirn_vm::{EngineOptions, Event, Limits, Settlement, Step, Vm, VmEngine};

use crate::Options;
use crate::engine::started;
use crate::report::Report;
use crate::stats::Samples;

/// Calls over which one call's instructions are the mean.
const CALLS: u32 = 1_000;
/// Calls that are open while a script is saved.
const CALLS_SAVED: u32 = 100;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let engine = VmEngine::new(EngineOptions::default())?;
    let mut add = |name: &'static str, bar: f64, count: u64| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let count = count as f64;
        if options.wants(name) {
            report.add(name, "instructions", bar, &Samples::new(vec![count]));
        }
    };
    let fresh = ended(started(&engine, "return 1", Limits::default())?)?;
    add("vm.fresh_instructions", 215_000.0, fresh);
    let source = format!(
        "let t = 0; for (let i = 0; i < {CALLS}; i++) t += (await tools.echo({{i}})).i; return t;"
    );
    let calls = ended(started(&engine, &source, Limits::default())?)?;
    add(
        "call.instructions",
        15_000.0,
        calls.saturating_sub(fresh) / u64::from(CALLS),
    );
    let source = format!(
        "const all = await Promise.all(Array.from({{length: {CALLS_SAVED}}}, (_, i) => tools.echo({{i}}))); return all.length;"
    );
    let mut vm = started(&engine, &source, Limits::default())?;
    if !matches!(vm.poll(), Step::Waiting { .. }) {
        bail!("the script does not wait");
    }
    let calls = vm.events().drain();
    let before = vm.instructions();
    let bytes = vm.snapshot(b"")?;
    let saving = vm.instructions() - before;
    let (mut restored, _) = Vm::restore(&engine, &bytes)?;
    settle(&mut restored, calls)?;
    add(
        "snapshot.instructions",
        1_100_000.0,
        saving + ended(restored)?,
    );
    Ok(())
}

/// Runs a script whose tools return their argument, and gives what it took.
fn ended(mut vm: Vm) -> Result<u64> {
    loop {
        match vm.poll() {
            Step::Ended(pirn_vm::End::Returned(_)) => return Ok(vm.instructions()),
            Step::Ended(end) => bail!("{end:?}"),
            Step::Waiting { .. } => {
                let calls = vm.events().drain();
                settle(&mut vm, calls)?;
            }
        }
    }
}

fn settle(vm: &mut Vm, events: impl IntoIterator<Item = Event>) -> Result<()> {
    for event in events {
        if let Event::Call { id, arguments, .. } = event {
            vm.settle(id, Settlement::Resolved(arguments))?;
        }
    }
    Ok(())
}
