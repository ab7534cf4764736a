use serde_json::json;

use super::{Color, ColorDepth, Role, Theme};
use crate::input::Scheme;
use crate::row::{Attribute, TextStyle};

fn file(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let required = Role::ALL.iter().map(|role| role.name()).filter(|name| {
        ![
            "scrollbarTrack",
            "scrollbarThumb",
            "searchMatchBg",
            "searchMatchText",
            "thinkingMax",
        ]
        .contains(name)
    });
    let colors: serde_json::Map<String, serde_json::Value> =
        required.map(|name| (name.to_owned(), json!(""))).collect();
    let mut file =
        json!({"name": "mine", "vars": {"blue": "#00f", "deep": "blue"}, "colors": colors});
    change(&mut file);
    file.to_string()
}

#[test]
fn a_theme_file_gives_all_colors() {
    let text = file(|file| {
        file["colors"]["accent"] = json!("deep");
        file["colors"]["error"] = json!(203);
        file["colors"]["mdCode"] = json!("oklch(0.628 0.2577 29.23)");
        file["colors"]["thinkingXhigh"] = json!("#102030");
    });
    let theme = Theme::parse(&text).unwrap();
    assert_eq!(theme.color(Role::Accent), Color::Rgb([0, 0, 255]));
    assert_eq!(theme.color(Role::Error), Color::Indexed(203));
    assert_eq!(theme.color(Role::ThinkingMax), Color::Rgb([16, 32, 48]));
    assert_eq!(theme.color(Role::Text), Color::Default);
    assert_eq!(theme.color(Role::MdCode), Color::Rgb([255, 0, 0]));
}

#[test]
fn wrong_theme_files_say_what_is_wrong() {
    for (text, message) in [
        (
            file(|file| file["colors"]["accent"] = json!("red")),
            "color `accent`: there is no variable `red`",
        ),
        (
            file(|file| file["vars"]["blue"] = json!("deep"))
                .replace("\"accent\":\"\"", "\"accent\":\"deep\""),
            "circle",
        ),
        (
            file(|file| file["colors"]["acent"] = json!("")),
            "there is no color `acent`",
        ),
        (
            file(|file| file["colors"]["dim"] = json!(300)),
            "color `dim`: 300 is not 0 to 255",
        ),
        ("{".to_owned(), "not JSON"),
        ("{}".to_owned(), "no `colors`"),
    ] {
        let error = Theme::parse(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn colors_at_every_depth() {
    let mut theme = Theme::system(Scheme::Dark);
    theme.colors[Role::Error as usize] = Color::Rgb([250, 2, 3]);
    let style = TextStyle::role(Role::Error).with(Attribute::Bold);
    let sequence = |depth| theme.sequence(style, depth);
    assert_eq!(sequence(ColorDepth::True), "\u{1b}[0;1;38;2;250;2;3m");
    assert_eq!(sequence(ColorDepth::Indexed), "\u{1b}[0;1;38;5;196m");
    assert_eq!(sequence(ColorDepth::Ansi), "\u{1b}[0;1;91m");
    assert_eq!(sequence(ColorDepth::None), "\u{1b}[0;1m");
    assert_eq!(
        theme.sequence(TextStyle::PLAIN, ColorDepth::True),
        "\u{1b}[m"
    );
}
