//! Entries: what one line of a session's file says.

use pirn_model::{Message, RequestUsage, SystemMessage, UserContent};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The word `session`, by which the first line is known.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version of the format.
    #[serde(default = "first_version")]
    pub version: u32,
    /// The id that names the session in lists and flags.
    pub id: String,
    /// When it began, as ISO 8601.
    pub timestamp: String,
    /// The folder it works in.
    pub cwd: String,
    /// The file that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// What other programs added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn first_version() -> u32 {
    1
}

/// One entry. Entries form a tree and are never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its id, unique within the session.
    pub id: String,
    /// The entry before it; `None` for the first.
    pub parent_id: Option<String>,
    /// When it was written, as ISO 8601.
    pub timestamp: String,
    /// The content, whose members stand beside those above.
    #[serde(flatten)]
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryBody {
    /// A message of the conversation.
    Message {
        /// What was said, by whomever.
        message: Message,
    },
    /// Another model goes on.
    #[serde(rename_all = "camelCase")]
    ModelChange {
        /// Whose model it is.
        provider: String,
        /// The model as its provider names it.
        model_id: String,
    },
    /// The model thinks more or less from here on.
    #[serde(rename_all = "camelCase")]
    ThinkingLevelChange {
        /// How much the model thinks from here on, by name.
        thinking_level: String,
    },
    /// Something else that a model was paid for.
    Usage {
        /// What the request was for, such as a summary.
        kind: String,
        /// Whose model it was.
        provider: String,
        /// The model that was asked, as its provider names it.
        model: String,
        /// Tokens and costs of the request.
        usage: RequestUsage,
        /// Remarks for people; models do not read them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A summary takes the place of what came before.
    #[serde(rename_all = "camelCase")]
    Compaction {
        /// What stands in the place of earlier entries.
        summary: String,
        /// The first entry that stays as it is; its own id where none does.
        first_kept_entry_id: String,
        /// The size of the context before.
        tokens_before: u64,
        /// What was read and changed, for the next summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// What the summary cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<RequestUsage>,
        /// Whether an extension wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_hook: Option<bool>,
        /// What all system messages up to here say together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system_message: Option<SystemMessage>,
    },
    /// An entry is left out of the context, or reads otherwise.
    #[serde(rename_all = "camelCase")]
    ContextEdit {
        /// The entry that is labelled.
        target_id: String,
        /// What stands there instead; `None` leaves it out.
        replacement: Option<Replacement>,
    },
    /// What happened on a branch that was left.
    #[serde(rename_all = "camelCase")]
    BranchSummary {
        /// The entry where the branch ended.
        from_id: String,
        /// What was said on the branch that was left.
        summary: String,
        /// What was read and changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// What the summary cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<RequestUsage>,
        /// Whether an extension wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_hook: Option<bool>,
    },
    /// Something that an extension keeps, unseen by models.
    #[serde(rename_all = "camelCase")]
    Custom {
        /// The extension's name for it.
        custom_type: String,
        /// Data of whatever wrote the entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Something that an extension says to the model.
    #[serde(rename_all = "camelCase")]
    CustomMessage {
        /// The extension's name for it.
        custom_type: String,
        /// The text and pictures that the model reads.
        content: UserContent,
        /// Whether people are shown it.
        #[serde(default)]
        display: bool,
        /// Facts for people, which no model reads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A name for an entry.
    #[serde(rename_all = "camelCase")]
    Label {
        /// The entry that the conversation goes on from.
        target_id: String,
        /// The name; without one it has none any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The name that people gave the session.
    SessionInfo {
        /// The name; without one it has none any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Something that only another program understands, as it is in the file.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// The content in place of an entry's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The text and pictures that the model reads.
    pub content: UserContent,
}

impl EntryBody {
    /// Whether the conversation has begun with it: before that nothing is kept.
    pub fn begins_session(&self) -> bool {
        matches!(
            self,
            Self::Message {
                message: Message::User(_) | Message::Assistant(_)
            }
        )
    }
}
