//! Time as Slurm writes it.

use std::fmt;
use std::str::FromStr;

/// A length of time: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or
/// days-hours:minutes:seconds, as `sbatch --time` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    seconds: u64,
}

impl Time {
    /// In seconds.
    pub fn seconds(self) -> u64 {
        self.seconds
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is no time: write minutes, hours:minutes:seconds or days-hours:minutes, as for sbatch"
            )
        };
        let (days, rest) = match text.split_once('-') {
            Some((days, rest)) => (Some(days), rest),
            None => (None, text),
        };
        let parts: Vec<&str> = rest.split(':').collect();
        let scales: &[u64] = match (days, parts.len()) {
            (Some(_), 1..=3) => &[3600, 60, 1][..parts.len()],
            (None, 1) => &[60],
            (None, 2) => &[60, 1],
            (None, 3) => &[3600, 60, 1],
            _ => return Err(wrong()),
        };
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse::<u32>().ok()).flatten()
        };
        let mut seconds = 86_400 * u64::from(number(days.unwrap_or("0")).ok_or_else(wrong)?);
        for (part, scale) in parts.iter().zip(scales) {
            seconds += scale * u64::from(number(part).ok_or_else(wrong)?);
        }
        match seconds {
            0 => Err(format!("'{text}': it must be longer than nothing")),
            seconds => Ok(Self { seconds }),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.seconds / 86_400, self.seconds % 86_400);
        let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(f, "{days}-{hours:02}:{minutes:02}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_slurm_is_read() {
        for (text, seconds) in [
            ("30", 1800),
            ("1:30", 90),
            ("2:00:05", 7205),
            ("1-6", 108_000),
            ("1-6:30", 109_800),
            ("1-6:30:01", 109_801),
        ] {
            let time: Time = text.parse().unwrap();
            assert_eq!(time.seconds(), seconds, "{text}");
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        for text in [
            "",
            "0",
            "1h",
            "-5",
            "1:2:3:4",
            "1-",
            "+3",
            "1-2:3:4:5",
            "99999999999",
        ] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }
}
