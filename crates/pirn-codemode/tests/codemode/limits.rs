//! Limits: what is over one fails, says which one it was, and takes nothing else along.

use std::time::Duration;

use pirn_codemode::ScriptLimits;
use pirn_vm::Limits;
use serde_json::json;

use crate::support::{Lab, calls, failure, options, short_grace, skip, texts, value};

/// How long scripts that ask a person may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long the person thinks.
const THINKING: Duration = Duration::from_secs(5);

const WALL_ADVICE: &str = "To change this limit: the setting codemode.timeoutSeconds, or timeout_ms in the options line, or \
                           pirn exec --timeout-ms.";
const CPU_ADVICE: &str =
    "To change this limit: the setting codemode.cpuSeconds, or pirn exec --cpu-ms.";

fn wall(milliseconds: u64) -> ScriptLimits {
    ScriptLimits {
        wall: Duration::from_millis(milliseconds),
        ..short_grace()
    }
}

#[tokio::test]
async fn a_deadline_covers_computing_and_waiting() {
    for code in [
        "text('kept'); for (;;);",
        "text('kept'); await tools.gate({name: 'never'});",
        "text('kept'); await tools.deaf();",
        "text('kept'); await new Promise((done) => setTimeout(done, 60000));",
        "text('kept'); for (;;) { try { for (;;); } catch {} }",
        "text('kept'); for (;;) await new Promise((done) => setTimeout(done, 1));",
    ] {
        let lab = Lab::new();
        let result = lab.run_with(code, options(wall(200))).await;
        assert_eq!(
            failure(&result),
            format!("timeout: The script timed out after 200 ms ({WALL_ADVICE})"),
            "{code}"
        );
        assert_eq!(texts(&result.output), ["kept"], "{code}");
        assert!(result.wall < Duration::from_secs(5), "{code}");
    }
}

#[tokio::test]
async fn a_stopped_script_says_where_it_was_and_no_engine_words() {
    let lab = Lab::new();
    let result = lab
        .run_with("text('kept');\nfor (;;) Math.random();", options(wall(100)))
        .await;
    let stack = result.outcome.expect_err("a deadline").stack;
    let stack = stack.expect("a computing script has frames");
    let place = "The script timed out after 100 ms\n    at <anonymous> (codemode.js:2:";
    assert!(stack.starts_with(place), "{stack}");
}

#[tokio::test]
async fn a_deadline_says_what_became_of_the_calls() {
    let lab = Lab::new();
    let code = "await Promise.all([tools.gate({name: 'x'}), tools.deaf(), tools.stubborn({name: 'x'}), tools.echo(1)]);";
    let result = lab.run_with(code, options(wall(200))).await;
    assert_eq!(
        calls(&result),
        ["gate cancelled", "deaf unknown", "stubborn ok", "echo ok"]
    );
}

#[tokio::test]
async fn no_deadline_is_no_trouble() {
    let limits = ScriptLimits {
        wall: Duration::MAX,
        cancel_grace: Duration::MAX,
        ..ScriptLimits::default()
    };
    let result = Lab::new()
        .run_with("tools.gate({name: 'x'}); return 1;", options(limits))
        .await;
    assert_eq!(value(&result), json!(1));
}

#[tokio::test]
async fn processor_time_counts_and_waiting_does_not() {
    let vm = Limits {
        cpu: Duration::from_millis(50),
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        ..ScriptLimits::default()
    };
    let result = Lab::new().run_with("for (;;);", options(limits)).await;
    assert_eq!(
        failure(&result),
        format!("cpu: The script used up its 50 ms of processor time ({CPU_ADVICE})")
    );
    let waits = "await new Promise((done) => setTimeout(done, 120)); return 'rested';";
    assert_eq!(
        value(&Lab::new().run_with(waits, options(limits)).await),
        json!("rested")
    );
}

#[tokio::test]
async fn memory_is_bounded() {
    let vm = Limits {
        memory_bytes: 16 << 20,
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        ..ScriptLimits::default()
    };
    let bomb = "const all = []; for (;;) all.push('x'.repeat(1e5) + all.length);";
    let shown = failure(&Lab::new().run_with(bomb, options(limits)).await);
    assert!(shown.contains("out of memory"), "{shown}");
    let caught = format!("try {{ {bomb} }} catch (error) {{ return error.message; }}");
    assert_eq!(
        value(&Lab::new().run_with(&caught, options(limits)).await),
        json!("out of memory")
    );
}

#[tokio::test]
async fn source_has_a_largest_size() {
    let limits = ScriptLimits {
        source_bytes_max: 100,
        ..ScriptLimits::default()
    };
    let code = format!("text('never'); // {}", "x".repeat(100));
    let result = Lab::new().run_with(&code, options(limits)).await;
    assert_eq!(
        failure(&result),
        "script: The script has 118 bytes, the limit is 100; keep data in files and read it with tools \
         (To change this limit: the setting codemode.sourceKb.)"
    );
    assert!(result.output.is_empty());
    assert_eq!(ScriptLimits::default().source_bytes_max, 1 << 20);
}

#[tokio::test]
async fn output_has_a_largest_size_that_nothing_catches() {
    let vm = Limits {
        output_characters: 100,
        output_items: 5,
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        ..ScriptLimits::default()
    };
    for (code, kept) in [
        ("for (let n = 0; ; n++) { try { text(n); } catch {} }", 5),
        (
            "for (;;) { try { console.log('x'.repeat(60)); } catch {} }",
            1,
        ),
    ] {
        let result = Lab::new().run_with(code, options(limits)).await;
        assert_eq!(
            failure(&result),
            "script: Script output exceeds the limit of 100 characters or 5 items (To change this limit: the setting \
             codemode.outputCharacters or codemode.outputItems, or pirn exec --output-characters.)",
            "{code}"
        );
        assert_eq!(result.output.len(), kept, "{code}");
    }
}

/// Those that other tests do not reach.
#[tokio::test]
async fn every_limit_names_its_number_and_the_setting_that_changes_it() {
    let vm = Limits {
        memory_bytes: 16 << 20,
        stack_bytes: 64 << 10,
        store_value_characters: 10,
        store_total_characters: 20,
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        ..ScriptLimits::default()
    };
    for (code, expected) in [
        (
            "const deeper = (n) => deeper(n + 1) + 1; deeper(0);",
            "script: Maximum call stack size exceeded (To change this limit: the setting codemode.stackKb.)",
        ),
        (
            "const all = []; for (;;) all.push('x'.repeat(1e5) + all.length);",
            "script: out of memory (To change this limit: the setting codemode.memoryMb, or pirn exec --memory-mb.)",
        ),
        (
            "store('key', 'x'.repeat(10));",
            "script: store(): the value has 12 characters of JSON, the limit is 10. Keep large data in a file and store its path. \
             (To change this limit: the setting codemode.storeValueCharacters.)",
        ),
        (
            "store('first', 12345678); store('second', 12345678);",
            "script: store(): all values together would have 27 characters, the limit is 20. Delete keys with \
             store(key, undefined) or keep large data in a file. (To change this limit: the setting codemode.storeCharacters.)",
        ),
    ] {
        let result = Lab::new().run_with(code, options(limits)).await;
        assert_eq!(failure(&result), expected, "{code}");
    }
}

#[tokio::test]
async fn a_huge_error_of_a_tool_is_cut() {
    let limits = ScriptLimits {
        call_bytes_max: 1_000,
        ..ScriptLimits::default()
    };
    let code =
        "return tools.fail({message: 'y'.repeat(900)}).catch((error) => error.message.length);";
    assert_eq!(
        value(&Lab::new().run_with(code, options(limits)).await),
        json!(900)
    );
}

#[tokio::test]
async fn the_deadline_stands_still_while_every_open_call_asks() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        wall: DEADLINE,
        ..short_grace()
    };
    let running = lab.run_with(
        "await tools.ask({name: 'a'}); await tools.gate({name: 'never'});",
        options(limits),
    );
    let (result, ()) = tokio::join!(running, async {
        lab.has_asked(1).await;
        skip(THINKING).await;
        lab.open("a");
        // What comes after the question has the time that was left before it, and no more.
        lab.has_received(2).await;
        skip(DEADLINE).await;
    });
    assert_eq!(
        failure(&result),
        format!("timeout: The script timed out after 2000 ms ({WALL_ADVICE})")
    );
    assert_eq!(calls(&result), ["ask ok", "gate cancelled"]);
}

#[tokio::test]
async fn a_script_that_computes_beside_an_open_question_ends_by_its_processor_time() {
    let lab = Lab::new();
    let vm = Limits {
        cpu: Duration::from_millis(150),
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        wall: DEADLINE,
        ..short_grace()
    };
    let running = lab.run_with("tools.ask({name: 'x'}); for (;;);", options(limits));
    let (result, ()) = tokio::join!(running, async {
        lab.has_asked(1).await;
        skip(THINKING).await;
    });
    assert_eq!(
        failure(&result),
        format!("cpu: The script used up its 150 ms of processor time ({CPU_ADVICE})")
    );
    assert_eq!(calls(&result), ["ask unknown"]);
}

/// Each cell holds 8 MiB of data and reserves 12 MiB: 21 have room at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_cells_of_ten_callers_share_a_small_budget() {
    const EACH: usize = 50;
    let engine = pirn_vm::VmEngine::new(pirn_vm::EngineOptions {
        memory_total_bytes: 256 << 20,
        ..pirn_vm::EngineOptions::default()
    })
    .unwrap();
    let vm = Limits {
        memory_bytes: 12 << 20,
        ..Limits::default()
    };
    let limits = ScriptLimits {
        vm,
        ..ScriptLimits::default()
    };
    let lab = Lab::new();
    let script = pirn_codemode::Script::new(
        "const data = new Uint8Array(8 << 20).fill(1); await tools.echo(1); return data.length;",
    );
    let finished = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let cells: Vec<_> = (0..10)
        // The first caller asks for everything before the second one comes.
        .flat_map(|caller| (0..EACH).map(move |_| caller))
        .map(|caller: usize| {
            let options = pirn_codemode::RunOptions {
                limits,
                caller: format!("caller {caller}"),
                ..pirn_codemode::RunOptions::default()
            };
            let cell = pirn_codemode::Cell::start(&engine, &script, &lab.environment(), options);
            let finished = std::sync::Arc::clone(&finished);
            tokio::spawn(async move {
                let update = cell.wait(Duration::from_mins(1)).await.unwrap();
                assert_eq!(value(crate::support::ended(&update)), json!(8 << 20));
                finished.lock().unwrap().push(caller);
            })
        })
        .collect();
    for cell in cells {
        tokio::time::timeout(Duration::from_mins(1), cell)
            .await
            .unwrap()
            .unwrap();
    }
    // In which order is shown in `pirn-vm`: the callers take turns.
    let mut ended = finished.lock().unwrap().clone();
    ended.sort_unstable();
    let expected: Vec<usize> = (0..10).flat_map(|caller| [caller; EACH]).collect();
    assert_eq!(ended, expected);
}
