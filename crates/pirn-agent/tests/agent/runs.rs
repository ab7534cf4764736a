//! What runs leave behind, however they go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pirn_agent::{
    Agent, AgentEvent, AgentEvents, AgentHook, AgentOptions, AgentParts, Conversation,
    Declarations, End, ModelChoice, Models, Tools, WhileBusy,
};
use pirn_model::{
    Api, Failure, FailureKind, Message, Model, Reply, ReplyDecoder, ReplySink, Request, StreamEnd,
    ThinkingLevel, ToolCall, ToolDeclaration, ToolResultMessage, UserMessage, build,
};
use pirn_session::{NewSession, Session};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What the model does when it is asked.
#[derive(Clone)]
pub(crate) enum Act {
    /// Says this, and nothing else.
    Say(&'static str),
    /// Calls the tool `echo` so many times.
    Call(usize),
    /// Fails in this way, without a reply.
    Fail(FailureKind),
    /// Reaches the limit in the middle of a call.
    CutCall,
}

#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) acts: Arc<Mutex<VecDeque<Act>>>,
    /// Where the run is stopped: the number of the event.
    pub(crate) abort_at: Option<usize>,
    pub(crate) events: Arc<Mutex<Vec<String>>>,
    /// Request bodies of all wires.
    pub(crate) bodies: Arc<Mutex<Vec<Value>>>,
    pub(crate) hooks: Vec<Arc<dyn AgentHook>>,
}

fn model(api: Api) -> Model {
    Model::new("test", "scripted", api, "http://localhost")
}

struct Scripted(Shared);

impl Models for Scripted {
    fn reply<'a>(
        &'a self,
        _choice: &'a ModelChoice,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply> {
        let act = self
            .0
            .acts
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or(Act::Say("nothing left"));
        for api in Api::ALL {
            let model = model(api);
            let request = Request {
                system: &conversation.instructions.prompt,
                tools: &conversation.instructions.tools,
                ..Request::new(&model, &conversation.messages)
            };
            self.0.bodies.lock().unwrap().push(build(&request).body);
        }
        Box::pin(async move {
            let mut decoder =
                ReplyDecoder::new(&model(Api::OpenAiCompletions), ThinkingLevel::Off, 1);
            let (delta, reason) = match &act {
                Act::Say(text) => (json!({"content": text}), "stop"),
                Act::Call(count) => (json!({"tool_calls": calls(*count)}), "tool_calls"),
                Act::CutCall => (json!({"tool_calls": calls(1)}), "length"),
                Act::Fail(kind) => {
                    let failure = Failure::new(*kind, "it failed");
                    return decoder.finish(StreamEnd::Failed(failure)).1;
                }
            };
            let choice = json!({"choices": [{"index": 0, "delta": delta}]});
            decoder.push(format!("data: {choice}\n\n").as_bytes());
            for event in decoder.take_events() {
                sink(event, &decoder.usage());
                if cancel.is_cancelled() {
                    let failure = Failure::new(FailureKind::Aborted, "aborted");
                    return decoder.finish(StreamEnd::Failed(failure)).1;
                }
            }
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            decoder.push(format!("data: {end}\n\n").as_bytes());
            decoder.finish(StreamEnd::Closed).1
        })
    }
}

fn calls(count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| {
            let function = json!({"name": "echo", "arguments": format!("{{\"n\":{number}}}")});
            json!({"index": number, "id": format!("call_{number}"), "function": function})
        })
        .collect()
}

struct Echo;

impl Tools for Echo {
    fn declarations(&self) -> Declarations {
        Declarations {
            sections: vec![("preamble".into(), "You are a test.".into())],
            tools: vec![ToolDeclaration {
                name: "echo".into(),
                description: "Says it again".into(),
                parameters: json!({"type": "object"}),
                grammar: None,
                other: serde_json::Map::new(),
            }],
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolResultMessage> {
        Box::pin(async move {
            // Calls end in another order than they were made.
            for _ in 0..3 - call.arguments["n"].as_u64().unwrap_or(0).min(3) {
                tokio::task::yield_now().await;
            }
            let text = if cancel.is_cancelled() {
                "cancelled"
            } else {
                "echo"
            };
            serde_json::from_value(json!({
                "toolCallId": call.id, "toolName": call.name, "isError": cancel.is_cancelled(),
                "content": [{"type": "text", "text": text}],
            }))
            .unwrap()
        })
    }
}

pub(crate) fn agent(shared: &Shared) -> (Agent, AgentEvents) {
    let parts = AgentParts {
        session: Session::create(NewSession::default()).unwrap(),
        models: Arc::new(Scripted(shared.clone())),
        tools: Arc::new(Echo),
        choice: ModelChoice::new(model(Api::OpenAiCompletions), ThinkingLevel::Off),
        options: AgentOptions {
            // The conversation is never ahead of who reads it, so that it is stopped where the test says.
            events_max: 1,
            ..AgentOptions::default()
        },
        runtime_events: None,
        hooks: shared.hooks.clone(),
    };
    Agent::start(parts).unwrap()
}

pub(crate) async fn say(
    (agent, events): &mut (Agent, AgentEvents),
    shared: &Shared,
    text: &str,
) -> End {
    agent
        .prompt(UserMessage::text(text, 1), WhileBusy::Refuse)
        .unwrap();
    let mut count = 0;
    while let Some(event) = events.next().await {
        let line = serde_json::to_value(&event).unwrap();
        let kind = line["type"].as_str().unwrap().to_owned();
        shared.events.lock().unwrap().push(kind);
        if shared.abort_at == Some(count) {
            agent.abort();
        }
        count += 1;
        if matches!(event, AgentEvent::AgentSettled { .. }) {
            break;
        }
    }
    agent.settled().await.unwrap()
}

async fn run(acts: &[Act]) -> (End, Vec<String>, Vec<Value>) {
    let shared = Shared {
        acts: Arc::new(Mutex::new(acts.iter().cloned().collect())),
        ..Shared::default()
    };
    let mut agent = agent(&shared);
    let end = say(&mut agent, &shared, "go").await;
    let shape = shape(&agent.0);
    let bodies = shared.bodies.lock().unwrap().clone();
    (end, shape, bodies)
}

/// The conversation in a few words.
pub(crate) fn shape(agent: &Agent) -> Vec<String> {
    let messages = agent.state().messages;
    messages
        .iter()
        .map(|message| match message {
            Message::System(_) => "system".to_owned(),
            Message::User(user) => format!("user {}", user.content.joined_text()),
            Message::Assistant(reply) => {
                let stop = serde_json::to_value(reply.stop_reason).unwrap();
                format!("assistant {}", stop.as_str().unwrap())
            }
            Message::ToolResult(result) => {
                format!("result {} {}", result.tool_call_id, result.is_error)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn runs_end_as_they_should_and_leave_what_was_said() {
    for (acts, end, left) in [
        (
            vec![Act::Say("hi")],
            End::Done,
            vec!["system", "user go", "assistant stop"],
        ),
        (
            vec![Act::Call(2), Act::Say("hi")],
            End::Done,
            vec![
                "system",
                "user go",
                "assistant toolUse",
                "result call_0 false",
                "result call_1 false",
                "assistant stop",
            ],
        ),
        (
            vec![Act::CutCall, Act::Say("hi")],
            End::Done,
            vec![
                "system",
                "user go",
                "assistant length",
                "result call_0 true",
                "assistant stop",
            ],
        ),
        (
            vec![
                Act::Fail(FailureKind::Server),
                Act::Fail(FailureKind::Network),
                Act::Say("hi"),
            ],
            End::Done,
            vec!["system", "user go", "assistant stop"],
        ),
        (
            vec![Act::Fail(FailureKind::Authentication)],
            End::Failed {
                kind: FailureKind::Authentication,
                message: "it failed".into(),
            },
            vec!["system", "user go", "assistant error"],
        ),
        (
            vec![Act::Fail(FailureKind::Server); 9],
            End::Failed {
                kind: FailureKind::Server,
                message: "it failed; it was tried 4 times".into(),
            },
            vec!["system", "user go", "assistant error"],
        ),
    ] {
        let (found, shape, _) = run(&acts).await;
        assert_eq!(
            (found, shape),
            (end, left.iter().map(|line| (*line).to_owned()).collect())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn clients_are_told_in_order_and_settled_once() {
    let shared = Shared {
        acts: Arc::new(Mutex::new(VecDeque::from([
            Act::Fail(FailureKind::Server),
            Act::Call(1),
            Act::Say("hi"),
        ]))),
        ..Shared::default()
    };
    let mut agent = agent(&shared);
    say(&mut agent, &shared, "go").await;
    let events = shared.events.lock().unwrap().clone();
    let mut kinds = events;
    kinds.retain(|kind| kind != "message_update");
    assert_eq!(
        kinds,
        [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_end",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end",
            "entry_appended",
            "auto_retry_start",
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "auto_retry_end",
            "tool_execution_start",
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
}

/// A run that is stopped at each of its events leaves a conversation with which the next request is valid.
#[tokio::test(start_paused = true)]
async fn stopped_anywhere_the_next_request_is_valid_on_every_wire() {
    let mut stopped = 0;
    for abort_at in 0..60 {
        let shared = Shared {
            acts: Arc::new(Mutex::new(VecDeque::from([
                Act::Fail(FailureKind::Server),
                Act::Call(3),
                Act::Say("hi"),
            ]))),
            abort_at: Some(abort_at),
            ..Shared::default()
        };
        let mut agent = agent(&shared);
        let end = say(&mut agent, &shared, "go").await;
        stopped += usize::from(end == End::Aborted);
        assert_eq!(
            shared
                .events
                .lock()
                .unwrap()
                .iter()
                .filter(|kind| *kind == "agent_settled")
                .count(),
            1
        );
        for (call, result) in pairs(&agent.0) {
            assert!(
                result,
                "{abort_at}: {call} has no result in {:?}",
                shape(&agent.0)
            );
        }
        let next = Shared {
            abort_at: None,
            ..shared.clone()
        };
        next.acts.lock().unwrap().clear();
        next.bodies.lock().unwrap().clear();
        assert_eq!(say(&mut agent, &next, "again").await, End::Done);
        for body in next.bodies.lock().unwrap().iter() {
            assert_valid(body, abort_at);
        }
    }
    assert!(stopped > 15, "{stopped}");
}

/// Every call of the session with whether a result follows it.
fn pairs(agent: &Agent) -> Vec<(String, bool)> {
    let messages = agent.state().messages;
    let has_result = |id: &str| {
        messages.iter().any(
            |message| matches!(message, Message::ToolResult(result) if result.tool_call_id == id),
        )
    };
    messages
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(reply) => Some(reply),
            _ => None,
        })
        // What broke off is not said again.
        .filter(|reply| reply.error_message.is_none())
        .flat_map(|reply| reply.tool_calls())
        .map(|call| (call.id.clone(), has_result(&call.id)))
        .collect()
}

/// Calls and results match, whichever wire the body is of.
fn assert_valid(body: &Value, abort_at: usize) {
    let text = body.to_string();
    let count =
        |words: [&str; 3]| -> usize { words.iter().map(|word| text.matches(word).count()).sum() };
    let called = count(["\"tool_use\"", "\"arguments\":", "\"functionCall\""]);
    let given = count([
        "\"tool_result\"",
        "\"role\":\"tool\"",
        "\"functionResponse\"",
    ]) + text.matches("\"function_call_output\"").count();
    assert_eq!(called, given, "{abort_at}: {text}");
    let messages = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body[key].as_array())
        .unwrap();
    assert_eq!(messages.last().unwrap()["role"], "user", "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_beginning_of_requests_stays_the_same() {
    let (_, _, bodies) = run(&[Act::Call(2), Act::Call(1), Act::Say("hi")]).await;
    let of_first_wire: Vec<&Value> = bodies.iter().step_by(Api::ALL.len()).collect();
    for pair in of_first_wire.windows(2) {
        let (before, after) = (
            pair[0]["messages"].as_array().unwrap(),
            pair[1]["messages"].as_array().unwrap(),
        );
        assert_eq!(before[..], after[..before.len()]);
        assert_eq!(pair[0]["tools"], pair[1]["tools"]);
    }
}

/// What was said while the model worked is said before it is asked again, and what follows is said at the end.
#[tokio::test(start_paused = true)]
async fn messages_that_wait_are_said_in_their_turn() {
    let shared = Shared {
        acts: Arc::new(Mutex::new(VecDeque::from([
            Act::Call(1),
            Act::Say("one"),
            Act::Say("two"),
        ]))),
        ..Shared::default()
    };
    let (agent, mut events) = agent(&shared);
    let go = UserMessage::text("go", 1);
    agent.prompt(go, WhileBusy::Refuse).unwrap();
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ToolStart { .. } => {
                agent.follow_up(UserMessage::text("later", 1)).unwrap();
                agent.steer(UserMessage::text("now", 1)).unwrap();
            }
            AgentEvent::AgentSettled { .. } => break,
            _ => {}
        }
    }
    assert_eq!(agent.settled().await, Some(End::Done));
    let users: Vec<String> = shape(&agent)
        .into_iter()
        .filter(|line| line.starts_with("user") || line.starts_with("assistant"))
        .collect();
    assert_eq!(
        users,
        [
            "user go",
            "assistant toolUse",
            "user now",
            "assistant stop",
            "user later",
            "assistant stop"
        ]
    );
}
