//! Control sequences: keys with modifiers, and answers in numbers.

use super::{ESCAPE, Focus, Input, Parsed, SEQUENCE_BYTES_MAX, Scheme, TerminalReply, key_after};
use crate::keys::{KeyCode, KeyPress, Modifiers};

/// A sequence behind its introducer, which took `before` bytes. `held` is what an escape before it says.
pub(super) fn parse(sequence: &[u8], before: usize, held: Modifiers) -> Parsed {
    // The console of Linux sends function keys with a second bracket.
    if let [b'[', rest @ ..] = sequence {
        return match rest {
            [] => Parsed::Incomplete,
            [key @ b'A'..=b'E', ..] => {
                key_after(before + 2, KeyCode::Function(key - b'A' + 1), held)
            }
            _ => Parsed::Taken(before + 1, None),
        };
    }
    for (index, byte) in sequence.iter().enumerate() {
        match byte {
            _ if index == SEQUENCE_BYTES_MAX => return Parsed::Taken(before + index, None),
            0x20..=0x3f => {}
            0x40..=0x7e => {
                let parameters = sequence.get(..index).unwrap_or_default();
                let taken = before + index + 1;
                if (parameters, *byte) == (b"200".as_slice(), b'~') {
                    return Parsed::PasteBegins(taken);
                }
                return Parsed::Taken(taken, meaning(parameters, *byte, held));
            }
            // What began was cut off; an escape begins something else.
            &ESCAPE => return Parsed::Taken(before + index, None),
            _ => return Parsed::Taken(before + index + 1, None),
        }
    }
    Parsed::Incomplete
}

fn meaning(parameters: &[u8], end: u8, held: Modifiers) -> Option<Input> {
    let text = std::str::from_utf8(parameters).ok()?;
    match (text, end) {
        ("", b'I') => return Some(Input::Focus(Focus::Gained)),
        ("", b'O') => return Some(Input::Focus(Focus::Lost)),
        _ => {}
    }
    if let Some(private) = text.strip_prefix('?') {
        return reply(private, end).map(Input::Reply);
    }
    // Of answers to what nobody asked, and of mice.
    if text.starts_with(['<', '=', '>']) || text.ends_with('$') {
        return None;
    }
    key(text, end, held).map(Input::Key)
}

fn reply(private: &str, end: u8) -> Option<TerminalReply> {
    match end {
        b'u' => Some(TerminalReply::KeyboardFlags(private.parse().ok()?)),
        b'c' => Some(TerminalReply::Attributes),
        b'y' => {
            let (mode, state) = private.strip_suffix('$')?.split_once(';')?;
            Some(TerminalReply::Mode {
                mode: mode.parse().ok()?,
                state: state.parse().ok()?,
            })
        }
        b'n' => match private {
            "997;1" => Some(TerminalReply::Scheme(Scheme::Dark)),
            "997;2" => Some(TerminalReply::Scheme(Scheme::Light)),
            _ => None,
        },
        _ => None,
    }
}

/// The event number of a key that was let go.
const RELEASED: &str = "3";

fn key(text: &str, end: u8, before: Modifiers) -> Option<KeyPress> {
    let mut parameters = text.split(';');
    let first = parameters.next().unwrap_or_default();
    let second = parameters.next().unwrap_or_default();
    let (modifiers, event) = second.split_once(':').unwrap_or((second, ""));
    if event == RELEASED {
        return None;
    }
    let held = Modifiers::from_parameter(modifiers.parse().unwrap_or(1)).with(before);
    let press = |code| Some(KeyPress::new(code, held));
    match end {
        b'u' => kitty(first, held),
        b'~' if first == "27" => {
            let code = parameters.next()?.parse().ok()?;
            from_number(code).and_then(press)
        }
        b'~' => tilde_key(first.parse().ok()?).and_then(press),
        b'Z' => Some(KeyPress::new(KeyCode::Tab, held.with(Modifiers::SHIFT))),
        _ => application_key(end).and_then(press),
    }
}

/// `CODE:SHIFTED:BASE`. Letters of other scripts with ctrl or alt are the letter at that place of a Latin keyboard.
fn kitty(codes: &str, held: Modifiers) -> Option<KeyPress> {
    let mut codes = codes.split(':').map(|code| code.parse::<u32>().ok());
    let code = codes.next()??;
    let shifted = codes.next().flatten();
    let base = codes.next().flatten();
    let is_command = held.without(Modifiers::SHIFT) != Modifiers::NONE;
    if let (true, false, Some(base)) = (is_command, code < 128, base) {
        return from_number(base).map(|code| KeyPress::new(code, held));
    }
    if let (false, true, Some(shifted)) = (is_command, held.has(Modifiers::SHIFT), shifted) {
        return from_number(shifted).map(KeyPress::plain);
    }
    from_number(code).map(|code| KeyPress::new(code, held))
}

/// The key of a code point, or of a number that the keyboard protocol gives to keys without one.
fn from_number(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        8 | 127 => KeyCode::Backspace,
        57_399..=57_408 => KeyCode::Char(char::from_digit(number - 57_399, 10)?),
        57_409 => KeyCode::Char('.'),
        57_410 => KeyCode::Char('/'),
        57_411 => KeyCode::Char('*'),
        57_412 => KeyCode::Char('-'),
        57_413 => KeyCode::Char('+'),
        57_415 => KeyCode::Char('='),
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_425 => KeyCode::Insert,
        57_426 => KeyCode::Delete,
        // Locks, media keys and modifiers alone.
        57_344..=63_743 => return None,
        _ => KeyCode::Char(char::from_u32(number).filter(|character| !character.is_control())?),
    })
}

fn tilde_key(number: u8) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::Function(number - 10),
        17..=21 => KeyCode::Function(number - 11),
        23 | 24 => KeyCode::Function(number - 12),
        _ => return None,
    })
}

/// The key of a sequence's last byte.
pub(super) fn application_key(end: u8) -> Option<KeyCode> {
    Some(match end {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::Clear,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P' => KeyCode::Function(1),
        b'Q' => KeyCode::Function(2),
        b'R' => KeyCode::Function(3),
        b'S' => KeyCode::Function(4),
        _ => return None,
    })
}
