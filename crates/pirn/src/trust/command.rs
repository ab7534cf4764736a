//! `pirn trust`: shows and changes what was decided about a folder.

use std::path::Path;

use serde_json::json;

use super::question::{ask, current, real_path, row, unusable};
use crate::arguments::TrustArguments;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::{
    ProjectFileKind, ProjectTrust, Reason, StoreError, Trust, TrustAnswer, TrustOffer, Verdict,
};
use pirn_terminal::on_one_line;

pub(crate) fn run(arguments: &TrustArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let folder = match &arguments.path {
        Some(path) => invocation.host.cwd.join(path),
        None => invocation.host.cwd.clone(),
    };
    let folder = real_path(&folder)?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "{} is not a folder",
            folder.display()
        )));
    }
    let project = ProjectTrust::find(folder, &ProjectFileKind::ALL, &invocation.host);
    if arguments.show {
        let verdict = project.known().map_err(unusable)?;
        let text = if arguments.json {
            as_json(&project, &verdict)
        } else {
            as_text(&project, &verdict)
        };
        standard::write_out(&text)?;
        return Ok(Exit::Success);
    }
    let answer = match (arguments.yes, arguments.no, arguments.parent) {
        (true, _, _) => TrustAnswer::Trust,
        (_, true, _) => TrustAnswer::Deny,
        (_, _, true) => TrustAnswer::TrustParent,
        (false, false, false) => asked(&project, invocation)?,
    };
    project.answered(answer).map_err(unusable)?;
    say(answer, &project);
    Ok(Exit::Success)
}

fn asked(project: &ProjectTrust, invocation: &Invocation) -> Result<TrustAnswer, Failure> {
    // A file that cannot be changed is better known before the question than after.
    project.store.nearest(&project.folder).map_err(unusable)?;
    ask(project, TrustOffer::Kept, invocation).ok_or_else(|| {
        Failure::usage("there is no terminal to ask on")
            .hint("give the answer with --yes, --no or --parent; --show tells what was decided")
    })
}

fn say(answer: TrustAnswer, project: &ProjectTrust) {
    let folder = on_one_line(&project.folder.to_string_lossy());
    let done = match (answer, project.folder.parent()) {
        (TrustAnswer::TrustParent, Some(parent)) => {
            let parent = on_one_line(&parent.to_string_lossy());
            format!("{parent} is trusted from now on, with all that is in it")
        }
        (TrustAnswer::Trust | TrustAnswer::TrustParent | TrustAnswer::TrustOnce, _) => {
            format!("{folder} is trusted from now on, with all that is in it")
        }
        (TrustAnswer::Deny, _) => format!("{folder} is not trusted from now on"),
        (TrustAnswer::DenyOnce, _) => "nothing was changed".to_owned(),
    };
    standard::note(&done);
}

fn as_text(project: &ProjectTrust, verdict: &Verdict) -> String {
    let folder = on_one_line(&project.folder.to_string_lossy());
    let mut text = format!("{folder}: {}\n", in_words(verdict, &project.folder));
    text.extend(project.files.iter().map(|file| row(file, &project.folder)));
    text
}

/// What counts for the current folder, in a few words.
pub(crate) fn summary(invocation: &Invocation) -> Result<String, StoreError> {
    let folder = &invocation.host.cwd;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let verdict = current(&folder, &ProjectFileKind::ALL, invocation)?;
    Ok(in_words(&verdict, &folder))
}

fn in_words(verdict: &Verdict, folder: &Path) -> String {
    let state = match verdict.trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "not trusted",
    };
    let reason = match &verdict.reason {
        Reason::Saved(at) if at == folder => "as you decided".to_owned(),
        Reason::Saved(at) => format!("as you decided for {}", on_one_line(&at.to_string_lossy())),
        Reason::NothingGated => "it has no files that need trust".to_owned(),
        Reason::Setting => "by the setting defaultProjectTrust".to_owned(),
        Reason::Hook => "by a hook".to_owned(),
        Reason::Undecided => "nobody decided yet".to_owned(),
        Reason::Flag | Reason::Answer => "for this run".to_owned(),
    };
    format!("{state}, {reason}")
}

fn as_json(project: &ProjectTrust, verdict: &Verdict) -> String {
    let gated: Vec<String> = project
        .files
        .iter()
        .map(|gated| gated.path.to_string_lossy().into_owned())
        .collect();
    let mut value = json!({
        "path": project.folder.to_string_lossy(),
        "trusted": verdict.trust == Trust::Trusted,
        "reason": verdict.reason.word(),
        "gated": gated,
    });
    if let Reason::Saved(at) = &verdict.reason {
        value["decidedFor"] = json!(at.to_string_lossy());
    }
    format!("{value:#}\n")
}
