//! The address of a server with its options: `http://host/v1?model=NAME&api=chat&…`.

use std::time::Duration;

use reqwest::Url;
use teda_core::{Error, Result};

use super::key::Key;

/// Options that an address may have.
const OPTIONS: [&str; 10] = [
    "model",
    "api",
    "concurrency",
    "timeout",
    "retries",
    "rpm",
    "key_env",
    "seed",
    "length",
    "thinking",
];

/// Which of the two generation endpoints is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `chat/completions`: the prompt is one user message.
    Chat,
    /// `completions`: the prompt is continued as it is.
    Completions,
}

/// The field that bounds a chat answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// `max_tokens`, which nearly all servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// Whether a model that can think before it answers should do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// It is asked not to, unless the server refuses the switch.
    Auto,
    /// It is asked not to.
    Off,
    /// It is allowed to, and has room for it.
    On,
}

/// A parsed address.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The API's base, without query and without a trailing slash.
    pub base: Url,
    /// Name of the model, as the server knows it.
    pub model: String,
    /// Endpoint.
    pub api: Api,
    /// Requests in flight at once.
    pub concurrency: usize,
    /// Time limit of a whole request.
    pub timeout: Duration,
    /// Attempts after the first.
    pub retries: u32,
    /// Requests per minute.
    pub rpm: Option<u32>,
    /// Whether requests carry a seed.
    pub seed: bool,
    /// How a chat answer's length is bounded.
    pub length: Length,
    /// Whether the model may think.
    pub thinking: Thinking,
    /// The key that authorises requests, if any.
    pub key: Option<Key>,
}

/// Whether `spec` is an address rather than a name.
#[must_use]
pub fn is_url(spec: &str) -> bool {
    let starts = |scheme: &str| {
        spec.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("http://") || starts("https://")
}

impl Spec {
    /// Parses an address; `environment` looks up variables.
    ///
    /// # Errors
    /// Usage, naming what is wrong: not an address, an unknown option, a value out of range, no model, a user or
    /// password in the address, a missing key.
    pub fn parse(spec: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self> {
        // The address is not repeated before it is known to contain no password.
        let mut base = Url::parse(spec).map_err(|e| {
            Error::usage(format!("the address of a model server is not a URL: {e}"))
        })?;
        if !is_url(spec) || base.host_str().is_none() {
            return Err(Error::usage(
                "the address of a model server begins with http:// or https:// and a host",
            ));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(Error::usage(format!(
                "the address of the server at {} holds a user or password (user:password@). Addresses are recorded in manifests, so secrets do not belong there: put the key into an environment variable and name it with key_env=NAME",
                base.host_str().unwrap_or_default()
            )));
        }
        let options: Vec<(String, String)> = base
            .query_pairs()
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        base.set_query(None);
        base.set_fragment(None);
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        for endpoint in ["/chat/completions", "/completions", "/embeddings"] {
            if let Some(stem) = path.strip_suffix(endpoint) {
                return Err(Error::usage(format!(
                    "{base}: an address ends with the API's base, {stem} here; {endpoint} is added by itself (api=chat or api=completions chooses)"
                )));
            }
        }
        Options { base, options }.read(environment)
    }

    /// The address in its shortest form, without anything about keys: the form that a manifest records.
    pub fn name(&self) -> String {
        let mut url = self.base.clone();
        url.query_pairs_mut().append_pair("model", &self.model);
        if self.api == Api::Completions {
            url.query_pairs_mut().append_pair("api", "completions");
        }
        if self.thinking == Thinking::On {
            url.query_pairs_mut().append_pair("thinking", "on");
        }
        url.as_str().replace("%2F", "/").replace("%3A", ":")
    }
}

/// An address whose options are not parsed yet.
struct Options {
    base: Url,
    options: Vec<(String, String)>,
}

impl Options {
    fn read(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Spec> {
        for (index, (name, _)) in self.options.iter().enumerate() {
            if !OPTIONS.contains(&name.as_str()) {
                // Only the name: the value of an unknown option may be a secret.
                return Err(Error::unknown("option", name, &OPTIONS).context(&self.base));
            }
            if self.options[..index].iter().any(|(n, _)| n == name) {
                return Err(self.usage(format!("{name} is given twice")));
            }
        }
        let model = self.value("model").unwrap_or_default();
        if model.is_empty() {
            return Err(self.usage("no model is named. Add ?model=NAME, a name that the server knows (its /models lists them)"));
        }
        Ok(Spec {
            model: model.to_owned(),
            api: self.choice(
                "api",
                &[("chat", Api::Chat), ("completions", Api::Completions)],
            )?,
            concurrency: self.number("concurrency", 1, 256)?.unwrap_or(8) as usize,
            timeout: self.timeout()?,
            retries: self.number("retries", 0, 20)?.unwrap_or(6),
            rpm: self.number("rpm", 1, 1_000_000)?,
            seed: self.choice("seed", &[("yes", true), ("no", false)])?,
            length: self.choice(
                "length",
                &[
                    ("max_tokens", Length::MaxTokens),
                    ("max_completion_tokens", Length::MaxCompletionTokens),
                ],
            )?,
            thinking: self.choice(
                "thinking",
                &[
                    ("auto", Thinking::Auto),
                    ("off", Thinking::Off),
                    ("on", Thinking::On),
                ],
            )?,
            key: Key::find(self.value("key_env"), &self.base, environment)?,
            base: self.base.clone(),
        })
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    fn usage(&self, message: impl std::fmt::Display) -> Error {
        Error::usage(format!("{}: {message}", self.base))
    }

    /// One of `choices`, the first of which is the default.
    fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T> {
        let Some(value) = self.value(name) else {
            return Ok(choices[0].1);
        };
        choices
            .iter()
            .find(|(known, _)| *known == value)
            .map(|(_, choice)| *choice)
            .ok_or_else(|| {
                let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
                self.usage(format!("{name}={value}: it is {}", known.join(" or ")))
            })
    }

    fn number(&self, name: &str, least: u32, greatest: u32) -> Result<Option<u32>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        value
            .parse()
            .ok()
            .filter(|number| (least..=greatest).contains(number))
            .map(Some)
            .ok_or_else(|| {
                self.usage(format!(
                    "{name}={value}: it is a whole number from {least} to {greatest}"
                ))
            })
    }

    fn timeout(&self) -> Result<Duration> {
        let value = self.value("timeout").unwrap_or("60");
        value
            .parse()
            .ok()
            .filter(|seconds| (0.01..=86_400.0).contains(seconds))
            .map(Duration::from_secs_f64)
            .ok_or_else(|| {
                self.usage(format!(
                    "timeout={value}: it is a number of seconds from 0.01 to 86400"
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(spec: &str) -> Result<Spec> {
        Spec::parse(spec, |_| None)
    }

    #[test]
    fn an_address_has_defaults_for_all_but_the_model() {
        let spec = parse("http://127.0.0.1:8000/v1/?model=org%2Fsmol:135m").unwrap();
        assert_eq!(spec.base.as_str(), "http://127.0.0.1:8000/v1");
        assert_eq!(spec.model, "org/smol:135m");
        assert_eq!((spec.concurrency, spec.retries, spec.rpm), (8, 6, None));
        assert_eq!(spec.timeout, Duration::from_secs(60));
        assert_eq!(spec.api, Api::Chat);
        assert!(spec.seed && spec.key.is_none());
        assert_eq!(spec.name(), "http://127.0.0.1:8000/v1?model=org/smol:135m");
        let again = parse(&spec.name()).unwrap();
        assert_eq!(again.model, spec.model);
    }

    #[test]
    fn every_option_is_read() {
        let spec = "https://h/v1?model=m&api=completions&concurrency=2&timeout=1.5&retries=0&rpm=60&key_env=&seed=no&length=max_completion_tokens";
        let spec = parse(spec).unwrap();
        assert_eq!((spec.concurrency, spec.retries, spec.rpm), (2, 0, Some(60)));
        assert_eq!(spec.timeout, Duration::from_millis(1500));
        assert_eq!(
            (spec.api, spec.length),
            (Api::Completions, Length::MaxCompletionTokens)
        );
        assert!(!spec.seed);
        assert_eq!(spec.thinking, Thinking::Auto);
        assert_eq!(spec.name(), "https://h/v1?model=m&api=completions");
    }

    #[test]
    fn thinking_changes_answers_and_so_belongs_to_the_name() {
        let spec = parse("http://h/v1?model=m&thinking=on").unwrap();
        assert_eq!(spec.name(), "http://h/v1?model=m&thinking=on");
        let spec = parse("http://h/v1?model=m&thinking=off").unwrap();
        assert_eq!(spec.thinking, Thinking::Off);
        assert_eq!(spec.name(), "http://h/v1?model=m");
        assert!(parse("http://h/v1?model=m&thinking=no").is_err());
    }

    #[test]
    fn what_is_wrong_is_named_and_secrets_are_not_repeated() {
        for (spec, part) in [
            ("http://h/v1", "no model"),
            (
                "http://h/v1?model=m&api=both",
                "api=both: it is chat or completions",
            ),
            (
                "http://h/v1?model=m&retries=99",
                "retries=99: it is a whole number from 0 to 20",
            ),
            ("http://h/v1?model=m&concurrency=0", "concurrency=0"),
            ("http://h/v1?model=m&timeout=NaN", "timeout=NaN"),
            ("http://h/v1?model=m&model=n", "model is given twice"),
            (
                "http://h/v1?model=m&api_key=hush",
                "unknown option 'api_key'",
            ),
            ("http://h/v1?model=m&key_env=NOT_SET", "NOT_SET is not set"),
            ("http://me:hush@h/v1?model=m", "user:password@"),
            (
                "http://h/v1/chat/completions?model=m",
                "the API's base, /v1 here",
            ),
            ("http://:hush", "not a URL"),
            ("ftp://h/v1?model=m", "http://"),
        ] {
            let error = parse(spec).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{spec}: {error:?}");
            let message = error.to_string();
            assert!(message.contains(part), "{spec}: {message}");
            assert!(!message.contains("hush"), "{spec}: {message}");
        }
    }

    #[test]
    fn names_are_no_addresses() {
        assert!(is_url("http://h/v1") && is_url("HTTPS://h"));
        assert!(!is_url("builtin") && !is_url("builtin:mask=0.3") && !is_url("httpö"));
    }
}
