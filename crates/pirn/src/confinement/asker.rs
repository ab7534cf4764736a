//! The question about a host, on the terminal.

use std::collections::BTreeSet;
use std::io;

use pirn_sandbox::{NetworkAnswer, NetworkAsker, NetworkFuture};
use tokio::sync::Mutex;

use crate::exec::Questions;
use crate::invocation::Invocation;
use pirn_terminal::Tty;
use pirn_terminal::on_one_line;

/// The list that an answer is added to that counts for always.
const ALLOWED_HOSTS: &str = "sandbox.allowedHosts";

/// Asks on the user's terminal, one question after the other.
#[derive(Debug)]
pub(crate) struct HostAsker {
    invocation: Invocation,
    /// Where questions are announced, so that nothing else is shown meanwhile.
    questions: Questions,
    /// Who wants to reach hosts, as the start of a sentence.
    who: &'static str,
    /// Hosts that were denied: whoever tries again is not worth another question. Held while a question is open.
    denied: Mutex<BTreeSet<(String, u16)>>,
}

impl HostAsker {
    /// An asker that keeps answers in the settings of this user.
    pub(crate) fn new(invocation: Invocation, questions: Questions, who: &'static str) -> Self {
        Self {
            invocation,
            questions,
            who,
            denied: Mutex::default(),
        }
    }

    async fn asked(&self, host: &str, port: u16) -> NetworkAnswer {
        let mut denied = self.denied.lock().await;
        let key = (host.to_owned(), port);
        if denied.contains(&key) {
            return NetworkAnswer::Deny;
        }
        let open = self.questions.open().await;
        let (who, host, invocation) = (self.who, host.to_owned(), self.invocation.clone());
        let answer = tokio::task::spawn_blocking(move || {
            let _open = open;
            ask(who, &host, port, &invocation)
        })
        .await;
        match answer {
            Ok(Ok(NetworkAnswer::Deny)) => {
                denied.insert(key);
                NetworkAnswer::Deny
            }
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => NetworkAnswer::Unanswered,
        }
    }
}

impl NetworkAsker for HostAsker {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        Box::pin(self.asked(host, port))
    }
}

fn ask(who: &str, host: &str, port: u16, invocation: &Invocation) -> io::Result<NetworkAnswer> {
    let mut tty = Tty::open()?;
    // The reset undoes whatever was shown before.
    let prompt = format!(
        "\u{1b}[0m{who} wants to reach {}:{port}. Allow? [o]nce, [s]ession, [a]lways, [n]o: ",
        on_one_line(host)
    );
    let answer = tty.choose(&prompt, |word| match word.to_ascii_lowercase().as_str() {
        "o" | "once" => Ok(NetworkAnswer::Once),
        "s" | "session" => Ok(NetworkAnswer::Session),
        "a" | "always" => Ok(NetworkAnswer::Always),
        "n" | "no" | "" => Ok(NetworkAnswer::Deny),
        _ => Err(String::new()),
    })?;
    let answer = answer.unwrap_or(NetworkAnswer::Deny);
    if answer == NetworkAnswer::Always {
        let entry = format!("{host}:{port}");
        if let Err(problem) = pirn_settings::add_to_list(ALLOWED_HOSTS, &entry, &invocation.host) {
            tty.show(&format!(
                "  It counts for this session only: {}\n",
                on_one_line(&problem)
            ))?;
        }
    }
    Ok(answer)
}
