//! The store across scripts.

use pirn_codemode::{
    FileStore, RunOptions, STORE_TOTAL_CHARACTERS_MAX, Script, ScriptStore, StoreBackend,
    StoreBase, StoreCommit, StoreSnapshot, run_script,
};
use pirn_vm::{JsonText, StoreWrite};
use serde_json::{Value, json};

use crate::support::{Lab, engine, failure, value};

/// Runs a script on what the store holds and keeps its writes.
async fn run(store: &ScriptStore, code: &str) -> (Value, StoreCommit) {
    let snapshot = store.snapshot();
    let result = run_on(&snapshot, code).await;
    (
        value(&result),
        store.commit(&snapshot.base, &result.store_writes),
    )
}

async fn run_on(snapshot: &StoreSnapshot, code: &str) -> pirn_codemode::ScriptResult {
    let script = Script {
        store: snapshot.values.clone(),
        ..Script::new(code)
    };
    run_script(
        engine(),
        &script,
        &Lab::new().environment(),
        RunOptions::default(),
    )
    .await
}

fn held(store: &ScriptStore) -> Value {
    let values = store.values();
    values
        .iter()
        .map(|(key, json)| (key.clone(), json.parse().unwrap()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn values_go_from_script_to_script() {
    let store = ScriptStore::default();
    for (code, returned, after) in [
        (
            "store('a', {n: 1}); return load('a').n;",
            json!(1),
            json!({"a": {"n": 1}}),
        ),
        (
            "const a = load('a'); a.n = 2; return load('a');",
            json!({"n": 1}),
            json!({"a": {"n": 1}}),
        ),
        (
            "store('b', [1]); store('a', undefined); return [load('a') === undefined];",
            json!([true]),
            json!({"b": [1]}),
        ),
        (
            "store('', null); return load('missing') === undefined;",
            json!(true),
            json!({"": null, "b": [1]}),
        ),
        (
            "store('__proto__', 'p'); return load('__proto__');",
            json!("p"),
            json!({"": null, "__proto__": "p", "b": [1]}),
        ),
    ] {
        let (value, commit) = run(&store, code).await;
        assert_eq!(value, returned, "{code}");
        assert_eq!(held(&store), after, "{code}");
        assert_eq!(commit.conflicts, Vec::<String>::new(), "{code}");
    }
}

#[tokio::test]
async fn a_failed_script_writes_nothing() {
    let store = ScriptStore::default();
    let snapshot = store.snapshot();
    let result = run_on(&snapshot, "store('a', 1); throw new Error('x');").await;
    assert_eq!(failure(&result), "script: x");
    assert!(
        store
            .commit(&snapshot.base, &result.store_writes)
            .is_empty()
    );
    assert_eq!(held(&store), json!({}));
}

#[tokio::test]
async fn parallel_scripts_merge_and_conflicts_are_reported() {
    let store = ScriptStore::new([
        ("shared".to_owned(), JsonText::new("0")),
        ("gone".to_owned(), JsonText::new("0")),
    ]);
    let snapshots = [store.snapshot(), store.snapshot(), store.snapshot()];
    let codes = [
        "store('shared', load('shared') + 1); store('one', 1);",
        "store('shared', load('shared') + 10); store('two', 2); store('gone', undefined);",
        "store('gone', 'kept'); store('three', 3);",
    ];
    let expected = [vec![], vec!["shared".to_owned()], vec!["gone".to_owned()]];
    for ((snapshot, code), conflicts) in snapshots.iter().zip(codes).zip(expected) {
        let result = run_on(snapshot, code).await;
        assert_eq!(
            store.commit(&snapshot.base, &result.store_writes).conflicts,
            conflicts,
            "{code}"
        );
    }
    assert_eq!(
        held(&store),
        json!({"gone": "kept", "one": 1, "shared": 10, "three": 3, "two": 2})
    );
    // A script that starts now has seen all of it.
    assert_eq!(
        run(&store, "store('shared', load('shared') + 1);")
            .await
            .1
            .conflicts,
        Vec::<String>::new()
    );
}

#[test]
fn a_merge_that_would_overflow_refuses_only_what_does_not_fit() {
    let store = ScriptStore::default();
    let (first, second) = (store.snapshot(), store.snapshot());
    let write = |key: &str, length: usize| StoreWrite {
        key: JsonText::from_value(&json!(key)),
        value: Some(JsonText::from_value(&json!("x".repeat(length)))),
    };
    let half = STORE_TOTAL_CHARACTERS_MAX / 2;
    assert_eq!(
        store.commit(&first.base, &[write("a", half)]).refused,
        Vec::<String>::new()
    );
    let commit = store.commit(&second.base, &[write("b", half), write("c", 10)]);
    assert_eq!(commit.refused, ["b"]);
    assert_eq!(commit.set.len(), 1);
    // What replaces a value needs only the difference, and a deletion makes room.
    let third = store.snapshot();
    assert_eq!(
        store.commit(&third.base, &[write("a", half + 10)]).refused,
        Vec::<String>::new()
    );
    let delete = StoreWrite {
        key: JsonText::new("\"a\""),
        value: None,
    };
    assert_eq!(
        store
            .commit(&store.snapshot().base, &[write("b", half), delete])
            .refused,
        Vec::<String>::new()
    );
}

#[test]
fn many_writes_merge_in_linear_time() {
    let store = ScriptStore::default();
    let writes: Vec<StoreWrite> = (0..60_000)
        .map(|n| StoreWrite {
            key: JsonText::from_value(&json!(n.to_string())),
            value: Some(JsonText::new("1")),
        })
        .collect();
    let snapshot = store.snapshot();
    assert_eq!(
        store.commit(&snapshot.base, &writes).set.len(),
        writes.len()
    );
    let deletions: Vec<StoreWrite> = writes
        .into_iter()
        .map(|write| StoreWrite {
            value: None,
            ..write
        })
        .collect();
    let commit = store.commit(&snapshot.base, &deletions);
    assert_eq!(
        (commit.deleted.len(), commit.conflicts.len()),
        (60_000, 60_000)
    );
}

#[tokio::test]
async fn a_value_no_parser_reads_is_refused_not_lost() {
    let store = ScriptStore::default();
    let code = "let deep = 1; for (let n = 0; n < 200; n++) deep = [deep]; store('deep', deep); store('flat', 1);";
    let (_, commit) = run(&store, code).await;
    assert_eq!(commit.refused, ["deep"]);
    assert_eq!(held(&store), json!({"flat": 1}));
}

fn write_of(key: &str, json: &str) -> StoreWrite {
    StoreWrite {
        key: JsonText::from_value(&json!(key)),
        value: Some(JsonText::new(json)),
    }
}

/// What a script saw, as another process reads it.
fn through_bytes(base: &StoreBase) -> StoreBase {
    serde_json::from_slice(&serde_json::to_vec(base).unwrap()).unwrap()
}

#[tokio::test]
async fn every_store_reports_conflicts_also_to_a_script_from_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = FileStore::open(folder.path().join("store.json")).unwrap();
    let stores: [&dyn StoreBackend; 2] = [&ScriptStore::default(), &file];
    for store in stores {
        let start = store.snapshot().await.unwrap().base;
        let first = vec![write_of("seen", "1"), write_of("left", "1")];
        store.commit(start, first).await.unwrap();
        let base = through_bytes(&store.snapshot().await.unwrap().base);
        // Another script writes, and deletes, what this one has seen.
        let other = store.snapshot().await.unwrap().base;
        let deletion = StoreWrite {
            value: None,
            ..write_of("left", "1")
        };
        store
            .commit(
                other,
                vec![write_of("seen", "2"), write_of("new", "2"), deletion],
            )
            .await
            .unwrap();
        let writes = vec![
            write_of("seen", "3"),
            write_of("left", "3"),
            write_of("new", "3"),
            write_of("own", "3"),
        ];
        let commit = store.commit(base, writes).await.unwrap();
        assert_eq!(commit.conflicts, ["seen", "left", "new"], "{store:?}");
        let held = store.snapshot().await.unwrap().values;
        assert_eq!(held.len(), 4, "{store:?}");
        assert!(
            held.iter().all(|(_, value)| value.as_str() == "3"),
            "{store:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.json");
    for (text, why) in [
        ("[]", "it is not a JSON object"),
        ("{}", "it does not look like a store"),
        ("{\"version\":2}", "it has version 2"),
        ("{\"version\":1,\"values\":[]}", "is not an object"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = FileStore::open(path.clone()).unwrap_err();
        assert!(error.to_string().starts_with("the store "), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(why), "{text}: {cause}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn fields_of_others_stay_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.json");
    std::fs::write(
        &path,
        "{\"version\":1,\"values\":{\"a\":1},\"note\":\"mine\"}",
    )
    .unwrap();
    let store = FileStore::open(path.clone()).unwrap();
    let base = store.snapshot_now().unwrap().base;
    store.commit_now(&base, &[write_of("b", "2")]).unwrap();
    let held: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        held,
        json!({"version": 1, "values": {"a": 1, "b": 2}, "note": "mine"})
    );
}
