//! What the interface is told, and what it wants done.

use std::sync::Arc;
use std::time::Duration;

use pirn_tool::{Answer, ApprovalRequest};
use serde_json::Value;

/// What a call gave, to the model or to the program that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// All of it as text, or its beginning where it is large.
    pub text: String,
    /// The bytes of all of it.
    pub size_bytes: usize,
    /// Whether the call failed.
    pub is_error: bool,
    /// How long it took.
    pub duration: Duration,
}

/// Something that happened in the conversation.
#[derive(Debug, Clone)]
pub enum UiEvent {
    /// A message of the user's stands in the conversation.
    UserSaid(String),
    /// The model begins an answer.
    ReplyStarted,
    /// A piece of the answer's text.
    ReplyText(String),
    /// A piece of what the model thinks.
    ReplyThinking(String),
    /// The answer is whole, or broke off for this reason.
    ReplyEnded(Option<String>),
    /// A call begins, at whatever depth.
    CallStarted {
        /// Its id, unique in the session.
        id: String,
        /// The call that made it.
        parent: Option<String>,
        /// The name of the tool.
        name: String,
        /// The arguments as given.
        arguments: Value,
    },
    /// What a call has to show so far.
    CallUpdated {
        /// Its id, unique in the session.
        id: String,
        /// Stands in place of what was there before.
        text: String,
    },
    /// A call is over.
    CallEnded {
        /// Its id, unique in the session.
        id: String,
        /// What it gave, and how it went.
        outcome: CallOutcome,
    },
    /// The model works from now on.
    RunStarted,
    /// Nothing more happens by itself.
    RunSettled,
    /// A request failed and is tried again.
    Retry {
        /// Which try comes, and how many there are.
        attempt: (u32, u32),
        /// How long it waits until then.
        delay: Duration,
        /// What failed, as it is told to people.
        error: String,
    },
    /// The conversation is made shorter, or that is over.
    Compacting(Activity),
    /// A remark that is no failure.
    Note(String),
    /// Something went wrong, as the text says.
    Failure(String),
    /// What waits to be said: before the next request, and after the run.
    Queue {
        /// Said before the model is asked again.
        steering: Vec<String>,
        /// Said when the model would stop.
        follow_up: Vec<String>,
    },
    /// Figures of the session.
    Figures(Figures),
    /// The questions that are open now.
    Questions(OpenQuestions),
    /// Output of a command of the user's own.
    CommandOutput(String),
    /// The user's own command is over, with what there is to say of its end.
    CommandEnded(Option<String>),
    /// The files of the project, for completion.
    Files(Vec<String>),
    /// A list to choose from.
    Choose(Choices),
    /// Text that goes into an empty editor, such as a message that is edited.
    Draft(String),
    /// Everything so far belongs to another conversation.
    Cleared,
    /// The process is to end.
    Leave,
}

/// Whether something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It goes on from now on.
    Begins,
    /// It is over now.
    Ends,
}

/// The questions that are open, as of one revision of the queue.
#[derive(Debug, Clone, Default)]
pub struct OpenQuestions {
    /// What an answer has to name.
    pub revision: u64,
    /// The questions, the oldest first.
    pub questions: Vec<Arc<ApprovalRequest>>,
}

/// What is known of the session in figures; what is unknown is shown as unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Name of the model, with its provider.
    pub model: String,
    /// How much it thinks.
    pub thinking: String,
    /// Tokens read, without those from the cache.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// US dollars; `None` where prices are not known.
    pub cost: Option<f64>,
    /// Tokens of the conversation now.
    pub context: Option<u64>,
    /// Tokens that the model takes.
    pub window: Option<u64>,
    /// The name that people gave the session.
    pub name: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct Choices {
    /// What is to be chosen, as a heading.
    pub title: String,
    /// Values with what is shown for them.
    pub items: Vec<(String, String)>,
    /// What the value is for.
    pub purpose: Purpose,
}

/// What a value is for that was chosen from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The command of this name gets it, such as `model`.
    Command(&'static str),
    /// It goes into the editor.
    Draft,
}

/// How the conversation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presentation {
    /// What is finished goes into the terminal's history; below it stands what still changes.
    #[default]
    Inline,
    /// The conversation has the screen for itself and scrolls by its own keys.
    FullScreen,
    /// Lines only, for screen readers, logs, and terminals that cannot move their cursor.
    Plain,
}

impl Presentation {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("inline", Self::Inline),
        ("fullscreen", Self::FullScreen),
        ("plain", Self::Plain),
    ];
}

/// What is written and not sent, and what waits to be said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// What stands in the editor.
    pub text: String,
    /// What waits, in the order in which it would be said.
    pub queue: Vec<String>,
}

/// Something that the interface wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Say this to the model; while it works, before it is asked again.
    Say(String),
    /// Say this when the model would stop.
    FollowUp(String),
    /// Stop what goes on.
    Stop,
    /// Take back what waits to be said: it comes as a draft.
    TakeBackQueue,
    /// Run a command of the user's own.
    RunCommand {
        /// The command line as typed.
        command: String,
        /// Whether the model reads what it prints.
        audience: Audience,
    },
    /// Give an answer to a question.
    Answer {
        /// The revision of the questions that were on the screen.
        revision: u64,
        /// Which question it answers.
        id: String,
        /// What the user says.
        answer: Answer,
    },
    /// Carry out a command of the table, with what stands behind it.
    Command {
        /// The name of the command, with its `/`.
        name: &'static str,
        /// What stands behind it.
        arguments: String,
    },
    /// Tell the files of the project.
    ListFiles,
}

/// Who reads what a command of the user's own prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The model reads it, too.
    Model,
    /// Nobody but the user.
    User,
}
