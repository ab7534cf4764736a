//! Which variables an entry reads: they hold what is meant for its server, and for nobody else.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::environment::is_allowed;
use super::template::{Syntax, fill};
use crate::config::{ServerEntry, TransportEntry};

impl ServerEntry {
    /// The variables that the entry reads by name, but for those that every program gets, such as `HOME`.
    pub fn read_variables(&self) -> BTreeSet<String> {
        let found = RefCell::new(BTreeSet::new());
        let read = |syntax: Syntax, text: &str| {
            fill(text, syntax, |name| {
                found.borrow_mut().insert(name.to_owned());
                None
            });
        };
        match &self.transport {
            TransportEntry::Stdio(entry) => {
                read(Syntax::Braces, &entry.command);
                for text in entry.args.iter().chain(&entry.cwd) {
                    read(Syntax::Braces, text);
                }
                for (_name, value) in &entry.env {
                    read(Syntax::Dollar, value);
                }
            }
            TransportEntry::Http(entry) => {
                read(Syntax::Braces, &entry.url);
                let headers = entry.headers.iter().map(|(_name, value)| value.as_str());
                let secret = entry.oauth.client_secret.as_ref();
                for value in headers.chain(secret.map(crate::secret::Secret::expose)) {
                    read(Syntax::Dollar, value);
                }
            }
        }
        let mut found = found.into_inner();
        found.retain(|name| !is_allowed(name));
        found
    }
}
