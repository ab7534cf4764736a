//! Which servers a session has: those of its files, those registered at run time, and their tasks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::actor::{Activity, ActorContext, DesiredState};
use super::handle::{Contact, Handle};
use super::status::Enablement;
use crate::config::{Scope, ServerEntry, ServerOrigin, clash_message, is_server_name, names_clash};
use crate::error::{Error, ErrorKind};

/// The servers of a session.
pub(super) struct ServerSet {
    context: ActorContext,
    logs: Option<PathBuf>,
    configured: BTreeMap<String, Arc<ServerEntry>>,
    registered: BTreeMap<String, Arc<ServerEntry>>,
    running: BTreeMap<String, Handle>,
    /// Tasks of removed servers that may still be closing.
    closing: BTreeMap<String, JoinHandle<()>>,
    activity: Activity,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    Ended,
}

/// A server that was registered at run time by the embedding program.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// The server as it was registered at run time.
    pub entry: ServerEntry,
    /// Where the entry stands that counts instead, where a file has one of the same name.
    pub overridden_by: Option<ServerOrigin>,
}

/// Whether something about the servers changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Changed,
    Unchanged,
}

impl ServerSet {
    pub(super) fn new(context: ActorContext, logs: Option<PathBuf>) -> Self {
        Self {
            context,
            logs,
            configured: BTreeMap::new(),
            registered: BTreeMap::new(),
            running: BTreeMap::new(),
            closing: BTreeMap::new(),
            activity: Activity::OnDemand,
            life: Life::Running,
        }
    }

    /// Replaces the entries of the files.
    pub(super) fn configure(&mut self, entries: Vec<ServerEntry>) -> Outcome {
        let configured: BTreeMap<_, _> = entries
            .into_iter()
            .map(|entry| (entry.name.clone(), Arc::new(entry)))
            .collect();
        if configured == self.configured {
            return Outcome::Unchanged;
        }
        self.configured = configured;
        self.apply();
        Outcome::Changed
    }

    /// Adds a registration. Fails where there is one of the same name already.
    pub(super) fn register(&mut self, entry: ServerEntry) -> Result<(), Error> {
        if self.registered.contains_key(&entry.name) {
            return Err(Error::new(
                ErrorKind::Config,
                &entry.name,
                "is registered already",
            ));
        }
        self.replace(entry)
    }

    /// Adds a registration or replaces the one of the same name.
    pub(super) fn replace(&mut self, mut entry: ServerEntry) -> Result<(), Error> {
        if !is_server_name(&entry.name) {
            return Err(Error::new(
                ErrorKind::Config,
                &entry.name,
                "the name may hold only letters, digits, \"_\" and \"-\"",
            ));
        }
        let clashing = self
            .registered
            .keys()
            .find(|name| **name != entry.name && names_clash(name, &entry.name));
        if let Some(name) = clashing {
            return Err(Error::new(
                ErrorKind::Config,
                &entry.name,
                clash_message(name, &entry.name),
            ));
        }
        entry.origin.scope = Scope::Runtime;
        self.registered.insert(entry.name.clone(), Arc::new(entry));
        self.apply();
        Ok(())
    }

    /// Takes a registration back.
    pub(super) fn unregister(&mut self, name: &str) -> Result<(), Error> {
        if self.registered.remove(name).is_none() {
            return Err(unknown(name, "is not registered"));
        }
        self.apply();
        Ok(())
    }

    pub(super) fn registrations(&self) -> Vec<Registration> {
        self.registered
            .values()
            .map(|entry| Registration {
                entry: ServerEntry::clone(entry),
                overridden_by: self.overriding(&entry.name).map(|over| over.origin.clone()),
            })
            .collect()
    }

    /// Lets eager servers connect by themselves.
    pub(super) fn start(&mut self) {
        self.activity = Activity::Started;
        for handle in self.running.values_mut() {
            handle.change(|desired| desired.activity = Activity::Started);
        }
    }

    pub(super) fn enable(&mut self, name: &str, enablement: Enablement) -> Result<Contact, Error> {
        let handle = self
            .running
            .get_mut(name)
            .ok_or_else(|| unknown(name, "is not configured"))?;
        handle.change(|desired| desired.enablement = enablement);
        Ok(handle.contact.clone())
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = &Handle> {
        self.running.values()
    }

    pub(super) fn contact(&self, name: &str) -> Result<Contact, Error> {
        let handle = self.running.get(name).ok_or_else(|| {
            let mut error = unknown(name, "is not configured");
            let names: Vec<&str> = self.running.keys().map(String::as_str).collect();
            if !names.is_empty() {
                error = error.with_hint(format!("The servers are: {}.", names.join(", ")));
            }
            error
        })?;
        Ok(handle.contact.clone())
    }

    pub(super) fn status(&self, name: &str) -> Option<super::status::ServerStatus> {
        self.running.get(name).map(Handle::status)
    }

    /// Tells every server to close, and gives the tasks to wait for.
    pub(super) fn end(&mut self) -> Vec<JoinHandle<()>> {
        self.life = Life::Ended;
        let mut tasks: Vec<_> = std::mem::take(&mut self.closing).into_values().collect();
        for handle in self.running.values_mut() {
            handle.ending.cancel();
            tasks.extend(handle.task.take());
        }
        tasks
    }

    fn overriding(&self, registered: &str) -> Option<&Arc<ServerEntry>> {
        self.configured
            .values()
            .find(|entry| names_clash(&entry.name, registered))
    }

    /// Makes the running servers those that are wanted: those of files, and the registrations that no file overrides.
    fn apply(&mut self) {
        if self.life == Life::Ended {
            return;
        }
        let mut wanted = self.configured.clone();
        for (name, entry) in &self.registered {
            if self.overriding(name).is_none() {
                wanted.insert(name.clone(), Arc::clone(entry));
            }
        }
        self.closing.retain(|_, task| !task.is_finished());
        let removed: Vec<String> = self
            .running
            .keys()
            .filter(|name| !wanted.contains_key(*name))
            .cloned()
            .collect();
        for name in removed {
            self.retire(&name);
        }
        for (name, entry) in wanted {
            self.put(name, entry);
        }
    }

    fn retire(&mut self, name: &str) {
        if let Some(mut handle) = self.running.remove(name) {
            // In this order: the task publishes nothing any more once its end was announced.
            handle.ending.cancel();
            self.context.publisher.remove(name);
            if let Some(task) = handle.task.take() {
                self.closing.insert(name.to_owned(), task);
            }
        }
    }

    fn put(&mut self, name: String, entry: Arc<ServerEntry>) {
        if let Some(handle) = self.running.get_mut(&name) {
            let previous = handle.entry();
            if previous != entry {
                handle.change(|desired| {
                    if previous.enabled != entry.enabled {
                        desired.enablement = Enablement::of(&entry);
                    }
                    desired.entry = entry;
                });
            }
            return;
        }
        let desired = DesiredState {
            enablement: Enablement::of(&entry),
            activity: self.activity,
            entry,
        };
        let predecessor = self.closing.remove(&name);
        let handle = Handle::spawn(
            self.context.clone(),
            desired,
            self.logs.as_deref(),
            predecessor,
        );
        self.running.insert(name, handle);
    }
}

impl Drop for ServerSet {
    fn drop(&mut self) {
        let running = self
            .running
            .values_mut()
            .filter_map(|handle| handle.task.take());
        for task in running.chain(std::mem::take(&mut self.closing).into_values()) {
            task.abort();
        }
    }
}

fn unknown(name: &str, what: &str) -> Error {
    Error::new(ErrorKind::UnknownServer, name, what)
}
