//! A reply while it arrives.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::arguments::parse_arguments;
use crate::failure::{Failure, FailureKind};
use crate::message::{AssistantMessage, Block, StopReason, ToolCall};
use crate::usage::RequestUsage;

/// What happens while a reply arrives. Never cumulative: each event carries what is new.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// A block of text begins.
    TextStart {
        /// Its place in the content.
        index: usize,
    },
    /// A text goes on.
    TextDelta {
        /// Its place in the content.
        index: usize,
        /// What is new in the block.
        delta: String,
    },
    /// A text is complete.
    TextEnd {
        /// Its place in the content.
        index: usize,
        /// The text of the whole block.
        content: String,
    },
    /// A block of thoughts begins.
    ThinkingStart {
        /// Their place in the content.
        index: usize,
    },
    /// Thoughts go on in their block.
    ThinkingDelta {
        /// Their place in the content.
        index: usize,
        /// What is new in the block.
        delta: String,
    },
    /// A block of thoughts is complete.
    ThinkingEnd {
        /// Their place in the content.
        index: usize,
        /// The thoughts of the whole block.
        content: String,
    },
    /// A call of a tool begins.
    ToolCallStart {
        /// Its place in the content.
        index: usize,
        /// Its id, as it will be stored.
        id: String,
        /// The name of the tool that is called.
        name: String,
    },
    /// The arguments of a call go on.
    ToolCallDelta {
        /// Its place in the content.
        index: usize,
        /// What is new: a piece of JSON text.
        delta: String,
    },
    /// A call is complete.
    ToolCallEnd {
        /// Its place in the content.
        index: usize,
        /// The call with all its arguments.
        call: ToolCall,
    },
}

/// Handle of a block of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(usize);

/// What kind of block begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thinking,
    Call,
}

#[derive(Debug)]
struct Slot {
    kind: Kind,
    text: String,
    signature: Option<String>,
    redacted: bool,
    id: String,
    name: String,
    /// Arguments that came as a value and not as text.
    value: Option<Value>,
    is_raw_text: bool,
    stage: Stage,
}

/// How far a block has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its start is not told yet: the pieces of a call wait for its name.
    Unnamed,
    /// It goes on; more may come.
    Open,
    /// It is complete and does not change.
    Ended,
}

/// How a reply ended, as far as the vendor said.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ending {
    pub(crate) stop: Option<StopReason>,
    pub(crate) raw: Option<String>,
    pub(crate) failure: Option<Failure>,
    /// The vendor said that nothing more will come.
    pub(crate) is_complete: bool,
}

/// A reply while it arrives.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    slots: Vec<Slot>,
    ids: BTreeSet<String>,
    pub(crate) events: Vec<ReplyEvent>,
    pub(crate) usage: RequestUsage,
    pub(crate) response_id: Option<String>,
    pub(crate) response_model: Option<String>,
    pub(crate) ending: Ending,
}

impl Draft {
    /// Begins a block of this kind.
    pub(crate) fn open(&mut self, kind: Kind) -> At {
        let index = self.slots.len();
        self.slots.push(Slot {
            kind,
            text: String::new(),
            signature: None,
            redacted: false,
            id: String::new(),
            name: String::new(),
            value: None,
            is_raw_text: false,
            stage: match kind {
                Kind::Text | Kind::Thinking => Stage::Open,
                Kind::Call => Stage::Unnamed,
            },
        });
        match kind {
            Kind::Text => self.events.push(ReplyEvent::TextStart { index }),
            Kind::Thinking => self.events.push(ReplyEvent::ThinkingStart { index }),
            Kind::Call => {}
        }
        At(index)
    }

    /// Adds text to a block.
    pub(crate) fn append(&mut self, at: At, delta: &str) {
        let Some(slot) = self
            .slots
            .get_mut(at.0)
            .filter(|slot| slot.stage != Stage::Ended)
        else {
            return;
        };
        if delta.is_empty() {
            return;
        }
        slot.text.push_str(delta);
        if slot.stage == Stage::Open {
            let (index, delta) = (at.0, delta.to_owned());
            self.events.push(match slot.kind {
                Kind::Text => ReplyEvent::TextDelta { index, delta },
                Kind::Thinking => ReplyEvent::ThinkingDelta { index, delta },
                Kind::Call => ReplyEvent::ToolCallDelta { index, delta },
            });
        }
    }

    /// The text of a block so far.
    pub(crate) fn text(&self, at: At) -> &str {
        self.slots.get(at.0).map_or("", |slot| slot.text.as_str())
    }

    /// Adds to what the vendor wants back with the block.
    pub(crate) fn sign(&mut self, at: At, signature: &str) {
        if let Some(slot) = self.slots.get_mut(at.0).filter(|_| !signature.is_empty()) {
            slot.signature.get_or_insert_default().push_str(signature);
        }
    }

    /// Sets what the vendor wants back with the block.
    pub(crate) fn set_signature(&mut self, at: At, signature: String) {
        if let Some(slot) = self.slots.get_mut(at.0) {
            slot.signature = Some(signature);
        }
    }

    /// The vendor withholds the thoughts.
    pub(crate) fn redact(&mut self, at: At) {
        if let Some(slot) = self.slots.get_mut(at.0) {
            slot.redacted = true;
        }
    }

    /// Names a call: what is empty is not known yet. Tells the start as soon as both parts are known.
    pub(crate) fn name_call(&mut self, at: At, id: &str, name: &str) {
        let Some(slot) = self
            .slots
            .get_mut(at.0)
            .filter(|slot| slot.stage == Stage::Unnamed)
        else {
            return;
        };
        if slot.id.is_empty() {
            id.clone_into(&mut slot.id);
        }
        // A name in pieces is one name; a name that is repeated as a whole is not.
        if !name.is_empty() && slot.name != name {
            slot.name.push_str(name);
        }
        if !slot.id.is_empty() && !slot.name.is_empty() {
            self.start_call(at);
        }
    }

    /// Sets arguments that came as a value.
    pub(crate) fn set_arguments(&mut self, at: At, value: Value) {
        if let Some(slot) = self
            .slots
            .get_mut(at.0)
            .filter(|slot| slot.stage != Stage::Ended)
        {
            let delta = value.to_string();
            slot.value = Some(value);
            if slot.stage == Stage::Open {
                let index = at.0;
                self.events.push(ReplyEvent::ToolCallDelta { index, delta });
            }
        }
    }

    /// The call's input is a text of its own grammar, not JSON.
    pub(crate) fn mark_raw_text(&mut self, at: At) {
        if let Some(slot) = self.slots.get_mut(at.0) {
            slot.is_raw_text = true;
        }
    }

    fn start_call(&mut self, at: At) {
        let Some(slot) = self.slots.get_mut(at.0) else {
            return;
        };
        slot.id = unique(&self.ids, std::mem::take(&mut slot.id), at.0);
        self.ids.insert(slot.id.clone());
        slot.stage = Stage::Open;
        self.events.push(ReplyEvent::ToolCallStart {
            index: at.0,
            id: slot.id.clone(),
            name: slot.name.clone(),
        });
        if !slot.text.is_empty() {
            self.events.push(ReplyEvent::ToolCallDelta {
                index: at.0,
                delta: slot.text.clone(),
            });
        }
    }

    /// Ends a block; again does nothing.
    pub(crate) fn close(&mut self, at: At) {
        let Some(slot) = self
            .slots
            .get(at.0)
            .filter(|slot| slot.stage != Stage::Ended)
        else {
            return;
        };
        if slot.kind == Kind::Call && slot.stage == Stage::Unnamed {
            self.start_call(at);
        }
        let Some(slot) = self.slots.get_mut(at.0) else {
            return;
        };
        slot.stage = Stage::Ended;
        let index = at.0;
        self.events.push(match slot.kind {
            Kind::Text => ReplyEvent::TextEnd {
                index,
                content: slot.text.clone(),
            },
            Kind::Thinking => ReplyEvent::ThinkingEnd {
                index,
                content: slot.text.clone(),
            },
            Kind::Call => ReplyEvent::ToolCallEnd {
                index,
                call: slot.call(),
            },
        });
    }

    /// Ends all blocks that are open.
    pub(crate) fn close_all(&mut self) {
        for index in 0..self.slots.len() {
            self.close(At(index));
        }
    }

    /// Whether the model called a tool.
    pub(crate) fn has_calls(&self) -> bool {
        self.slots.iter().any(|slot| slot.kind == Kind::Call)
    }

    /// Whether anything was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Something failed; the first failure counts.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.ending.failure.get_or_insert(failure);
    }

    /// Ends the reply. An end without a word for it is a failure.
    pub(crate) fn conclude(&mut self) -> (StopReason, Option<Failure>) {
        self.close_all();
        if let Some(failure) = self.ending.failure.clone() {
            return (StopReason::Error, Some(failure));
        }
        match self.ending.stop {
            Some(StopReason::Stop) if self.has_calls() => (StopReason::ToolUse, None),
            Some(StopReason::ToolUse) if !self.has_calls() => (StopReason::Stop, None),
            Some(stop) => (stop, None),
            None if self.ending.is_complete && self.has_calls() => (StopReason::ToolUse, None),
            None if self.ending.is_complete && !self.is_empty() => (StopReason::Stop, None),
            None => {
                let failure = Failure::new(
                    FailureKind::Stream,
                    "the stream ended without the end of the reply",
                );
                (StopReason::Error, Some(failure))
            }
        }
    }

    /// Fills in what was said.
    pub(crate) fn write_to(self, message: &mut AssistantMessage) {
        message.content = self.slots.into_iter().map(Slot::into_block).collect();
        message.usage = self.usage;
        message.usage.complete();
        message.response_id = self.response_id;
        message.response_model = self.response_model.filter(|model| *model != message.model);
        message.raw_stop_reason = self.ending.raw;
    }
}

impl Slot {
    fn call(&self) -> ToolCall {
        let arguments = match &self.value {
            Some(value) => value.clone(),
            None if self.is_raw_text => Value::String(self.text.clone()),
            None if self.text.trim().is_empty() => Value::Object(Map::new()),
            None => parse_arguments(&self.text),
        };
        ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments,
            thought_signature: self.signature.clone(),
            namespace: None,
        }
    }

    fn into_block(self) -> Block {
        match self.kind {
            Kind::Text => Block::Text {
                text: self.text,
                text_signature: self.signature,
            },
            Kind::Thinking => Block::Thinking {
                thinking: self.text,
                thinking_signature: self.signature,
                redacted: self.redacted,
            },
            Kind::Call => Block::ToolCall(self.call()),
        }
    }
}

/// An id that no other call of the reply has: some servers leave it empty, others give one to all.
fn unique(ids: &BTreeSet<String>, id: String, index: usize) -> String {
    let base = if id.is_empty() {
        format!("call_{index}")
    } else {
        id
    };
    if !ids.contains(&base) {
        return base;
    }
    // One of so many numbers is free.
    (2..=ids.len() + 2)
        .map(|number| format!("{base}_{number}"))
        .find(|candidate| !ids.contains(candidate))
        .unwrap_or(base)
}
