//! Making a conversation shorter: which part a summary stands for, and how the summary is made.

mod files;
mod text;

use pirn_model::{Instructions, Message, RequestUsage, StopReason, UserMessage};
use pirn_session::{EntryBody, Tree, now_ms};
use serde_json::Value;

use crate::agent::lock;
use crate::declare::Declarations;
use crate::error::AgentError;
use crate::estimate::{context_tokens, estimate};
use crate::event::{AgentEvent, CompactionReason, CompactionReport};
use crate::hooks::Stopped;
use crate::ports::{Conversation, Models};
use crate::retry::{Retry, Verdict};
use crate::run::Run;
use crate::worker::pass_on;
use files::FileLists;
use text::{SUMMARISER, request};

/// What stands before the user's last message, where that is not among what stays.
const LAST_MESSAGE_HEADING: &str = "\n\n**The user's last message, word for word:**\n\n";

/// What a compaction works on.
struct Cut {
    /// The messages that the summary stands for.
    before: Vec<Message>,
    /// The beginning of the turn that the cut goes through; empty where it goes through none.
    turn: Vec<Message>,
    /// What the user said last, where it does not stay.
    last_user: Option<String>,
    /// The summary that an earlier compaction made.
    previous: Option<String>,
    /// What that one listed.
    previous_files: FileLists,
    /// The first entry that stays.
    first_kept_entry_id: String,
    /// What the system messages say together.
    checkpoint: Message,
    tokens_before: u64,
}

impl Run<'_> {
    /// Makes the conversation shorter, and tells it.
    pub(crate) async fn compact(
        &mut self,
        reason: CompactionReason,
        focus: Option<&str>,
    ) -> Result<CompactionReport, AgentError> {
        self.tell(AgentEvent::CompactionStart { reason }).await;
        self.shared
            .status
            .send_modify(|status| status.is_compacting = true);
        let allowed = self
            .shared
            .hooks
            .before_compaction(reason, &self.cancel)
            .await;
        let made = match allowed {
            Ok(()) => self.make_shorter(focus).await,
            Err(Stopped::Aborted) => Err(AgentError::Compaction("it was stopped".into())),
            Err(Stopped::Refused(why)) => Err(AgentError::Compaction(why)),
        };
        self.shared
            .status
            .send_modify(|status| status.is_compacting = false);
        let aborted = made.is_err() && self.cancel.is_cancelled();
        self.tell(AgentEvent::CompactionEnd {
            reason,
            outcome: match &made {
                Ok(report) => Ok(report.clone()),
                Err(error) => Err(error.to_string()),
            },
            aborted,
            will_retry: made.is_ok() && reason == CompactionReason::Overflow,
        })
        .await;
        made
    }

    async fn make_shorter(&self, focus: Option<&str>) -> Result<CompactionReport, AgentError> {
        let options = lock(&self.shared.options).compaction;
        let cut = {
            let session = lock(&self.shared.session);
            cut(session.tree(), options.keep_recent_tokens)
        };
        let cut = cut.ok_or_else(|| {
            AgentError::Compaction("there is nothing before the last messages to leave out".into())
        })?;
        let mut usage = RequestUsage::default();
        let mut summary = String::new();
        if !cut.before.is_empty() || cut.previous.is_some() {
            let text = request(&cut.before, cut.previous.as_deref(), focus);
            summary = self.summarise(text, &mut usage).await?;
        }
        if !cut.turn.is_empty() {
            let text = text::turn_request(&cut.turn);
            let turn = self.summarise(text, &mut usage).await?;
            if !summary.is_empty() {
                summary.push_str("\n\n---\n\n");
            }
            summary.push_str("**Turn Context (split turn):**\n\n");
            summary.push_str(&turn);
        }
        if let Some(message) = &cut.last_user {
            summary.push_str(LAST_MESSAGE_HEADING);
            summary.push_str(message);
        }
        let mut files = cut.previous_files;
        files.add(&cut.before);
        files.add(&cut.turn);
        summary.push_str(&files.render());
        let details = files.details();
        let checkpoint = match cut.checkpoint {
            Message::System(system) => Some(system),
            _ => None,
        };
        let mut session = lock(&self.shared.session);
        session.append(EntryBody::Compaction {
            summary: summary.clone(),
            first_kept_entry_id: cut.first_kept_entry_id.clone(),
            tokens_before: cut.tokens_before,
            details: Some(details.clone()),
            usage: Some(usage),
            from_hook: None,
            system_message: checkpoint,
        })?;
        let estimated_tokens_after = context_tokens(session.tree()).best;
        Ok(CompactionReport {
            summary,
            first_kept_entry_id: cut.first_kept_entry_id,
            tokens_before: cut.tokens_before,
            estimated_tokens_after,
            usage: Some(usage),
            details,
        })
    }

    /// Asks the model for a summary. Fails where it does not end with one.
    async fn summarise(
        &self,
        text: String,
        usage: &mut RequestUsage,
    ) -> Result<String, AgentError> {
        let failed =
            |why: String| AgentError::Compaction(format!("the summary could not be made: {why}"));
        let choice = lock(&self.shared.choice).clone();
        let conversation = Conversation {
            instructions: Instructions {
                prompt: SUMMARISER.to_owned(),
                tools: Vec::new(),
            },
            messages: vec![Message::User(UserMessage::text(text, now_ms()))],
            session_id: None,
        };
        let models: &dyn Models = self.shared.models.as_ref();
        let mut retry = Retry::new(lock(&self.shared.machine).options().retry);
        loop {
            let mut sink = |_, _: &RequestUsage| {};
            let reply = models.reply(&choice, &conversation, &self.cancel, &mut sink);
            let reply = pass_on(self.shared, reply).await;
            add(usage, &reply.message.usage);
            let Some(failure) = reply.failure else {
                let text = reply.message.joined_text();
                let is_whole = reply.message.stop_reason == StopReason::Stop
                    && reply.message.tool_calls().next().is_none();
                return if is_whole && !text.trim().is_empty() {
                    Ok(text)
                } else {
                    Err(failed("the model gave no whole summary".into()))
                };
            };
            match retry.failed(&failure) {
                Verdict::Never(why) => return Err(failed(why)),
                Verdict::Again { delay, .. } => {
                    let waited = async {
                        tokio::select! {
                            biased;
                            () = self.cancel.cancelled() => false,
                            () = tokio::time::sleep(delay) => true,
                        }
                    };
                    if !pass_on(self.shared, waited).await {
                        return Err(failed("it was stopped".into()));
                    }
                }
            }
        }
    }
}

fn add(sum: &mut RequestUsage, one: &RequestUsage) {
    sum.input += one.input;
    sum.output += one.output;
    sum.cache_read += one.cache_read;
    sum.cache_write += one.cache_write;
    sum.total_tokens += one.total_tokens;
    sum.cost.input += one.cost.input;
    sum.cost.output += one.cost.output;
    sum.cost.cache_read += one.cost.cache_read;
    sum.cost.cache_write += one.cost.cache_write;
    sum.cost.total += one.cost.total;
}

/// Finds where the conversation is cut: as late as `keep_recent_tokens` allow, before a message that may come first.
fn cut(tree: &Tree, keep_recent_tokens: u64) -> Option<Cut> {
    let path = tree.path();
    if matches!(path.last()?.body, EntryBody::Compaction { .. }) {
        return None;
    }
    let context = tree.context();
    let tokens_before = context_tokens(tree).best;
    let instructions = checkpoint(&context.messages);
    let previous_entry = path.iter().rev().find_map(|entry| match &entry.body {
        EntryBody::Compaction {
            summary, details, ..
        } => Some((summary.clone(), details.clone())),
        _ => None,
    });
    let items: Vec<(&Message, &String)> = context
        .messages
        .iter()
        .zip(&context.entry_ids)
        .filter(|(message, _)| {
            !matches!(message, Message::System(_) | Message::CompactionSummary(_))
        })
        .collect();
    let may_begin = |message: &Message| !matches!(message, Message::ToolResult(_));
    let mut kept = 0;
    let mut oldest = items.len();
    for (place, (message, _)) in items.iter().enumerate().rev() {
        kept += estimate(message);
        oldest = place;
        if kept >= keep_recent_tokens {
            break;
        }
    }
    let later = (oldest..items.len()).find(|place| {
        items
            .get(*place)
            .is_some_and(|(message, _)| may_begin(message))
    });
    let place = later.or_else(|| items.iter().rposition(|(message, _)| may_begin(message)))?;
    let (first, id) = items.get(place)?;
    let is_split = !matches!(
        first,
        Message::User(_) | Message::Custom(_) | Message::BashExecution(_)
    );
    let begin_of_turn = if is_split {
        items
            .get(..place)?
            .iter()
            .rposition(|(message, _)| matches!(message, Message::User(_)))
            .unwrap_or(0)
    } else {
        place
    };
    let messages = |from: usize, to: usize| -> Vec<Message> {
        items
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .map(|(message, _)| Message::clone(message))
            .collect()
    };
    let before = messages(0, begin_of_turn);
    let turn = messages(begin_of_turn, place);
    if before.is_empty() && turn.is_empty() {
        return None;
    }
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let stays = items
        .get(place..)
        .unwrap_or_default()
        .iter()
        .any(|(message, _)| is_user(message));
    let last_user = path.iter().rev().find_map(|entry| match &entry.body {
        EntryBody::Message {
            message: Message::User(user),
        } => Some(user.content.joined_text()),
        _ => None,
    });
    let (previous, details) = previous_entry.unzip();
    Some(Cut {
        before,
        turn,
        last_user: last_user.filter(|_| !stays),
        previous,
        previous_files: FileLists::of_details(&details.flatten().unwrap_or(Value::Null)),
        first_kept_entry_id: String::clone(id),
        checkpoint: instructions,
        tokens_before,
    })
}

/// What all system messages say together, as one.
fn checkpoint(messages: &[Message]) -> Message {
    let declarations = Declarations::of(messages);
    let nothing: &[Message] = &[];
    Message::System(
        declarations
            .difference(nothing, now_ms())
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
