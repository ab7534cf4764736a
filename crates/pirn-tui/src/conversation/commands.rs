//! The commands with a slash that need the conversation.

use std::path::{Path, PathBuf};

use pirn_agent::{ModelChoice, private_words, session_page_path, write_session_page};
use pirn_model::{Message, Model, ThinkingLevel};
use pirn_session::{EntryBody, NewSession, Session, list_sessions};

use super::{Conversation, translate};
use crate::event::{Choices, Purpose, UiEvent};

/// Sessions that are offered at once: the last ones.
const SESSIONS_MAX: usize = 50;
/// Characters of a message in a list.
const LABEL_CHARACTERS: usize = 100;
/// Before a file's name for `/export`: what the page gives away was said.
const SURE: &str = "--yes";

impl Conversation {
    pub(super) async fn command(&self, name: &str, arguments: &str) -> Result<(), String> {
        let given = (!arguments.is_empty()).then(|| arguments.to_owned());
        match name {
            "model" => self.choose_model(arguments).await,
            "thinking" => self.think(arguments),
            "new" => self.begin_session(),
            "resume" => self.resume(arguments).await,
            "export" => self.export(arguments).await,
            "name" => self
                .parts
                .agent
                .set_session_name(given)
                .map_err(|error| error.to_string()),
            "compact" => self
                .parts
                .agent
                .compact(given)
                .await
                .map(drop)
                .map_err(|error| error.to_string()),
            "tree" => self.go_back(arguments),
            "session" => {
                self.note(self.about_session());
                Ok(())
            }
            "mcp" => {
                self.note(self.about_servers());
                Ok(())
            }
            "tools" => {
                let loadout = self.parts.user.registry().loadout();
                let names: Vec<&str> = loadout
                    .declarations
                    .iter()
                    .map(|declaration| declaration.tool.spec().name.as_str())
                    .collect();
                self.note(names.join(", "));
                Ok(())
            }
            other => Err(format!("/{other} is not there yet")),
        }
    }

    fn note(&self, words: String) {
        self.ui.send(UiEvent::Note(words));
    }

    pub(super) fn tell_figures(&self) {
        let figures = translate::figures(&self.parts.agent, &self.parts.cwd);
        self.ui.send(UiEvent::Figures(figures));
    }

    async fn choose_model(&self, name: &str) -> Result<(), String> {
        let models = self.parts.models.available().await;
        let exact = models
            .iter()
            .find(|model| model.full_name() == name || model.id == name);
        if let Some(model) = exact {
            let thinking = self.parts.agent.model().thinking;
            let choice = ModelChoice::new(model.clone(), thinking);
            self.parts
                .agent
                .set_model(choice)
                .map_err(|error| error.to_string())?;
            self.tell_figures();
            self.note(format!("the model is {}", model.full_name()));
            return Ok(());
        }
        let items: Vec<(String, String)> = models
            .iter()
            .map(Model::full_name)
            .filter(|full| full.contains(name))
            .map(|full| (full.clone(), full))
            .collect();
        if items.is_empty() {
            return Err(format!(
                "there is no model `{name}`; `pirn models` lists all"
            ));
        }
        self.ui.send(UiEvent::Choose(Choices {
            title: "Model".to_owned(),
            items,
            purpose: Purpose::Command("model"),
        }));
        Ok(())
    }

    /// Sets the level, or takes the next one.
    fn think(&self, name: &str) -> Result<(), String> {
        let choice = self.parts.agent.model();
        let level = if name.is_empty() {
            let levels: Vec<ThinkingLevel> = ThinkingLevel::ALL
                .into_iter()
                .filter(|level| choice.model.clamp(*level) == *level)
                .collect();
            let at = levels.iter().position(|level| *level == choice.thinking);
            let next = at.map_or(0, |at| (at + 1) % levels.len().max(1));
            levels.get(next).copied().unwrap_or(choice.thinking)
        } else {
            ThinkingLevel::from_name(name).ok_or_else(|| {
                format!("`{name}` is none of off, minimal, low, medium, high, xhigh, max")
            })?
        };
        self.parts
            .agent
            .set_thinking_level(level)
            .map_err(|error| error.to_string())?;
        self.tell_figures();
        Ok(())
    }

    fn begin_session(&self) -> Result<(), String> {
        let session = Session::create(NewSession {
            cwd: self.parts.cwd.clone(),
            sessions: self.parts.sessions.clone(),
            ..NewSession::default()
        })
        .map_err(|error| error.to_string())?;
        self.parts
            .agent
            .replace_session(session)
            .map_err(|error| error.to_string())?;
        self.ui.send(UiEvent::Cleared);
        self.note("a new session begins".to_owned());
        self.tell_figures();
        Ok(())
    }

    /// Goes on with the session in this file, or offers those of the folder. Files are read where nobody waits for them.
    async fn resume(&self, file: &str) -> Result<(), String> {
        if file.is_empty() {
            let sessions = self.parts.sessions.clone();
            let cwd = self.parts.cwd.clone();
            let items = apart(move || {
                let sessions = sessions?;
                Some(earlier_sessions(&sessions, &cwd))
            });
            self.ui.send(UiEvent::Choose(Choices {
                title: "Session".to_owned(),
                items: items.await?.unwrap_or_default(),
                purpose: Purpose::Command("resume"),
            }));
            return Ok(());
        }
        let file = PathBuf::from(file);
        let opened = apart(move || Session::open(&file).map_err(|error| error.to_string()));
        let session = opened.await??;
        let problems = session.problems().to_vec();
        let messages = session.tree().context().messages;
        self.parts
            .agent
            .replace_session(session)
            .map_err(|error| error.to_string())?;
        self.ui.send(UiEvent::Cleared);
        for item in translate::replay(&messages) {
            self.ui.send(item);
        }
        for problem in problems {
            self.note(problem);
        }
        self.tell_figures();
        Ok(())
    }

    /// Writes the conversation to a page. What it would give away is said first, unless it was said already.
    async fn export(&self, arguments: &str) -> Result<(), String> {
        let (is_sure, name) = match arguments.strip_prefix(SURE) {
            Some(name) => (true, name.trim()),
            None => (false, arguments),
        };
        let name = (!name.is_empty()).then(|| name.to_owned());
        if !is_sure && let Some(warning) = private_words(&self.parts.agent) {
            let id = self.parts.agent.state().session_id;
            let path = session_page_path(&self.parts.cwd, name.as_deref(), &id);
            self.note(format!("the page would show {warning}"));
            self.ui.send(UiEvent::Choose(Choices {
                title: "Export".to_owned(),
                items: vec![(
                    format!("{SURE} {}", name.unwrap_or_default()),
                    format!("write {} with all of that", path.display()),
                )],
                purpose: Purpose::Command("export"),
            }));
            return Ok(());
        }
        let (agent, cwd) = (self.parts.agent.clone(), self.parts.cwd.clone());
        let path = apart(move || write_session_page(&agent, &cwd, name.as_deref())).await??;
        self.note(format!("the conversation is in {}", path.display()));
        Ok(())
    }

    /// Goes back to before a message of the user's, or offers those there are.
    fn go_back(&self, id: &str) -> Result<(), String> {
        let said = self.parts.agent.with_session(user_messages);
        if id.is_empty() {
            let newest_first = said.into_iter().rev();
            self.ui.send(UiEvent::Choose(Choices {
                title: "Go back to before".to_owned(),
                items: newest_first
                    .map(|said| (said.id, shortened(&said.text)))
                    .collect(),
                purpose: Purpose::Command("tree"),
            }));
            return Ok(());
        }
        let Some(said) = said.into_iter().find(|said| said.id == id) else {
            return Err(format!("there is no message `{id}`"));
        };
        self.parts
            .agent
            .navigate(said.parent.as_deref())
            .map_err(|error| error.to_string())?;
        self.ui.send(UiEvent::Cleared);
        self.note(
            "the conversation goes on from here; what came after stays on a branch".to_owned(),
        );
        self.ui.send(UiEvent::Draft(said.text));
        Ok(())
    }

    fn about_session(&self) -> String {
        let state = self.parts.agent.state();
        let file = match &state.session_file {
            Some(path) => path.display().to_string(),
            None => "not on disk yet".to_owned(),
        };
        format!(
            "session {}\nfile {file}\n{} messages, {} tokens read, {} from the cache, {} written, {:.4} USD",
            state.session_id,
            state.messages.len(),
            state.usage.input + state.usage.cache_write,
            state.usage.cache_read,
            state.usage.output,
            state.usage.cost,
        )
    }

    fn about_servers(&self) -> String {
        let servers = self
            .parts
            .runtime
            .servers()
            .map(|servers| servers.manager().servers());
        let lines: Vec<String> = servers
            .unwrap_or_default()
            .iter()
            .map(|server| format!("{}: {:?}", server.name, server.state))
            .collect();
        if lines.is_empty() {
            return "there are no servers; `pirn mcp add` adds one".to_owned();
        }
        lines.join("\n")
    }
}

/// A message of the user's on the way to where the conversation is.
struct Said {
    id: String,
    parent: Option<String>,
    text: String,
}

fn user_messages(session: &Session) -> Vec<Said> {
    let path = session.tree().path();
    let said = path.into_iter().filter_map(|entry| match &entry.body {
        EntryBody::Message {
            message: Message::User(user),
        } => Some(Said {
            id: entry.id.clone(),
            parent: entry.parent_id.clone(),
            text: user.content.joined_text(),
        }),
        _ => None,
    });
    said.collect()
}

/// Does what waits for the disk apart from the event loop.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| error.to_string())
}

/// The last sessions of a folder, the newest first, each with what it is about.
fn earlier_sessions(sessions: &Path, cwd: &Path) -> Vec<(String, String)> {
    // A folder that cannot be listed has nothing to offer.
    let list = list_sessions(sessions).unwrap_or_default().sessions;
    let here = list
        .into_iter()
        .filter(|session| Path::new(&session.cwd) == cwd);
    here.take(SESSIONS_MAX)
        .filter_map(|session| {
            let path = session.path.to_str()?.to_owned();
            let label = session.name.unwrap_or(session.title);
            Some((path, shortened(&label)))
        })
        .collect()
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(LABEL_CHARACTERS).collect()
}
