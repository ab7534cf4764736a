//! Messages as sessions keep them. No vendor's format: what a vendor wants back untouched travels in fields of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::usage::RequestUsage;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// What the model is told about its work; sections and tools that appear or go.
    System(SystemMessage),
    /// What the user says.
    User(UserMessage),
    /// What the model answers.
    Assistant(Box<AssistantMessage>),
    /// What a call gave.
    ToolResult(Box<ToolResultMessage>),
    /// A command that the user ran.
    BashExecution(BashExecutionMessage),
    /// Something that an extension says.
    Custom(CustomMessage),
    /// What happened on a branch that was left.
    BranchSummary(BranchSummaryMessage),
    /// What happened before a compaction.
    CompactionSummary(CompactionSummaryMessage),
}

/// Tells the model about its work. The first one of a session declares everything, later ones what changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    /// Text before all sections.
    #[serde(default)]
    pub content: String,
    /// Named parts; `None` takes one away.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "sections")]
    pub sections: Vec<(String, Option<String>)>,
    /// Tools that can be called from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_added: Vec<ToolDeclaration>,
    /// Tools that cannot be called any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_removed: Vec<ToolName>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A tool as a model is told about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    /// The name by which it is called.
    pub name: String,
    /// What it does, as the model reads it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// A Lark grammar of its input as one text, for models that are held to one; others get the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The name of a tool, as an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolName {
    /// The name by which it is called.
    pub name: String,
}

/// What the user says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text, or text and images.
    pub content: UserContent,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl UserMessage {
    /// A message of text only.
    pub fn text(text: impl Into<String>, timestamp: u64) -> Self {
        Self {
            content: UserContent::Text(text.into()),
            timestamp,
            other: Map::new(),
        }
    }
}

/// The content of a user's message: plain text is stored as a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    /// A text without pictures.
    Text(String),
    /// Text and images, in order.
    Blocks(Vec<Block>),
}

impl UserContent {
    /// All of it as blocks.
    pub fn to_blocks(&self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::text(text.as_str())],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }

    /// All texts joined with newlines.
    pub fn joined_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => joined_text(blocks),
        }
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    /// A text of the model or for it.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text without any markup of the wire.
        text: String,
        /// What the vendor wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    /// A picture for the model or of it.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its bytes as base64.
        data: String,
        /// Its format, such as `image/png`.
        mime_type: String,
    },
    /// What the model thought.
    #[serde(rename_all = "camelCase")]
    Thinking {
        /// The thoughts, or their summary; empty where the vendor keeps them to itself.
        thinking: String,
        /// What the vendor wants back with it: a signature, or the encrypted thoughts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        /// Whether the vendor withheld the thoughts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// A call that the model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Its id, unique within the message.
    pub id: String,
    /// The name of the tool that is called.
    pub name: String,
    /// The arguments: an object, or what the model sent where it sent none.
    pub arguments: Value,
    /// What the vendor wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The group of the tool, where the vendor keeps it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            text_signature: None,
        }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Image { .. } | Self::Thinking { .. } | Self::ToolCall(_) => None,
        }
    }
}

/// The texts of blocks, joined with newlines.
pub fn joined_text(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
    texts.join("\n")
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// It is still coming; never stored.
    Pending,
    /// The model had said all.
    Stop,
    /// The limit on its length was reached.
    Length,
    /// It wants results of calls.
    ToolUse,
    /// Something failed; `error_message` says what.
    Error,
    /// The user stopped it.
    Aborted,
    /// The vendor answers later.
    Deferred,
}

/// What the model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thoughts and calls, in order.
    pub content: Vec<Block>,
    /// The wire that it came over.
    pub api: String,
    /// Whose model it is.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The model that answered, where the vendor names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The vendor's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// How much the model was to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// What the reply cost.
    #[serde(default)]
    pub usage: RequestUsage,
    /// Why the reply ended there.
    pub stop_reason: StopReason,
    /// The vendor's word for why it ended, where it says more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// What failed, where the reply ended by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl AssistantMessage {
    /// The calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text { .. } | Block::Image { .. } | Block::Thinking { .. } => None,
        })
    }

    /// Its texts, joined with newlines.
    pub fn joined_text(&self) -> String {
        joined_text(&self.content)
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The id of the call that it answers.
    pub tool_call_id: String,
    /// The name of the tool that was called.
    pub tool_name: String,
    /// Text and images, in order.
    #[serde(default)]
    pub content: Vec<Block>,
    /// Facts for people; no model sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What models that the call used cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<RequestUsage>,
    /// The calls that were made inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_calls: Option<Value>,
    /// How long the tool took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A command that the user ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    /// The command as the user typed it.
    pub command: String,
    /// What the command printed, cut where it was long.
    pub output: String,
    /// The exit code, where it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether `output` is a part only.
    #[serde(default)]
    pub truncated: bool,
    /// Where the whole output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Whether the model is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Something that an extension says; models read it as the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for it.
    pub custom_type: String,
    /// Text, or text and images.
    pub content: UserContent,
    /// Whether people are shown it.
    #[serde(default)]
    pub display: bool,
    /// Facts for people; no model sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What happened on a branch that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    /// What stands in the place of earlier messages.
    pub summary: String,
    /// The entry where the branch ended.
    pub from_id: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
}

/// What happened before a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    /// What was said on the branch that was left.
    pub summary: String,
    /// The size of the context that it replaces.
    pub tokens_before: u64,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
}

/// What the model is told and can call after some messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Instructions {
    /// The system prompt in full.
    pub prompt: String,
    /// The tools, in the order in which they were declared.
    pub tools: Vec<ToolDeclaration>,
}

impl Instructions {
    /// Replays all system messages, in order.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut parts = Parts::default();
        for message in messages {
            if let Message::System(system) = message {
                parts.apply(system);
            }
        }
        parts.into_instructions()
    }
}

#[derive(Default)]
struct Parts {
    content: String,
    order: Vec<String>,
    sections: BTreeMap<String, String>,
    tools: Vec<ToolDeclaration>,
}

impl Parts {
    fn apply(&mut self, system: &SystemMessage) {
        if !system.content.is_empty() {
            if !self.content.is_empty() {
                self.content.push_str("\n\n");
            }
            self.content.push_str(&system.content);
        }
        for (name, text) in &system.sections {
            if let Some(text) = text {
                if self.sections.insert(name.clone(), text.clone()).is_none() {
                    self.order.push(name.clone());
                }
            } else {
                self.sections.remove(name);
                self.order.retain(|known| known != name);
            }
        }
        for removed in &system.tools_removed {
            self.tools.retain(|tool| tool.name != removed.name);
        }
        for added in &system.tools_added {
            match self.tools.iter_mut().find(|tool| tool.name == added.name) {
                Some(known) => *known = added.clone(),
                None => self.tools.push(added.clone()),
            }
        }
    }

    /// The preamble stands as it is; every other section is wrapped in a tag of its name.
    fn into_instructions(self) -> Instructions {
        let mut parts = Vec::new();
        if !self.content.is_empty() {
            parts.push(self.content);
        }
        for name in &self.order {
            let text = self.sections.get(name).map_or("", String::as_str);
            parts.push(if name == PREAMBLE {
                text.to_owned()
            } else {
                format!("<{name}>\n{text}\n</{name}>")
            });
        }
        Instructions {
            prompt: parts.join("\n\n"),
            tools: self.tools,
        }
    }
}

/// The section that has no tag around it.
const PREAMBLE: &str = "preamble";

/// Sections as an object whose order counts.
mod sections {
    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::{SerializeMap as _, Serializer};

    type Sections = Vec<(String, Option<String>)>;

    pub(super) fn serialize<S: Serializer>(
        sections: &[(String, Option<String>)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(sections.len()))?;
        for (name, text) in sections {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Sections, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Sections;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sections, A::Error> {
                let mut sections = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    sections.push(entry);
                }
                Ok(sections)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
