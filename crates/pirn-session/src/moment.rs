//! Times and ids of entries, as they are written.

use std::time::{SystemTime, UNIX_EPOCH};

const MS_PER_DAY: u64 = 86_400_000;

/// Milliseconds since 1970, now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// A time as ISO 8601 in UTC, with milliseconds.
pub fn iso_time(ms: u64) -> String {
    let (days, rest) = (ms / MS_PER_DAY, ms % MS_PER_DAY);
    let (year, month, day) = civil(days);
    let seconds = rest / 1_000;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        rest % 1_000
    )
}

/// A time in UTC as ISO 8601 has it, in milliseconds since 1970; `None` for anything else.
pub fn moment_ms(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str, digits: usize| {
        let fits = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit());
        fits.then(|| text.parse::<u64>().ok()).flatten()
    };
    let mut date = date.splitn(3, '-');
    let (year, month, day) = (
        number(date.next()?, 4)?,
        number(date.next()?, 2)?,
        number(date.next()?, 2)?,
    );
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.splitn(3, ':');
    let (hour, minute, second) = (
        number(time.next()?, 2)?,
        number(time.next()?, 2)?,
        number(time.next()?, 2)?,
    );
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let is_time = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let days = is_time.then(|| days_before(year, month, day)).flatten()?;
    let ms: String = fraction.chars().chain("000".chars()).take(3).collect();
    let seconds = hour * 3_600 + minute * 60 + second;
    Some(days * MS_PER_DAY + seconds * 1_000 + ms.parse::<u64>().ok()?)
}

/// The number of days from 1970 to a day; `None` for days before.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years begin in March here, too.
    let year = if month <= 2 {
        year.checked_sub(1)?
    } else {
        year
    };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

/// Year, month and day of a number of days since 1970: years begin in March here, so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// A new id of a session: a UUID of version 7, which sorts by time.
pub(crate) fn session_id(ms: u64) -> std::io::Result<String> {
    let random = random_bits()?;
    let high = (ms << 16) | 0x7000 | u64::from(u16::try_from(random >> 48).unwrap_or(0) & 0x0fff);
    let low = (random_bits()? & (u64::MAX >> 2)) | (1 << 63);
    Ok(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    ))
}

/// A new id of an entry: eight hexadecimal digits.
pub(crate) fn entry_id() -> std::io::Result<String> {
    Ok(format!("{:08x}", random_bits()? >> 32))
}

fn random_bits() -> std::io::Result<u64> {
    getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_time(ms), expected);
            assert_eq!(moment_ms(expected), Some(ms));
        }
        assert_eq!(moment_ms("2026-01-01T00:00:00Z"), Some(1_767_225_600_000));
        assert_eq!(
            moment_ms("2026-01-01T00:00:00.123456Z"),
            Some(1_767_225_600_123)
        );
        for nothing in [
            "",
            "Z",
            "T",
            "2026-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00",
            "2026-01-01T24:00:00Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.xZ",
        ] {
            assert_eq!(moment_ms(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn ids_have_their_form_and_sort_by_time() {
        let first = session_id(1_767_225_599_999).unwrap();
        let second = session_id(1_767_225_600_000).unwrap();
        assert!(first < second);
        let parts: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(first.as_bytes()[14], b'7');
        assert!(matches!(first.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert_eq!(entry_id().unwrap().len(), 8);
    }
}
