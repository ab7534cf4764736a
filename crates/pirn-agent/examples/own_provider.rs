//! A conversation with a model of one's own: it needs no server, and here it says everything again, in capitals.
//!
//! `cargo run -p pirn-agent --example own_provider`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_agent::model::{
    Api, Block, Message, Model, Reply, ReplyDecoder, ReplySink, StreamEnd, ThinkingLevel, ToolCall,
    ToolResultMessage, UserMessage,
};
use pirn_agent::session::{NewSession, Session, now_ms};
use pirn_agent::{
    Agent, AgentEvents, AgentOptions, AgentParts, Conversation, Declarations, ModelChoice, Models,
    Tools, WhileBusy,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Where there are no models but this one.
struct Parrot;

impl Models for Parrot {
    fn reply<'a>(
        &'a self,
        choice: &'a ModelChoice,
        conversation: &'a Conversation,
        _cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply> {
        let said = conversation
            .messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::User(user) => Some(user.content.joined_text()),
                _ => None,
            });
        // A reply is made as it would come over the wire, piece by piece.
        let mut decoder = ReplyDecoder::new(&choice.model, choice.thinking, now_ms());
        for word in said.unwrap_or_default().to_uppercase().split_inclusive(' ') {
            let piece = json!({"choices": [{"index": 0, "delta": {"content": word}}]});
            decoder.push(format!("data: {piece}\n\n").as_bytes());
            for event in decoder.take_events() {
                sink(event, &decoder.usage());
            }
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        decoder.push(format!("data: {end}\n\n").as_bytes());
        Box::pin(ready(decoder.finish(StreamEnd::Closed).1))
    }
}

/// No tools at all.
struct NoTools;

impl Tools for NoTools {
    fn declarations(&self) -> Declarations {
        Declarations::default()
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolResultMessage> {
        Box::pin(ready(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![Block::text("there are no tools")],
            details: None,
            usage: None,
            nested_calls: None,
            duration_ms: None,
            is_error: true,
            timestamp: now_ms(),
            other: serde_json::Map::new(),
        }))
    }
}

/// Begins a conversation with it. Must be called inside an event loop.
pub(crate) fn conversation() -> Result<(Agent, AgentEvents), Box<dyn Error>> {
    let model = Model::new("own", "parrot", Api::OpenAiCompletions, "");
    Ok(Agent::start(AgentParts {
        session: Session::create(NewSession::default())?,
        models: Arc::new(Parrot),
        tools: Arc::new(NoTools),
        choice: ModelChoice::new(model, ThinkingLevel::Off),
        options: AgentOptions::default(),
        runtime_events: None,
        hooks: Vec::new(),
    })?)
}

/// What the model answers to this.
pub(crate) async fn answer(text: &str) -> Result<String, Box<dyn Error>> {
    let (agent, mut events) = conversation()?;
    agent.prompt(UserMessage::text(text, now_ms()), WhileBusy::Refuse)?;
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        match event {
            pirn_agent::AgentEvent::MessageEnd {
                message: Message::Assistant(reply),
            } => answer = reply.content.iter().filter_map(Block::as_text).collect(),
            pirn_agent::AgentEvent::AgentSettled { .. } => break,
            _ => {}
        }
    }
    agent.close().await;
    Ok(answer)
}

#[allow(dead_code, reason = "other examples and a test use the rest alone")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", answer("hello, who is there?").await?);
    Ok(())
}
