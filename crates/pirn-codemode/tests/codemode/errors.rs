//! What a failed script says.

use std::sync::Arc;

use pirn_codemode::{Environment, EnvironmentError, ScriptErrorKind, global};

use crate::support::{Lab, TOOLS, failure};

const GLOBALS: &str = "tools, ALL_TOOLS, text, image, audio, console, exit, store, load, notify, yield_control, setTimeout, \
                       clearTimeout, sleep, parallel and the built-ins of JavaScript; there is no fetch, process, require or file system.";

#[tokio::test]
async fn an_unknown_global_lists_those_that_exist() {
    let result = Lab::new().run("frobnicate()").await;
    assert_eq!(
        failure(&result),
        format!("script: frobnicate is not defined (Scripts have {GLOBALS})")
    );
    // An error of the script's own that reads the same is left alone.
    let own = Lab::new().run("throw new Error('x is not defined')").await;
    assert_eq!(failure(&own), "script: x is not defined");
}

#[tokio::test]
async fn an_import_says_what_to_use_instead() {
    for code in [
        "import fs from 'fs';",
        "const fs = await import('fs');",
        "const name = 'fs'; await import(name);",
    ] {
        let result = Lab::new().run(code).await;
        let shown = failure(&result);
        assert!(
            shown.contains("fs") && shown.contains("tools.read"),
            "{code}: {shown}"
        );
    }
}

#[tokio::test]
async fn frames_point_into_the_script() {
    let code = "const parse = (input: string): number => {\n  throw new TypeError(`bad ${input}`);\n};\nparse('x');";
    let result = Lab::new().run(code).await;
    let error = result.outcome.unwrap_err();
    assert_eq!(
        (error.kind, error.name.as_deref()),
        (ScriptErrorKind::Script, Some("TypeError"))
    );
    assert_eq!(error.location("codemode.js").map(|(line, _)| line), Some(2));
    assert!(error.stack.unwrap().starts_with("TypeError: bad x\n"));
}

#[tokio::test]
async fn a_promise_nothing_can_settle_fails_at_once() {
    let result = Lab::new().run("await new Promise(() => {});").await;
    assert!(failure(&result).contains("nothing can settle"));
}

#[test]
fn globals_with_names_that_are_taken_are_refused() {
    let make = |names: &[&str]| {
        let globals = names.iter().map(|name| global(*name)).collect();
        Environment::new([], globals, Arc::new(Lab::new())).map(|_| ())
    };
    for name in [
        "Promise",
        "tools",
        "console.log",
        "models.x",
        "JSON",
        "eval",
        "text",
    ] {
        assert_eq!(
            make(&[name]),
            Err(EnvironmentError::Reserved(name.into())),
            "{name}"
        );
    }
    for name in ["", "a.b.c", "1a", "a-b", "a.", ".a"] {
        assert_eq!(
            make(&[name]),
            Err(EnvironmentError::Malformed(name.into())),
            "{name}"
        );
    }
    assert_eq!(
        make(&["a", "a"]),
        Err(EnvironmentError::Duplicate("a".into()))
    );
    assert_eq!(
        make(&["a", "a.b"]),
        Err(EnvironmentError::Duplicate("a".into()))
    );
    assert_eq!(make(&["a.b", "a.c", "d"]), Ok(()));
}

#[tokio::test]
async fn every_built_in_is_reserved() {
    let names = Lab::new()
        .run("return Object.getOwnPropertyNames(globalThis)")
        .await;
    let offered = [TOOLS.as_slice(), &["searchTools"]].concat();
    for name in crate::support::value(&names)
        .as_array()
        .unwrap()
        .iter()
        .filter_map(serde_json::Value::as_str)
    {
        let made = Environment::new([], vec![global(name)], Arc::new(Lab::new()));
        assert!(
            offered.contains(&name) || made.is_err(),
            "{name} is built in and not reserved"
        );
    }
}
