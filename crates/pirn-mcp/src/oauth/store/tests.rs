use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ClientInformation, Entry, Key, Store, Tokens};
use crate::secret::Secret;

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/mcp-auth.json");
    (folder, path)
}

fn key() -> Key {
    Key::new("a-b", "https://h/mcp")
}

fn tokens(value: Value) -> Tokens {
    serde_json::from_value(value).unwrap()
}

fn written(path: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn an_entry_comes_and_goes() {
    let (_folder, path) = place();
    let store = Store::new(path.clone());
    assert_eq!(store.read(&key()).await.unwrap(), None);
    assert_eq!(store.stamp().await, None);

    store.change(&key(), |_| ()).await.unwrap();
    assert!(!path.exists(), "nothing changed, nothing is written");

    store
        .change(&key(), |entry| {
            let mut new = Entry::default();
            new.client_information = Some(ClientInformation::new(
                "id".to_owned(),
                Some(Secret::new("s3cret")),
            ));
            new.set_tokens(
                tokens(json!({"access_token": "a1", "expires_in": 60})),
                1_000,
            );
            *entry = Some(new);
        })
        .await
        .unwrap();
    assert_eq!(
        written(&path),
        json!({"mcp__a-b|https://h/mcp": {
            "clientInformation": {"client_id": "id", "client_secret": "s3cret"},
            "tokens": {"access_token": "a1", "expires_in": 60},
            "tokensExpireAt": 61_000,
        }})
    );
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.parent().unwrap().to_path_buf()), 0o700);

    let before = store.stamp().await;
    store.change(&key(), Option::take).await.unwrap();
    assert_eq!(written(&path), json!({}));
    assert_ne!(store.stamp().await, before);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
}

#[tokio::test]
async fn what_others_wrote_stays() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let others = json!({
        "version": 3,
        "mcp__x|https://x/": {"tokens": "whatever"},
        "mcp__a_b|https://h/mcp": {
            "clientInformation": {"client_id": "id", "registration_access_token": "r", "client_secret": ""},
            "tokens": {
                "access_token": "a1", "token_type": "Bearer", "expires_in": "3600.5",
                "refresh_token": "r1", "id_token": "i1"
            },
            "tokensExpireAt": 1_700_000_000_000.75,
            "codeVerifier": "v",
            "mine": [1, 2],
        },
    });
    fs::write(&path, format!("\u{feff}{others}")).unwrap();
    let store = Store::new(path.clone());
    let entry = store.read(&key()).await.unwrap().unwrap();
    assert_eq!(entry.tokens_expire_at, Some(1_700_000_000_000));
    assert_eq!(entry.client_information.unwrap().client_secret, None);

    store
        .change(&key(), |entry| {
            let entry = entry.as_mut().unwrap();
            entry.tokens.as_mut().unwrap().access_token = Secret::new("a2");
            entry.pending_scope = Some("s".to_owned());
        })
        .await
        .unwrap();
    assert_eq!(
        written(&path),
        json!({
            "version": 3,
            "mcp__x|https://x/": {"tokens": "whatever"},
            "mcp__a-b|https://h/mcp": {
                "clientInformation": {"client_id": "id", "registration_access_token": "r"},
                "tokens": {
                    "access_token": "a2", "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": "r1", "id_token": "i1"
                },
                "tokensExpireAt": 1_700_000_000_000_u64,
                "pendingScope": "s",
                "codeVerifier": "v",
                "mine": [1, 2],
            },
        })
    );
}

#[tokio::test]
async fn a_file_that_is_not_understood_is_left_alone() {
    for content in [
        "{\"a\": secret-word",
        "[]",
        "\"secret-word\"",
        r#"{"mcp__a-b|https://h/mcp": {"tokens": {"access_token": ["secret-word"]}}}"#,
        r#"{"mcp__a-b|https://h/mcp": "secret-word"}"#,
    ] {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let store = Store::new(path.clone());
        let read = store.read(&key()).await.unwrap_err();
        let changed = store
            .change(&key(), |entry| *entry = Some(Entry::default()))
            .await
            .unwrap_err();
        for error in [read, changed] {
            let text = format!("{error} {error:?}");
            assert!(text.contains("mcp-auth.json"), "{text}");
            assert!(!text.contains("secret-word"), "{text}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn a_link_stays_a_link() {
    let (folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let real = folder.path().join("real.json");
    fs::write(&real, "{}").unwrap();
    symlink(&real, &path).unwrap();
    Store::new(path.clone())
        .change(&key(), |entry| *entry = Some(Entry::default()))
        .await
        .unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(written(&real), json!({"mcp__a-b|https://h/mcp": {}}));
}

#[tokio::test]
async fn changes_at_once_are_all_kept() {
    let (_folder, path) = place();
    let changes = (0..8).map(|number| {
        let store = Store::new(path.clone());
        tokio::spawn(async move {
            let key = Key::new(&format!("s{number}"), "https://h/");
            store
                .change(&key, |entry| *entry = Some(Entry::default()))
                .await
                .unwrap();
        })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.unwrap();
    }
    assert_eq!(written(&path).as_object().unwrap().len(), 8);
}

#[test]
fn nothing_secret_is_shown() {
    let entry: Entry = serde_json::from_value(json!({
        "clientInformation": {"client_id": "id", "client_secret": "hide-1", "registration_access_token": "hide-2"},
        "tokens": {"access_token": "hide-3", "refresh_token": "hide-4", "id_token": "hide-5"},
        "codeVerifier": "hide-6",
    }))
    .unwrap();
    let shown = format!("{entry:?}");
    assert!(!shown.contains("hide"), "{shown}");
}
