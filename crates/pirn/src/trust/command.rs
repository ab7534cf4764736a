//! `pirn trust`: shows and changes what was decided about a folder.

use std::path::Path;

use serde_json::json;

use super::question::{Offer, ask, current, owner, real_path, row, unusable};
use crate::arguments::TrustArguments;
use crate::consent::Asking;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::{
    DefaultTrust, ProjectFile, ProjectFileKind, Reason, StoreError, Trust, TrustAnswer, TrustCase,
    TrustStore, Verdict, resolve,
};
use pirn_terminal::on_one_line;

/// Runs the command.
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
    let gated = ProjectFile::find(&folder, &ProjectFileKind::ALL, &owner(invocation));
    let store = TrustStore::new(invocation.host.pirn_home.as_deref());
    let case = TrustCase {
        folder: &folder,
        gated: &gated,
        flag: None,
        default_trust: DefaultTrust::Ask,
        store: &store,
    };
    if arguments.show {
        let verdict = resolve(&case, || None).map_err(unusable)?;
        let text = if arguments.json {
            as_json(&case, &verdict)
        } else {
            as_text(&case, &verdict)
        };
        standard::write_out(&text)?;
        return Ok(Exit::Success);
    }
    let answer = match (arguments.yes, arguments.no, arguments.parent) {
        (true, _, _) => TrustAnswer::Trust,
        (_, true, _) => TrustAnswer::Deny,
        (_, _, true) => TrustAnswer::TrustParent,
        (false, false, false) => asked(&case, invocation)?,
    };
    answer.save(&folder, &store).map_err(unusable)?;
    say(answer, &case);
    Ok(Exit::Success)
}

fn asked(case: &TrustCase<'_>, invocation: &Invocation) -> Result<TrustAnswer, Failure> {
    // A file that cannot be changed is better known before the question than after.
    case.store.nearest(case.folder).map_err(unusable)?;
    let answer = match invocation.asking() {
        Asking::Possible => ask(case.folder, case.gated, Offer::Kept),
        Asking::Impossible => None,
    };
    answer.ok_or_else(|| {
        Failure::usage("there is no terminal to ask on")
            .hint("give the answer with --yes, --no or --parent; --show tells what was decided")
    })
}

fn say(answer: TrustAnswer, case: &TrustCase<'_>) {
    let folder = on_one_line(&case.folder.to_string_lossy());
    let done = match (answer, case.folder.parent()) {
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

fn as_text(case: &TrustCase<'_>, verdict: &Verdict) -> String {
    let folder = on_one_line(&case.folder.to_string_lossy());
    let mut text = format!("{folder}: {}\n", in_words(verdict, case.folder));
    text.extend(case.gated.iter().map(|file| row(file, case.folder)));
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
        Reason::Setting => "by the setting".to_owned(),
        Reason::Undecided => "nobody decided yet".to_owned(),
        Reason::Flag | Reason::Answer => "for this run".to_owned(),
    };
    format!("{state}, {reason}")
}

fn as_json(case: &TrustCase<'_>, verdict: &Verdict) -> String {
    let gated: Vec<String> = case
        .gated
        .iter()
        .map(|gated| gated.path.to_string_lossy().into_owned())
        .collect();
    let mut value = json!({
        "path": case.folder.to_string_lossy(),
        "trusted": verdict.trust == Trust::Trusted,
        "reason": verdict.reason.word(),
        "gated": gated,
    });
    if let Reason::Saved(at) = &verdict.reason {
        value["decidedFor"] = json!(at.to_string_lossy());
    }
    format!("{value:#}\n")
}
