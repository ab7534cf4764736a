//! Formats of strings that forms ask for.

use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    /// The format of this name in JSON Schema; others are not checked.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    /// What it asks for.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Email => "e-mail address",
            Self::Uri => "URL",
            Self::Date => "date like 2026-01-31",
            Self::DateTime => "time like 2026-01-31T23:59:00Z",
        }
    }

    /// Whether `text` has it.
    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => text.split_once('@').is_some_and(|(user, host)| {
                !user.is_empty()
                    && !host.is_empty()
                    && !host.contains('@')
                    && !text.contains(char::is_whitespace)
            }),
            Self::Uri => Url::parse(text).is_ok(),
            Self::Date => is_date(text),
            Self::DateTime => text
                .split_once(['T', 't', ' '])
                .is_some_and(|(date, time)| is_date(date) && is_time(time)),
        }
    }
}

/// Numbers of exactly these widths, with the separator between them.
fn numbers(text: &str, separator: char, widths: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fit = parts.len() == widths.len()
        && parts.iter().zip(widths).all(|(part, width)| {
            part.len() == *width && part.bytes().all(|byte| byte.is_ascii_digit())
        });
    fit.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, '-', &[4, 2, 2])
        .as_deref()
        .and_then(|parts| <[u32; 3]>::try_from(parts).ok())
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=days).contains(&day)
}

/// RFC 3339: `hh:mm:ss`, a fraction where wanted, and an offset.
fn is_time(text: &str) -> bool {
    let clock = |text: &str, widths: &[usize]| {
        numbers(text, ':', widths).is_some_and(|parts| {
            let limits = [23, 59, 60];
            parts.iter().zip(limits).all(|(part, limit)| *part <= limit)
        })
    };
    let time = match (text.strip_suffix(['Z', 'z']), text.rsplit_once(['+', '-'])) {
        (Some(time), _) => time,
        (None, Some((time, offset))) if clock(offset, &[2, 2]) => time,
        (None, _) => return false,
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    clock(time, &[2, 2, 2])
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}
