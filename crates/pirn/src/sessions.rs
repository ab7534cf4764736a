//! `pirn sessions`: the conversations that are kept.

mod import;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use pirn_import::SessionProgram;
use pirn_model::{Block, Message};
use pirn_session::{
    EntryBody, ForkPart, FoundSession, Loaded, NewSession, Session, SessionPlace, SessionSummary,
    delete_session, find_session, iso_time, list_sessions, load,
};
use pirn_terminal::on_one_line;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::prompt::SESSIONS_FOLDER;
use crate::standard;

/// Characters of an id that tell sessions apart: the time in it, and enough chance.
const SHORT_ID_CHARACTERS: usize = 18;

/// The arguments of `pirn sessions`.
#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List the sessions of the current folder, the one written last first
    List {
        /// List those of every folder
        #[arg(long)]
        all: bool,

        /// Print everything about them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show a session: what it is, and what was said on its current branch
    Show {
        #[command(flatten)]
        session: SessionArgument,

        /// Print the facts, branches, labels and sums as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Copy a session, or one branch of it, into a new one, and print the new file
    Fork {
        #[command(flatten)]
        session: SessionArgument,

        /// Take over only the way to this entry; `pirn sessions show --json` names where branches end
        #[arg(long, value_name = "ENTRY")]
        at: Option<String>,

        /// Folder in which the new session works [default: that of the old one]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
    /// Give a session a name
    Rename {
        #[command(flatten)]
        session: SessionArgument,

        /// The name; an empty one takes the name away
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Delete sessions; one that goes on elsewhere is left alone
    Delete {
        /// The sessions, each as its id, the beginning of it, its name, or its file
        #[arg(value_name = "SESSION", required = true)]
        sessions: Vec<String>,
    },
    /// Take over conversations of another program: those of the current folder, unless files are named
    ///
    /// They become sessions of their own, with the same ids; what is here already is left alone. Nothing that belongs to the other
    /// program is changed.
    Import {
        /// The program that kept them
        #[arg(value_name = "PROGRAM")]
        program: Program,

        /// Files of conversations that are meant, wherever they lie
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,

        /// Take over the conversations of every folder
        #[arg(long, conflicts_with = "files")]
        all: bool,
    },
    /// Print a session with all its entries
    Export {
        #[command(flatten)]
        session: SessionArgument,

        /// As one JSON object; there is no other form so far
        #[arg(long, required = true)]
        json: bool,
    },
}

/// A program that keeps conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    Pi,
    Codex,
    ClaudeCode,
}

impl From<Program> for SessionProgram {
    fn from(program: Program) -> Self {
        match program {
            Program::Pi => Self::Pi,
            Program::Codex => Self::Codex,
            Program::ClaudeCode => Self::ClaudeCode,
        }
    }
}

/// A session as it is typed.
#[derive(Debug, Args)]
struct SessionArgument {
    /// The session: its id, the beginning of it, its name, or its file
    #[arg(value_name = "SESSION", id = "session")]
    called: String,
}

pub(crate) fn run(arguments: &SessionsArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let folder = Folder::of(invocation)?;
    match &arguments.command {
        SessionsCommand::List { all, json } => {
            let of = if *all { None } else { Some(&*folder.cwd) };
            let list = folder.list(of)?;
            if *json {
                print_json(&list)?;
            } else if list.is_empty() && !*all {
                standard::note("no sessions of this folder are kept; --all lists those of others");
            } else {
                standard::write_out(&table(&list, invocation))?;
            }
        }
        SessionsCommand::Show { session, json } => {
            let (path, loaded) = folder.load(session)?;
            if *json {
                print_json(&facts(&path, &loaded))?;
            } else {
                standard::write_out(&shown(&path, &loaded))?;
            }
        }
        SessionsCommand::Fork { session, at, cwd } => {
            let path = folder.fork(session, at.as_deref(), cwd.as_deref())?;
            standard::write_out(&format!("{}\n", path.display()))?;
        }
        SessionsCommand::Rename { session, name } => folder.rename(session, name)?,
        SessionsCommand::Delete { sessions } => {
            for called in sessions {
                let path = folder.find(called)?;
                delete_session(&path).map_err(unusable)?;
                standard::note(&on_one_line(&format!("{} was deleted", path.display())));
            }
        }
        SessionsCommand::Import {
            program,
            files,
            all,
        } => return import::run(&folder, (*program).into(), files, *all, invocation),
        SessionsCommand::Export { session, json: _ } => {
            let (_, loaded) = folder.load(session)?;
            standard::note(
                "what follows holds what was said, and with it paths, contents of files and results of commands; read it before it is shared",
            );
            print_json(&json!({
                "header": loaded.header,
                "entries": loaded.tree.entries(),
                "leaf": loaded.tree.leaf(),
                "problems": loaded.problems,
            }))?;
        }
    }
    Ok(Exit::Success)
}

/// Finds a session by what the user calls it; where there is none, the way to see them all is told.
pub(crate) fn find(place: SessionPlace<'_>, called: &str) -> Result<FoundSession, Failure> {
    find_session(place, called).map_err(|error| {
        Failure::usage(on_one_line(&error.to_string()))
            .hint("`pirn sessions list --all` shows them")
    })
}

/// Tells why a session cannot be used.
pub(crate) fn unusable(error: pirn_session::Error) -> Failure {
    Failure::from(anyhow::Error::new(error))
}

/// Where sessions are kept, and where the user stands.
struct Folder {
    sessions: PathBuf,
    cwd: PathBuf,
}

impl Folder {
    fn of(invocation: &Invocation) -> Result<Self, Failure> {
        let Some(home) = &invocation.host.pirn_home else {
            return Err(Failure::usage(
                "there is no home folder, so no sessions are kept; set HOME or PIRN_HOME",
            ));
        };
        Ok(Self {
            sessions: home.join(SESSIONS_FOLDER),
            cwd: invocation.host.cwd.clone(),
        })
    }

    /// The sessions that work in a folder, or all. What cannot be read is told.
    fn list(&self, of: Option<&Path>) -> Result<Vec<SessionSummary>, Failure> {
        let list = list_sessions(&self.sessions).map_err(unusable)?;
        for problem in &list.problems {
            standard::note(&on_one_line(problem));
        }
        let mut sessions = list.sessions;
        sessions.retain(|session| of.is_none_or(|folder| Path::new(&session.cwd) == folder));
        Ok(sessions)
    }

    fn find(&self, called: &str) -> Result<PathBuf, Failure> {
        let place = SessionPlace {
            sessions: Some(&self.sessions),
            paths_from: &self.cwd,
            cwd: &self.cwd,
        };
        Ok(find(place, called)?.path().to_owned())
    }

    /// A session without going on with it. What is wrong with its file is told.
    fn load(&self, session: &SessionArgument) -> Result<(PathBuf, Loaded), Failure> {
        let path = self.find(&session.called)?;
        let loaded = load(&path).map_err(unusable)?;
        for problem in &loaded.problems {
            standard::note(&on_one_line(problem));
        }
        Ok((path, loaded))
    }

    fn fork(
        &self,
        session: &SessionArgument,
        at: Option<&str>,
        cwd: Option<&Path>,
    ) -> Result<PathBuf, Failure> {
        let (path, loaded) = self.load(session)?;
        let part = at.map_or(ForkPart::Whole, |id| ForkPart::UpTo(Some(id)));
        let new = NewSession {
            cwd: cwd.map_or_else(
                || PathBuf::from(&loaded.header.cwd),
                |cwd| self.cwd.join(cwd),
            ),
            sessions: Some(self.sessions.clone()),
            id: None,
            parent: Some(path),
        };
        let fork = Session::fork(&loaded.tree, part, new).map_err(unusable)?;
        match fork.path() {
            Some(path) => Ok(path.to_owned()),
            None => Err(Failure::new(
                Exit::Failed,
                "nothing was said there yet, so there is nothing to copy",
            )),
        }
    }

    fn rename(&self, session: &SessionArgument, name: &str) -> Result<(), Failure> {
        let path = self.find(&session.called)?;
        let name = Some(name.trim())
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        let mut session = Session::open(&path).map_err(unusable)?;
        session
            .append(EntryBody::SessionInfo { name })
            .map_err(unusable)?;
        Ok(())
    }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    standard::write_out(&format!("{text}\n"))
}

fn table(sessions: &[SessionSummary], invocation: &Invocation) -> String {
    let mut table = invocation.table();
    table.row(["SESSION", "WRITTEN", "MESSAGES", "FOLDER", "WHAT"]);
    for session in sessions {
        let id: String = session.id.chars().take(SHORT_ID_CHARACTERS).collect();
        let written = iso_time(session.modified_ms);
        let written: String = written.chars().take("2026-01-31T12:00".len()).collect();
        table.row([
            id.as_str(),
            &written.replace('T', " "),
            &session.message_count.to_string(),
            &session.cwd,
            session.name.as_deref().unwrap_or(&session.title),
        ]);
    }
    table.render()
}

fn facts(path: &Path, loaded: &Loaded) -> Value {
    let (header, tree) = (&loaded.header, &loaded.tree);
    let usage = tree.usage();
    let ends: Vec<&str> = tree.ends().iter().map(|entry| entry.id.as_str()).collect();
    json!({
        "id": header.id,
        "path": path,
        "cwd": header.cwd,
        "created": header.timestamp,
        "parentSession": header.parent_session,
        "name": tree.name(),
        "entries": tree.entries().len(),
        "leaf": tree.leaf(),
        "branchEnds": ends,
        "labels": tree.labels(),
        "usage": {
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "cost": usage.cost,
        },
        "problems": loaded.problems,
    })
}

/// The facts that people want, and the conversation at the end of the file.
fn shown(path: &Path, loaded: &Loaded) -> String {
    let (header, tree) = (&loaded.header, &loaded.tree);
    let mut facts = vec![
        ("id", header.id.clone()),
        ("file", path.display().to_string()),
        ("folder", header.cwd.clone()),
        ("began", header.timestamp.clone()),
        ("branches", tree.ends().len().to_string()),
    ];
    facts.extend(tree.name().map(|name| ("name", name.to_owned())));
    facts.extend(header.parent_session.clone().map(|from| ("fork of", from)));
    let usage = tree.usage();
    if usage.input + usage.output > 0 {
        let used = format!(
            "{} tokens in, {} out, ${:.4}",
            usage.input, usage.output, usage.cost
        );
        facts.push(("used", used));
    }
    let mut text = String::new();
    for (name, value) in facts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:9} {}", on_one_line(&value));
    }
    for message in tree.context().messages {
        if let Some((who, words)) = said(&message) {
            let _ = write!(text, "\n{who}\n{}\n", words.trim_end());
        }
    }
    text
}

/// Who says what in a message; the instructions to the model are left out.
fn said(message: &Message) -> Option<(String, String)> {
    let (who, words) = match message {
        Message::System(_) => return None,
        Message::User(user) => ("user".to_owned(), user.content.joined_text()),
        Message::Assistant(reply) => {
            let words: Vec<String> = reply.content.iter().filter_map(block).collect();
            (reply.model.clone(), words.join("\n"))
        }
        Message::ToolResult(result) => (
            format!("{} gave", result.tool_name),
            pirn_model::joined_text(&result.content),
        ),
        Message::BashExecution(run) => (format!("! {}", run.command), run.output.clone()),
        Message::Custom(custom) => (custom.custom_type.clone(), custom.content.joined_text()),
        Message::BranchSummary(summary) => {
            ("summary of a branch".to_owned(), summary.summary.clone())
        }
        Message::CompactionSummary(summary) => (
            "summary of the beginning".to_owned(),
            summary.summary.clone(),
        ),
    };
    Some((format!("[{}]", on_one_line(&who)), words))
}

fn block(block: &Block) -> Option<String> {
    match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::ToolCall(call) => Some(format!("calls {} {}", call.name, call.arguments)),
        Block::Image { .. } | Block::Thinking { .. } => None,
    }
}
