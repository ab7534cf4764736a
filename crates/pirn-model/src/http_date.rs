//! Dates as they stand in headers of HTTP.

const MONTHS: &[&str] = &[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds from `now`, in seconds since 1970, to a date like `Sun, 06 Nov 1994 08:49:37 GMT`; 0 where it has passed.
pub(crate) fn seconds_until(date: &str, now: u64) -> Option<u64> {
    let (_, rest) = date.split_once(", ")?;
    let mut words = rest.split_ascii_whitespace();
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words
        .next()?
        .parse()
        .ok()
        .filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.splitn(3, ':').map(str::parse::<u64>);
    let mut next = || clock.next()?.ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    let at = days(year, month, day.min(31)) * 86_400
        + hours.min(23) * 3_600
        + minutes.min(59) * 60
        + seconds.min(60);
    Some(at.saturating_sub(now))
}

/// Days since 1970. Years begin in March here, so that the leap day is the last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_from_now() {
        for (date, now, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777, Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 784_111_777, Some(60)),
            ("Thu, 01 Jan 1970 00:00:05 GMT", 0, Some(5)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_790, Some(10)),
            ("soon", 0, None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", 0, None),
        ] {
            assert_eq!(seconds_until(date, now), expected, "{date}");
        }
    }
}
