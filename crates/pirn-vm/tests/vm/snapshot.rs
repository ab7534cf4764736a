//! Waiting scripts as bytes: resumed here, in another process, or refused.

use std::time::{Duration, Instant};

use pirn_vm::{
    CallId, End, EngineOptions, ErrorKind, JsonText, Limits, Output, Settlement, Step, Vm, VmEngine,
};

use crate::support::{ENGINE, finish, started, take_output};

/// The variable that makes this test binary the other process: it holds the file to resume from.
const OTHER_PROCESS: &str = "PIRN_VM_TEST_SNAPSHOT";
/// What precedes the other process's answer among the test harness's own lines.
const ANSWER: &str = "answer: ";

/// Polls once; the script must wait.
fn wait(vm: &mut Vm) {
    let step = vm.poll();
    assert!(matches!(step, Step::Waiting { .. }), "{step:?}");
}

fn open(vm: &Vm) -> Vec<CallId> {
    vm.open_calls().map(|(id, ..)| id).collect()
}

fn resolve(vm: &mut Vm, call: CallId, json: &str) {
    vm.settle(call, Settlement::Resolved(Some(JsonText::new(json))))
        .expect("an open call");
}

/// Saves, drops and restores.
fn through_bytes(vm: Vm) -> Vm {
    drop(vm.events().drain());
    let bytes = vm.snapshot(b"owner").expect("a waiting script");
    drop(vm);
    let (vm, owner) = Vm::restore(&ENGINE, &bytes).expect("a good snapshot");
    assert_eq!(owner, b"owner");
    vm
}

fn end(mut vm: Vm) -> String {
    match vm.poll() {
        Step::Ended(End::Returned(Some(json))) => json.into_string(),
        other => panic!("{other:?}"),
    }
}

/// A script with something of everything alive while it waits for three calls.
const EVERYTHING: &str = "
    const log = [];
    class Counter { #n = 10; static made = 0; constructor() { Counter.made++; } next() { return ++this.#n; } get n() { return this.#n; } }
    const counter = new Counter(), symbol = Symbol('s'), weak = new WeakMap([[counter, 'kept']]);
    function* numbers() { try { let n = 0; for (;;) log.push('got ' + (yield n++)); } finally { log.push('closed'); } }
    async function* later() { for (const name of ['x', 'y']) yield (await tools.echo(name)) + name; }
    const generator = numbers(); generator.next(); generator.next('a');
    const map = new Map([[{}, 1], ['k', new Set([1n, 2.5, null])], [counter, new Date(5)]]);
    const bytes = new Uint8Array([1, 2, 255]), pattern = /o(?<rest>.*)/g, proxy = new Proxy({}, { get: (_, key) => key });
    let sum = 0;
    const add = (n) => { sum += n; return sum; };
    const tasks = Promise.all([tools.echo('first').then((v) => v + '!'), tools.echo('second'), 3]);
    const race = Promise.race([tools.echo('third'), new Promise(() => {})]);
    add(counter.next());
    const [all, winner] = [await tasks, await race];
    const names = [];
    for await (const name of later()) names.push(name);
    generator.next('b'); generator.return();
    add(counter.next());
    return [all, winner, names, log, sum, counter.n, Counter.made, weak.get(counter), [...map.get('k')].map(String),
      map.get(counter).getTime(), [...bytes], pattern.exec('foobar').groups.rest, proxy.anything, String(symbol)];";

const EVERYTHING_RESULT: &str = r#"[["1!",2,3],3,["4x","5y"],["got a","got b","closed"],23,12,1,"kept",["1","2.5","null"],5,[1,2,255],"obar","anything","Symbol(s)"]"#;

/// Settles the calls of [`EVERYTHING`] with 1, 2, 3...; `between` may exchange the VM before each.
fn run_everything(mut vm: Vm, mut between: impl FnMut(Vm) -> Vm) -> String {
    wait(&mut vm);
    for answer in 1..=5 {
        vm = between(vm);
        let call = open(&vm)[0];
        resolve(&mut vm, call, &answer.to_string());
        if answer == 5 {
            break;
        }
        wait(&mut vm);
    }
    end(vm)
}

#[test]
fn everything_that_is_alive_survives_any_number_of_times() {
    let fresh = || started(EVERYTHING, &["echo"], Limits::default());
    let plain = run_everything(fresh(), |vm| vm);
    assert_eq!(plain, EVERYTHING_RESULT);
    assert_eq!(run_everything(fresh(), through_bytes), plain);
    assert_eq!(
        run_everything(fresh(), |vm| through_bytes(through_bytes(vm))),
        plain
    );
}

#[test]
fn another_process_resumes_it() {
    if let Some(path) = std::env::var_os(OTHER_PROCESS) {
        let bytes = std::fs::read(path).expect("the snapshot");
        let (mut vm, owner) = Vm::restore(&ENGINE, &bytes).expect("a snapshot of the same build");
        let [first, second] = open(&vm)[..] else {
            panic!("two calls are open")
        };
        resolve(&mut vm, second, "2");
        resolve(&mut vm, first, "1");
        println!("\n{ANSWER}{} {}", String::from_utf8_lossy(&owner), end(vm));
        return;
    }
    let source = "const own = {a: [1]}; const done = await Promise.all([tools.echo('a'), tools.echo('b')]); return [own, done];";
    let mut vm = started(source, &["echo"], Limits::default());
    wait(&mut vm);
    drop(vm.events().drain());
    let path = std::env::temp_dir().join(format!("pirn-vm-snapshot-{}", std::process::id()));
    std::fs::write(&path, vm.snapshot(b"its owner").expect("a waiting script")).expect("a file");
    let output = std::process::Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "--exact",
            "snapshot::another_process_resumes_it",
            "--nocapture",
        ])
        .env(OTHER_PROCESS, &path)
        .output()
        .expect("this binary runs");
    std::fs::remove_file(&path).expect("the file");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = output.lines().find_map(|line| line.strip_prefix(ANSWER));
    assert_eq!(answer, Some(r#"its owner [{"a":[1]},[1,2]]"#), "{output}");
}

#[test]
fn the_original_goes_on_as_well() {
    let mut vm = started(
        "const n = await tools.echo(); return n + Math.floor(n);",
        &["echo"],
        Limits::default(),
    );
    wait(&mut vm);
    drop(vm.events().drain());
    let bytes = vm.snapshot(&[]).expect("a waiting script");
    for n in ["1", "2"] {
        let (mut copy, owner) = Vm::restore(&ENGINE, &bytes).expect("a good snapshot");
        assert!(owner.is_empty());
        let call = open(&copy)[0];
        resolve(&mut copy, call, n);
        assert_eq!(end(copy), if n == "1" { "2" } else { "4" });
    }
    let call = open(&vm)[0];
    resolve(&mut vm, call, "5");
    assert_eq!(end(vm), "10");
}

#[test]
fn timers_keep_their_time_and_order_and_the_clock_goes_on() {
    let source = "
        const start = performance.now();
        const order = [];
        const timer = (name, delay) => new Promise((done) => setTimeout(() => { order.push(name); done(); }, delay));
        const gone = setTimeout(() => order.push('gone'), 1e6);
        const timers = [timer('late', 200)];
        for (let n = 0; n < 20; n++) timers.push(timer(n, 20));
        await tools.echo();
        clearTimeout(gone);
        await Promise.all(timers);
        text([order.join(), performance.now() - start >= 199, start >= 0 && start < 20000]);
        await new Promise(() => {});";
    let mut vm = started(source, &["echo"], Limits::default());
    wait(&mut vm);
    let mut vm = through_bytes(through_bytes(vm));
    let call = open(&vm)[0];
    resolve(&mut vm, call, "1");
    let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let finished = finish(vm);
    let expected = format!("[\"{},late\",true,true]", names.join(","));
    assert_eq!(finished.output, [expected]);
    // It would wait a long time if the timer that was cleared were still there.
    assert!(finished.failure().contains("nothing can settle"));
}

#[test]
fn limits_and_counts_go_on() {
    let limits = Limits {
        output_items: 3,
        cpu: Duration::from_millis(500),
        ..Limits::default()
    };
    let source = "text('a'); text('b'); for (let n = 0; n < 1e5; n++) Math.sqrt(n); await tools.echo(); text('c'); text('d');";
    let mut vm = started(source, &["echo"], limits);
    wait(&mut vm);
    let used = vm.cpu_used();
    let mut vm = through_bytes(vm);
    assert!(
        vm.cpu_used() + Duration::from_millis(1) >= used,
        "{:?} after {used:?}",
        vm.cpu_used()
    );
    let call = open(&vm)[0];
    resolve(&mut vm, call, "1");
    let finished = finish(vm);
    assert!(
        finished
            .failure()
            .contains("limit of 16777216 characters or 3 items"),
        "{finished:?}"
    );
    assert_eq!(finished.output, ["c"]);
    let mut vm = started(
        "await tools.echo(); const kept = []; for (;;) kept.push({});",
        &["echo"],
        Limits {
            memory_bytes: 8 << 20,
            ..Limits::default()
        },
    );
    wait(&mut vm);
    let mut vm = through_bytes(vm);
    let call = open(&vm)[0];
    resolve(&mut vm, call, "1");
    let failure = finish(vm).failure();
    assert!(failure.contains("out of memory"), "{failure}");
}

#[test]
fn a_script_that_does_not_wait_is_refused() {
    let refused = |vm: &Vm| vm.snapshot(b"").unwrap_err().kind();
    assert_eq!(
        refused(&Vm::new(&ENGINE, Limits::default()).expect("a VM")),
        ErrorKind::State
    );
    let mut vm = started(
        "text('x'); await tools.echo();",
        &["echo"],
        Limits::default(),
    );
    assert_eq!(refused(&vm), ErrorKind::State, "not polled");
    wait(&mut vm);
    assert_eq!(refused(&vm), ErrorKind::State, "events not taken");
    assert_eq!(take_output(&vm), ["x"]);
    assert!(vm.snapshot(b"").is_ok());
    let call = open(&vm)[0];
    resolve(&mut vm, call, "1");
    assert_eq!(
        refused(&vm),
        ErrorKind::State,
        "a settled call it has not seen"
    );
    assert!(matches!(vm.poll(), Step::Ended(_)));
    assert_eq!(refused(&vm), ErrorKind::State, "over");
}

fn small_snapshot() -> Vec<u8> {
    let mut vm = started(
        "return await tools.echo('x');",
        &["echo"],
        Limits::default(),
    );
    wait(&mut vm);
    drop(vm.events().drain());
    vm.snapshot(b"owner").expect("a waiting script")
}

fn refusal(bytes: &[u8]) -> ErrorKind {
    Vm::restore(&ENGINE, bytes)
        .expect_err("not a snapshot")
        .kind()
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = small_snapshot();
    let header = 6 + 2 + 32 + 32 + 8;
    let cuts = (0..header + 40)
        .chain((header + 40..bytes.len()).step_by(997))
        .chain([bytes.len() - 1]);
    for length in cuts {
        assert_eq!(
            refusal(&bytes[..length]),
            ErrorKind::Snapshot,
            "the first {length} bytes"
        );
    }
    for at in (0..header + 40).chain((header + 40..bytes.len()).step_by(997)) {
        for bit in [0, 3, 7] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert_eq!(
                refusal(&flipped),
                ErrorKind::Snapshot,
                "bit {bit} of byte {at}"
            );
        }
    }
    for tail in [&[0][..], &bytes] {
        assert_eq!(
            refusal(&[&bytes, tail].concat()),
            ErrorKind::Snapshot,
            "more than a snapshot"
        );
    }
    assert!(Vm::restore(&ENGINE, &bytes).is_ok());
}

/// A snapshot whose checksum is right and whose content is what a forger wants.
fn forged(original: &[u8], claimed_length: Option<u64>, body: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    let compressed = zstd::bulk::compress(body, 1).expect("it compresses");
    let mut bytes = original[..40].to_vec();
    bytes.extend_from_slice(&sha2::Sha256::digest(&compressed));
    bytes.extend_from_slice(&claimed_length.unwrap_or(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&compressed);
    bytes
}

#[test]
fn forged_content_is_refused_or_harmless() {
    let bytes = small_snapshot();
    let body = zstd::bulk::decompress(&bytes[80..], 64 << 20).expect("its body");
    assert!(Vm::restore(&ENGINE, &forged(&bytes, None, &body)).is_ok());
    for length in [
        0,
        1,
        body.len() as u64 - 1,
        body.len() as u64 + 1,
        1 << 30,
        1 << 40,
        u64::MAX,
    ] {
        assert_eq!(
            refusal(&forged(&bytes, Some(length), &body)),
            ErrorKind::Snapshot,
            "claims {length} bytes"
        );
    }
    let json_length = usize::try_from(u64::from_le_bytes(body[..8].try_into().expect("8 bytes")))
        .expect("a length");
    let json: serde_json::Value = serde_json::from_slice(&body[8..8 + json_length]).expect("JSON");
    let rest = &body[8 + json_length..];
    let with_json = |json: &str| {
        let mut body = (json.len() as u64).to_le_bytes().to_vec();
        body.extend_from_slice(json.as_bytes());
        body.extend_from_slice(rest);
        forged(&bytes, None, &body)
    };
    for json in ["", "{}", "[]", "null", "\u{0}"] {
        assert_eq!(refusal(&with_json(json)), ErrorKind::Snapshot, "{json}");
    }
    let huge = serde_json::json!(u64::MAX);
    for (member, value) in [
        ("cpu_used_ms", huge.clone()),
        ("cpu_ms", huge.clone()),
        ("clock_ns", huge),
        ("output_so_far", serde_json::json!([u64::MAX, u64::MAX])),
        ("buffer_at", serde_json::json!([u32::MAX, u32::MAX])),
        ("buffer_at", serde_json::json!([0, 4096])),
        (
            "open_calls",
            serde_json::json!([[0, true, "echo"], [0, false, "x"], [u32::MAX, true, ""]]),
        ),
        (
            "timers_ns",
            serde_json::json!([[1, u64::MAX], [1, 5], [-1, 0]]),
        ),
        ("stack_bytes", serde_json::json!(u32::MAX)),
        ("memory_bytes", serde_json::json!(0)),
        ("memory_bytes", serde_json::json!(u32::MAX)),
    ] {
        let mut json = json.clone();
        json[member] = value.clone();
        let Ok((mut vm, _)) = Vm::restore(&ENGINE, &with_json(&json.to_string())) else {
            continue;
        };
        vm.set_deadline(Some(Instant::now() + Duration::from_millis(200)));
        for call in open(&vm) {
            resolve(&mut vm, call, "1");
        }
        // Whatever comes of it, it comes as a value.
        let step = vm.poll();
        assert!(
            matches!(step, Step::Ended(_) | Step::Waiting { .. }),
            "{member} {value}: {step:?}"
        );
    }
    // Pages full of noise: the guest is as confused as can be, and stays inside.
    let memory_at = 8 + json_length + 8 + 5 + 8;
    for seed in 1..24_u32 {
        let mut noisy = body.clone();
        let mut state = seed;
        for byte in noisy[memory_at..]
            .iter_mut()
            .enumerate()
            .filter_map(|(at, byte)| (at % 4100 >= 4).then_some(byte))
        {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 24 < seed * 4 {
                *byte = state.to_le_bytes()[2];
            }
        }
        let Ok((mut vm, _)) = Vm::restore(&ENGINE, &forged(&bytes, None, &noisy)) else {
            continue;
        };
        vm.set_deadline(Some(Instant::now() + Duration::from_millis(50)));
        for call in open(&vm) {
            resolve(&mut vm, call, "[1, 2, {\"a\": \"b\"}]");
        }
        drop(vm.poll());
    }
    assert_eq!(
        finish(started("return 'fine';", &[], Limits::default())).value(),
        "\"fine\""
    );
}

#[test]
fn an_engine_with_less_room_refuses_it() {
    let small = VmEngine::new(EngineOptions {
        live_vms_max: 2,
        memory_bytes_max: 16 << 20,
        ..EngineOptions::default()
    })
    .expect("an engine");
    let bytes = small_snapshot();
    assert_eq!(
        Vm::restore(&small, &bytes)
            .expect_err("asks for 256 MiB")
            .kind(),
        ErrorKind::Exhausted
    );
}

#[test]
fn a_hundred_calls_and_a_megabyte_of_data_stay_small() {
    let source = "
        const data = Array.from({ length: 6000 }, (_, n) => ({ id: n, name: `user ${n}`, tags: ['a', String(n)], score: n * 1.5 }));
        const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => tools.echo({ n })));
        return [data.length, answers.length, data[5999].name];";
    let mut vm = started(source, &["echo"], Limits::default());
    wait(&mut vm);
    drop(vm.events().drain());
    let bytes = vm.snapshot(b"").expect("a waiting script");
    let began = Instant::now();
    let bytes_again = vm.snapshot(b"").expect("a waiting script");
    let saved = began.elapsed();
    let began = Instant::now();
    let (mut copy, _) = Vm::restore(&ENGINE, &bytes_again).expect("a good snapshot");
    println!(
        "{} bytes, saved in {saved:?}, restored in {:?}",
        bytes.len(),
        began.elapsed()
    );
    assert!(bytes.len() <= 1 << 20, "{} bytes", bytes.len());
    for call in open(&copy) {
        resolve(&mut copy, call, "1");
    }
    assert_eq!(end(copy), r#"[6000,100,"user 5999"]"#);
}

#[test]
fn output_of_a_restored_script_is_its_new_output() {
    let mut vm = started(
        "text('before'); await tools.echo(); text('after');",
        &["echo"],
        Limits::default(),
    );
    wait(&mut vm);
    assert_eq!(take_output(&vm), ["before"]);
    let mut vm = through_bytes(vm);
    let call = open(&vm)[0];
    resolve(&mut vm, call, "1");
    assert!(matches!(vm.poll(), Step::Ended(End::Returned(None))));
    let events = vm.events().drain();
    assert_eq!(
        events,
        [
            pirn_vm::Event::Output(Output::Text("after".into())),
            pirn_vm::Event::LastStatement
        ]
    );
}
