//! The secret that a server may require: read from the environment, and never shown.

use std::fmt;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;
use teda_core::{Error, Result};

/// Where a key is looked up if the address names no variable.
const DEFAULTS: [&str; 2] = ["TEDA_API_KEY", "OPENAI_API_KEY"];

/// Replaces the key in messages.
const MASK: &str = "[key]";

/// The number of letters and digits from which a key is searched for in models' output, even with anything between
/// them. Keys issued by services have more.
const TELLING: usize = 12;

/// A bearer token.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// The key for the server at `base`. `variable` is the address's `key_env`: `None` looks at the default variables,
    /// an empty name sends no key.
    ///
    /// # Errors
    /// Usage, if a named variable is not set, a key cannot be in a header, or a key that was not named for this server
    /// would travel unencrypted to another machine.
    pub fn find(
        variable: Option<&str>,
        base: &Url,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>> {
        let value = |name: &str| {
            environment(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let (name, key) = match variable {
            Some("") => return Ok(None),
            Some(name) => {
                let key = value(name).ok_or_else(|| not_set(name))?;
                (shown(name), Self(key))
            }
            None => {
                let found = DEFAULTS
                    .iter()
                    .find_map(|name| value(name).map(|key| (name, key)));
                let Some((name, key)) = found else {
                    return Ok(None);
                };
                if base.scheme() == "http" && !is_loopback(base) {
                    return Err(Error::usage(format!(
                        "{base}: the key in {name} would travel unencrypted. Use https, or insist with key_env={name}, or send no key with key_env="
                    )));
                }
                (*name, Self(key))
            }
        };
        if HeaderValue::from_str(&key.0).is_err() {
            return Err(Error::usage(format!(
                "the key in {name} has characters that an HTTP header cannot carry"
            )));
        }
        Ok(Some(key))
    }

    /// The value of the `Authorization` header, marked so that no library logs it.
    pub fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .expect("a key that is no header value was refused");
        value.set_sensitive(true);
        value
    }

    /// `message` without the key, which a server may have repeated: exactly, or in different case, and with blanks,
    /// hyphens or anything else between its letters and digits.
    pub fn redact(&self, message: &str) -> String {
        let message = message.replace(&self.0, MASK);
        match self.pattern() {
            Some(pattern) => masked(&message, &pattern),
            None => message,
        }
    }

    /// Removes the key from every text of `answer`. A very short key (a server on this machine may accept any word)
    /// stays: removing it from a model's output would change what is audited.
    pub fn redact_all(&self, answer: &mut Value) {
        if self.pattern().is_none() {
            return;
        }
        let mut open = vec![answer];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => *text = self.redact(text),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values_mut()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// The letters and digits of the key, if there are so many that no text has them by chance.
    fn pattern(&self) -> Option<Vec<char>> {
        let letters = self.0.chars().filter(|c| c.is_alphanumeric());
        let pattern: Vec<char> = letters.map(|c| c.to_ascii_lowercase()).collect();
        (pattern.len() >= TELLING).then_some(pattern)
    }
}

/// `text` with every stretch masked whose letters and digits match `pattern`.
fn masked(text: &str, pattern: &[char]) -> String {
    // Where each letter or digit begins and ends.
    let letters: Vec<(usize, usize, char)> = text
        .char_indices()
        .filter(|(_, c)| c.is_alphanumeric())
        .map(|(at, c)| (at, at + c.len_utf8(), c.to_ascii_lowercase()))
        .collect();
    let (mut out, mut from, mut next) = (String::new(), 0, 0);
    while let Some(stretch) = letters.get(next..next + pattern.len()) {
        if stretch.iter().map(|(_, _, c)| c).eq(pattern) {
            out += &text[from..stretch[0].0];
            out += MASK;
            from = stretch[pattern.len() - 1].1;
            next += pattern.len();
        } else {
            next += 1;
        }
    }
    out + &text[from..]
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Whether `url` stays on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// A variable's name as shown in messages: somebody may have put the key itself there.
fn shown(name: &str) -> &str {
    let plain = name.len() <= 40
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if plain {
        name
    } else {
        "the variable of key_env"
    }
}

fn not_set(name: &str) -> Error {
    Error::usage(format!(
        "key_env: {} is not set or empty. It takes the name of an environment variable that holds the key, as in key_env=OPENAI_API_KEY",
        shown(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variable: Option<&str>, base: &str, set: &[(&str, &str)]) -> Result<Option<String>> {
        let environment = |name: &str| {
            set.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Key::find(variable, &base.parse().unwrap(), environment).map(|key| key.map(|key| key.0))
    }

    const HERE: &str = "http://127.0.0.1:8000/v1";

    #[test]
    fn a_named_variable_wins_over_the_default_ones() {
        let set = [
            ("OPENAI_API_KEY", "b"),
            ("TEDA_API_KEY", "a"),
            ("MINE", " c\n"),
        ];
        assert_eq!(find(Some("MINE"), HERE, &set).unwrap().unwrap(), "c");
        assert_eq!(find(None, HERE, &set).unwrap().unwrap(), "a");
        assert_eq!(find(None, HERE, &set[..1]).unwrap().unwrap(), "b");
        assert_eq!(find(Some(""), HERE, &set).unwrap(), None);
        assert_eq!(find(None, HERE, &[]).unwrap(), None);
    }

    #[test]
    fn a_default_key_is_not_sent_in_the_clear_to_other_machines() {
        let set = [("OPENAI_API_KEY", "sk-secret")];
        let error = find(None, "http://10.0.0.7/v1", &set)
            .unwrap_err()
            .to_string();
        assert!(error.contains("unencrypted") && !error.contains("sk-secret"));
        assert!(find(Some("OPENAI_API_KEY"), "http://10.0.0.7/v1", &set).is_ok());
        assert!(find(None, "https://10.0.0.7/v1", &set).is_ok());
        assert!(find(None, "http://[::1]/v1", &set).is_ok());
    }

    #[test]
    fn no_message_repeats_a_key() {
        let error = find(Some("sk-abcdef"), HERE, &[]).unwrap_err().to_string();
        assert!(!error.contains("sk-abcdef"), "{error}");
        let error = find(Some("MINE"), HERE, &[]).unwrap_err().to_string();
        assert!(error.contains("MINE"), "{error}");
        let error = find(Some("MINE"), HERE, &[("MINE", "a\nb")]).unwrap_err();
        assert!(!error.to_string().contains("a\nb"), "{error}");
        assert_eq!(format!("{:?}", Key("sk-abcdef".into())), "[key]");
        assert_eq!(Key("sk-a".into()).redact("bad key sk-a."), "bad key [key].");
    }

    #[test]
    fn a_key_is_masked_however_it_is_spelt() {
        let key = Key("sk-proj-Ab12Cd34_Ef56".into());
        for said in [
            "sk-proj-Ab12Cd34_Ef56",
            "s k - p r o j - A b 1 2 C d 3 4 _ E f 5 6",
            "sk-proj-Ab12\n   Cd34_Ef56",
            "SKPROJ-AB12CD34EF56",
            "s-k-p-r-o-j-a-b-1-2-c-d-3-4-e-f-5-6",
            "sk\u{200b}-proj-Ab12…Cd34_Ef56",
        ] {
            let message = format!("ä {said}, twice: ({said})");
            assert_eq!(key.redact(&message), "ä [key], twice: ([key])", "{said}");
        }
        let mut answer =
            serde_json::json!({"choices": [{"text": "it is sk-proj Ab12Cd34 Ef56!"}], "n": 1});
        key.redact_all(&mut answer);
        let expected = serde_json::json!({"choices": [{"text": "it is [key]!"}], "n": 1});
        assert_eq!(answer, expected);
        for other in ["sk-proj-Ab12Cd34_Ef57", "sk-proj", "", "nothing"] {
            assert_eq!(key.redact(other), other);
        }
        // A word that a server on this machine accepts as a key stays a word.
        let mut answer = serde_json::json!("an EMPTY room");
        Key("EMPTY".into()).redact_all(&mut answer);
        assert_eq!(answer, "an EMPTY room");
    }
}
