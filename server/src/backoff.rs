//! How long to wait before a request is repeated.
//!
//! The wait before retry r is base · 2^r, at most [`LONGEST`], times a random factor in [½, 1) that keeps many callers
//! from returning at once. The factor comes from the operating system, not from a stream of a trial: no result depends
//! on it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest wait, whatever the server asks for.
pub const LONGEST: Duration = Duration::from_secs(60);

/// The wait before retry number `retry` (from 0), at least what the server asked for.
pub fn before(retry: u32, base: Duration, asked: Option<Duration>) -> Duration {
    let longest = base.saturating_mul(1 << retry.min(16)).min(LONGEST);
    longest
        .mul_f64(0.5 + 0.5 * chance())
        .max(asked.unwrap_or_default())
        .min(LONGEST)
}

/// The wait asked for by a `Retry-After` header: seconds, or until an HTTP date.
pub fn asked(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = UNIX_EPOCH + Duration::from_secs(unix_seconds(header)?);
    Some(date.duration_since(now).unwrap_or_default())
}

/// Seconds since 1970 for a date such as "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate).
fn unix_seconds(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, date) = date.split_once(", ")?;
    let [day, month, year, time, "GMT"] = date.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = year.parse().ok().filter(|y| (1970..=9999).contains(y))?;
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (hour, minute, second): (u64, u64, u64) = (
        hour.parse().ok()?,
        minute.parse().ok()?,
        second.parse().ok()?,
    );
    // Years begin in March here, so that a leap day is the last day of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    const DAYS_TO_1970: u64 = 719_468;
    Some((((days - DAYS_TO_1970) * 24 + hour) * 60 + minute) * 60 + second)
}

/// A number in [0, 1) from the operating system's randomness.
fn chance() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_are_bounded() {
        let base = Duration::from_millis(500);
        for (retry, most) in [(0, 500), (1, 1000), (3, 4000), (30, 60_000)] {
            let wait = before(retry, base, None);
            let most = Duration::from_millis(most);
            assert!(wait >= most / 2 && wait <= most, "{retry}: {wait:?}");
        }
        let asked = Some(Duration::from_secs(7));
        assert_eq!(before(0, base, asked), Duration::from_secs(7));
        let asked = Some(Duration::from_secs(86_400));
        assert_eq!(before(0, base, asked), LONGEST);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let asked = |header| super::asked(header, now);
        assert_eq!(asked("3"), Some(Duration::from_secs(3)));
        assert_eq!(asked("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(
            asked("Sun, 06 Nov 1994 08:49:47 GMT"),
            Some(Duration::from_secs(10))
        );
        assert_eq!(asked("Sun, 06 Nov 1994 08:49:30 GMT"), Some(Duration::ZERO));
        for nonsense in ["", "-1", "soon", "Sun, 06 Nox 1994 08:49:37 GMT", "NaN"] {
            assert_eq!(asked(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn dates_count_leap_days() {
        assert_eq!(unix_seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            unix_seconds("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777)
        );
        assert_eq!(
            unix_seconds("Thu, 29 Feb 2024 12:00:00 GMT"),
            Some(1_709_208_000)
        );
        assert_eq!(
            unix_seconds("Fri, 01 Mar 2024 12:00:00 GMT"),
            Some(1_709_294_400)
        );
    }
}
