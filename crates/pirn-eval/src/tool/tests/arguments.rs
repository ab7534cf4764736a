//! What reaches the kernel, and what is refused before.

use super::*;

#[tokio::test]
async fn a_code_fence_is_taken_off_and_told() {
    let bench = Bench::new([]);
    let runner = Arc::clone(&bench.runner);
    let (result, _) = bench
        .call(json!({"language": "python", "code": "```py\n[]\n```"}))
        .await;
    assert_eq!(runner.last().code, "\n[]");
    assert!(result.joined_text().contains(FENCE_NOTE), "{result:?}");
}

#[tokio::test]
async fn time_and_size_are_bounded_whatever_is_said() {
    for (asked, embedder, given) in [
        (None, Duration::MAX, 30),
        (Some(90.5), Duration::MAX, 90),
        (Some(120.0), Duration::MAX, 120),
        (Some(120.0), Duration::from_secs(50), 50),
        (None, Duration::from_secs(10), 10),
    ] {
        let mut bench = Bench::new([]);
        bench.eval.timeout_max = embedder;
        let runner = bench.runner.clone();
        let mut arguments = json!({"language": "javascript", "code": "1"});
        if let Some(asked) = asked {
            arguments["timeoutSeconds"] = json!(asked);
        }
        let (result, _) = bench.call(arguments).await;
        assert!(!result.is_error);
        assert_eq!(runner.last().timeout.as_secs(), given);
        assert_eq!(runner.last().language, Language::JavaScript);
    }
    for (arguments, problem) in [
        (
            json!({"language": "python", "code": "1", "timeoutSeconds": 500}),
            "Validation failed",
        ),
        (
            json!({"language": "ruby", "code": "1"}),
            "Validation failed",
        ),
        (
            json!({"language": "python", "code": ""}),
            "Validation failed",
        ),
        (
            json!({"language": "python", "code": "x".repeat(100_001)}),
            "code_too_large: the code has 100001 bytes",
        ),
        // 50,001 characters, 100,002 bytes.
        (
            json!({"language": "python", "code": "ä".repeat(50_001)}),
            "code_too_large",
        ),
    ] {
        let bench = Bench::new([]);
        let runner = bench.runner.clone();
        let (result, _) = bench.call(arguments).await;
        assert!(result.is_error && result.joined_text().contains(problem));
        assert!(runner.seen.lock().unwrap().is_empty());
    }
    // A caller without a pipeline's validation.
    let mut bench = Bench::new([]);
    bench.eval.timeout_max = Duration::MAX;
    let arguments = EvalArguments {
        language: Language::Python,
        code: "1".to_owned(),
        timeout: Some(Duration::from_secs(500)),
        state: StateBefore::Kept,
    };
    let pipeline = bench.pipeline.build();
    let context = CallContext::detached("1");
    let report = bench
        .eval
        .evaluate(&pipeline, &context, arguments, None)
        .await;
    assert_eq!(report.failure(), None);
    assert_eq!(bench.runner.last().timeout, Duration::from_mins(2));
}

#[tokio::test]
async fn the_code_reaches_the_kernel_as_it_is_and_reset_comes_first() {
    let code = "  if True:\n      1\r\n\u{202e}";
    let mut bench = Bench::new([]);
    bench.eval.branch = Arc::new(|| "branch-2".to_owned());
    let runner = bench.runner.clone();
    let (result, _) = bench
        .call(json!({"language": "python", "code": code, "reset": true}))
        .await;
    assert_eq!(result.content.len(), 2, "the picture");
    assert_eq!(runner.last().code, code);
    assert_eq!(runner.last().branch, "branch-2");
    assert_eq!(*runner.resets.lock().unwrap(), ["branch-2"]);
}
