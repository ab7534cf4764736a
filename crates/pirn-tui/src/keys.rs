//! What keys do: one table of actions, with the keys they have unless the user's file gives them others.

use std::collections::BTreeMap;

use pirn_terminal::{EditorAction, KeyPress};
use serde_json::Value;

macro_rules! actions {
    ($($variant:ident $id:literal [$($key:literal),*] $help:literal;)*) => {
        /// Something that a key does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each has its help in the table")]
        pub enum Action {
            $($variant,)*
        }

        /// A row of the table of keys.
        #[derive(Debug, Clone, Copy)]
        pub struct ActionRow {
            /// What the key does.
            pub action: Action,
            /// Its name in `keybindings.json`.
            pub id: &'static str,
            /// The keys that do it by default.
            pub keys: &'static [&'static str],
            /// What it does, for people.
            pub help: &'static str,
        }

        /// All actions, in the order of the reference.
        pub const ACTIONS: &[ActionRow] = &[
            $(ActionRow { action: Action::$variant, id: $id, keys: &[$($key),*], help: $help },)*
        ];
    };
}

actions! {
    CursorUp "tui.editor.cursorUp" ["up"] "One row up, or to the message before";
    CursorDown "tui.editor.cursorDown" ["down"] "One row down, or to the message after";
    CursorLeft "tui.editor.cursorLeft" ["left", "ctrl+b"] "One character to the left";
    CursorRight "tui.editor.cursorRight" ["right", "ctrl+f"] "One character to the right";
    CursorWordLeft "tui.editor.cursorWordLeft" ["alt+left", "ctrl+left", "alt+b"] "One word to the left";
    CursorWordRight "tui.editor.cursorWordRight" ["alt+right", "ctrl+right", "alt+f"] "One word to the right";
    CursorLineStart "tui.editor.cursorLineStart" ["home", "ctrl+a"] "To the start of the line";
    CursorLineEnd "tui.editor.cursorLineEnd" ["end", "ctrl+e"] "To the end of the line";
    DeleteCharBackward "tui.editor.deleteCharBackward" ["backspace", "shift+backspace"] "Delete the character before the cursor";
    DeleteCharForward "tui.editor.deleteCharForward" ["delete", "ctrl+d"] "Delete the character after the cursor";
    DeleteWordBackward "tui.editor.deleteWordBackward" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut the word before the cursor";
    DeleteWordForward "tui.editor.deleteWordForward" ["alt+d", "alt+delete"] "Cut the word after the cursor";
    DeleteToLineStart "tui.editor.deleteToLineStart" ["ctrl+u"] "Cut to the start of the line";
    DeleteToLineEnd "tui.editor.deleteToLineEnd" ["ctrl+k"] "Cut to the end of the line";
    Yank "tui.editor.yank" ["ctrl+y"] "Put back what was cut";
    YankPop "tui.editor.yankPop" ["alt+y"] "Put back what was cut before that";
    Undo "tui.editor.undo" ["ctrl+-"] "Undo the last change of the text";
    NewLine "tui.input.newLine" ["shift+enter", "ctrl+j"] "Begin a new line";
    Submit "tui.input.submit" ["enter"] "Send the message";
    Tab "tui.input.tab" ["tab"] "Complete, or go to the question that is open";
    PageUp "tui.select.pageUp" ["pageUp"] "One page up in a list or a question";
    PageDown "tui.select.pageDown" ["pageDown"] "One page down in a list or a question";
    ScrollTop "tui.altScreen.top" ["ctrl+home"] "To the start of the conversation, on a screen of its own";
    ScrollBottom "tui.altScreen.bottom" ["ctrl+end"] "To the end of the conversation, on a screen of its own";
    Interrupt "app.interrupt" ["escape"] "Stop what goes on, or close what is open";
    Clear "app.clear" ["ctrl+c"] "Clear the text; without text stop what goes on, else leave when pressed twice";
    Exit "app.exit" ["ctrl+d"] "Leave, when there is no text";
    Suspend "app.suspend" ["ctrl+z"] "Suspend Pirn";
    FollowUp "app.message.followUp" ["alt+enter"] "Send the message when the model would stop";
    Dequeue "app.message.dequeue" ["alt+up"] "Take back the messages that wait";
    ModelSelect "app.model.select" ["ctrl+l"] "Choose the model";
    ThinkingCycle "app.thinking.cycle" ["shift+tab"] "Think more or less";
    EditorExternal "app.editor.external" ["ctrl+g"] "Write the text in the editor that VISUAL or EDITOR names";
    HistorySearch "app.history.search" ["ctrl+r"] "Search what was said before, in all sessions";
    Search "tui.altScreen.search" ["ctrl+shift+f", "alt+/"] "Search the whole conversation, what is folded too";
    Viewer "app.viewer" ["ctrl+t", "ctrl+o"] "Show the whole conversation";
}

impl Action {
    /// What it does to the text, for those that do something to it.
    pub fn editor(self) -> Option<EditorAction> {
        Some(match self {
            Self::CursorUp => EditorAction::CursorUp,
            Self::CursorDown => EditorAction::CursorDown,
            Self::CursorLeft => EditorAction::CursorLeft,
            Self::CursorRight => EditorAction::CursorRight,
            Self::CursorWordLeft => EditorAction::CursorWordLeft,
            Self::CursorWordRight => EditorAction::CursorWordRight,
            Self::CursorLineStart => EditorAction::CursorLineStart,
            Self::CursorLineEnd => EditorAction::CursorLineEnd,
            Self::DeleteCharBackward => EditorAction::DeleteCharBackward,
            Self::DeleteCharForward => EditorAction::DeleteCharForward,
            Self::DeleteWordBackward => EditorAction::DeleteWordBackward,
            Self::DeleteWordForward => EditorAction::DeleteWordForward,
            Self::DeleteToLineStart => EditorAction::DeleteToLineStart,
            Self::DeleteToLineEnd => EditorAction::DeleteToLineEnd,
            Self::Yank => EditorAction::Yank,
            Self::YankPop => EditorAction::YankPop,
            Self::Undo => EditorAction::Undo,
            Self::NewLine => EditorAction::NewLine,
            Self::Submit
            | Self::Tab
            | Self::PageUp
            | Self::PageDown
            | Self::Interrupt
            | Self::Clear
            | Self::Exit
            | Self::Suspend
            | Self::FollowUp
            | Self::Dequeue
            | Self::ModelSelect
            | Self::ThinkingCycle
            | Self::EditorExternal
            | Self::HistorySearch
            | Self::ScrollTop
            | Self::ScrollBottom
            | Self::Search
            | Self::Viewer => return None,
        })
    }
}

/// Which key does what.
#[derive(Debug, Clone)]
pub struct Keymap {
    actions: BTreeMap<KeyPress, Vec<Action>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new(|row| row.keys.iter().filter_map(|key| key.parse().ok()).collect())
    }
}

impl Keymap {
    fn new(keys: impl Fn(&ActionRow) -> Vec<KeyPress>) -> Self {
        let mut actions: BTreeMap<KeyPress, Vec<Action>> = BTreeMap::new();
        for row in ACTIONS {
            for key in keys(row) {
                actions.entry(key).or_default().push(row.action);
            }
        }
        Self { actions }
    }

    /// The keys of a `keybindings.json`, and what cannot be used in it. Ids that are not known are those of another version.
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        let file: Value = match serde_json::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                return (
                    Self::default(),
                    vec![format!("the keys are no JSON: {error}")],
                );
            }
        };
        let mut problems = Vec::new();
        let mut chosen: BTreeMap<&str, Vec<KeyPress>> = BTreeMap::new();
        for row in ACTIONS {
            let names: Vec<&str> = match &file[row.id] {
                Value::Null => continue,
                Value::String(name) => vec![name],
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                    problems.push(format!("{}: a key is a text or a list of texts", row.id));
                    continue;
                }
            };
            let mut keys = Vec::new();
            for name in names {
                match name.parse() {
                    Ok(key) => keys.push(key),
                    Err(error) => problems.push(format!("{}: {error}", row.id)),
                }
            }
            chosen.insert(row.id, keys);
        }
        let keymap = Self::new(|row| match chosen.get(row.id) {
            Some(keys) => keys.clone(),
            None => row.keys.iter().filter_map(|key| key.parse().ok()).collect(),
        });
        (keymap, problems)
    }

    /// What a key does; more than one where the place decides.
    pub fn actions(&self, key: KeyPress) -> &[Action] {
        self.actions.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action, for hints.
    pub fn key_of(&self, action: Action) -> Option<KeyPress> {
        let found = self
            .actions
            .iter()
            .find(|(_, actions)| actions.contains(&action));
        found.map(|(key, _)| *key)
    }
}
