//! Opening a page in the user's browser.

use std::ffi::OsString;

use pirn_sandbox::Command;

use crate::invocation::Invocation;

/// What opens a page where nothing else is set.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

#[derive(Debug, Clone)]
pub(crate) struct Browser {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Browser {
    /// The one that is set, or the system's.
    pub(crate) fn new(invocation: &Invocation) -> Self {
        let words: Vec<OsString> = match &invocation.browser {
            None => vec![OPENER.into()],
            // Words without a shell: a name that is not text is a program's.
            Some(command) => match command.to_str() {
                Some(text) => text.split_whitespace().map(OsString::from).collect(),
                None => vec![command.clone()],
            },
        };
        let mut words = words.into_iter();
        Self {
            program: words.next().unwrap_or_else(|| OPENER.into()),
            arguments: words.collect(),
            environment: invocation.host.environment.clone(),
        }
    }

    /// Opens the page. Must be called inside a runtime. The browser is the user's and goes on without Pirn.
    pub(crate) fn open(&self, url: &str) -> Result<(), pirn_sandbox::Error> {
        Command::new(&self.program)
            .args(self.arguments.iter().cloned())
            .arg(url)
            .envs(self.environment.iter().cloned())
            .hand_over()
    }
}
