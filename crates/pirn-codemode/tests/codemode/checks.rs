//! What is told of a script before anything of it runs.

use pirn_codemode::ScriptErrorKind;

use crate::support::{Lab, failure};

/// Runs scripts whose first line calls a tool: no call may have been made.
async fn refused(code: &str, message: &str) {
    let lab = Lab::new();
    let result = lab.run(&format!("await tools.echo(1);\n{code}")).await;
    let told = failure(&result);
    assert!(
        told.starts_with(&format!("script: {message}")),
        "{code}: {told}"
    );
    assert!(lab.received().is_empty(), "{code}: {:?}", lab.received());
    let stack = result.outcome.unwrap_err().stack.unwrap();
    assert!(
        stack.contains("codemode.js:") && stack.contains("> "),
        "{code}: {stack}"
    );
}

async fn runs(code: &str) {
    let lab = Lab::new();
    let result = lab.run(&format!("await tools.echo(1);\n{code}")).await;
    assert!(result.is_ok(), "{code}: {:?}", result.outcome);
}

#[tokio::test]
async fn unknown_names_are_told_before_the_first_call() {
    refused("return missing + 1", "missing is not defined").await;
    refused(
        "const f = () => fetch('x'); return f",
        "fetch is not defined: scripts have no network of their own",
    )
    .await;
    refused(
        "return setTimeuot(f, 1)",
        "setTimeuot is not defined: did you mean setTimeout?",
    )
    .await;
    refused(
        "return tools.ecoh(1)",
        "tools.ecoh does not exist. Did you mean tools.echo?",
    )
    .await;
    refused(
        "const { ecoh } = tools",
        "tools.ecoh does not exist. Did you mean tools.echo?",
    )
    .await;
    refused(
        "return read({ path: 'x' })",
        "read is not defined: did you mean tools.read?",
    )
    .await;
}

#[tokio::test]
async fn calls_that_nobody_awaited_are_told_before_the_first_call() {
    refused(
        "return tools.echo([1]).length",
        "tools.echo(...) gives a promise, which has no member length",
    )
    .await;
    refused(
        "const list = tools.echo([1]);\nreturn list.map(String)",
        "tools.echo(...) gives a promise",
    )
    .await;
    refused(
        "let list = tools.echo([1]);\nreturn list.map(String)",
        "tools.echo(...) gives a promise, which has no member map",
    )
    .await;
    refused(
        "for (const x of tools.echo([1])) text(x)",
        "tools.echo(...) gives a promise, which cannot be iterated",
    )
    .await;
    refused(
        "return [...tools.echo([1])]",
        "tools.echo(...) gives a promise, which cannot be iterated",
    )
    .await;
}

#[tokio::test]
async fn what_is_not_certain_is_left_to_run() {
    runs("try { missing } catch (error) { text(error.message) }").await;
    runs("if (typeof fetch === 'function') text(1)").await;
    runs("globalThis.later = 1; try { later } catch {}").await;
    runs("sloppy = 1; text(sloppy)").await;
    runs("const p = tools.echo(2); p.then(text); await p").await;
    runs("const tool = tools['ec' + 'ho']; await tool(1)").await;
    runs("text('nope' in tools)").await;
    runs("function f(a = b, { c, ...d }, [e]) { return [a, c, d, e, arguments.length] } var b; class K { static m() { return K } } text(f(1, {c: 2}, [3]))").await;
    runs("label: for (const x of [1]) { continue label }").await;
    runs("const r = await tools.echo({a: 1}); text(r.a, r.b)").await;
    runs("let list = tools.echo([1]); list = await list; text(list.map(String))").await;
    runs("let list = tools.echo({list: [1]}); ({ list } = await list); text(list.map(String))")
        .await;
    runs("let list = tools.echo([1]); [list] = [await list]; text(list.map(String))").await;
    runs("let one = tools.echo(1); await one; for (one of [[1]]) text(one.length)").await;
    runs("let n = tools.echo(1); const f = () => { n = 'abc' }; f(); text(n.length)").await;
}

#[tokio::test]
async fn several_mistakes_are_told_at_once() {
    let result = Lab::new()
        .run("await tools.ecoh(1);\nreturn missing;")
        .await;
    let error = result.outcome.unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Script);
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("no call was made")
            && hint.contains("Line 2, column 8: missing is not defined"),
        "{hint}"
    );
}
