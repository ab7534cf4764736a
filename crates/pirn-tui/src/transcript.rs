//! The conversation as blocks: those that are finished and those that still change.

use pirn_terminal::{
    Attribute, MarkdownStream, Role, Row, Span, TextStyle, Wrap, markdown_rows, wrap,
};
use pirn_tool::ApprovalRequest;
use serde_json::Value;

use crate::call::{Call, Detail};
use crate::event::CallOutcome;
use crate::script::Asker;

/// A block of the conversation.
#[derive(Debug, Clone)]
enum Block {
    User(String),
    Reply(Reply),
    Call(Box<Call>),
    Note {
        text: String,
        role: Role,
    },
    /// A command of the user's own.
    Command {
        command: String,
        output: String,
        is_over: bool,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, Default)]
struct Reply {
    text: String,
    stream: MarkdownStream,
    thinking: String,
    has_given_thinking: bool,
    is_over: bool,
}

/// The conversation, and how much of it was given out as finished.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    blocks: Vec<Block>,
    /// Blocks that were given out whole.
    given: usize,
    /// Rows of the block after those were given out already.
    has_begun: bool,
}

/// Rows of a command's output that stand in the conversation.
const OUTPUT_ROWS: usize = 20;
/// Bytes of a command's output that are kept for the screen; all of it is with the session.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

impl Transcript {
    pub(crate) fn user(&mut self, text: String) {
        self.blocks.push(Block::User(text));
    }

    pub(crate) fn note(&mut self, text: String, role: Role) {
        self.blocks.push(Block::Note { text, role });
    }

    pub(crate) fn begin_reply(&mut self) {
        self.blocks.push(Block::Reply(Reply::default()));
    }

    pub(crate) fn reply_text(&mut self, delta: &str) {
        if let Some(reply) = self.open_reply() {
            reply.stream.push(delta);
            reply.text.push_str(delta);
        }
    }

    pub(crate) fn reply_thinking(&mut self, delta: &str) {
        if let Some(reply) = self.open_reply() {
            reply.thinking.push_str(delta);
        }
    }

    pub(crate) fn end_reply(&mut self) {
        if let Some(Block::Reply(reply)) = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| matches!(block, Block::Reply(_)))
        {
            reply.is_over = true;
        }
    }

    /// The answer that goes on, which is the last block.
    fn open_reply(&mut self) -> Option<&mut Reply> {
        let is_open = matches!(self.blocks.last(), Some(Block::Reply(reply)) if !reply.is_over);
        if !is_open {
            self.begin_reply();
        }
        match self.blocks.last_mut() {
            Some(Block::Reply(reply)) => Some(reply),
            _ => None,
        }
    }

    pub(crate) fn begin_call(
        &mut self,
        id: String,
        parent: Option<&str>,
        name: String,
        arguments: Value,
    ) {
        let call = Call::new(id, name, arguments);
        match parent.and_then(|parent| self.call(parent)) {
            Some(parent) => parent.nest(call),
            None => self.blocks.push(Block::Call(Box::new(call))),
        }
    }

    /// The call of this id, if it is in the conversation.
    pub(crate) fn call(&mut self, id: &str) -> Option<&mut Call> {
        self.blocks.iter_mut().rev().find_map(|block| match block {
            Block::Call(call) => call.find(id),
            Block::User(_) | Block::Reply(_) | Block::Note { .. } | Block::Command { .. } => None,
        })
    }

    /// Says which calls wait for an answer.
    pub(crate) fn set_waiting(&mut self, ids: &[String]) {
        for block in self.blocks.iter_mut().rev() {
            if let Block::Call(call) = block
                && !call.is_over()
            {
                call.set_waiting(ids);
            }
        }
    }

    /// The program that asks a question, where one does.
    pub(crate) fn asker(&mut self, question: &ApprovalRequest) -> Option<Asker> {
        let call = self.call(question.parent_call_id.as_deref()?)?;
        call.asker(question.call_id.as_deref())
    }

    pub(crate) fn end_call(&mut self, id: &str, outcome: CallOutcome) {
        if let Some(call) = self.call(id) {
            call.end(outcome);
        }
    }

    pub(crate) fn begin_command(&mut self, command: String) {
        self.blocks.push(Block::Command {
            command,
            output: String::new(),
            is_over: false,
        });
    }

    pub(crate) fn command_output(&mut self, text: &str) {
        if let Some(Block::Command { output, .. }) = self.open_command()
            && output.len() < OUTPUT_BYTES_MAX
        {
            output.push_str(text);
        }
    }

    pub(crate) fn end_command(&mut self, remark: Option<String>) {
        if let Some(Block::Command {
            output, is_over, ..
        }) = self.open_command()
        {
            *is_over = true;
            if let Some(remark) = remark {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&remark);
            }
        }
    }

    fn open_command(&mut self) -> Option<&mut Block> {
        self.blocks
            .iter_mut()
            .rev()
            .find(|block| matches!(block, Block::Command { is_over: false, .. }))
    }

    /// Nothing goes on any more: what is still open will not end by itself.
    pub(crate) fn settle(&mut self) {
        for block in self.blocks.iter_mut().skip(self.given) {
            match block {
                Block::Call(call) => call.abandon(),
                Block::Reply(reply) => reply.is_over = true,
                Block::User(_) | Block::Note { .. } | Block::Command { .. } => {}
            }
        }
    }

    /// Rows that are finished since the last time, in order.
    pub(crate) fn finished_rows(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(block) = self.blocks.get_mut(self.given) {
            let is_over = block.is_over();
            let part = match block {
                Block::Reply(reply) => reply.finished_rows(columns),
                _ if is_over => block.rows(columns, Detail::Short),
                _ => Vec::new(),
            };
            if !part.is_empty() {
                if !std::mem::replace(&mut self.has_begun, true) {
                    rows.push(Row::default());
                }
                rows.extend(part);
            }
            if !is_over {
                break;
            }
            self.given += 1;
            self.has_begun = false;
        }
        rows
    }

    /// Rows of what may still change.
    pub(crate) fn open_rows(&self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, block) in self.blocks.iter().enumerate().skip(self.given) {
            let part = match block {
                Block::Reply(reply) => reply.open_rows(columns),
                Block::User(_) | Block::Call(_) | Block::Note { .. } | Block::Command { .. } => {
                    block.rows(columns, Detail::Short)
                }
            };
            let goes_on = index == self.given && self.has_begun;
            if !part.is_empty() && !goes_on {
                rows.push(Row::default());
            }
            rows.extend(part);
        }
        rows
    }

    /// How many blocks the conversation has.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How many blocks from the first on are over, of which `known` are known to be.
    pub(crate) fn blocks_over(&self, known: usize) -> usize {
        let rest = self.blocks.iter().skip(known);
        known + rest.take_while(|block| block.is_over()).count()
    }

    /// The rows of a block with an empty one below them; none where there is no such block.
    pub(crate) fn block_rows(&self, block: usize, columns: usize, detail: Detail) -> Vec<Row> {
        let Some(block) = self.blocks.get(block) else {
            return Vec::new();
        };
        let mut rows = block.rows(columns, detail);
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        rows
    }

    /// Whether a text in small letters is anywhere in a block, also where it is folded.
    pub(crate) fn block_contains(&self, block: usize, query: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(query);
        match self.blocks.get(block) {
            None => false,
            Some(Block::User(text) | Block::Note { text, .. }) => has(text),
            Some(Block::Reply(reply)) => has(&reply.text) || has(&reply.thinking),
            Some(Block::Command {
                command, output, ..
            }) => has(command) || has(output),
            Some(Block::Call(call)) => call.contains(query),
        }
    }

    /// The last answer, as the model wrote it.
    pub(crate) fn last_answer(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match block {
            Block::Reply(reply) if !reply.text.is_empty() => Some(reply.text.as_str()),
            _ => None,
        })
    }
}

impl Block {
    fn is_over(&self) -> bool {
        match self {
            Self::User(_) | Self::Note { .. } => true,
            Self::Reply(reply) => reply.is_over,
            Self::Call(call) => call.is_over(),
            Self::Command { is_over, .. } => *is_over,
        }
    }

    fn rows(&self, columns: usize, detail: Detail) -> Vec<Row> {
        match self {
            Self::User(text) => {
                let style = TextStyle::role(Role::UserMessageText).with(Attribute::Bold);
                prefixed(text, "> ", Role::Accent, style, columns)
            }
            Self::Reply(reply) => {
                let mut rows = thinking_rows(&reply.thinking, columns);
                rows.extend(markdown_rows(&reply.text, columns));
                rows
            }
            Self::Call(call) => call.rows(columns, detail),
            Self::Note { text, role } => {
                Row::of_text(text, TextStyle::role(*role), columns, Wrap::Words)
            }
            Self::Command {
                command, output, ..
            } => {
                let style = TextStyle::PLAIN.with(Attribute::Bold);
                let mut rows = prefixed(command, "! ", Role::BashMode, style, columns);
                let style = TextStyle::role(Role::ToolOutput);
                let mut output = Row::of_text(output, style, columns, Wrap::Anywhere);
                if detail == Detail::Short && output.len() > OUTPUT_ROWS + 1 {
                    let more = output.len() - OUTPUT_ROWS;
                    output.drain(..more);
                    let words = format!("… {more} earlier rows, ctrl+t shows all");
                    output.insert(0, Row::new(words, TextStyle::role(Role::Dim)));
                }
                rows.extend(output);
                rows
            }
        }
    }
}

impl Reply {
    fn finished_rows(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let thinking_is_over = self.is_over || !self.text.is_empty();
        if thinking_is_over && !std::mem::replace(&mut self.has_given_thinking, true) {
            rows = thinking_rows(&self.thinking, columns);
            if !rows.is_empty() && !self.text.is_empty() {
                rows.push(Row::default());
            }
        }
        rows.extend(if self.is_over {
            self.stream.last_rows(columns)
        } else {
            self.stream.finished_rows(columns)
        });
        rows
    }

    fn open_rows(&self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        if !self.has_given_thinking {
            rows = thinking_rows(&self.thinking, columns);
        }
        rows.extend(self.stream.open_rows(columns));
        rows
    }
}

fn thinking_rows(thinking: &str, columns: usize) -> Vec<Row> {
    let style = TextStyle::role(Role::ThinkingText).with(Attribute::Italic);
    Row::of_text(thinking.trim(), style, columns, Wrap::Words)
}

/// Text with a mark before its first row.
fn prefixed(text: &str, mark: &str, role: Role, style: TextStyle, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mark = if index == 0 { mark } else { "  " };
        let first = [Span::new(mark, TextStyle::role(role))];
        let rest = [Span::new("  ", TextStyle::PLAIN)];
        let spans = [Span::new(line.replace('\t', "    "), style)];
        rows.extend(wrap(&spans, columns, Wrap::Words, &first, &rest));
    }
    rows
}
