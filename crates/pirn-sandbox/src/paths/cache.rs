//! The paths of one policy, kept beside the children that need them, and the look at what those have made.
//!
//! Writable folders are looked through before each child. What lies elsewhere, and what takes more than names, is looked at again
//! where something has appeared or gone, or after some seconds. When a child has ended, they are looked through before anybody is told: a
//! repository, or a file by which another program starts something, that was not there before is taken for made by the child,
//! and what would run something in it is set aside. What appears while no child lives is the user's, and is protected.

mod known;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::aside::{self, Content};
use super::git::{self, GitFolder};
use super::plan::{self, HardLinks, Planned};
use super::regular::unless_absent;
use super::{EntriesMax, Found, HeldRoots, KEPT_FOR, Paths, Scan, can_write};
use crate::policy::SandboxPolicy;
use known::Known;

/// Notes that nobody has fetched; more would bury everything else.
const NOTES_MAX: usize = 50;

/// How often it is looked again when something was set aside: a child that lives can make more of it meanwhile.
const LOOK_ROUNDS_MAX: u32 = 16;

/// Keeps the paths of one policy.
#[derive(Debug, Default)]
pub(crate) struct PathCache {
    state: Mutex<State>,
}

impl PathCache {
    /// For places that are resolved already.
    pub(crate) fn new(roots: Arc<HeldRoots>) -> Self {
        Self {
            state: Mutex::new(State {
                roots,
                ..State::default()
            }),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    roots: Arc<HeldRoots>,
    scan: Scan,
    hard_links: HardLinks,
    last: Option<CachedPaths>,
    /// Git folders that confined programs have made, and may use.
    made: BTreeSet<PathBuf>,
    /// Children that have not ended.
    living: usize,
    /// Whether a child has ended that nobody could look after.
    is_unseen: bool,
    /// Whether a child has been started since the last look.
    is_unlooked: bool,
    notes: Vec<String>,
}

#[derive(Debug)]
struct CachedPaths {
    /// When its walk began.
    at: Instant,
    /// When everything else was looked at, too.
    planned_at: Instant,
    found: Found,
    /// How many of the git folders that confined programs have made were known.
    made: usize,
    planned: Arc<Planned>,
    paths: Arc<Paths>,
}

/// Whose what is new is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newcomers {
    OfUser,
    OfChildren,
}

/// What a look has come to, as sentences for whoever reads the output of the child.
pub(crate) type Look = Vec<String>;

impl PathCache {
    /// The paths of `policy` as they were when it was asked or later: what was there by then is among them.
    pub(crate) fn get(&self, policy: &SandboxPolicy, asked: Instant) -> io::Result<Arc<Paths>> {
        let mut state = self.state();
        if let Some(last) = &state.last
            && !state.is_unseen
            && last.at >= asked
        {
            return Ok(Arc::clone(&last.paths));
        }
        // Whoever waited meanwhile asked before this walk begins.
        let now = asked.max(Instant::now());
        state.renew(policy, now, KEPT_FOR)
    }

    /// The same, also of what lies elsewhere.
    pub(crate) fn renew(&self, policy: &SandboxPolicy, now: Instant) -> io::Result<Arc<Paths>> {
        self.state().renew(policy, now, Duration::ZERO)
    }

    /// The paths as they were found last.
    pub(crate) fn last(&self) -> Option<Arc<Paths>> {
        Some(Arc::clone(&self.state().last.as_ref()?.paths))
    }

    /// What was found last, as it was before the children that are started now.
    pub(crate) fn planned(&self) -> Option<Arc<Planned>> {
        Some(Arc::clone(&self.state().last.as_ref()?.planned))
    }

    /// Notes that a child starts, which may change what was read.
    pub(crate) fn child_starts(&self) {
        let mut state = self.state();
        state.living += 1;
        state.is_unlooked = true;
    }

    /// A child has ended with everything that it started, or was never started.
    pub(crate) fn child_is_gone(&self) {
        let mut state = self.state();
        state.living = state.living.saturating_sub(1);
    }

    /// Looks once more where a child has ended since the last look. Says whether everything has been looked at.
    pub(crate) fn look_at_last(&self, policy: &SandboxPolicy) -> bool {
        let is_needed = {
            let state = self.state();
            state.is_unseen || state.is_unlooked
        };
        if is_needed {
            self.look(policy, Instant::now());
        }
        !self.state().is_unseen
    }

    /// Looks at what children have made until `ended`, when one of them has ended, and sets aside what would run something. Where
    /// that fails, no child starts until it works.
    pub(crate) fn look(&self, policy: &SandboxPolicy, ended: Instant) -> Look {
        let (look, mut state) = self.look_until(policy, ended);
        state.is_unlooked = state.living > 1;
        look
    }

    /// Looks at what children have made until now, and go on to make.
    pub(crate) fn look_meanwhile(&self, policy: &SandboxPolicy) -> Look {
        self.look_until(policy, Instant::now()).0
    }

    fn look_until(&self, policy: &SandboxPolicy, ended: Instant) -> (Look, MutexGuard<'_, State>) {
        let mut state = self.state();
        if !can_write(policy.profile) {
            return (std::mem::take(&mut state.notes), state);
        }
        let is_seen = state.last.as_ref().is_some_and(|last| last.at > ended);
        if (!is_seen || state.is_unseen)
            && let Err(error) =
                state.refresh(policy, Instant::now(), KEPT_FOR, Newcomers::OfChildren)
        {
            state.note(format!(
                "Sandbox: what the command has made could not be looked at, and nothing more is run until it can: {error}"
            ));
        }
        (std::mem::take(&mut state.notes), state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at what the children of another process have made since these places were as `before`, and sets aside what would run
/// something.
pub(super) fn look_since(policy: &SandboxPolicy, before: &Planned) -> io::Result<Look> {
    let mut state = State::default();
    let mut roots = before.paths.write_roots.clone();
    roots.push(before.paths.working_folder.clone());
    let found = state.scan.walk(
        &super::without_nested(roots),
        &plan::names_of_interest(policy),
        EntriesMax(policy.protection.files_max),
    )?;
    state.set_aside_new(policy, before, &Known::of(before), &found)?;
    Ok(state.notes)
}

impl State {
    fn renew(
        &mut self,
        policy: &SandboxPolicy,
        now: Instant,
        kept_for: Duration,
    ) -> io::Result<Arc<Paths>> {
        let newcomers = if self.living > 0 || self.is_unseen {
            Newcomers::OfChildren
        } else {
            Newcomers::OfUser
        };
        self.refresh(policy, now, kept_for, newcomers)
    }

    fn refresh(
        &mut self,
        policy: &SandboxPolicy,
        now: Instant,
        kept_for: Duration,
        newcomers: Newcomers,
    ) -> io::Result<Arc<Paths>> {
        let roots = match &self.last {
            // Git folders outside, which commits need, are among them.
            Some(last) => {
                let mut roots = last.paths.write_roots.clone();
                roots.push(last.paths.working_folder.clone());
                super::without_nested(roots)
            }
            None => plan::searched_roots(policy, &self.roots)?,
        };
        // Until all of it has worked.
        self.is_unseen |= newcomers == Newcomers::OfChildren;
        let names = plan::names_of_interest(policy);
        let bound = EntriesMax(policy.protection.files_max);
        let mut rounds = 0;
        let (planned, found) = loop {
            let found = self.scan.walk(&roots, &names, bound)?;
            if newcomers == Newcomers::OfUser {
                if let Some(paths) = self.unchanged(&found, now, kept_for)? {
                    return Ok(paths);
                }
                break (self.plan(policy, &found)?, found);
            }
            let before = self.last.as_ref().map(|last| Arc::clone(&last.planned));
            let Some(before) = before else {
                break (self.plan(policy, &found)?, found);
            };
            let known = Known::of(&before);
            if self.set_aside_new(policy, &before, &known, &found)? == 0 {
                if let Some(paths) = self.unchanged(&found, now, kept_for)? {
                    return Ok(paths);
                }
                let planned = self.plan(policy, &found)?;
                // A repository that appeared meanwhile is the child's, too.
                if planned.git.iter().all(|folder| known.has_git(folder)) {
                    break (planned, found);
                }
            }
            rounds += 1;
            if rounds >= LOOK_ROUNDS_MAX {
                return Err(io::Error::other(format!(
                    "a command made new files that start programs while it was looked at what it had made, {LOOK_ROUNDS_MAX} times \
                     in a row"
                )));
            }
        };
        let paths = match &self.last {
            Some(last) if *last.paths == planned.paths => Arc::clone(&last.paths),
            Some(_) | None => Arc::new(planned.paths.clone()),
        };
        let planned = match &self.last {
            Some(last) if *last.planned == planned => Arc::clone(&last.planned),
            Some(_) | None => Arc::new(planned),
        };
        self.last = Some(CachedPaths {
            at: now,
            planned_at: now,
            made: self.made.len(),
            found,
            planned,
            paths: Arc::clone(&paths),
        });
        self.is_unseen = false;
        Ok(paths)
    }

    /// The paths again, where a walk has found what the last one found: most commands make nothing that matters. What lies
    /// elsewhere, such as the dotfiles of the home folder, is kept for this long.
    fn unchanged(
        &mut self,
        found: &Found,
        now: Instant,
        kept_for: Duration,
    ) -> io::Result<Option<Arc<Paths>>> {
        let made = self.made.len();
        let Some(last) = &mut self.last else {
            return Ok(None);
        };
        if last.found != *found
            || last.made != made
            || now.saturating_duration_since(last.planned_at) >= kept_for
            || !plan::has_same_heads(&last.planned)?
        {
            return Ok(None);
        }
        last.at = now;
        self.is_unseen = false;
        Ok(Some(Arc::clone(&last.paths)))
    }

    fn plan(&mut self, policy: &SandboxPolicy, found: &Found) -> io::Result<Planned> {
        self.hard_links.after_walk(self.scan.listings());
        plan::make(policy, &self.roots, found, &self.made, &mut self.hard_links)
    }

    /// Sets aside what was not there before and would run something. Says how much that was.
    fn set_aside_new(
        &mut self,
        policy: &SandboxPolicy,
        before: &Planned,
        known: &Known<'_>,
        found: &Found,
    ) -> io::Result<usize> {
        let mut moved = self.mend_known(before, known)?;
        let roots = &before.paths.write_roots;
        let is_writable = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        for place in found.git.iter().chain(&found.bare) {
            for folder in git::folders_of(place)? {
                if !is_writable(&folder.path) || known.has_git(&folder) {
                    continue;
                }
                for note in aside::disarm(&folder)? {
                    self.note(note);
                    moved += 1;
                }
                self.made.insert(folder.path);
            }
        }
        let dotted = plan::dotted_in_home(policy, &self.roots, roots)?;
        for place in found.pirn.iter().chain(&found.unwritable).chain(&dotted) {
            if known.has_guarded(place) {
                continue;
            }
            if let Some(to) = aside::set_aside(place)? {
                self.note(aside::sentence("files that a command made", place, &to));
                moved += 1;
            }
        }
        Ok(moved)
    }

    /// What a child cannot have changed but by a way around the covers: a `HEAD` that is gone, links that lead elsewhere, and
    /// files that git begins to read when they are there.
    fn mend_known(&mut self, before: &Planned, known: &Known<'_>) -> io::Result<usize> {
        let mut moved = 0;
        for GitFolder { path, .. } in &before.git {
            for name in ["config.worktree", "commondir"] {
                let file = path.join(name);
                if !known.has_protected(&file)
                    && unless_absent(path, path.symlink_metadata())?.is_some()
                    && let Some(to) = aside::set_aside(&file)?
                {
                    self.note(aside::sentence("settings that a command made", &file, &to));
                    moved += 1;
                }
            }
        }
        for (head, content) in &before.heads {
            let folder = head.parent().unwrap_or(head);
            if unless_absent(head, head.symlink_metadata())?.is_none()
                && unless_absent(folder, folder.symlink_metadata())?.is_some()
            {
                aside::put_back(head, &Content::File(content.clone()))?;
                self.note(format!(
                    "Sandbox: a command removed {}; it was put back, because git would take another folder for the repository",
                    head.display()
                ));
                moved += 1;
            }
        }
        for (link, target) in &before.links {
            let now = unless_absent(link, link.read_link()).ok().flatten();
            let folder = link.parent().unwrap_or(link);
            if now.as_ref() == Some(target)
                || link.file_name().is_some_and(|name| name == "HEAD")
                    && link.symlink_metadata().is_ok()
                || unless_absent(folder, folder.symlink_metadata())?.is_none()
            {
                continue;
            }
            if let Some(to) = aside::set_aside(link)? {
                self.note(aside::sentence(
                    "files that a command put in the place of a link",
                    link,
                    &to,
                ));
            }
            aside::put_back(link, &Content::Link(target.clone()))?;
            moved += 1;
        }
        Ok(moved)
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests;
