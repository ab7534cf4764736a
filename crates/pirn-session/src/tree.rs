//! The tree of a session's entries, and what of it a model reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pirn_model::{
    Block, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message, SessionUsage,
    UserContent,
};

use crate::entry::{Entry, EntryBody, Replacement};

/// The entries of a session.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    places: HashMap<String, usize>,
    leaf: Option<String>,
}

/// What a model reads, and who it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The entry that each message comes from.
    pub entry_ids: Vec<String>,
    /// The provider and the model that were chosen last.
    pub model: Option<(String, String)>,
    /// How much it is to think, as chosen last.
    pub thinking_level: Option<String>,
}

impl Tree {
    /// All entries, in the order in which they were written.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of this id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(id)?)
    }

    /// The entry after which the next one comes.
    pub fn leaf(&self) -> Option<&str> {
        self.leaf.as_deref()
    }

    /// Goes on after another entry, or from the start. Fails, and changes nothing, where there is none of this id.
    pub fn set_leaf(&mut self, id: Option<&str>) -> bool {
        let is_known = id.is_none_or(|id| self.places.contains_key(id));
        if is_known {
            self.leaf = id.map(str::to_owned);
        }
        is_known
    }

    /// Whether an entry can be added: its id is new, and its parent is there.
    pub fn accepts(&self, entry: &Entry) -> bool {
        let has_parent = entry
            .parent_id
            .as_ref()
            .is_none_or(|parent| self.places.contains_key(parent));
        has_parent && !self.places.contains_key(&entry.id)
    }

    /// Adds an entry and goes on after it.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.leaf = Some(entry.id.clone());
        self.places.insert(entry.id.clone(), self.entries.len());
        self.entries.push(entry);
    }

    /// The entries from the first to the leaf.
    pub fn path(&self) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut next = self.leaf.as_deref();
        // A parent always stands before its child, so this ends.
        while let Some(entry) = next.and_then(|id| self.get(id)) {
            path.push(entry);
            next = entry.parent_id.as_deref();
        }
        path.reverse();
        path
    }

    /// What the model reads at the leaf.
    pub fn context(&self) -> Context {
        let path = self.path();
        let mut context = Context::default();
        for entry in &path {
            match &entry.body {
                EntryBody::ModelChange { provider, model_id } => {
                    context.model = Some((provider.clone(), model_id.clone()));
                }
                EntryBody::ThinkingLevelChange { thinking_level } => {
                    context.thinking_level = Some(thinking_level.clone());
                }
                _ => {}
            }
        }
        let edits: BTreeMap<&str, Option<&Replacement>> = path
            .iter()
            .filter_map(|entry| match &entry.body {
                EntryBody::ContextEdit {
                    target_id,
                    replacement,
                } => Some((target_id.as_str(), replacement.as_ref())),
                _ => None,
            })
            .collect();
        for (id, message) in projected(&path) {
            let message = match edits.get(id) {
                None => message,
                Some(None) => continue,
                Some(Some(replacement)) => replaced(message, &replacement.content),
            };
            context.messages.push(message);
            context.entry_ids.push(id.to_owned());
        }
        context
    }

    /// What all entries used together, those of other branches included.
    pub fn usage(&self) -> SessionUsage {
        let mut sum = SessionUsage::default();
        for entry in &self.entries {
            match &entry.body {
                EntryBody::Message {
                    message: Message::Assistant(message),
                } => sum += &message.usage,
                EntryBody::Message {
                    message: Message::ToolResult(message),
                } => {
                    if let Some(usage) = &message.usage {
                        sum += usage;
                    }
                }
                EntryBody::Usage { usage, .. }
                | EntryBody::Compaction {
                    usage: Some(usage), ..
                }
                | EntryBody::BranchSummary {
                    usage: Some(usage), ..
                } => sum += usage,
                _ => {}
            }
        }
        sum
    }

    /// The session's name, as it was set last.
    pub fn name(&self) -> Option<&str> {
        self.entries
            .iter()
            .rev()
            .find_map(|entry| match &entry.body {
                EntryBody::SessionInfo { name } => Some(name.as_deref()),
                _ => None,
            })?
    }

    /// The labels that entries have now.
    pub fn labels(&self) -> BTreeMap<&str, &str> {
        let mut labels = BTreeMap::new();
        for entry in &self.entries {
            if let EntryBody::Label { target_id, label } = &entry.body {
                match label {
                    Some(label) => labels.insert(target_id.as_str(), label.as_str()),
                    None => labels.remove(target_id.as_str()),
                };
            }
        }
        labels
    }

    /// The entries that nothing comes after: where branches end.
    pub fn ends(&self) -> Vec<&Entry> {
        let parents: BTreeSet<&str> = self
            .entries
            .iter()
            .filter_map(|entry| entry.parent_id.as_deref())
            .collect();
        self.entries
            .iter()
            .filter(|entry| !parents.contains(entry.id.as_str()))
            .collect()
    }
}

/// The messages of a path, with the last compaction in place of what it stands for.
fn projected<'a>(path: &[&'a Entry]) -> Vec<(&'a str, Message)> {
    let mut messages = Vec::new();
    let compaction = path
        .iter()
        .rposition(|entry| matches!(entry.body, EntryBody::Compaction { .. }));
    let mut rest = path;
    if let Some(place) = compaction
        && let (before, [compaction, after @ ..]) = path.split_at(place)
        && let EntryBody::Compaction {
            summary,
            first_kept_entry_id,
            tokens_before,
            system_message,
            ..
        } = &compaction.body
    {
        let id = compaction.id.as_str();
        if let Some(system) = system_message {
            messages.push((id, Message::System(system.clone())));
        }
        messages.push((
            id,
            Message::CompactionSummary(CompactionSummaryMessage {
                summary: summary.clone(),
                tokens_before: *tokens_before,
                timestamp: 0,
            }),
        ));
        let kept = before
            .iter()
            .skip_while(|entry| entry.id != *first_kept_entry_id);
        for entry in kept {
            match message_of(entry) {
                // The checkpoint says what they say.
                Some(Message::System(_)) if system_message.is_some() => {}
                Some(message) => messages.push((entry.id.as_str(), message)),
                None => {}
            }
        }
        rest = after;
    }
    for entry in rest {
        messages.extend(message_of(entry).map(|message| (entry.id.as_str(), message)));
    }
    messages
}

/// What an entry says to the model.
fn message_of(entry: &Entry) -> Option<Message> {
    match &entry.body {
        EntryBody::Message { message } => Some(message.clone()),
        EntryBody::BranchSummary {
            from_id, summary, ..
        } => Some(Message::BranchSummary(BranchSummaryMessage {
            summary: summary.clone(),
            from_id: from_id.clone(),
            timestamp: 0,
        })),
        EntryBody::CustomMessage {
            custom_type,
            content,
            display,
            details,
        } => Some(Message::Custom(CustomMessage {
            custom_type: custom_type.clone(),
            content: content.clone(),
            display: *display,
            details: details.clone(),
            timestamp: 0,
            other: serde_json::Map::new(),
        })),
        EntryBody::ModelChange { .. }
        | EntryBody::ThinkingLevelChange { .. }
        | EntryBody::Usage { .. }
        | EntryBody::Compaction { .. }
        | EntryBody::ContextEdit { .. }
        | EntryBody::Custom { .. }
        | EntryBody::Label { .. }
        | EntryBody::SessionInfo { .. }
        | EntryBody::Other(_) => None,
    }
}

/// A message with other content.
fn replaced(message: Message, content: &UserContent) -> Message {
    let blocks = || -> Vec<Block> { content.to_blocks() };
    match message {
        Message::User(mut user) => {
            user.content = content.clone();
            Message::User(user)
        }
        Message::Custom(mut custom) => {
            custom.content = content.clone();
            Message::Custom(custom)
        }
        Message::Assistant(mut assistant) => {
            assistant.content = blocks();
            Message::Assistant(assistant)
        }
        Message::ToolResult(mut result) => {
            result.content = blocks();
            Message::ToolResult(result)
        }
        Message::System(mut system) => {
            system.content = content.joined_text();
            Message::System(system)
        }
        Message::BranchSummary(mut summary) => {
            summary.summary = content.joined_text();
            Message::BranchSummary(summary)
        }
        Message::CompactionSummary(mut summary) => {
            summary.summary = content.joined_text();
            Message::CompactionSummary(summary)
        }
        Message::BashExecution(mut run) => {
            run.output = content.joined_text();
            Message::BashExecution(run)
        }
    }
}
