use super::{KeyCode, KeyPress, Modifiers};

#[test]
fn names_of_keys_are_read_and_written() {
    for name in [
        "a",
        "ctrl+c",
        "ctrl+alt+]",
        "shift+enter",
        "ctrl+-",
        "f12",
        "alt+up",
        "pageup",
        "ctrl+space",
        "ctrl++",
        "?",
        "ctrl+shift+p",
        "super+k",
    ] {
        let key: KeyPress = name.parse().unwrap();
        assert_eq!(key.to_string(), name);
    }
    let key: KeyPress = "shift+ctrl+P".parse().unwrap();
    assert_eq!(
        key,
        KeyPress::new(KeyCode::Char('p'), Modifiers::CTRL.with(Modifiers::SHIFT))
    );
    for name in ["", "hyper+x", "f13", "ctrl+", "escap"] {
        assert!(name.parse::<KeyPress>().is_err(), "{name}");
    }
}

#[test]
fn what_a_key_types() {
    let typed = |name: &str| name.parse::<KeyPress>().unwrap().typed();
    assert_eq!(
        ["x", "X", "shift+x", "ctrl+x", "alt+x", "enter", "space"].map(typed),
        [Some('x'), Some('X'), Some('X'), None, None, None, Some(' ')]
    );
}
