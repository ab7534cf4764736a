//! What the user says: on the command line, on standard input, or both.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use pirn_agent::Resources;

use super::PromptArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Stream};
use crate::standard;

/// Bytes of standard input; no model holds more.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// How long the first byte of standard input may take beside a message: a pipe that says nothing must not hold the message up.
const FIRST_BYTE_WAIT: Duration = Duration::from_secs(1);
/// What stands before the name of a file.
const FILE_SIGN: char = '@';
/// What stands for standard input.
const STDIN_ARGUMENT: &str = "-";

/// What is said first, and what after each answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    pub(super) texts: Vec<String>,
    /// Pictures that go with the first message.
    pub(super) images: Vec<PathBuf>,
}

/// The messages, in order, as far as they are text. What is piped in stands before the first one, and after it the files that
/// `@FILE` names.
pub(super) fn messages(
    arguments: &PromptArguments,
    invocation: &Invocation,
    resources: &Resources,
) -> Result<Messages, Failure> {
    let is_file = |message: &&String| message.starts_with(FILE_SIGN);
    let files = read_files(arguments.messages.iter().filter(is_file), invocation)?;
    let mut messages: Vec<String> = Vec::new();
    for message in &arguments.messages {
        if message != STDIN_ARGUMENT && !is_file(&message) {
            messages.push(resources.expand(message).map_err(|error| {
                Failure::usage(error.to_string())
                    .hint("`pirn -p` looks for skills where docs/agent.md says")
            })?);
        }
    }
    let names_input = arguments
        .messages
        .iter()
        .any(|message| message == STDIN_ARGUMENT);
    let has_files = !files.text.is_empty() || !files.images.is_empty();
    let is_wanted = names_input || (messages.is_empty() && !has_files && !arguments.compacts());
    let input = match (invocation.stdin, is_wanted) {
        (Stream::Terminal, false) => String::new(),
        (Stream::Terminal, true) if messages.is_empty() && !names_input => {
            return Err(nothing_said());
        }
        (_, true) => text(read(Wait::ForEver)?)?,
        (Stream::Other, false) => text(read(Wait::ForFirstByte)?)?,
    };
    for before in [files.text.as_str(), input.trim_end()] {
        if before.is_empty() {
            continue;
        }
        match messages.first_mut() {
            Some(first) => *first = format!("{before}\n\n{first}"),
            None => messages.push(before.to_owned()),
        }
    }
    if messages.is_empty() && !files.images.is_empty() {
        messages.push(String::new());
    }
    let says_nothing = messages.iter().all(|message| message.trim().is_empty());
    if says_nothing && files.images.is_empty() && !arguments.compacts() {
        return Err(nothing_said());
    }
    Ok(Messages {
        texts: messages,
        images: files.images,
    })
}

/// The files that a message is about.
#[derive(Debug, Default)]
struct Files {
    text: String,
    images: Vec<PathBuf>,
}

fn read_files<'a>(
    named: impl Iterator<Item = &'a String>,
    invocation: &Invocation,
) -> Result<Files, Failure> {
    let mut files = Files::default();
    let mut blocks = Vec::new();
    for named in named {
        let path = invocation
            .host
            .cwd
            .join(named.trim_start_matches(FILE_SIGN));
        let unreadable = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("{} cannot be read: {why}", path.display()))
        };
        let file = File::open(&path).map_err(|error| unreadable(&error))?;
        let mut bytes = Vec::new();
        file.take(INPUT_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(&error))?;
        if is_picture(&bytes) {
            files.images.push(path);
            continue;
        }
        if bytes.len() as u64 > INPUT_BYTES_MAX {
            return Err(unreadable(&"it is larger than 16 MiB")
                .hint("name it in the message and let the model read the parts that it needs"));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| unreadable(&"it is neither UTF-8 text nor a picture"))?;
        blocks.push(format!(
            "<file name=\"{}\">\n{}\n</file>",
            path.display(),
            text.trim_end_matches('\n')
        ));
    }
    files.text = blocks.join("\n");
    Ok(files)
}

/// Whether a file begins like a picture of a kind that models take.
fn is_picture(bytes: &[u8]) -> bool {
    let begins = |start: &[u8]| bytes.starts_with(start);
    begins(b"\x89PNG\r\n")
        || begins(b"\xFF\xD8\xFF")
        || begins(b"GIF8")
        || (begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
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
