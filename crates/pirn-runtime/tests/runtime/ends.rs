//! The end of a runtime: nothing that it started is left.

use std::path::PathBuf;

use pirn_sandbox::Profile;
use pirn_settings::Settings;

use crate::place::{Place, anything, content, run};

/// Confined commands have numbers of their own.
fn unconfined() -> Settings {
    let mut settings = Settings::default();
    settings.sandbox.profile = Profile::Off;
    settings
}

fn process(id: &str) -> PathBuf {
    PathBuf::from("/proc").join(id)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_ends_what_runs() {
    let place = Place::new();
    let runtime = place.builder().settings(unconfined()).build().unwrap();
    let client = anything(&runtime);
    let script = tokio::spawn(async move {
        let code = "await tools.bash({command: 'echo $$ > pid; exec sleep 1000'})";
        run(&client, code).await
    });
    let id = content(&place.project().join("pid")).await;
    runtime.shutdown().await;
    let ended = script.await.unwrap();
    assert!(!process(&id).exists(), "{ended}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_script_left_in_the_background_ends_with_it() {
    let place = Place::new();
    let runtime = place.builder().settings(unconfined()).build().unwrap();
    let client = anything(&runtime);
    let code =
        "await tools.bash({command: 'sleep 1000 > /dev/null 2>&1 & echo $! > pid'}); return 'done'";
    assert_eq!(run(&client, code).await, "\"done\"");
    let id = content(&place.project().join("pid")).await;
    runtime.shutdown().await;
    assert!(!process(&id).exists());
}
