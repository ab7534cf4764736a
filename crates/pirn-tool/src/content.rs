//! What a tool result is made of: content blocks and the result around them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::receipt::json_size;

/// One piece of a tool result, in the shape of a Model Context Protocol content block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text, which a model reads as it is.
    Text {
        /// The text, without any markup of its own.
        text: String,
    },
    /// A picture that the model looks at.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The file's bytes as base64.
        data: String,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
    },
    /// A recording that the model listens to.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The file's bytes as base64.
        data: String,
        /// The recording's format, for example `audio/wav`.
        mime_type: String,
    },
}

impl ContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::Audio { .. } => None,
        }
    }
}

/// What one call produced. A failure is a result too: [`ToolResult::is_error`] is set and the content says why.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// Blocks for the model, in order.
    pub content: Vec<ContentBlock>,
    /// The value a script gets, where the tool declares an output schema.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether the call failed because there is more than one result may hold.
    pub is_over_limit: bool,
    /// Facts for people and front ends (a diff, a path); never sent to a model.
    pub details: Option<Value>,
    /// What a script is told beside [`ToolResult::structured`], such as what was left out; the content says it itself.
    pub notes: Vec<String>,
    /// What the call cost, where it used a model.
    pub usage: Option<Usage>,
}

impl ToolResult {
    /// A successful result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }

    /// What it holds, in bytes: texts and data as they are, values as JSON.
    pub fn size_bytes(&self) -> usize {
        let blocks = self.content.iter().map(|block| match block {
            ContentBlock::Text { text } => text.len(),
            ContentBlock::Image { data, .. } | ContentBlock::Audio { data, .. } => data.len(),
        });
        let values = [&self.structured, &self.details].into_iter().flatten();
        blocks.sum::<usize>() + values.map(json_size).sum::<usize>()
    }

    /// A failed result of one text block.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// A failed result for what is more than one result may hold; the text says how to ask for less.
    pub fn over_limit(text: impl Into<String>) -> Self {
        Self {
            is_over_limit: true,
            ..Self::error(text)
        }
    }

    /// Adds the structured value.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// Adds notes for scripts.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Adds details for people.
    #[must_use]
    pub fn with_details(mut self, value: Value) -> Self {
        self.details = Some(value);
        self
    }

    /// All text blocks joined with newlines; images and audio are left out.
    pub fn joined_text(&self) -> String {
        let mut joined = String::new();
        for text in self.content.iter().filter_map(ContentBlock::as_text) {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }
        joined
    }
}

/// Model usage of a call, summed over nested calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were sent to the model.
    pub input_tokens: u64,
    /// Tokens that the model produced.
    pub output_tokens: u64,
    /// Cost in US dollars, where known.
    pub cost: f64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost += other.cost;
    }
}
