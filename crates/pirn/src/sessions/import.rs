//! `pirn sessions import`: conversations of other programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pirn_import::{
    ForeignSession, SessionProgram, convert_session, discover_sessions, session_folder,
};
use pirn_session::{NewSession, Session};
use pirn_terminal::on_one_line;

use super::Folder;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;

/// Takes conversations over, one after the other. What cannot be taken over is told, and the others are.
pub(super) fn run(
    folder: &Folder,
    program: SessionProgram,
    named: &[PathBuf],
    all: bool,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let files = if named.is_empty() {
        found(folder, program, all, invocation)?
    } else {
        named.iter().map(|file| folder.cwd.join(file)).collect()
    };
    if files.is_empty() {
        standard::note(if all {
            "no conversations of that program were found"
        } else {
            "no conversations of that program in this folder were found; --all takes over those of others"
        });
        return Ok(Exit::Success);
    }
    let list = folder.list(None)?;
    let mut known: BTreeSet<String> = list.into_iter().map(|session| session.id).collect();
    let mut exit = Exit::Success;
    for file in files {
        match take_over(folder, program, &file, &mut known) {
            Ok(Some(path)) => standard::write_out(&format!("{}\n", path.display()))?,
            Ok(None) => {}
            Err(error) => {
                exit = Exit::Failed;
                standard::note(&on_one_line(&format!("{error:#}")));
            }
        }
    }
    Ok(exit)
}

fn found(
    folder: &Folder,
    program: SessionProgram,
    all: bool,
    invocation: &Invocation,
) -> Result<Vec<PathBuf>, Failure> {
    let home = invocation.host.home.as_ref().ok_or_else(|| {
        Failure::usage("there is no home folder to look in; set HOME, or name the files")
    })?;
    let mut files = discover_sessions(program, home);
    if !all {
        files.retain(|file| session_folder(file).is_some_and(|cwd| cwd == folder.cwd));
    }
    Ok(files)
}

/// Takes one over, and gives its new file; `None` where there is nothing to take over.
fn take_over(
    folder: &Folder,
    program: SessionProgram,
    file: &Path,
    known: &mut BTreeSet<String>,
) -> anyhow::Result<Option<PathBuf>> {
    let ForeignSession {
        id,
        cwd,
        entries,
        problems,
    } = convert_session(program, file)?;
    for problem in problems {
        standard::note(&on_one_line(&problem));
    }
    // An id becomes a part of a file's name.
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
    let id = Some(id).filter(|id| !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain));
    if let Some(id) = &id
        && !known.insert(id.clone())
    {
        standard::note(&on_one_line(&format!("{id} is here already")));
        return Ok(None);
    }
    let new = NewSession {
        cwd: if cwd.as_os_str().is_empty() {
            folder.cwd.clone()
        } else {
            cwd
        },
        sessions: Some(folder.sessions.clone()),
        id,
        parent: Some(file.to_owned()),
    };
    let session = Session::with_entries(new, entries)?;
    if session.path().is_none() {
        standard::note(&on_one_line(&format!(
            "{}: nothing was said in it",
            file.display()
        )));
    }
    Ok(session.path().map(Path::to_owned))
}
