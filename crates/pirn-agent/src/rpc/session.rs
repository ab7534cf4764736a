//! Commands that go on with another session.

use std::path::{Path, PathBuf};

use pirn_model::Message;
use pirn_session::{EntryBody, ForkPart, NewSession, Session};
use serde_json::{Value, json};

use super::RpcServer;
use super::commands::word;

/// Carries out a command that changes which session goes on; `None` where it is none of these.
pub(super) fn change(
    server: &RpcServer,
    name: &str,
    command: &Value,
) -> Option<Result<Option<Value>, String>> {
    let outcome = match name {
        "new_session" => {
            let parent = command["parentSession"].as_str().map(PathBuf::from);
            Session::create(new(server, parent))
                .map_err(|error| error.to_string())
                .and_then(|session| go_on(server, session, json!({"cancelled": false})))
        }
        "switch_session" => switch(server, command),
        "fork" => fork(server, command),
        "clone" => {
            let copied = server.agent.with_session(|session| {
                let parent = session.path().map(Path::to_owned);
                let part = ForkPart::UpTo(session.tree().leaf());
                Session::fork(session.tree(), part, new(server, parent))
            });
            copied
                .map_err(|error| error.to_string())
                .and_then(|session| go_on(server, session, json!({"cancelled": false})))
        }
        _ => return None,
    };
    Some(outcome)
}

fn new(server: &RpcServer, parent: Option<PathBuf>) -> NewSession {
    NewSession {
        cwd: server.cwd.clone(),
        sessions: server.sessions.clone(),
        parent,
        ..NewSession::default()
    }
}

fn go_on(server: &RpcServer, session: Session, data: Value) -> Result<Option<Value>, String> {
    server
        .agent
        .replace_session(session)
        .map_err(|error| error.to_string())?;
    Ok(Some(data))
}

fn switch(server: &RpcServer, command: &Value) -> Result<Option<Value>, String> {
    let path = server.cwd.join(word(command, "sessionPath")?);
    let session = Session::open(&path).map_err(|error| error.to_string())?;
    if Path::new(&session.header().cwd) != server.cwd {
        return Err(format!(
            "the session works in {}, and this process in {}; start another one there, or fork the session",
            session.header().cwd,
            server.cwd.display()
        ));
    }
    go_on(server, session, json!({"cancelled": false}))
}

/// Goes on from before a message of the user, which is given back to be said otherwise.
fn fork(server: &RpcServer, command: &Value) -> Result<Option<Value>, String> {
    let id = word(command, "entryId")?;
    let (forked, text) = server.agent.with_session(|session| {
        let entry = session
            .tree()
            .get(id)
            .ok_or_else(|| format!("the session has no entry `{id}`"))?;
        let EntryBody::Message {
            message: Message::User(user),
        } = &entry.body
        else {
            return Err(format!("entry `{id}` is no message of the user"));
        };
        let parent = session.path().map(Path::to_owned);
        let part = ForkPart::UpTo(entry.parent_id.as_deref());
        let forked = Session::fork(session.tree(), part, new(server, parent))
            .map_err(|error| error.to_string())?;
        Ok((forked, user.content.joined_text()))
    })?;
    go_on(server, forked, json!({"text": text, "cancelled": false}))
}
