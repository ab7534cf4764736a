//! What `write` and `edit` would do with a path, for policies that decide before they do it.

use std::path::PathBuf;

use pirn_sandbox::FileRefusal;

use crate::options::ToolsOptions;
use crate::paths;

/// What would become of writing to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteJudgement {
    /// It goes into the private temporary folder of commands.
    Private,
    /// The confinement lets it be written: the real file.
    Open(PathBuf),
    /// It is outside the writable folders, which a person's word opens.
    Outside {
        /// The file that the path leads to, links followed.
        target: PathBuf,
        /// Why it is refused without that word, as a sentence.
        why: String,
    },
    /// It starts programs later, which a person's word opens.
    Protected {
        /// The file that the path leads to, links followed.
        target: PathBuf,
        /// Why it is refused without that word, as a sentence.
        why: String,
    },
    /// Nobody's word opens it; says why.
    Closed(String),
    /// The path leads nowhere, which the tool will say.
    Nowhere,
}

/// What would become of writing to a path as an argument gives it.
pub fn judge_write(path: &str, options: &ToolsOptions) -> WriteJudgement {
    let Ok(place) = paths::resolve(path, options) else {
        return WriteJudgement::Nowhere;
    };
    let Ok(target) = pirn_file::real_target(&place.path) else {
        return WriteJudgement::Nowhere;
    };
    if let Some(root) = &place.private_root {
        return if paths::stays_below(&target, root) {
            WriteJudgement::Private
        } else {
            WriteJudgement::Nowhere
        };
    }
    let Some(sandbox) = &options.sandbox else {
        return WriteJudgement::Open(target);
    };
    let rules = sandbox.file_rules();
    if let Err(refusal) = rules.check_write_allowed(&target) {
        return WriteJudgement::Closed(refusal.to_string());
    }
    match rules.check_write(&target) {
        Ok(()) => WriteJudgement::Open(target),
        Err(refusal @ FileRefusal::OutsideWriteRoots(_)) => WriteJudgement::Outside {
            target,
            why: refusal.to_string(),
        },
        Err(refusal @ FileRefusal::Protected(_)) => WriteJudgement::Protected {
            target,
            why: refusal.to_string(),
        },
        Err(
            refusal @ (FileRefusal::Unreadable(_)
            | FileRefusal::HomeFile(_)
            | FileRefusal::PirnHome(_)
            | FileRefusal::Unknown(..)
            | FileRefusal::NotListed(_)
            | FileRefusal::ReadOnly(_)),
        ) => WriteJudgement::Closed(refusal.to_string()),
    }
}
