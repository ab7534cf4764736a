//! What is kept for good: by whom it is seen, and what happens to a file that is not what it should be.

use std::sync::Arc;

use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, Choice, Covers, Effects, GrantStore as _, Origin,
    Scope, Subject, ToolSubject,
};
use serde_json::{Value, json};

use super::{FileGrants, GRANTS_MAX};

fn request(arguments: Value) -> ApprovalRequest {
    let subject = Subject::Tool(ToolSubject {
        name: "mcp__docs__edit".into(),
        definition: "hash".into(),
        server: Some("mcp__docs".into()),
        confinement: pirn_tool::CommandConfinement::NoCommand,
    });
    ApprovalRequest {
        project: "/home/me/project".into(),
        origin: Origin::Nested,
        choices: vec![Choice::ONCE, Choice::new(Scope::Always, Covers::Arguments)],
        ..ApprovalRequest::new(subject, Effects::WRITE, arguments)
    }
}

/// A queue over the file in which a person says "always" to everything.
fn always(store: Arc<FileGrants>) -> ApprovalQueue {
    ApprovalQueue::builder()
        .grants(store)
        .answered_by(|_| Answer::allow(Choice::new(Scope::Always, Covers::Arguments)))
}

#[tokio::test]
async fn an_answer_for_good_is_seen_by_other_processes_until_it_is_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".pirn");
    let (mine, others) = (FileGrants::new(&folder), FileGrants::new(&folder));
    let (mine, others) = (Arc::new(mine), Arc::new(others));
    assert_eq!(others.list(), Ok(Vec::new()));
    assert!(!others.path().exists());

    let queue = always(Arc::clone(&mine));
    assert!(matches!(
        queue.ask(request(json!(1))).await.answer,
        Answer::Allow { .. }
    ));
    let kept = others.list().unwrap();
    assert_eq!(kept, mine.list().unwrap());
    assert!(kept[0].covers(&request(json!(1))) && !kept[0].covers(&request(json!(2))));
    assert!(others.find(&request(json!(1))).unwrap().is_some());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(mine.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    assert_eq!(others.revoke("unknown"), Ok(false));
    assert_eq!(others.revoke(&kept[0].id), Ok(true));
    assert_eq!(mine.list(), Ok(Vec::new()));
}

#[test]
fn answers_at_the_same_time_are_all_kept() {
    let home = tempfile::tempdir().unwrap();
    let grant = |number: usize| {
        let mut request = request(json!(number));
        request.id = number.to_string();
        pirn_tool::Grant::new(&request, &Choice::new(Scope::Always, Covers::Arguments))
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = FileGrants::new(home.path());
            scope.spawn(move || {
                for number in 0..5 {
                    store.add(grant(thread * 5 + number)).unwrap();
                }
            });
        }
    });
    assert_eq!(FileGrants::new(home.path()).list().unwrap().len(), 20);
}

#[test]
fn a_file_that_cannot_be_understood_grants_nothing_and_is_left_alone() {
    let grant = pirn_tool::Grant::new(&request(json!(1)), &Choice::ONCE);
    let full = json!({"version": 1, "grants": vec![&grant; GRANTS_MAX]}).to_string();
    let newer = json!({"version": 2, "grants": [&grant]}).to_string();
    let mut unknown = serde_json::to_value(&grant).unwrap();
    unknown["effects"] = json!(["read", "magic"]);
    let unknown = json!({"version": 1, "grants": [unknown]}).to_string();
    let cases = [
        ("{", "is not a list of approvals"),
        (newer.as_str(), "has version 2"),
        (&unknown, "`magic` is not an effect"),
        (&full, "holds 1000 approvals already"),
    ];
    for (text, expected) in cases {
        let home = tempfile::tempdir().unwrap();
        let store = FileGrants::new(home.path());
        std::fs::write(store.path(), text).unwrap();
        let problem = store.add(grant.clone()).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
        assert!(problem.contains("approvals.json"), "{problem}");
        assert_eq!(std::fs::read_to_string(store.path()).unwrap(), text);
    }
}
