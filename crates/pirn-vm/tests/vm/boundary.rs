//! What crosses between a script and its host: sizes, counts, odd text, and errors outside of any promise.

use std::time::{Duration, Instant};

use pirn_vm::{End, Event, JsonText, Limits, Settlement, Step, StopReason};

use crate::support::{run, run_with, started, take_output};

#[test]
fn an_error_outside_of_any_promise_is_the_scripts_failure() {
    for (source, expected) in [
        (
            "queueMicrotask(() => {\n  throw new TypeError('from a job');\n});\nawait tools.echo(1);",
            "TypeError: from a job\n    at <anonymous> (script.js:2",
        ),
        (
            "queueMicrotask(() => { throw 'a string'; }); await tools.echo(1);",
            "a string",
        ),
        (
            "setTimeout(() => { throw new Error('from a timer'); }); await new Promise(() => {});",
            "Error: from a timer\n    at <anonymous> (script.js:1",
        ),
        (
            "const own = new Error('x'); Object.defineProperty(own, 'message', { get() { for (;;) {} } }); queueMicrotask(() => { throw own; }); await tools.echo(1);",
            "Error",
        ),
        (
            "class Mine extends RangeError {} Mine.prototype.y = 1; queueMicrotask(() => { throw new Mine('sub'); }); await tools.echo(1);",
            "RangeError: sub",
        ),
    ] {
        let failure = run(source).failure();
        assert!(failure.starts_with(expected), "{source}: {failure}");
    }
}

#[test]
fn messages_keep_lone_surrogates() {
    for source in [
        "throw new Error('half \\ud800 and \\udc00 of \\u{1f600}\\n\"\\\\ud800');",
        "throw 'half \\ud800 and \\udc00 of \\u{1f600}\\n\"\\\\ud800';",
        "queueMicrotask(() => { throw new Error('half \\ud800 and \\udc00 of \\u{1f600}\\n\"\\\\ud800'); }); await tools.echo(1);",
    ] {
        let End::Failed(failure) = run(source).end else {
            panic!("{source} does not fail")
        };
        let mut expected: Vec<u16> = "half ".encode_utf16().collect();
        expected.push(0xD800);
        expected.extend(" and ".encode_utf16());
        expected.push(0xDC00);
        expected.extend(" of \u{1f600}\n\"\\ud800".encode_utf16());
        assert_eq!(
            failure.message.utf16().collect::<Vec<_>>(),
            expected,
            "{source}"
        );
        if let Some(stack) = failure.stack {
            assert!(
                stack.starts_with("Error: half \u{fffd} and \u{fffd} of \u{1f600}"),
                "{stack}"
            );
        }
    }
}

#[test]
fn a_script_without_memory_says_so() {
    let limits = Limits {
        memory_bytes: 8 << 20,
        ..Limits::default()
    };
    let fill = "globalThis.kept = []; try { for (;;) kept.push(new Uint8Array(4096)); } catch {} try { for (;;) kept.push({}); } catch {}";
    for (source, is_value) in [
        (format!("{fill} return {{ list: [1, 2, 3] }};"), true),
        (format!("{fill} throw new Error('afterwards');"), false),
        (
            format!("await tools.echo(1); {fill} for (;;) kept.push({{}});"),
            false,
        ),
        (
            format!("await tools.echo(1); {fill} for (;;) await kept.push({{}});"),
            false,
        ),
        (
            format!(
                "setTimeout(() => {{ {fill} for (;;) kept.push({{}}); }}); await new Promise(() => {{}});"
            ),
            false,
        ),
        (
            format!(
                "await Promise.all([1, 2, 3].map(async (n) => {{ await tools.echo(n); {fill} for (;;) kept.push([n]); }}));"
            ),
            false,
        ),
        (
            format!("{fill} for (;;) await tools.echo(kept.push(1));"),
            false,
        ),
    ] {
        let mut vm = started(&source, &["echo"], limits);
        vm.set_deadline(Some(Instant::now() + Duration::from_secs(5)));
        match crate::support::finish(vm).end {
            End::Returned(value) => assert!(is_value, "{source}: {value:?}"),
            End::Failed(failure) => {
                let message = failure.message.to_string();
                assert!(
                    message.contains("out of memory") || message == "afterwards",
                    "{source}: {failure:?}"
                );
            }
            End::OutOfMemory(_) => {}
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn a_result_that_does_not_fit_fails_its_call_alone() {
    let source = "
        const [small, large, other] = await Promise.allSettled([tools.echo(1), tools.echo(2), tools.echo(3)]);
        return [small.value, large.reason.message.replace(/\\d+/g, '#'), large.reason.kind, other.value, await tools.echo(4)];";
    let mut vm = started(
        source,
        &["echo"],
        Limits {
            memory_bytes: 8 << 20,
            ..Limits::default()
        },
    );
    loop {
        let step = vm.poll();
        for event in vm.events().drain() {
            let Event::Call {
                id,
                arguments: Some(arguments),
                ..
            } = event
            else {
                panic!("{event:?}")
            };
            let value = if arguments.as_str() == "2" {
                format!("\"{}\"", "x".repeat(40 << 20))
            } else {
                "\"fits\"".into()
            };
            vm.settle(id, Settlement::Resolved(Some(JsonText::new(value))))
                .expect("an open call");
        }
        if let Step::Ended(end) = step {
            let expected = "[\"fits\",\"out of memory: # bytes do not fit into what is left of the # bytes the script may use\",\"memory\",\"fits\",\"fits\"]";
            assert_eq!(end, End::Returned(Some(JsonText::new(expected))));
            break;
        }
    }
}

#[test]
fn too_much_at_once_is_an_error_the_script_can_handle() {
    let limits = Limits {
        memory_bytes: 512 << 20,
        output_characters: u32::MAX,
        ..Limits::default()
    };
    for source in [
        "const s = 'x'.repeat(70 << 20); try { tools.echo(s); } catch (e) { return e.name; }",
        "const s = 'x'.repeat(70 << 20); try { text(s); } catch (e) { return e.name; }",
        "const ids = []; try { for (;;) ids.push(setTimeout(() => {}, 1e9)); } catch (e) { ids.forEach(clearTimeout); return e.name; }",
    ] {
        assert_eq!(
            run_with(source, limits).value(),
            "\"RangeError\"",
            "{source}"
        );
    }
    let failure = run_with("return 'x'.repeat(70 << 20);", limits).failure();
    assert!(
        failure.starts_with("RangeError: 73400322 bytes are too much to hand over at once"),
        "{failure}"
    );
}

#[test]
fn calls_and_yields_that_nobody_takes_are_bounded() {
    let limits = Limits {
        memory_bytes: 64 << 20,
        ..Limits::default()
    };
    let source = "
        const s = 'x'.repeat(4 << 20); let made = 0;
        try { for (;;) { tools.echo(s); made++; } } catch (e) { text(`${e.name} after ${made}`); }
        for (let n = 0; n < 1000; n++) yield_control();
        return await tools.echo(1).catch((e) => e.name);";
    let mut vm = started(source, &["echo"], limits);
    let step = vm.poll();
    assert!(
        matches!(step, Step::Waiting { .. }) || matches!(step, Step::Ended(_)),
        "{step:?}"
    );
    let events = vm.events().drain();
    let bytes: usize = events
        .iter()
        .map(|event| match event {
            Event::Call {
                arguments: Some(arguments),
                ..
            } => arguments.as_str().len(),
            _ => 0,
        })
        .sum();
    assert!(bytes <= 64 << 20, "{bytes} bytes of calls");
    assert_eq!(
        events
            .iter()
            .filter(|event| **event == Event::Yield)
            .count(),
        1
    );
    assert!(events.iter().any(|event| matches!(event, Event::Output(pirn_vm::Output::Text(text)) if text.to_string() == "RangeError after 15")), "{:?}", take_output(&vm));
}

#[test]
fn large_images_take_no_more_memory_than_their_text() {
    let source = "
        const data = 'iVBORw0KGgoAAAAN' + 'A'.repeat(8e6);
        image(`data:image/png;base64,${data}`);
        image({ type: 'image', data: data.slice(0, -4) + 'AA==' });
        for (const bad of [data + 'A', data.slice(0, -4) + 'A=A=', data.slice(0, 70000) + '-' + data.slice(70001), '====']) {
          try { image('data:image/png;base64,' + bad); text('taken'); } catch (e) { text(e.name); }
        }
        try { image('data:;base64'); } catch (e) { text(e.message.slice(0, 25)); }
        try { image('DATA:image/png,AAAA'); } catch (e) { text(e.message); }";
    let finished = run_with(
        source,
        Limits {
            memory_bytes: 64 << 20,
            ..Limits::default()
        },
    );
    let refused = ["TypeError"; 4];
    assert_eq!(
        finished.output[..2],
        ["image/png", "image/png"],
        "{:?}",
        finished.end
    );
    assert_eq!(finished.output[2..6], refused);
    assert_eq!(
        finished.output[6..],
        [
            "image() needs a data: URL",
            "image() needs a data: URL with ;base64"
        ]
    );
}

#[test]
fn the_clock_starts_at_zero_and_runs_forward() {
    let value = run(
        "const a = performance.now(); await tools.echo(); const b = performance.now(); return a >= 0 && a < 1000 && b >= a;",
    );
    assert_eq!(value.value(), "true");
}

#[test]
fn a_wrapper_that_is_broken_out_of_gains_nothing() {
    for (source, expected) in [
        (
            "}), (() => { return { then() { throw Object.defineProperty(new Error('m'), 'message', { get() { for (;;) {} } }); } };",
            None,
        ),
        (
            "}), (() => { return { then(succeed, fail) { succeed(1); succeed(2); } };",
            Some("2"),
        ),
        (
            "}), ((...all) => { return { then(succeed) { succeed(all.length); } };",
            Some("3"),
        ),
    ] {
        match run(source).end {
            End::Returned(value) => {
                assert_eq!(value.as_ref().map(JsonText::as_str), expected, "{source}");
            }
            End::Failed(failure) => assert!(expected.is_none(), "{source}: {failure:?}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn tiny_limits_end_in_a_known_way() {
    for memory_bytes in [1, 1 << 10, 16 << 10, 64 << 10, 256 << 10] {
        for stack_bytes in [0, 1 << 10, 64 << 10] {
            let limits = Limits {
                memory_bytes,
                stack_bytes,
                cpu: Duration::from_secs(1),
                ..Limits::default()
            };
            match run_with("text('a'); return await tools.echo([1]);", limits).end {
                End::Returned(_)
                | End::Failed(_)
                | End::OutOfMemory(_)
                | End::Stopped(StopReason::Cpu, _) => {}
                other => panic!("{memory_bytes} and {stack_bytes}: {other:?}"),
            }
        }
    }
}

#[test]
fn results_that_fit_one_by_one_need_not_fit_together() {
    let source = "
        globalThis.kept = [];
        try { for (;;) kept.push(new Uint8Array(4096)); } catch {}
        kept.length -= 180;
        return (await Promise.allSettled([1, 2, 3].map((n) => tools.echo(n)))).map((r) => r.value?.length ?? r.reason.message);";
    let limits = Limits {
        memory_bytes: 8 << 20,
        ..Limits::default()
    };
    let mut vm = started(source, &["echo"], limits);
    assert!(matches!(vm.poll(), Step::Waiting { .. }));
    let calls: Vec<_> = vm.open_calls().map(|(id, ..)| id).collect();
    for call in calls {
        let value = JsonText::new(format!("\"{}\"", "x".repeat(200_000)));
        vm.settle(call, Settlement::Resolved(Some(value)))
            .expect("an open call");
    }
    let end = vm.poll();
    let expected = End::Returned(Some(JsonText::new("[200000,200000,200000]")));
    assert_eq!(end, Step::Ended(expected));
}
