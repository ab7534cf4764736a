//! The order of settling is what a script can observe; how settles are batched, and whether the VM is saved and restored
//! between them, is not.

use pirn_vm::{CallId, End, Event, JsonText, Limits, Output, Settlement, Step, Vm};
use proptest::prelude::*;

use crate::support::{ENGINE, started};

/// Script shapes. Each call's argument is unique in its script and names it.
const SHAPES: [&str; 9] = [
    "const all = await Promise.all([1, 2, 3, 4, 5].map(async (n) => { const v = await tools.echo(n); text(`${n}:${v}`); return v; })); return all;",
    "const call = (n) => tools.echo(n).then((v) => { text(`${n}=${v}`); return v; }, (e) => { text(`${n}!`); throw e; });
     return await Promise.race([call(1), call(2), call(3)]).catch((e) => e.message);",
    "return (await Promise.allSettled([1, 2, 3, 4].map((n) => tools.echo(n)))).map((r) => r.status + (r.value ?? r.reason.message));",
    "return await Promise.any([tools.echo(1), tools.echo(2), tools.echo(3)]).catch((e) => e.errors.map((x) => x.message));",
    "const seen = []; const chain = async (name) => { for (let n = 0; n < 4; n++) { try { seen.push(name + await tools.echo(name + n)); } catch { seen.push(name + 'x'); } } };
     await Promise.all([chain('a'), chain('b'), chain('c')]); return seen;",
    "const queue = Array.from({length: 9}, (_, n) => n), done = [];
     const worker = async (w) => { while (queue.length) { const n = queue.shift(); const v = await tools.echo(`w${w}/${n}`).catch(() => 'no'); done.push([w, n, v]); text(`${w} did ${n}`); } };
     await Promise.all([worker(0), worker(1), worker(2)]); return done;",
    "const log = []; const nest = (path, depth) => tools.echo(path).then((v) => { log.push(path); return depth === 0 ? v : Promise.all([nest(path + 'l', depth - 1), nest(path + 'r', depth - 1)]); }, () => { log.push(path + '!'); });
     await nest('x', 2); return log;",
    "async function* source(name) { for (let n = 0; n < 3; n++) yield await tools.echo(name + n).catch((e) => e.kind); }
     const read = async (name) => { for await (const v of source(name)) text(name + v); }; await Promise.all([read('p'), read('q')]); return 'read';",
    "let resolve; const gate = new Promise((r) => { resolve = r; }); const out = [];
     tools.echo('open').then(resolve, resolve); tools.echo('early').then(() => out.push('early'), () => out.push('failed'));
     const late = gate.then(() => { out.push('gate'); return tools.echo('late'); }).catch(() => 'none');
     queueMicrotask(() => out.push('micro')); out.push(await late); return out;",
];

/// What a script could observe and show.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    events: Vec<String>,
    end: Option<End>,
}

/// A running script, its calls known by their argument.
struct Run {
    vm: Vm,
    open: Vec<(String, CallId)>,
    seen: Seen,
}

impl Run {
    fn new(source: &str) -> Self {
        let mut run = Self {
            vm: started(source, &["echo"], Limits::default()),
            open: Vec::new(),
            seen: Seen::default(),
        };
        run.poll();
        run
    }

    fn poll(&mut self) {
        let step = self.vm.poll();
        for event in self.vm.events().drain() {
            match event {
                Event::Call { id, arguments, .. } => {
                    let label = arguments.map(JsonText::into_string).unwrap_or_default();
                    self.seen.events.push(format!("call {label}"));
                    self.open.push((label, id));
                }
                Event::Output(Output::Text(text)) => self.seen.events.push(text.to_string()),
                other => panic!("unexpected {other:?}"),
            }
        }
        if let Step::Ended(end) = step {
            self.seen.end = Some(end);
        }
    }

    /// Settles the call with this label; a call that fails says so in its label's own way.
    fn settle(&mut self, label: &str, fails: bool) {
        let at = self
            .open
            .iter()
            .position(|(open, _)| open == label)
            .expect("an open call");
        let (_, id) = self.open.remove(at);
        let settlement = if fails {
            Settlement::Rejected {
                message: format!("no {label}"),
                tool: None,
                call_id: None,
                kind: Some("k".into()),
                data: None,
            }
        } else {
            Settlement::Resolved(Some(JsonText::new(label)))
        };
        self.vm.settle(id, settlement).expect("an open call");
    }

    fn save_and_restore(&mut self) {
        if self.seen.end.is_none() {
            let bytes = self.vm.snapshot(&[]).expect("a waiting script");
            self.vm = Vm::restore(&ENGINE, &bytes).expect("a good snapshot").0;
        }
    }
}

/// Settles one call after the other, with a poll after each. Returns what was seen, and the order.
fn one_by_one(source: &str, picks: &[(usize, bool)]) -> (Seen, Vec<(String, bool)>) {
    let mut run = Run::new(source);
    let mut order = Vec::new();
    for &(pick, fails) in picks.iter().cycle() {
        if run.seen.end.is_some() {
            break;
        }
        let (label, _) = run.open[pick % run.open.len()].clone();
        run.settle(&label, fails);
        run.poll();
        order.push((label, fails));
    }
    (run.seen, order)
}

/// Settles in the same order, but in batches; `steps` says how large each is, and whether the VM is saved before it.
fn in_batches(source: &str, order: &[(String, bool)], steps: &[(usize, bool)]) -> Seen {
    let mut run = Run::new(source);
    let mut rest = order;
    for &(size, saves) in steps.iter().cycle() {
        if run.seen.end.is_some() {
            break;
        }
        if saves {
            run.save_and_restore();
        }
        for _ in 0..size {
            // A call that the script makes only after an earlier one is settled ends the batch.
            match rest.split_first() {
                Some(((label, fails), after)) if run.open.iter().any(|(open, _)| open == label) => {
                    run.settle(label, *fails);
                    rest = after;
                }
                _ => break,
            }
        }
        run.poll();
    }
    run.seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batching_and_saving_cannot_be_observed(
        shape in 0..SHAPES.len(),
        picks in prop::collection::vec((0..64_usize, prop::bool::weighted(0.2)), 1..24),
        steps in prop::collection::vec((1..6_usize, prop::bool::weighted(0.3)), 1..12),
    ) {
        let source = SHAPES[shape];
        let (expected, order) = one_by_one(source, &picks);
        // A script that fails does so because a call did, not because it was left waiting.
        if let Some(End::Failed(failure)) = &expected.end {
            prop_assert!(failure.message.to_string().starts_with("no "), "{:?}", expected);
        }
        prop_assert_eq!(in_batches(source, &order, &steps), expected, "{} {:?}", source, order);
    }
}

#[test]
fn a_batch_of_everything_is_the_same_as_one_by_one() {
    for source in SHAPES {
        let (expected, order) = one_by_one(source, &[(0, false)]);
        assert_eq!(
            in_batches(source, &order, &[(usize::MAX, false)]),
            expected,
            "{source}"
        );
        assert_eq!(
            in_batches(source, &order, &[(usize::MAX, true)]),
            expected,
            "{source}"
        );
    }
}
