//! A session as one HTML page: it needs no other file, loads nothing, and runs nothing.

mod escape;

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use pirn_file::{Access, replace};
use pirn_model::{Block, Message, ToolCall, ToolResultMessage, UserContent};
use serde_json::Value;

use crate::entry::{Entry, EntryBody, Header};
use crate::tree::Tree;
use escape::{escape, image_address};

/// Nothing is loaded and no script runs, whatever the text of the conversation says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("html/page.css");

/// What a page of a session shows that its owner may want to keep to themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrivateParts {
    /// Results of tools: contents of files and output of commands.
    pub results: usize,
    /// Commands that the user ran.
    pub commands: usize,
    /// Pictures, in messages and results.
    pub images: usize,
    /// Replies with thoughts of the model.
    pub thoughts: usize,
}

/// The conversation up to where the tree stands, as a page.
///
/// ```
/// use pirn_model::{Message, UserMessage};
/// use pirn_session::{NewSession, Session, html_page};
///
/// let mut session = Session::create(NewSession::default())?;
/// session.append_message(Message::User(UserMessage::text("<script>", 0)))?;
/// let page = html_page(session.header(), session.tree());
/// assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
/// # Ok::<(), pirn_session::Error>(())
/// ```
pub fn html_page(header: &Header, tree: &Tree) -> String {
    let path = tree.path();
    let title = title(&path, tree);
    let mut page = Page::default();
    for entry in &path {
        page.entry(entry);
    }
    let title = escape(&title);
    let (cwd, begun) = (escape(&header.cwd), escape(&header.timestamp));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p>{cwd}<br>{begun}</p></header>\n<main>\n{}</main>\n</body>\n</html>\n",
        page.body
    )
}

/// Writes a page to a file, which only its owner can read unless it was there before and others could.
pub fn write_html_page(path: &Path, page: &str) -> io::Result<()> {
    replace(path, page.as_bytes(), Access::KeptOrPrivate)
}

/// What the page of this conversation would show of private things, to be told before it is given away.
pub fn private_parts(tree: &Tree) -> PrivateParts {
    let mut parts = PrivateParts::default();
    for entry in tree.path() {
        let EntryBody::Message { message } = &entry.body else {
            continue;
        };
        let blocks: &[Block] = match message {
            Message::User(user) => user_blocks(&user.content),
            Message::Assistant(reply) => &reply.content,
            Message::ToolResult(result) => {
                parts.results += 1;
                &result.content
            }
            Message::BashExecution(_) => {
                parts.commands += 1;
                &[]
            }
            Message::System(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_) => &[],
        };
        let thinks = |block: &Block| matches!(block, Block::Thinking { thinking, .. } if !thinking.is_empty());
        parts.thoughts += usize::from(blocks.iter().any(thinks));
        let images = blocks
            .iter()
            .filter(|block| matches!(block, Block::Image { .. }));
        parts.images += images.count();
    }
    parts
}

fn title(path: &[&Entry], tree: &Tree) -> String {
    let first = path.iter().find_map(|entry| match &entry.body {
        EntryBody::Message {
            message: Message::User(user),
        } => Some(user.content.joined_text()),
        _ => None,
    });
    let text = tree.name().map(str::to_owned).or(first);
    let text = text.unwrap_or_else(|| "A session of Pirn".to_owned());
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(100)
        .collect()
}

fn user_blocks(content: &UserContent) -> &[Block] {
    match content {
        UserContent::Text(_) => &[],
        UserContent::Blocks(blocks) => blocks,
    }
}

#[derive(Default)]
struct Page {
    body: String,
}

impl Page {
    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message { message } => self.message(message),
            EntryBody::Compaction { summary, .. } => {
                self.folded("note", "What was said before, made shorter", summary);
            }
            EntryBody::BranchSummary { summary, .. } => {
                self.folded("note", "A branch that was left", summary);
            }
            EntryBody::CustomMessage {
                content,
                display: true,
                ..
            } => self.section("note", "Note", |page| page.user_content(content)),
            EntryBody::ModelChange {
                provider, model_id, ..
            } => self.line(&format!("the model is {provider}/{model_id}")),
            EntryBody::CustomMessage { display: false, .. }
            | EntryBody::ThinkingLevelChange { .. }
            | EntryBody::Usage { .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::Custom { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Other(_) => {}
        }
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::User(user) => {
                self.section("user", "You", |page| page.user_content(&user.content));
            }
            Message::Assistant(reply) => {
                self.section("reply", &reply.model, |page| {
                    page.blocks(&reply.content);
                    if let Some(error) = &reply.error_message {
                        page.text("error", error);
                    }
                });
            }
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(run) => {
                self.section("result", "Command of the user", |page| {
                    page.text("code", &format!("$ {}\n{}", run.command, run.output));
                });
            }
            Message::BranchSummary(summary) => {
                self.folded("note", "A branch that was left", &summary.summary);
            }
            Message::CompactionSummary(summary) => {
                self.folded(
                    "note",
                    "What was said before, made shorter",
                    &summary.summary,
                );
            }
            // What models are told of their work is not what was said.
            Message::System(_) | Message::Custom(_) => {}
        }
    }

    fn user_content(&mut self, content: &UserContent) {
        match content {
            UserContent::Text(text) => self.text("said", text),
            UserContent::Blocks(blocks) => self.blocks(blocks),
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text { text, .. } => self.text("said", text),
                Block::Thinking { thinking, .. } if thinking.is_empty() => {}
                Block::Thinking { thinking, .. } => self.folded("thinking", "Thinking", thinking),
                Block::Image { data, mime_type } => self.image(data, mime_type),
                Block::ToolCall(call) => self.call(call),
            }
        }
    }

    /// A program is shown as such; other arguments as JSON.
    fn call(&mut self, call: &ToolCall) {
        let source = ["code", "script", "source"]
            .iter()
            .find_map(|name| call.arguments[name].as_str());
        let arguments = match source {
            Some(source) => source.to_owned(),
            None => pretty(&call.arguments),
        };
        self.folded("call", &format!("Call of {}", call.name), &arguments);
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let class = if result.is_error {
            "result failed"
        } else {
            "result"
        };
        let state = if result.is_error { "failed" } else { "gave" };
        let time = result
            .duration_ms
            .map(|duration| format!(" after {duration} ms"))
            .unwrap_or_default();
        let label = format!("{} {state}{time}", result.tool_name);
        self.section(class, &label, |page| {
            for block in &result.content {
                match block {
                    Block::Text { text, .. } => page.text("code", text),
                    Block::Image { data, mime_type } => page.image(data, mime_type),
                    Block::Thinking { .. } | Block::ToolCall(_) => {}
                }
            }
            page.nested(result.nested_calls.as_ref());
        });
    }

    /// The calls that were made inside a call, one line each.
    fn nested(&mut self, record: Option<&Value>) {
        let Some(calls) = record.and_then(|record| record["calls"].as_array()) else {
            return;
        };
        self.body.push_str("<ul class=\"nested\">\n");
        for call in calls {
            let text = |key: &str| call[key].as_str().unwrap_or_default();
            let arguments = match &call["arguments"] {
                Value::Null => text("argumentsStart").to_owned(),
                arguments => arguments.to_string(),
            };
            let mut line = format!("{} {} {arguments}", text("status"), text("name"));
            if let Some(duration) = call["durationMs"].as_u64() {
                let _infallible = write!(line, " ({duration} ms)");
            }
            if let Some(error) = call["error"].as_str() {
                let _infallible = write!(line, ": {error}");
            }
            let _infallible = writeln!(self.body, "<li>{}</li>", escape(&line));
        }
        self.body.push_str("</ul>\n");
    }

    fn image(&mut self, data: &str, mime_type: &str) {
        match image_address(data, mime_type) {
            Some(address) => {
                let _infallible = writeln!(self.body, "<img alt=\"a picture\" src=\"{address}\">");
            }
            None => self.line("a picture that cannot be shown"),
        }
    }

    fn section(&mut self, class: &str, label: &str, content: impl FnOnce(&mut Self)) {
        let label = escape(label);
        let _infallible = writeln!(self.body, "<section class=\"{class}\"><h2>{label}</h2>");
        content(self);
        self.body.push_str("</section>\n");
    }

    fn folded(&mut self, class: &str, label: &str, text: &str) {
        let (label, text) = (escape(label), escape(text));
        let _infallible = writeln!(
            self.body,
            "<details class=\"{class}\"><summary>{label}</summary><pre>{text}</pre></details>"
        );
    }

    fn text(&mut self, class: &str, text: &str) {
        if !text.trim().is_empty() {
            let text = escape(text);
            let _infallible = writeln!(self.body, "<pre class=\"{class}\">{text}</pre>");
        }
    }

    fn line(&mut self, text: &str) {
        let _infallible = writeln!(self.body, "<p class=\"remark\">{}</p>", escape(text));
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
