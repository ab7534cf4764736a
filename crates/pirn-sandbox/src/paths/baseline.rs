//! What writable places were like before commands ran in them, as data: kept where commands cannot write, so that a later process
//! can look at what they made when theirs was killed.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cache::{Look, look_since};
use super::git::GitFolder;
use super::{Paths, Planned};
use crate::os_text;
use crate::policy::{Network, PolicySpec, SandboxPolicy};

/// What writable places were like before commands ran in them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Baseline {
    policy: PolicySpec,
    #[serde(with = "os_text::path")]
    working_folder: PathBuf,
    #[serde(with = "os_text::paths")]
    write_roots: Vec<PathBuf>,
    /// What is guarded or protected, and was there or stood in for something.
    #[serde(with = "os_text::paths")]
    known: Vec<PathBuf>,
    git: Vec<GitFolder>,
    heads: Vec<KnownFile>,
    links: Vec<KnownLink>,
}

/// A file and what it held.
#[derive(Debug, Serialize, Deserialize)]
struct KnownFile {
    #[serde(with = "os_text::path")]
    path: PathBuf,
    content: Vec<u8>,
}

/// A link and where it led.
#[derive(Debug, Serialize, Deserialize)]
struct KnownLink {
    #[serde(with = "os_text::path")]
    path: PathBuf,
    #[serde(with = "os_text::path")]
    target: PathBuf,
}

impl Baseline {
    /// What was found for a policy.
    pub(crate) fn of(policy: &SandboxPolicy, planned: &Planned) -> Self {
        let Planned {
            paths,
            git,
            heads,
            links,
            guarded,
        } = planned;
        let placeholders = paths
            .placeholders
            .iter()
            .map(|placeholder| &placeholder.path);
        let mut known: Vec<PathBuf> = guarded
            .iter()
            .chain(&paths.protected)
            .chain(placeholders)
            .cloned()
            .collect();
        known.sort();
        known.dedup();
        let heads = heads.iter().cloned();
        let links = links.iter().cloned();
        Self {
            policy: PolicySpec::of_files(policy),
            working_folder: paths.working_folder.clone(),
            write_roots: paths.write_roots.clone(),
            known,
            git: git.clone(),
            heads: heads
                .map(|(path, content)| KnownFile { path, content })
                .collect(),
            links: links
                .map(|(path, target)| KnownLink { path, target })
                .collect(),
        }
    }

    /// Whether commands of a policy may run where commands of this one ran.
    pub(crate) fn concerns(&self, policy: &SandboxPolicy) -> bool {
        let ours = policy
            .write_roots
            .iter()
            .map(|root| policy.working_folder.join(root))
            .chain([policy.working_folder.clone()]);
        let mut ours = ours.map(|root| root.canonicalize().unwrap_or(root));
        ours.any(|own| {
            self.write_roots
                .iter()
                .any(|root| own.starts_with(root) || root.starts_with(&own))
        })
    }

    /// Sets aside what would run something and was not there before. Says what, one sentence each.
    pub(crate) fn look(self) -> io::Result<Look> {
        let before = Planned {
            paths: Paths {
                working_folder: self.working_folder,
                write_roots: self.write_roots,
                protected: self.known,
                ..Paths::default()
            },
            git: self.git,
            heads: self
                .heads
                .into_iter()
                .map(|head| (head.path, head.content))
                .collect(),
            links: self
                .links
                .into_iter()
                .map(|link| (link.path, link.target))
                .collect(),
            ..Planned::default()
        };
        look_since(&self.policy.with_network(Network::Off), &before)
    }
}
