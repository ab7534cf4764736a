//! Which session a conversation goes on with.

use std::path::{Path, PathBuf};

use pirn_session::{EntryBody, NewSession, Session, load, project_sessions};

use super::PromptArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::standard;

/// The folder of sessions, in Pirn's own.
pub(crate) const SESSIONS_FOLDER: &str = "sessions";
/// How names of sessions end.
const SESSION_ENDING: &str = ".jsonl";

/// The folder of all sessions; `None` where none are kept.
pub(crate) fn folder(arguments: &PromptArguments, invocation: &Invocation) -> Option<PathBuf> {
    if arguments.no_session {
        return None;
    }
    if let Some(folder) = &arguments.session_dir {
        return Some(invocation.host.cwd.join(folder));
    }
    let home = invocation.host.pirn_home.as_ref();
    home.map(|home| home.join(SESSIONS_FOLDER))
}

/// The folder that the session works in which is to go on; `None` where none was named by its file.
pub(crate) fn own_folder(
    arguments: &PromptArguments,
    invocation: &Invocation,
) -> Result<Option<PathBuf>, Failure> {
    let Some(named) = &arguments.session else {
        return Ok(None);
    };
    let path = invocation.host.cwd.join(named);
    if arguments.cwd.is_some() || !path.is_file() {
        return Ok(None);
    }
    let header = load(&path).map_err(unusable)?.header;
    let folder = PathBuf::from(&header.cwd);
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "the session works in {}, which is not there any more",
            folder.display()
        ))
        .hint(format!(
            "--fork {named} takes what was said into a session of the current folder"
        )));
    }
    Ok(Some(folder))
}

fn unusable(error: pirn_session::Error) -> Failure {
    Failure::from(anyhow::Error::new(error))
}

/// Opens, copies or begins the session.
pub(crate) fn open(
    arguments: &PromptArguments,
    invocation: &Invocation,
    cwd: &Path,
) -> Result<Session, Failure> {
    let place = Place {
        sessions: folder(arguments, invocation),
        cwd,
        here: &invocation.host.cwd,
    };
    let mut session = if let Some(named) = &arguments.session {
        go_on(&place.find(named, Reach::Project)?)?
    } else if let Some(named) = &arguments.fork {
        let path = place.find(named, Reach::AllProjects)?;
        let loaded = load(&path).map_err(unusable)?;
        let leaf = loaded.tree.leaf().map(str::to_owned);
        let new = place.plan(Some(path), arguments.session_id.clone());
        Session::fork(&loaded.tree, leaf.as_deref(), new).map_err(unusable)?
    } else if arguments.continue_last {
        if let Some(path) = place.last() {
            go_on(&path)?
        } else {
            standard::note("there is no session of this folder yet, so a new one begins");
            place.begin(arguments)?
        }
    } else {
        place.begin(arguments)?
    };
    if let Some(name) = &arguments.name {
        let name = Some(name.clone());
        session
            .append(EntryBody::SessionInfo { name })
            .map_err(unusable)?;
    }
    Ok(session)
}

/// How far a session is looked for by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Project,
    AllProjects,
}

/// Where sessions are looked for.
struct Place<'a> {
    sessions: Option<PathBuf>,
    /// The folder that is worked in.
    cwd: &'a Path,
    /// Where relative paths begin.
    here: &'a Path,
}

impl Place<'_> {
    fn plan(&self, parent: Option<PathBuf>, id: Option<String>) -> NewSession {
        NewSession {
            cwd: self.cwd.to_owned(),
            sessions: self.sessions.clone(),
            parent,
            id,
        }
    }

    fn begin(&self, arguments: &PromptArguments) -> Result<Session, Failure> {
        let new = self.plan(None, arguments.session_id.clone());
        Session::create(new).map_err(unusable)
    }

    /// The project's own folder of sessions.
    fn project(&self) -> Option<PathBuf> {
        let sessions = self.sessions.as_ref()?;
        Some(project_sessions(sessions, &self.cwd.to_string_lossy()))
    }

    /// The session of this folder that began last.
    fn last(&self) -> Option<PathBuf> {
        // Names begin with the time.
        files(&self.project()?).into_iter().max()
    }

    /// The file of a session that is named by a path or by the start of its id.
    fn find(&self, named: &str, reach: Reach) -> Result<PathBuf, Failure> {
        let path = self.here.join(named);
        if path.is_file() {
            return Ok(path);
        }
        let fits = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            let id = name
                .and_then(|name| name.rsplit_once('_'))
                .map(|(_, id)| id);
            id.is_some_and(|id| !named.is_empty() && id.starts_with(named))
        };
        let own = self.project().map(|folder| files(&folder));
        let found: Vec<PathBuf> = own.into_iter().flatten().filter(fits).collect();
        match &found[..] {
            [only] => return Ok(only.clone()),
            [] => {}
            several => {
                return Err(Failure::usage(format!(
                    "{} sessions have an id that begins with `{named}`",
                    several.len()
                )));
            }
        }
        let elsewhere = self.sessions.as_ref().map(|sessions| folders(sessions));
        let other = elsewhere
            .into_iter()
            .flatten()
            .flat_map(|folder| files(&folder))
            .find(fits);
        match (other, reach) {
            (Some(path), Reach::AllProjects) => Ok(path),
            (Some(path), Reach::Project) => {
                let folder = load(&path).map_err(unusable)?.header.cwd;
                Err(Failure::usage(format!(
                    "session `{named}` belongs to another folder: {folder}"
                ))
                .hint(format!(
                    "--fork {named} takes what was said there into a session of this folder"
                ))
                .hint(format!("--cwd {folder} goes on with it there")))
            }
            (None, _) => Err(Failure::usage(format!("there is no session `{named}`"))
                .hint("it is a file, or the start of a session's id")),
        }
    }
}

fn go_on(path: &Path) -> Result<Session, Failure> {
    let session = Session::open(path).map_err(unusable)?;
    for problem in session.problems() {
        standard::note(problem);
    }
    Ok(session)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|path| path.to_string_lossy().ends_with(SESSION_ENDING) && path.is_file());
    files
}

fn folders(sessions: &Path) -> Vec<PathBuf> {
    let mut folders = entries(sessions);
    folders.retain(|path| path.is_dir());
    folders
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten();
    listed.flatten().map(|entry| entry.path()).collect()
}
