//! The VM, and calls from a script to a tool and back.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use futures_util::future::BoxFuture;
use pirn_codemode::{
    CallEnd, Environment, HostCall, PipelineHost, RunOptions, Script, ScriptHost, ScriptLimits,
    check_script, run_script, strip_types,
};
use pirn_tool::{
    BeforeVerdict, CallContext, Hook, HookCall, Pipeline, Registry, Tool, ToolResult, ToolSpec,
};
use pirn_vm::{
    End, EngineOptions, Event, JsonText, Limits, Program, Settlement, Step, ToolBinding, ToolTable,
    Vm, VmEngine,
};
use serde_json::{Value, json};

use crate::Options;
use crate::report::Report;
use crate::stats::{Samples, sample};

const CALLS: u32 = 10_000;
const CALLS_MANY: u32 = 100_000;
const IDLE_VMS: u32 = 1_000;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let engine = VmEngine::new(EngineOptions {
        live_vms_max: IDLE_VMS + 50,
        memory_total_bytes: u64::MAX,
        ..EngineOptions::default()
    })?;
    if options.wants("vm.fresh_us") || options.wants("vm.drop_us") {
        fresh_and_drop(&engine, report)?;
    }
    if options.wants("call.engine_us") {
        report.add(
            "call.engine_us",
            "µs",
            5.0,
            &sample(30, || engine_calls(&engine))?,
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    if options.wants("call.pipeline_us") {
        report.add(
            "call.pipeline_us",
            "µs",
            20.0,
            &sample(20, || runtime.block_on(pipeline_calls(&engine)))?,
        );
    }
    if options.wants("calls.concurrent_10k_ms") {
        report.add(
            "calls.concurrent_10k_ms",
            "ms",
            80.0,
            &sample(20, || runtime.block_on(concurrent_calls(&engine, CALLS)))?,
        );
    }
    if options.wants("calls.concurrent_100k_ms") {
        report.add(
            "calls.concurrent_100k_ms",
            "ms",
            800.0,
            &sample(5, || {
                runtime.block_on(concurrent_calls(&engine, CALLS_MANY))
            })?,
        );
    }
    if options.wants("vm.idle_1000_mb") {
        report.add(
            "vm.idle_1000_mb",
            "MB",
            300.0,
            &Samples::new(vec![idle_memory(&engine)?]),
        );
    }
    if options.wants("snapshot") {
        snapshots(&engine, report)?;
    }
    if options.wants("ts.strip_us") {
        let source = typescript_100_lines();
        let samples = sample(300, || {
            let started = Instant::now();
            black_box(strip_types(&source).map_err(|error| anyhow!(error.message))?);
            anyhow::Ok(microseconds(started.elapsed()))
        })?;
        report.add("ts.strip_us", "µs", 200.0, &samples);
    }
    if options.wants("check.us") {
        report.add("check.us", "µs", 200.0, &check(typescript_100_lines())?);
    }
    Ok(())
}

pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn program(source: &str) -> Program {
    Program {
        source: source.to_owned(),
        file_name: "bench.js".to_owned(),
        tools: ToolTable::new([ToolBinding {
            shape: None,
            name: "echo".to_owned(),
            identifier: Some("echo".to_owned()),
            description: "Returns its argument".into(),
        }]),
        ..Program::default()
    }
}

pub(crate) fn started(engine: &VmEngine, source: &str, limits: Limits) -> Result<Vm> {
    let mut vm = Vm::new(engine, limits)?;
    vm.start(&program(source))?;
    Ok(vm)
}

fn fresh_and_drop(engine: &VmEngine, report: &mut Report) -> Result<()> {
    let mut drops = Vec::new();
    let fresh = sample(2_000, || {
        let at = Instant::now();
        let mut vm = started(engine, "return 1", Limits::default())?;
        if !matches!(vm.poll(), Step::Ended(End::Returned(Some(_)))) {
            bail!("the script did not return");
        }
        let fresh = microseconds(at.elapsed());
        let at = Instant::now();
        drop(vm);
        drops.push(microseconds(at.elapsed()));
        Ok(fresh)
    })?;
    report.add("vm.fresh_us", "µs", 100.0, &fresh);
    report.add("vm.drop_us", "µs", 30.0, &Samples::new(drops));
    Ok(())
}

/// Time of one sequential call, engine only.
fn engine_calls(engine: &VmEngine) -> Result<f64> {
    let source = format!(
        "let t = 0; for (let i = 0; i < {CALLS}; i++) t += (await tools.echo({{i}})).i; return t;"
    );
    let mut vm = started(engine, &source, Limits::default())?;
    let events = vm.events();
    let at = Instant::now();
    loop {
        match vm.poll() {
            Step::Ended(End::Returned(_)) => {
                return Ok(microseconds(at.elapsed()) / f64::from(CALLS));
            }
            Step::Ended(end) => bail!("{end:?}"),
            Step::Waiting { .. } => {
                for event in events.drain() {
                    if let Event::Call { id, arguments, .. } = event {
                        vm.settle(id, Settlement::Resolved(arguments))?;
                    }
                }
            }
        }
    }
}

/// A hook that lets everything pass.
struct PassingHook;

impl Hook for PassingHook {
    fn before<'a>(
        &'a self,
        _call: HookCall<'a>,
        arguments: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        black_box(arguments);
        Box::pin(std::future::ready(Ok(BeforeVerdict::Continue)))
    }
}

fn limits(calls: u32) -> ScriptLimits {
    ScriptLimits {
        calls_max: calls,
        calls_in_flight_max: calls as usize,
        ..ScriptLimits::default()
    }
}

/// Time of one sequential call through validation, two hooks and receipt.
async fn pipeline_calls(engine: &VmEngine) -> Result<f64> {
    let registry = Registry::new();
    let spec = ToolSpec::new("echo", "Returns its argument")
        .input_schema(
            json!({"type": "object", "properties": {"i": {"type": "integer"}}, "required": ["i"]}),
        )
        .output_schema(json!({"type": "object"}));
    registry.register(Tool::from_fn(spec, |arguments, _| async move {
        ToolResult::default().with_structured(arguments)
    }));
    let pipeline = Pipeline::builder(registry)
        .hook(Arc::new(PassingHook))
        .hook(Arc::new(PassingHook))
        .build();
    let environment = PipelineHost::environment(&pipeline, &CallContext::detached("bench"), &[]);
    let source = format!(
        "let t = 0; for (let i = 0; i < {CALLS}; i++) t += (await tools.echo({{i}})).i; return t;"
    );
    let at = Instant::now();
    let options = RunOptions {
        limits: limits(CALLS),
        ..RunOptions::default()
    };
    let result = run_script(engine, &Script::new(source), &environment, options).await;
    let time = microseconds(at.elapsed()) / f64::from(CALLS);
    result.outcome.map_err(|error| anyhow!("{error:?}"))?;
    Ok(time)
}

struct Echo;

impl ScriptHost for Echo {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        Box::pin(std::future::ready(CallEnd::ok(call.arguments)))
    }
}

async fn concurrent_calls(engine: &VmEngine, calls: u32) -> Result<f64> {
    let tools = [("echo".to_owned(), "Returns its argument".to_owned())];
    let environment = Environment::new(tools, Vec::new(), Arc::new(Echo))?;
    let source = format!(
        "const all = await Promise.all(Array.from({{length: {calls}}}, (_, i) => tools.echo({{i}}))); return all.length;"
    );
    let at = Instant::now();
    let options = RunOptions {
        limits: limits(calls),
        ..RunOptions::default()
    };
    let result = run_script(engine, &Script::new(source), &environment, options).await;
    let time = at.elapsed();
    let value = result.outcome.map_err(|error| anyhow!("{error:?}"))?;
    if value != Some(JsonText::new(calls.to_string())) {
        bail!("{value:?}");
    }
    Ok(time.as_secs_f64() * 1e3)
}

/// Resident memory that a thousand waiting VMs add.
fn idle_memory(engine: &VmEngine) -> Result<f64> {
    let before = resident_bytes()?;
    let mut waiting = Vec::new();
    for _ in 0..IDLE_VMS {
        let mut vm = started(
            engine,
            "return (await tools.echo({})).i;",
            Limits::default(),
        )?;
        if !matches!(vm.poll(), Step::Waiting { .. }) {
            bail!("the script does not wait");
        }
        waiting.push(vm);
    }
    let after = resident_bytes()?;
    #[expect(clippy::cast_precision_loss, reason = "megabytes with two decimals")]
    let megabytes = after.saturating_sub(before) as f64 / 1e6;
    Ok(megabytes)
}

/// This process's share of the memory it uses: pages of the image that all VMs share count once.
fn resident_bytes() -> Result<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .unwrap_or_default();
    Ok(line
        .split_whitespace()
        .next()
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024)
}

fn snapshots(engine: &VmEngine, report: &mut Report) -> Result<()> {
    let source = "const data = []; for (let i = 0; data.length < 10000; i++) data.push({id: i, name: 'item ' + i, tag: i % 7});
        const all = await Promise.all(Array.from({length: 100}, (_, i) => tools.echo({i})));
        return all.length + data.length;";
    let mut vm = started(engine, source, Limits::default())?;
    if !matches!(vm.poll(), Step::Waiting { .. }) {
        bail!("the script does not wait");
    }
    drop(vm.events().drain());
    let mut bytes = Vec::new();
    let save = sample(50, || {
        let at = Instant::now();
        bytes = vm.snapshot(b"")?;
        anyhow::Ok(at.elapsed().as_secs_f64() * 1e3)
    })?;
    let restore = sample(50, || {
        let at = Instant::now();
        let (restored, _) = Vm::restore(engine, &bytes)?;
        let time = at.elapsed().as_secs_f64() * 1e3;
        if restored.open_calls().count() != 100 {
            bail!("calls were lost");
        }
        Ok(time)
    })?;
    report.add("snapshot.save_ms", "ms", 5.0, &save);
    report.add("snapshot.restore_ms", "ms", 5.0, &restore);
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let kilobytes = bytes.len() as f64 / 1024.0;
    report.add("snapshot.kb", "KB", 1_024.0, &Samples::new(vec![kilobytes]));
    Ok(())
}

/// Time of all that is done with a script of a hundred lines before it runs: its types taken out, its mistakes looked for.
fn check(source: String) -> Result<Samples> {
    let tools = [("list".to_owned(), "Lists".to_owned())];
    let environment = Environment::new(tools, Vec::new(), Arc::new(Echo))?;
    let script = Script::new(source);
    sample(300, || {
        let started = Instant::now();
        check_script(black_box(&script), &environment)
            .map_err(|error| anyhow!("{}", error.message))?;
        anyhow::Ok(microseconds(started.elapsed()))
    })
}

/// A hundred lines with the kinds of types that models write.
fn typescript_100_lines() -> String {
    let block = |n: usize| {
        format!(
            "interface Item{n} {{ id: number; title: string; labels?: string[]; state: 'open' | 'closed' }}
type Page{n}<T> = {{ items: T[]; next: string | null }};
async function all{n}<T extends {{ id: number }}>(name: string, limit: number = 10): Promise<T[]> {{
  const found: T[] = [];
  let cursor: string | null = null;
  do {{
    const page = (await tools.list({{ name, cursor }})) as Page{n}<T>;
    found.push(...page.items);
    cursor = page.next;
  }} while (cursor !== null && found.length < limit);
  return found;
}}
const items{n} = await all{n}<Item{n}>('repository');
const byLabel{n}: Record<string, Item{n}[]> = {{}};
for (const item of items{n}) {{
  for (const label of item.labels ?? []) (byLabel{n}[label] ??= []).push(item!);
}}
const count{n} = (items: ReadonlyArray<Item{n}>): number => items.filter((item): boolean => item.state === 'open').length;
text(`labels: ${{Object.keys(byLabel{n}).length}}` satisfies string);
text(count{n}(items{n}));\n"
        )
    };
    (0..5).map(block).collect()
}
