//! Theme files, in pi's format.

use std::fmt;

use serde_json::{Map, Value};

use super::{Color, Role, Theme};
use crate::foreign::on_one_line;
use crate::input::Scheme;

/// Why a theme file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeError(String);

impl fmt::Display for ThemeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ThemeError {}

/// Roles that a file may leave out, each with the role whose colour it has then.
const OPTIONAL: &[(Role, Role)] = &[
    (Role::ScrollbarTrack, Role::Muted),
    (Role::ScrollbarThumb, Role::Text),
    (Role::SearchMatchBg, Role::SelectedBg),
    (Role::SearchMatchText, Role::Text),
    (Role::ThinkingMax, Role::ThinkingXhigh),
];

/// Variables that lead to variables; a longer chain is a circle.
const CHAIN_MAX: usize = 16;

impl Theme {
    /// Reads a theme file. Every role needs a colour but for the few that have another's.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        let file: Value = serde_json::from_str(text)
            .map_err(|error| ThemeError(format!("the theme is not JSON: {error}")))?;
        let empty = Map::new();
        let variables = file["vars"].as_object().unwrap_or(&empty);
        let Some(colors) = file["colors"].as_object() else {
            return Err(ThemeError("the theme has no `colors`".to_owned()));
        };
        if let Some(name) = colors
            .keys()
            .find(|name| Role::ALL.iter().all(|role| role.name() != *name))
        {
            return Err(ThemeError(format!(
                "there is no color `{}`",
                on_one_line(name)
            )));
        }
        let mut theme = Self::system(Scheme::Dark);
        for role in Role::ALL {
            let optional = OPTIONAL.iter().find(|(optional, _)| optional == role);
            let value = match (colors.get(role.name()), optional) {
                (Some(value), _) => Some(value),
                (None, Some((_, instead))) => colors.get(instead.name()),
                (None, None) => None,
            };
            let Some(value) = value else {
                return Err(ThemeError(format!(
                    "the theme has no color `{}`",
                    role.name()
                )));
            };
            let color = resolve(value, variables)
                .map_err(|why| ThemeError(format!("color `{}`: {why}", role.name())))?;
            if let Some(place) = theme.colors.get_mut(*role as usize) {
                *place = color;
            }
        }
        Ok(theme)
    }
}

fn resolve(value: &Value, variables: &Map<String, Value>) -> Result<Color, String> {
    let mut value = value;
    for _ in 0..CHAIN_MAX {
        match value {
            Value::Number(number) => {
                let index = number.as_u64().and_then(|number| u8::try_from(number).ok());
                return index
                    .map(Color::Indexed)
                    .ok_or_else(|| format!("{number} is not 0 to 255"));
            }
            Value::String(text) if text.is_empty() => return Ok(Color::Default),
            Value::String(text) if text.starts_with('#') => {
                return hexadecimal(text)
                    .ok_or_else(|| format!("`{}` is not #rgb or #rrggbb", on_one_line(text)));
            }
            Value::String(text) if text.starts_with("oklch(") => {
                return oklch(text)
                    .ok_or_else(|| format!("`{}` is not oklch(L C H)", on_one_line(text)));
            }
            Value::String(text) => match variables.get(text) {
                Some(next) => value = next,
                None => return Err(format!("there is no variable `{}`", on_one_line(text))),
            },
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err("a color is a text or a number".to_owned());
            }
        }
    }
    Err("its variables lead in a circle".to_owned())
}

fn hexadecimal(text: &str) -> Option<Color> {
    let digits: Vec<u8> = text
        .chars()
        .skip(1)
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    match digits.as_slice() {
        [red, green, blue] => Some(Color::Rgb([red * 17, green * 17, blue * 17])),
        [r1, r2, g1, g2, b1, b2] => Some(Color::Rgb([r1 * 16 + r2, g1 * 16 + g2, b1 * 16 + b2])),
        _ => None,
    }
}

/// `oklch(LIGHTNESS CHROMA HUE)`: lightness 0 to 1 or in percent, hue in degrees.
fn oklch(text: &str) -> Option<Color> {
    let inner = text.strip_prefix("oklch(")?.strip_suffix(')')?;
    let mut parts = inner.split([' ', ',']).filter(|part| !part.is_empty());
    let lightness = parts.next()?;
    let lightness: f64 = match lightness.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => lightness.parse().ok()?,
    };
    let chroma: f64 = parts.next()?.parse().ok()?;
    let hue: f64 = parts.next()?.trim_end_matches("deg").parse().ok()?;
    let (sine, cosine) = hue.to_radians().sin_cos();
    let (a, b) = (chroma * cosine, chroma * sine);
    let cube = |value: f64| value * value * value;
    let long = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let middle = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let short = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548 * b);
    Some(Color::Rgb([
        channel(4.076_741_662_1 * long - 3.307_711_591_3 * middle + 0.230_969_929_2 * short),
        channel(-1.268_438_004_6 * long + 2.609_757_401_1 * middle - 0.341_319_396_5 * short),
        channel(-0.004_196_086_3 * long - 0.703_418_614_7 * middle + 1.707_614_701 * short),
    ]))
}

/// A part of linear light as the 256 steps of a screen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is within 0 to 255"
)]
fn channel(linear: f64) -> u8 {
    let encoded = if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    };
    (encoded.clamp(0.0, 1.0) * 255.0).round() as u8
}
