use proptest::prelude::*;

use super::{Editor, EditorAction as Action};
use crate::width::clusters;

fn editor(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.insert(text);
    editor
}

#[test]
fn a_long_paste_is_a_mark_until_it_is_sent() {
    let lines = "line\n".repeat(11);
    let mut editor = editor("see ");
    editor.paste(&lines);
    editor.paste(&"x".repeat(1001));
    editor.paste("short");
    let shown = editor.layout().rows.concat();
    assert_eq!(shown, "see [paste #1 +11 lines][paste #2 1001 chars]short");
    for _ in 0..5 {
        editor.apply(Action::CursorLeft);
    }
    editor.apply(Action::CursorLeft);
    editor.apply(Action::DeleteCharBackward);
    assert_eq!(
        editor.layout().rows.concat(),
        "see [paste #1 1001 chars]short"
    );
    editor.apply(Action::Undo);
    assert_eq!(
        editor.take(),
        format!("see {lines}{}short", "x".repeat(1001))
    );
    assert!(editor.is_empty());
}

#[test]
fn words_are_undone_one_by_one() {
    let mut editor = Editor::default();
    for character in "one two".chars() {
        editor.insert(character.encode_utf8(&mut [0; 4]));
    }
    editor.apply(Action::Undo);
    assert_eq!(editor.text(), "one");
    editor.apply(Action::Undo);
    assert_eq!(editor.text(), "");
}

#[test]
fn cut_pieces_join_and_come_back() {
    let mut editor = editor("one two three");
    editor.apply(Action::DeleteWordBackward);
    editor.apply(Action::DeleteWordBackward);
    assert_eq!(editor.text(), "one ");
    editor.apply(Action::CursorLineStart);
    editor.apply(Action::DeleteToLineEnd);
    editor.apply(Action::Yank);
    assert_eq!(editor.text(), "one ");
    editor.apply(Action::YankPop);
    assert_eq!(editor.text(), "two three");
}

#[test]
fn rows_break_between_words_and_up_keeps_the_column() {
    let mut editor = Editor::default();
    editor.set_columns(10);
    editor.insert("aaaa bbbb cccc\n漢字漢字漢字\nx");
    let layout = editor.layout();
    assert_eq!(layout.rows, ["aaaa bbbb ", "cccc", "漢字漢字", "漢字", "x"]);
    assert_eq!(layout.cursor, (4, 1));
    editor.apply(Action::CursorUp);
    editor.apply(Action::CursorUp);
    editor.apply(Action::CursorUp);
    assert_eq!(editor.layout().cursor, (1, 1));
    editor.apply(Action::CursorUp);
    editor.apply(Action::CursorUp);
    assert_eq!(editor.layout().cursor, (0, 0));
}

/// An editor of clusters in a list.
#[derive(Debug, Default)]
struct Model {
    clusters: Vec<String>,
    cursor: usize,
}

impl Model {
    fn text(&self) -> String {
        self.clusters.concat()
    }

    /// The clusters of a text, with the cursor behind the cluster that the byte before it belongs to.
    fn set(&mut self, text: &str, cursor_bytes: usize) {
        self.clusters = clusters(text)
            .map(|cluster| cluster.text.to_owned())
            .collect();
        let mut bytes = 0;
        self.cursor = 0;
        while bytes < cursor_bytes {
            bytes += self.clusters[self.cursor].len();
            self.cursor += 1;
        }
    }

    fn change(&mut self, from: usize, to: usize, new: &str) {
        let before = self.clusters[..from].concat() + new;
        let text = before.clone() + &self.clusters[to..].concat();
        self.set(&text, before.len());
    }

    fn apply(&mut self, action: Action) {
        let (cursor, end) = (self.cursor, self.clusters.len());
        match action {
            Action::CursorLeft => self.cursor = cursor.saturating_sub(1),
            Action::CursorRight => self.cursor = (cursor + 1).min(end),
            Action::DeleteCharBackward if cursor > 0 => self.change(cursor - 1, cursor, ""),
            Action::DeleteCharForward if cursor < end => self.change(cursor, cursor + 1, ""),
            Action::NewLine => self.change(cursor, cursor, "\n"),
            _ => {}
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Apply(Action),
    Insert(String),
    Paste(String),
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[a-c \u{301}\u{200d}漢👨👩\u{fe0f}🏽]{1,4}";
    prop_oneof![
        3 => prop::sample::select(vec![
            Action::CursorLeft, Action::CursorRight, Action::DeleteCharBackward, Action::DeleteCharForward, Action::NewLine,
        ]).prop_map(Step::Apply),
        2 => text.prop_map(Step::Insert),
        1 => text.prop_map(Step::Paste),
    ]
}

proptest! {
    #[test]
    fn it_edits_as_a_list_of_characters_does(steps in prop::collection::vec(step(), 0..40)) {
        let mut editor = Editor::default();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Apply(action) => {
                    editor.apply(action);
                    model.apply(action);
                }
                Step::Insert(text) => {
                    editor.insert(&text);
                    model.change(model.cursor, model.cursor, &text);
                }
                Step::Paste(text) => {
                    editor.paste(&text);
                    model.change(model.cursor, model.cursor, &text);
                }
            }
            prop_assert_eq!(editor.text(), model.text());
            prop_assert_eq!(editor.before_cursor().len(), model.clusters[..model.cursor].concat().len());
        }
    }

    #[test]
    fn any_step_can_be_undone(text in "\\PC{0,20}", actions in prop::collection::vec(0..18_usize, 1..20)) {
        use Action::*;
        let all = [
            CursorUp, CursorDown, CursorLeft, CursorRight, CursorWordLeft, CursorWordRight, CursorLineStart, CursorLineEnd,
            DeleteCharBackward, DeleteCharForward, DeleteWordBackward, DeleteWordForward, DeleteToLineStart, DeleteToLineEnd,
            Yank, YankPop, Undo, NewLine,
        ];
        let mut editor = editor(&text);
        for action in actions {
            editor.apply(all[action]);
            let layout = editor.layout();
            prop_assert!(layout.cursor.0 < layout.rows.len());
        }
        for _ in 0..40 {
            editor.apply(Undo);
        }
        prop_assert_eq!(editor.text(), "");
    }
}
