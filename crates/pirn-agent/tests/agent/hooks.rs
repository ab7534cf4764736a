//! What hooks see, change and refuse.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pirn_agent::{AgentError, AgentHook, CompactionReason, Conversation, End};
use pirn_model::{AssistantMessage, Block, Message, ToolCall, ToolResultMessage, UserMessage};

use tokio::sync::Notify;

use crate::runs::{Act, Shared, agent, say, shape};

/// Writes down what it is asked, and refuses one kind of it.
#[derive(Default)]
struct Watcher {
    seen: Mutex<Vec<String>>,
    refuses: &'static str,
    /// What it never answers.
    hangs: &'static str,
    /// Told when it does not answer.
    hanging: Notify,
}

impl Watcher {
    async fn asked(&self, what: &str) -> Result<(), String> {
        self.seen.lock().unwrap().push(what.to_owned());
        if self.hangs == what {
            self.hanging.notify_one();
            std::future::pending::<()>().await;
        }
        if self.refuses == what {
            return Err(format!("no {what} today"));
        }
        Ok(())
    }

    fn note(&self, what: &str) {
        self.seen.lock().unwrap().push(what.to_owned());
    }
}

impl AgentHook for Watcher {
    fn name(&self) -> &'static str {
        "watcher"
    }

    fn session_started(&self, _session_id: &str) {
        self.note("start");
    }

    fn session_ended(&self, _session_id: &str) {
        self.note("end");
    }

    fn before_request<'a>(
        &'a self,
        conversation: &'a mut Conversation,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let message = UserMessage::text("only for this request", 1);
            conversation.messages.push(Message::User(message));
            self.asked("request").await
        })
    }

    fn after_request<'a>(&'a self, _reply: &'a AssistantMessage) -> BoxFuture<'a, ()> {
        Box::pin(async { self.note("reply") })
    }

    fn before_call<'a>(&'a self, call: &'a mut ToolCall) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            "another".clone_into(&mut call.id);
            self.asked("call").await
        })
    }

    fn after_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        result: &'a mut ToolResultMessage,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            result.content = vec![Block::text("instead")];
            self.asked("result").await
        })
    }

    fn after_turn<'a>(
        &'a self,
        _reply: &'a AssistantMessage,
        results: &'a [ToolResultMessage],
    ) -> BoxFuture<'a, ()> {
        Box::pin(async { self.note(&format!("turn of {}", results.len())) })
    }

    fn before_compaction(&self, _reason: CompactionReason) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.asked("compaction"))
    }
}

/// A conversation of one call and an answer, as this hook lets it be.
async fn with(watcher: Watcher) -> (End, Vec<String>, String, Vec<String>) {
    let watcher = Arc::new(watcher);
    let shared = Shared {
        acts: Arc::new(Mutex::new([Act::Call(1), Act::Say("hi")].into())),
        hooks: vec![Arc::clone(&watcher) as Arc<dyn AgentHook>],
        ..Shared::default()
    };
    let mut pair = agent(&shared);
    let end = say(&mut pair, &shared, "go").await;
    let messages = pair.0.state().messages;
    let result = messages.iter().find_map(|message| match message {
        Message::ToolResult(result) => Some(pirn_model::joined_text(&result.content)),
        _ => None,
    });
    let shape = shape(&pair.0);
    pair.0.close().await;
    let seen = watcher.seen.lock().unwrap().clone();
    (end, shape, result.unwrap_or_default(), seen)
}

#[tokio::test(start_paused = true)]
async fn hooks_see_everything_and_change_what_they_are_given() {
    let (end, shape, result, seen) = with(Watcher::default()).await;
    assert_eq!(end, End::Done);
    assert_eq!(result, "instead");
    // Neither the message for the request nor the changed id is kept.
    assert_eq!(
        shape,
        [
            "system",
            "user go",
            "assistant toolUse",
            "result call_0 false",
            "assistant stop"
        ]
    );
    assert_eq!(
        seen,
        [
            "start",
            "request",
            "reply",
            "call",
            "result",
            "turn of 1",
            "request",
            "reply",
            "turn of 0",
            "end"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_refuses_does_not_happen() {
    for (refuses, end, result, requests) in [
        (
            "request",
            End::Refused {
                message: "watcher refused: no request today".into(),
            },
            "",
            1,
        ),
        ("call", End::Done, "watcher refused: no call today", 2),
        ("result", End::Done, "watcher refused: no result today", 2),
    ] {
        let watcher = Watcher {
            refuses,
            ..Watcher::default()
        };
        let (found, shape, text, seen) = with(watcher).await;
        assert_eq!((found, text.as_str()), (end, result), "{refuses}");
        let asked = seen.iter().filter(|what| *what == "request").count();
        assert_eq!(asked, requests, "{refuses}");
        let is_made = seen.iter().any(|what| what == "result");
        assert_eq!(is_made, refuses == "result", "{refuses}: {seen:?}");
        if refuses != "request" {
            assert!(
                shape.contains(&"result call_0 true".to_owned()),
                "{shape:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_compaction_leaves_the_conversation_as_it_is() {
    let watcher = Arc::new(Watcher {
        refuses: "compaction",
        ..Watcher::default()
    });
    let shared = Shared {
        hooks: vec![watcher],
        ..Shared::default()
    };
    let mut pair = agent(&shared);
    say(&mut pair, &shared, "go").await;
    let before = shape(&pair.0);
    let compact = pair.0.compact(None);
    let drained = async { while pair.1.next().await.is_some() {} };
    let error = tokio::select! {
        error = compact => error.unwrap_err(),
        () = drained => panic!("it was closed"),
    };
    assert!(
        matches!(&error, AgentError::Compaction(why) if why == "watcher refused: no compaction today"),
        "{error}"
    );
    assert_eq!(shape(&pair.0), before);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_does_not_outlive_the_run() {
    for hangs in ["request", "call", "result"] {
        let watcher = Arc::new(Watcher {
            hangs,
            ..Watcher::default()
        });
        let shared = Shared {
            acts: Arc::new(Mutex::new([Act::Call(1), Act::Say("hi")].into())),
            hooks: vec![Arc::clone(&watcher) as Arc<dyn AgentHook>],
            ..Shared::default()
        };
        let mut pair = agent(&shared);
        let stopped = pair.0.clone();
        let stop = async move {
            watcher.hanging.notified().await;
            stopped.abort();
        };
        let (end, ()) = tokio::join!(say(&mut pair, &shared, "go"), stop);
        assert_eq!(end, End::Aborted, "{hangs}");
    }
}
