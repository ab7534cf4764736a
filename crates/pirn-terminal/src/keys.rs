//! Keys of a keyboard, by the names that people write into files.

use std::fmt;
use std::str::FromStr;

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "most keys are what they are called")]
pub enum KeyCode {
    /// A key with a character on it; letters in lower case unless they are typed as text.
    Char(char),
    /// F1 to F12 by their number.
    Function(u8),
    Enter,
    Tab,
    Backspace,
    Delete,
    Insert,
    Escape,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    Clear,
}

/// Names of keys, as files have them.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("escape", KeyCode::Escape),
    ("esc", KeyCode::Escape),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("clear", KeyCode::Clear),
];

/// The highest function key that has a name.
const FUNCTION_MAX: u8 = 12;

/// Modifiers that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Modifiers(u8);

impl Modifiers {
    /// No modifier is held.
    pub const NONE: Self = Self(0);
    /// The shift key alone.
    pub const SHIFT: Self = Self(1);
    /// Alt, or option on a Mac.
    pub const ALT: Self = Self(2);
    /// The control key alone.
    pub const CTRL: Self = Self(4);
    /// Super, Windows or command.
    pub const SUPER: Self = Self(8);

    /// Both of them together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without the others.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are held.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// From the number that terminals send, which is one more than the sum. Locks do not count.
    pub(crate) const fn from_parameter(parameter: u32) -> Self {
        let sum = parameter.saturating_sub(1);
        // What terminals call meta is alt on today's keyboards.
        let alt = if sum & 32 != 0 { 2 } else { 0 };
        Self((sum & 0b1111) as u8 | alt)
    }
}

/// A key with the modifiers that were held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPress {
    /// The key that was pressed.
    pub code: KeyCode,
    /// What was held with it.
    pub modifiers: Modifiers,
}

impl KeyPress {
    /// A key with modifiers. A letter in upper case is one with shift where anything else is held, too.
    pub fn new(code: KeyCode, modifiers: Modifiers) -> Self {
        if let KeyCode::Char(letter) = code
            && letter.is_uppercase()
            && modifiers != Modifiers::NONE
        {
            let lower = letter.to_lowercase().next().unwrap_or(letter);
            return Self {
                code: KeyCode::Char(lower),
                modifiers: modifiers.with(Modifiers::SHIFT),
            };
        }
        Self { code, modifiers }
    }

    /// A key alone, nothing held.
    pub const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            modifiers: Modifiers::NONE,
        }
    }

    /// The character that this key types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(character) if self.modifiers == Modifiers::NONE => Some(character),
            KeyCode::Char(character) if self.modifiers == Modifiers::SHIFT => {
                Some(character.to_uppercase().next().unwrap_or(character))
            }
            _ => None,
        }
    }
}

/// Why a name is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey(String);

impl fmt::Display for UnknownKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = crate::foreign::on_one_line(&self.0);
        write!(
            formatter,
            "there is no key `{name}`; a key is ctrl, shift, alt or super, joined by + with a character, f1 to f12, or one of \
             enter, tab, space, backspace, delete, insert, escape, home, end, pageUp, pageDown, up, down, left, right, clear"
        )
    }
}

impl std::error::Error for UnknownKey {}

impl FromStr for KeyPress {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Self, UnknownKey> {
        let unknown = || UnknownKey(name.to_owned());
        let mut modifiers = Modifiers::NONE;
        let mut rest = name.trim();
        while let Some((modifier, key)) = rest.split_once('+') {
            // `ctrl++` is the key with a plus.
            if modifier.is_empty() {
                break;
            }
            modifiers = modifiers.with(match modifier.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => Modifiers::CTRL,
                "shift" => Modifiers::SHIFT,
                "alt" | "option" | "meta" => Modifiers::ALT,
                "super" | "cmd" | "command" => Modifiers::SUPER,
                _ => return Err(unknown()),
            });
            rest = key;
        }
        let lower = rest.to_ascii_lowercase();
        if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == lower) {
            return Ok(Self::new(*code, modifiers));
        }
        let mut characters = rest.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            return Ok(Self::new(KeyCode::Char(character), modifiers));
        }
        let number = lower
            .strip_prefix('f')
            .and_then(|number| number.parse().ok());
        match number {
            Some(number @ 1..=FUNCTION_MAX) => Ok(Self::new(KeyCode::Function(number), modifiers)),
            Some(_) | None => Err(unknown()),
        }
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [
            (Modifiers::CTRL, "ctrl+"),
            (Modifiers::ALT, "alt+"),
            (Modifiers::SUPER, "super+"),
            (Modifiers::SHIFT, "shift+"),
        ];
        for (modifier, name) in held {
            if self.modifiers.has(modifier) {
                formatter.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Function(number) => write!(formatter, "f{number}"),
            code => match (NAMES.iter().find(|(_, known)| *known == code), code) {
                (Some((name, _)), _) => formatter.write_str(name),
                (None, KeyCode::Char(character)) => write!(formatter, "{character}"),
                (None, _) => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
