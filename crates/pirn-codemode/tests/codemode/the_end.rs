//! What a script waits for beyond its last statement, and what becomes of rejections.

use pirn_codemode::ScriptResult;

use crate::support::{Lab, failure};

/// Outcome, output and notes, a line each.
fn told(result: &ScriptResult) -> Vec<String> {
    let mut lines: Vec<String> = result
        .output
        .iter()
        .map(|item| match item {
            pirn_vm::Output::Text(text) | pirn_vm::Output::Console(text) => text.to_string(),
            pirn_vm::Output::Image { .. } | pirn_vm::Output::Audio { .. } => "media".to_owned(),
        })
        .collect();
    lines.extend(result.value().map(|value| format!("= {}", value.as_str())));
    if result.outcome.is_err() {
        let error = failure(result);
        lines.push(error.lines().next().unwrap_or_default().to_owned());
    }
    lines.extend(
        result
            .remarks()
            .into_iter()
            .map(|note| format!("Note: {note}")),
    );
    lines
}

async fn check(code: &str, expected: &[&str]) {
    let result = Lab::new().run(code).await;
    assert_eq!(told(&result), expected, "{code}");
}

#[tokio::test]
async fn a_script_goes_on_until_what_it_started_has_ended() {
    check(
        "async function main() { text(await tools.echo('done')); } main()",
        &["done"],
    )
    .await;
    check("tools.echo(1).then(() => text('then'))", &["then"]).await;
    check("sleep(5).then(() => text('slept'))", &["slept"]).await;
    check(
        "(async () => { await new Promise((resolve) => setTimeout(resolve, 5)); text('by a timer'); })()",
        &["by a timer"],
    )
    .await;
    check(
        "(async () => { for (const n of [1, 2, 3]) text(await tools.echo(n)); })(); text(0)",
        &["0", "1", "2", "3"],
    )
    .await;
}

#[tokio::test]
async fn return_and_exit_end_it_at_once_and_open_calls_are_named() {
    let note = "Note: A call was still open when the script ended: gate {\"name\":\"x\"} (cancelled). Await every call whose effect or \
                result you need.";
    check("tools.gate({name: 'x'}); return 'r'", &["= \"r\"", note]).await;
    check("tools.gate({name: 'x'}); exit()", &[note]).await;
}

#[tokio::test]
async fn a_timer_holds_nothing_and_is_named() {
    check(
        "setTimeout(() => text('never'), 60000)",
        &["Note: The script ended before a timer fired (60000 ms, set at 1:1): timers do not keep a script alive. Wait with await sleep(ms)."],
    )
    .await;
    // One that a returning script leaves behind was its own choice, as in a race against time.
    check("setTimeout(() => text('never'), 60000); return 1", &["= 1"]).await;
}

#[tokio::test]
async fn a_rejection_that_nobody_handles_fails_the_script() {
    check(
        "(async () => { throw new Error('lost') })(); text('kept'); return {v: 1}",
        &["kept", "= {\"v\":1}", "script: lost (A promise was rejected and nobody handled it: await it, or add .catch(...).)"],
    )
    .await;
    check(
        "tools.fail({message: 'no'}); text('a')",
        &["a", "script: no (A promise was rejected and nobody handled it: await it, or add .catch(...).)"],
    )
    .await;
    check(
        "const p = tools.fail({message: 'no'}); p.catch(() => text('caught'));",
        &["caught"],
    )
    .await;
    // Handled later is handled.
    check(
        "const p = Promise.reject(new Error('late')); await null; try { await p } catch (e) { text(e.message) }",
        &["late"],
    )
    .await;
    // The end itself rejects nothing that counts.
    let result = Lab::new()
        .run("const p = tools.gate({name: 'x'}); return 1")
        .await;
    assert!(result.is_ok());
}

#[tokio::test]
async fn what_nothing_can_wake_fails_the_script() {
    check(
        "async function f() {\n  await new Promise(() => {});\n}\nf(); text('a')",
        &["a", "script: The script's last statement was reached, but an async function that it started waits at line 2 for a promise that \
           nothing can settle: no call and no timer is pending. Let it end, or end the script with return."],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_sleep_beyond_the_deadline_rejects_at_once() {
    let result = Lab::new().run("await sleep(7200000)").await;
    assert!(
        failure(&result).contains("sleep(7200000) would end after the script's time is up"),
        "{}",
        failure(&result)
    );
}
