//! What programs print: all of it before the result, bounded, never stalling, never holding the end.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use pirn_eval::EvalUpdate;

use crate::support::{
    Bench, PATIENCE, Test, assert_failed, assert_ok, block_on, eventually, request,
};

pub(crate) const TESTS: &[Test] = &[
    ("output_before_the_result_is_whole", whole),
    ("eight_megabytes_are_cut_and_do_not_stall", eight_megabytes),
    ("the_marker_stays_below_the_smallest_limit", smallest_limit),
    ("characters_across_chunks_arrive_whole", characters),
    ("output_is_seen_while_the_program_runs", live),
    (
        "a_background_child_that_holds_the_pipes_does_not_hold_the_end",
        background,
    ),
    ("failures_keep_what_was_printed", kept_in_failures),
    ("long_errors_are_cut_to_the_limit", long_errors),
    (
        "what_programs_made_is_looked_at_after_each_eval",
        looked_at_after_each,
    ),
];

/// Files that would start programs in the user's name do not wait for the end of the kernel.
fn looked_at_after_each() {
    block_on(async {
        let bench = Bench::scripted();
        let work = bench.folder.path().join("work");
        let code = format!(
            "os.chdir('{}'); os.makedirs('.vscode'); open('.vscode/tasks.json', 'w').close(); finish()",
            work.display()
        );
        for time in 1..=2 {
            let outcome = bench.eval(&code).await;
            assert_ok(&outcome);
            let notes = outcome.notes.join("\n");
            let aside = format!(".vscode.set-aside-{time}");
            assert!(notes.contains(&aside), "{notes}");
            assert!(!work.join(".vscode").exists());
            assert!(work.join(aside).join("tasks.json").exists());
        }
    });
}

fn whole() {
    let code = r"
for n in range(1000): print(n)
print('error', file=sys.stderr)
finish()
";
    block_on(async {
        let bench = Bench::scripted();
        for _ in 0..5 {
            let outcome = bench.eval(code).await;
            assert_ok(&outcome);
            let expected: String = (0..1000).map(|n| format!("{n}\n")).collect();
            assert_eq!(outcome.stdout, expected);
            assert_eq!(outcome.stderr, "error\n");
            assert!(!outcome.is_cut);
        }
    });
}

fn eight_megabytes() {
    let code = "os.write(2, b'e' * 100); sys.stdout.write('x' * 8_000_000); finish()";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        assert!(outcome.is_cut);
        assert!(outcome.stdout.len() <= 51_200);
        assert!(
            outcome
                .stdout
                .ends_with("\n[cut here: 7948864 more bytes]\n"),
            "{:?}",
            outcome.stdout.get(51_000..)
        );
        assert_eq!(outcome.stderr, "e".repeat(100));
    });
}

fn smallest_limit() {
    block_on(async {
        let bench = Bench::scripted_with(|options| options.output_bytes_max = 1);
        let outcome = bench.eval("print('é' * 1000); finish()").await;
        assert_ok(&outcome);
        assert!(outcome.stdout.len() <= 256, "{}", outcome.stdout.len());
        assert!(outcome.stdout.contains("[cut here: "));
        let outcome = bench.eval("sys.stdout.write('é' * 128); finish()").await;
        assert_eq!(outcome.stdout, "é".repeat(128));
    });
}

fn characters() {
    let code = r"
for byte in '☃é'.encode() * 20:
    os.write(1, bytes([byte]))
    time.sleep(0.002)
os.write(1, b'\xff\xe2')
finish()
";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_eq!(
            outcome.stdout,
            format!("{}\u{fffd}\u{fffd}", "☃é".repeat(20))
        );
    });
}

fn live() {
    block_on(async {
        let bench = Bench::scripted();
        let heard = Arc::new(Mutex::new(String::new()));
        let hearing = Arc::clone(&heard);
        let go = bench.folder.path().join("work/go");
        let mut request = request(
            "os.chdir(e['cwd']); os.write(1, b'first')\nwhile not os.path.exists('go'): time.sleep(0.01)\nfinish()",
        );
        request.updates = Some(Arc::new(move |update| {
            if let EvalUpdate::Stdout(text) = update {
                hearing.lock().unwrap().push_str(&text);
            }
        }));
        let running = tokio::spawn({
            let kernel = bench.kernel.clone();
            async move { kernel.eval(request).await }
        });
        eventually("the first word", || *heard.lock().unwrap() == "first").await;
        std::fs::write(go, "").unwrap();
        assert_ok(&running.await.unwrap());
    });
}

fn background() {
    let code = r"
subprocess.Popen(['/bin/sh', '-c', 'sleep 60'])
subprocess.Popen(['/bin/sh', '-c', 'sleep 60'], start_new_session=True)
print('done')
finish()
";
    block_on(async {
        let bench = Bench::scripted();
        let start = Instant::now();
        let outcome = bench.eval(code).await;
        assert_ok(&outcome);
        assert_eq!(outcome.stdout, "done\n");
        assert!(start.elapsed() < PATIENCE);
    });
}

fn kept_in_failures() {
    block_on(async {
        let bench = Bench::scripted();
        let print = "print('before', flush=True); call('1', 'echo'); receive(); ";
        for end in [
            "os._exit(1)",
            "raw(b'null\\n'); time.sleep(60)",
            "finish(ok=False, error={'name': 'E', 'message': 'm'})",
        ] {
            let outcome = bench.eval(&format!("{print}{end}")).await;
            assert!(outcome.failure.is_some());
            assert_eq!(outcome.stdout, "before\n", "{end}");
            assert_eq!(outcome.calls.len(), 1, "{end}");
        }
    });
}

fn long_errors() {
    let code = "finish(ok=False, error={'name': 'E' * 1000, 'message': 'é' * 150_000, 'trace': 'é' * 150_000})";
    block_on(async {
        let bench = Bench::scripted_with(|options| options.output_bytes_max = 256);
        let outcome = bench.eval(code).await;
        assert_failed(&outcome, "user_error", "EEE");
        let failure = outcome.failure.unwrap();
        assert!(failure.message.len() <= 256);
        assert!(failure.trace.unwrap().len() <= 256);
    });
}
