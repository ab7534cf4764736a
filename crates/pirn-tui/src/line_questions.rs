//! Everything that a run asks its user, line by line on the terminal: calls of tools, programs, hosts, and what servers want to
//! know. For commands that show no interface.

mod call;
mod host;
mod program;
mod server;
mod trust;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pirn_terminal::{Hold, ScreenWire, Text, Tty, Typed, on_one_line};
use pirn_tool::{
    Answer, AnswerError, ApprovalQueue, ApprovalRequest, Choice, FrontEnd, OpenQuestions, Scope,
    Subject,
};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::task::JoinHandle;

/// Where a question is announced, so that nothing else is painted while it is open.
#[derive(Debug, Clone)]
pub struct ScreenTurns {
    wire: ScreenWire,
    /// Held by whoever asks.
    turn: Arc<Mutex<()>>,
}

impl ScreenTurns {
    /// Turns on the screen behind this wire, for all that ask through clones of it.
    pub fn new(wire: ScreenWire) -> Self {
        Self {
            wire,
            turn: Arc::default(),
        }
    }

    /// Waits until the terminal is free for a question, also of other questions. It stays so until the returned value is
    /// dropped.
    async fn open(&self) -> OpenQuestion {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (ready, is_ready) = oneshot::channel();
        self.wire.announce_question(move |hold| {
            // Whoever asked may be gone already.
            let _gone = ready.send(hold);
        });
        OpenQuestion {
            // Without the thread nothing is painted anyway.
            _hold: is_ready.await.unwrap_or_default(),
            _turn: turn,
        }
    }
}

/// A question that is being asked.
#[derive(Debug)]
struct OpenQuestion {
    _hold: Hold,
    _turn: OwnedMutexGuard<()>,
}

/// Does something for the user, or says why not.
type Reaction = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// What follows from answers besides the answer.
#[derive(Clone)]
pub struct Reactions {
    /// Opens a page in the browser.
    pub open_page: Reaction,
    /// Allows a host for always, written as in the settings.
    pub allow_host: Reaction,
}

impl fmt::Debug for Reactions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reactions")
    }
}

/// Whose calls are asked about.
#[derive(Debug)]
pub struct Asker {
    /// Who makes the calls, as the start of a sentence.
    pub name: &'static str,
    /// What is painted meanwhile; `None` for commands that paint nothing.
    pub screen: Option<ScreenTurns>,
}

/// Shows the questions of a queue, one after the other, until it is dropped.
#[derive(Debug)]
pub struct LineQuestions {
    task: JoinHandle<()>,
}

impl LineQuestions {
    /// Shows the questions of this queue from now on; nothing else is shown on the screen meanwhile. Must be called inside an
    /// event loop.
    pub fn start(queue: &ApprovalQueue, asker: Asker, reactions: Reactions) -> Self {
        // Added before anything can ask.
        let front_end = queue.front_end();
        Self {
            task: tokio::spawn(serve(front_end, asker, reactions)),
        }
    }
}

impl Drop for LineQuestions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What came of showing a question.
enum Said {
    Answer(Answer),
    /// An answer, and a page to open because of it.
    Visit(Answer, String),
    /// Ctrl-C: whoever watches for it ends what asked.
    Interrupt,
}

async fn serve(mut front_end: FrontEnd, asker: Asker, reactions: Reactions) {
    // A question that is left open is not shown again.
    let mut shown: BTreeSet<String> = BTreeSet::new();
    let mut open = front_end.next().await;
    loop {
        shown.retain(|id| is_open(&open, id));
        let unseen = open
            .questions
            .iter()
            .find(|question| !shown.contains(&question.id));
        let Some(question) = unseen.map(Arc::clone) else {
            open = front_end.next().await;
            continue;
        };
        shown.insert(question.id.clone());
        // Until it is dropped nothing else reaches the terminal.
        let _turn = match &asker.screen {
            Some(screen) => (Some(screen.open().await), None),
            None => (None, Some(Hold::new())),
        };
        // An answer that was given meanwhile may cover it.
        open = front_end.queue().open_questions();
        if !is_open(&open, &question.id) {
            continue;
        }
        let revision = open.revision;
        let (said, latest) = put(&question, asker.name, &mut front_end, open, &reactions).await;
        open = latest;
        match said {
            Some(Said::Answer(answer)) => give(front_end.queue(), revision, &question, answer),
            Some(Said::Visit(answer, page)) => {
                visit(&reactions, &page);
                give(front_end.queue(), revision, &question, answer);
            }
            Some(Said::Interrupt) => {}
            None => {
                let cause = "the terminal cannot be read".to_owned();
                give(
                    front_end.queue(),
                    revision,
                    &question,
                    Answer::Unanswered { cause },
                );
            }
        }
    }
}

fn is_open(open: &OpenQuestions, id: &str) -> bool {
    open.questions.iter().any(|question| question.id == id)
}

/// Shows a question and waits for what is typed, also when the answer is wanted no more: a line that is being read cannot be called
/// back, and must not be taken for the answer to the next question. `None` where the terminal fails.
async fn put(
    question: &Arc<ApprovalRequest>,
    asker: &'static str,
    front_end: &mut FrontEnd,
    mut open: OpenQuestions,
    reactions: &Reactions,
) -> (Option<Said>, OpenQuestions) {
    let (asked, reactions) = (Arc::clone(question), reactions.clone());
    let is_wanted = Arc::new(AtomicBool::new(true));
    let still_wanted = Arc::clone(&is_wanted);
    let mut reading =
        tokio::task::spawn_blocking(move || ask(&asked, asker, &still_wanted, &reactions));
    loop {
        tokio::select! {
            said = &mut reading => {
                let said = said.ok().and_then(Result::ok);
                return (said, open);
            }
            latest = front_end.next() => {
                open = latest;
                if !is_open(&open, &question.id) && is_wanted.swap(false, Ordering::Relaxed) {
                    give_up(question);
                }
            }
        }
    }
}

fn ask(
    question: &ApprovalRequest,
    asker: &str,
    is_wanted: &AtomicBool,
    reactions: &Reactions,
) -> io::Result<Said> {
    let mut tty = Tty::open()?;
    match &question.subject {
        Subject::Tool(tool) => call::ask(&mut tty, asker, tool, question),
        Subject::Host => host::ask(&mut tty, question, reactions),
        Subject::Elicitation {
            server,
            message,
            form,
        } => server::ask(&mut tty, (server, message), form, is_wanted),
        Subject::Program(program) => program::ask(&mut tty, program, question),
        Subject::Trust { folder } => trust::ask(&mut tty, folder, question),
    }
}

/// What came of a question; nobody at the terminal means no.
fn said(typed: Typed<Answer>) -> Said {
    match typed {
        Typed::Answer(answer) => Said::Answer(answer),
        Typed::Nothing => Said::Answer(Answer::deny()),
        Typed::Interrupted => Said::Interrupt,
    }
}

/// The choice of a scope, where it is offered.
fn offered(question: &ApprovalRequest, scope: Scope) -> Option<&Choice> {
    question.choices.iter().find(|choice| choice.scope == scope)
}

/// Answers a question. What was to last and cannot be kept counts for the session.
fn give(queue: &ApprovalQueue, revision: u64, question: &ApprovalRequest, answer: Answer) {
    let given = queue.answer(revision, &question.id, answer);
    match given {
        // What waited for it is gone.
        Ok(()) | Err(AnswerError::NotOpen | AnswerError::Stale | AnswerError::NotOffered) => {}
        Err(AnswerError::NotKept(error)) => {
            tell(&Text::line(format_args!(
                "  It counts for this session only: {error}"
            )));
            let choice = offered(question, Scope::Session).unwrap_or(&Choice::ONCE);
            // There is nothing left to try.
            let _gone = queue.answer(revision, &question.id, Answer::allow(choice.clone()));
        }
    }
}

/// Opens a page; where that fails the user opens it, since its address is on the screen.
fn visit(reactions: &Reactions, url: &str) {
    if let Err(error) = (reactions.open_page)(url) {
        tell(&Text::line(format_args!(
            "  The browser did not start ({error}); open the page yourself."
        )));
    }
}

/// Says that nobody waits for the line that is being read.
fn give_up(question: &ApprovalRequest) {
    let who = match &question.subject {
        Subject::Elicitation { server, .. } => on_one_line(server),
        Subject::Tool(_) | Subject::Program(_) | Subject::Host | Subject::Trust { .. } => {
            "whoever asked".to_owned()
        }
    };
    let words = format!("\n  {who} is no longer waiting; press Enter to continue.\n");
    tell(&Text::lines(words));
}

fn tell(text: &Text) {
    let shown = Tty::open().and_then(|mut tty| tty.show(text));
    // Without a terminal there is nobody to be told.
    drop(shown);
}
