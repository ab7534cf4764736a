//! What the user says: on the command line, on standard input, or both.

use std::io::{self, Read as _};
use std::sync::mpsc;
use std::time::Duration;

use super::PromptArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Stream};
use crate::standard;

/// Bytes of standard input; no model holds more.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// How long the first byte of standard input may take beside a message: a pipe that says nothing must not hold the message up.
const FIRST_BYTE_WAIT: Duration = Duration::from_secs(1);
/// What stands for standard input.
const STDIN_ARGUMENT: &str = "-";

/// The messages, in order. What is piped in stands before the first one.
pub(super) fn messages(
    arguments: &PromptArguments,
    invocation: &Invocation,
) -> Result<Vec<String>, Failure> {
    let mut messages: Vec<String> = arguments
        .messages
        .iter()
        .filter(|message| *message != STDIN_ARGUMENT)
        .cloned()
        .collect();
    let is_wanted = messages.len() < arguments.messages.len() || messages.is_empty();
    let input = match (invocation.stdin, is_wanted) {
        (Stream::Terminal, false) => String::new(),
        (Stream::Terminal, true) if messages.is_empty() && arguments.messages.is_empty() => {
            return Err(nothing_said());
        }
        (_, true) => text(read(Wait::ForEver)?)?,
        (Stream::Other, false) => text(read(Wait::ForFirstByte)?)?,
    };
    let input = input.trim_end();
    if !input.is_empty() {
        match messages.first_mut() {
            Some(first) => *first = format!("{input}\n\n{first}"),
            None => messages.push(input.to_owned()),
        }
    }
    if messages.iter().all(|message| message.trim().is_empty()) {
        return Err(nothing_said());
    }
    Ok(messages)
}

fn nothing_said() -> Failure {
    Failure::usage("nothing was said to the model")
        .hint("say it: pirn -p 'What does this project do?'")
}

/// How long standard input is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    ForEver,
    /// A moment for its first byte, and then until it ends.
    ForFirstByte,
}

/// Reads standard input on a thread of its own, which is left behind where nothing comes.
fn read(wait: Wait) -> Result<Vec<u8>, Failure> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = io::stdin().lock().take(INPUT_BYTES_MAX + 1);
        let mut bytes = vec![0; 1];
        let first = input.read(&mut bytes);
        let has_begun = sender.send(
            first
                .as_ref()
                .map(|_| Vec::new())
                .map_err(ToString::to_string),
        );
        if has_begun.is_err() {
            return;
        }
        bytes.truncate(first.unwrap_or(0));
        let rest = input.read_to_end(&mut bytes);
        let sent = rest.map(|_| bytes).map_err(|error| error.to_string());
        // Whoever wanted it may be gone.
        drop(sender.send(sent));
    });
    let unreadable = |why: String| Failure::usage(format!("standard input cannot be read: {why}"));
    let ended = |_| unreadable("the reading thread ended".to_owned());
    match wait {
        Wait::ForEver => {
            receiver.recv().map_err(ended)?.map_err(unreadable)?;
        }
        Wait::ForFirstByte => {
            let Ok(begun) = receiver.recv_timeout(FIRST_BYTE_WAIT) else {
                standard::note(
                    "standard input is open but said nothing for a second, so it is left aside; `-` waits for it",
                );
                return Ok(Vec::new());
            };
            begun.map_err(unreadable)?;
        }
    }
    receiver.recv().map_err(ended)?.map_err(unreadable)
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::usage("standard input is larger than 16 MiB")
            .hint("put it into a file and let the model read the parts that it needs"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not valid UTF-8"))
}
