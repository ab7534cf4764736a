//! Which session a conversation goes on with.

use std::path::{Path, PathBuf};

use pirn_session::{
    EntryBody, ForkPart, FoundSession, NewSession, Session, SessionPlace, SessionSummary,
    list_sessions, load,
};

use super::PromptArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::sessions::{find, unusable};
use crate::standard;

/// The folder of sessions, in Pirn's own.
pub(crate) const SESSIONS_FOLDER: &str = "sessions";

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
    if arguments.calls.cwd.is_some() || !path.is_file() {
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
        let source = load(&path).map_err(unusable)?.tree;
        let new = place.plan(Some(path), arguments.session_id.clone());
        Session::fork(&source, ForkPart::Whole, new).map_err(unusable)?
    } else if arguments.continue_last {
        if let Some(path) = place.last()? {
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

    /// The session of this folder that was written last.
    fn last(&self) -> Result<Option<PathBuf>, Failure> {
        let Some(sessions) = &self.sessions else {
            return Ok(None);
        };
        let list = list_sessions(sessions).map_err(unusable)?.sessions;
        let here = |session: &SessionSummary| Path::new(&session.cwd) == self.cwd;
        Ok(list.into_iter().find(here).map(|session| session.path))
    }

    /// The file of a session by what the user calls it.
    fn find(&self, called: &str, reach: Reach) -> Result<PathBuf, Failure> {
        let place = SessionPlace {
            sessions: self.sessions.as_deref(),
            paths_from: self.here,
            cwd: self.cwd,
        };
        match find(place, called)? {
            FoundSession::Kept(session)
                if reach == Reach::Project && Path::new(&session.cwd) != self.cwd =>
            {
                let folder = session.cwd;
                Err(Failure::usage(format!(
                    "session `{called}` belongs to another folder: {folder}"
                ))
                .hint(format!(
                    "--fork {called} takes what was said there into a session of this folder"
                ))
                .hint(format!("--cwd {folder} goes on with it there")))
            }
            found => Ok(found.path().to_owned()),
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
