//! `pirn doctor terminal`: what this terminal says of itself, and what it sends for the keys that are pressed.

use std::time::Duration;

use pirn_terminal::{
    Connection, Decoder, Device, DeviceModes, Focus, Input, KeyCode, KeyPress, Modifiers, Scheme,
    TerminalReply, Woken, on_one_line,
};

use crate::failure::{Exit, Failure};
use crate::invocation::{Display, Invocation, Stream};

/// How long the answers of a terminal that is far away may take.
const ANSWERS: Duration = Duration::from_secs(1);
/// Bytes that are shown of what came: those of any key.
const BYTES_SHOWN: usize = 16;

/// What the terminal answered so far.
#[derive(Debug, Default)]
struct Answers {
    keyboard: Option<u32>,
    frames: Option<u32>,
    background: Option<[u8; 3]>,
    is_complete: bool,
}

impl Answers {
    fn take(&mut self, reply: &TerminalReply) {
        match reply {
            TerminalReply::KeyboardFlags(flags) => self.keyboard = Some(*flags),
            TerminalReply::Mode { mode: 2026, state } => self.frames = Some(*state),
            TerminalReply::Color { rgb, .. } => self.background = Some(*rgb),
            TerminalReply::Attributes => self.is_complete = true,
            TerminalReply::Mode { .. } | TerminalReply::Scheme(_) | TerminalReply::Version(_) => {}
        }
    }

    /// What it means, one line each.
    fn lines(&self) -> Vec<String> {
        let keyboard = match self.keyboard {
            Some(_) => "all keys can be told apart (the keyboard protocol of Kitty)",
            None => {
                "some keys arrive alike: ctrl+j, alt+enter, or a backslash before enter begin a new line"
            }
        };
        let frames = match self.frames {
            Some(1 | 2) => "frames appear at once (mode 2026)",
            Some(_) | None => {
                "frames are written without a mark; rows are written one after the other"
            }
        };
        let background = match self.background {
            Some([red, green, blue]) => format!("background #{red:02x}{green:02x}{blue:02x}"),
            None => "it does not tell its background: the colours are those for dark".to_owned(),
        };
        let answers = if self.is_complete {
            "it answers questions"
        } else {
            "it answers no questions"
        };
        vec![
            answers.to_owned(),
            keyboard.to_owned(),
            frames.to_owned(),
            background,
        ]
    }
}

/// Shows the answers, and then each key until ctrl+c is pressed twice.
pub(super) fn run(invocation: &Invocation) -> Result<Exit, Failure> {
    if invocation.stdin != Stream::Terminal || invocation.stdout != Stream::Terminal {
        return Err(Failure::usage("there is no terminal to look at"));
    }
    if invocation.display == Display::Lines {
        return Err(Failure::usage(
            "TERM says that this terminal takes lines only, so it is asked nothing",
        ));
    }
    look().map_err(|error| Failure::from(anyhow::Error::new(error)))
}

fn look() -> std::io::Result<Exit> {
    let (mut device, _waker) = Device::open(DeviceModes::All)?;
    let mut decoder = Decoder::new(Connection::Remote);
    let mut answers = Answers::default();
    device.ask();
    let mut typed = Vec::new();
    while !answers.is_complete {
        let Woken::Bytes(bytes) = device.wait(Some(ANSWERS))? else {
            break;
        };
        for input in decoder.push(&bytes) {
            match input {
                Input::Reply(reply) => answers.take(&reply),
                Input::Key(_) | Input::Paste(_) | Input::Focus(_) => {
                    typed.push((bytes.clone(), input));
                }
            }
        }
    }
    let (columns, rows) = device.size();
    say(&mut device, &format!("{columns} columns, {rows} rows"));
    for line in answers.lines() {
        say(&mut device, &line);
    }
    say(
        &mut device,
        "press keys to see what they send; ctrl+c twice ends",
    );
    for (bytes, input) in typed {
        say(&mut device, &told(&bytes, &input));
    }
    let end = KeyPress {
        code: KeyCode::Char('c'),
        modifiers: Modifiers::CTRL,
    };
    let mut ends = 0;
    loop {
        let (bytes, inputs) = match device.wait(decoder.patience())? {
            Woken::Bytes(bytes) => {
                let inputs = decoder.push(&bytes);
                (bytes, inputs)
            }
            Woken::Late => (Vec::new(), decoder.expire()),
            Woken::Called => continue,
            Woken::Gone => return Ok(Exit::Success),
        };
        for input in inputs {
            say(&mut device, &told(&bytes, &input));
            ends = if input == Input::Key(end) {
                ends + 1
            } else {
                0
            };
            if ends == 2 {
                return Ok(Exit::Success);
            }
        }
    }
}

fn say(device: &mut Device, line: &str) {
    device.write(&format!("{}\r\n", on_one_line(line)));
}

/// What came, and the bytes that it came with.
fn told(bytes: &[u8], input: &Input) -> String {
    let what = match input {
        Input::Key(key) => format!("key {key}"),
        Input::Paste(text) => format!("a paste of {} bytes", text.len()),
        Input::Focus(Focus::Gained) => "the window has the keyboard".to_owned(),
        Input::Focus(Focus::Lost) => "the window has the keyboard no more".to_owned(),
        Input::Reply(TerminalReply::Scheme(Scheme::Dark)) => "the user switched to dark".to_owned(),
        Input::Reply(TerminalReply::Scheme(Scheme::Light)) => {
            "the user switched to light".to_owned()
        }
        Input::Reply(reply) => format!("answer {reply:?}"),
    };
    let shown: Vec<String> = bytes
        .iter()
        .take(BYTES_SHOWN)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if shown.is_empty() {
        what
    } else {
        format!("{what}  ({})", shown.join(" "))
    }
}
