//! One request: a JSON body out, a JSON body back, and what can go wrong in between.

use std::io::Read;
use std::time::{Duration, SystemTime};

use reqwest::blocking::{Client, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use teda_core::{Cause, Error, Result, plain};

use super::backoff;
use super::key::{Key, is_loopback};
use super::spec::Spec;

/// Time limit for connecting, within the time of the whole request.
const CONNECT: Duration = Duration::from_secs(10);
/// Characters of a server's message that are repeated.
const MESSAGE: usize = 300;

/// Why a request brought no answer.
#[derive(Debug)]
pub enum Fault {
    /// Another try may bring an answer.
    Passing {
        /// The kind under which it is counted.
        kind: String,
        message: String,
        /// Whose failure it is if no try brings an answer.
        cause: Cause,
        /// Whether there was no connection at all.
        unreachable: bool,
        /// The wait that the server asks for.
        after: Option<Duration>,
    },
    /// The server does not accept this request; another one may be fine.
    Refused { kind: String, message: String },
    /// The server cannot do this kind of request; other kinds may be fine.
    Unsupported { kind: String, message: String },
    /// No request can succeed.
    Hopeless { kind: String, message: String },
}

/// The result of one request.
pub type Tried<T> = std::result::Result<T, Fault>;

/// The connection to one server.
pub struct Transport {
    client: Client,
    base: Url,
    key: Option<Key>,
    /// Time limit of a whole request, including its answer.
    timeout: Duration,
    /// Most bytes in an answer.
    largest: u64,
}

impl Transport {
    /// Prepares requests to the server that `spec` names, for answers of at most `largest` bytes; sends none.
    ///
    /// # Errors
    /// Failed, if the system's certificates or proxy settings cannot be used.
    pub fn new(spec: &Spec, largest: u64) -> Result<Self> {
        let mut builder = Client::builder()
            .user_agent(concat!("teda/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT.min(spec.timeout))
            // A private text goes only to the host that was named.
            .redirect(Policy::none());
        if is_loopback(&spec.base) {
            builder = builder.no_proxy();
        }
        if spec.base.scheme() == "http" {
            // There is nothing to verify, so a system without certificates works as well.
            builder = builder.tls_built_in_root_certs(false);
        }
        let client = builder.build().map_err(|e| {
            Error::failed(format!(
                "{}: no HTTP client can be made: {}",
                spec.base,
                causes(&e)
            ))
        })?;
        Ok(Self {
            client,
            base: spec.base.clone(),
            key: spec.key.clone(),
            timeout: spec.timeout,
            largest,
        })
    }

    /// The API's base.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Posts `body` to `path` below the base. The key is not in the answer, even if the server put it there.
    pub fn post(&self, path: &str, body: &[u8]) -> Tried<Value> {
        let mut request = self
            .client
            .post(format!(
                "{}/{path}",
                self.base.as_str().trim_end_matches('/')
            ))
            .header(CONTENT_TYPE, "application/json")
            // The client's own time-out would restart with every piece of the answer, so that a slowly dripping answer
            // would never end.
            .timeout(self.timeout)
            .body(body.to_vec());
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header());
        }
        let response = request.send().map_err(|e| self.broken(e))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.rejected(status, response));
        }
        let body = self.read(response)?;
        let mut answer = serde_json::from_slice(&body).map_err(|e| {
            // No more than could be shown, however its characters are encoded.
            let beginning = &body[..body.len().min(MESSAGE * 64)];
            self.passing(
                "invalid JSON",
                format!(
                    "the answer is not JSON ({e}): {}",
                    String::from_utf8_lossy(beginning)
                ),
            )
        })?;
        if let Some(key) = &self.key {
            key.redact_all(&mut answer);
        }
        Ok(answer)
    }

    /// `message` in a form that may be shown: without the key, on one line, cut.
    pub fn presentable(&self, message: &str) -> String {
        let message = match &self.key {
            Some(key) => key.redact(message),
            None => message.to_owned(),
        };
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.replace(char::is_control, "");
        let line = plain(&line).into_owned();
        match line.char_indices().nth(MESSAGE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    fn passing(&self, kind: impl Into<String>, message: impl AsRef<str>) -> Fault {
        Fault::Passing {
            kind: kind.into(),
            message: self.presentable(message.as_ref()),
            cause: Cause::Transport,
            unreachable: false,
            after: None,
        }
    }

    /// The body of a successful answer.
    fn read(&self, response: Response) -> Tried<Vec<u8>> {
        let mut body = Vec::new();
        let limit = self.largest;
        let most = limit.saturating_add(1);
        let read = response.take(most).read_to_end(&mut body);
        if let Err(error) = read {
            return Err(if is_timeout(&error) {
                self.passing("time-out", "the answer took too long (timeout=SECONDS)")
            } else {
                self.passing("cut off", "the connection was lost within the answer")
            });
        }
        if body.len() as u64 > limit {
            let message = format!(
                "the answer has more than {limit} bytes, the most that are read (--max-answer-bytes)"
            );
            return Err(Fault::Refused {
                kind: "too large".to_owned(),
                message,
            });
        }
        Ok(body)
    }

    /// A request without any answer.
    fn broken(&self, error: reqwest::Error) -> Fault {
        let unreachable = error.is_connect();
        let kind = match () {
            () if unreachable => "no connection",
            () if error.is_timeout() => "time-out",
            () => "cut off",
        };
        let message = if kind == "time-out" {
            "no answer in time (timeout=SECONDS)".to_owned()
        } else {
            format!("{kind}: {}", causes(&error.without_url()))
        };
        Fault::Passing {
            kind: kind.to_owned(),
            message: self.presentable(&message),
            cause: Cause::Transport,
            unreachable,
            after: None,
        }
    }

    /// An answer with a failure status.
    fn rejected(&self, status: StatusCode, response: Response) -> Fault {
        let header = |name| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let after = header(RETRY_AFTER).and_then(|value| backoff::asked(&value, SystemTime::now()));
        let location = header(LOCATION);
        let mut body = Vec::new();
        // A truncated message is better than none.
        let _ = response.take(1 << 16).read_to_end(&mut body);
        let said = server_message(&body);
        let kind = format!("HTTP {}", status.as_u16());
        let message = match (&location, said.is_empty()) {
            (Some(location), _) => format!("{kind}, elsewhere: {location}"),
            (None, true) => kind.clone(),
            (None, false) => format!("{kind}: {said}"),
        };
        let message = self.presentable(&message);
        // OpenAI's term for an empty account; waiting does not refill it.
        let empty_account = String::from_utf8_lossy(&body).contains("insufficient_quota");
        match status.as_u16() {
            300..=399 | 401..=405 | 410 => Fault::Hopeless { kind, message },
            429 if empty_account => Fault::Hopeless { kind, message },
            408 | 409 | 425 | 429 | 500.. => Fault::Passing {
                kind,
                message,
                cause: Cause::Transport,
                unreachable: false,
                after,
            },
            _ => Fault::Refused { kind, message },
        }
    }
}

/// Whether reading an answer took too long.
fn is_timeout(error: &std::io::Error) -> bool {
    let mut cause = error
        .get_ref()
        .map(|e| e as &(dyn std::error::Error + 'static));
    while let Some(error) = cause {
        let own = error.downcast_ref::<reqwest::Error>();
        if own.is_some_and(reqwest::Error::is_timeout) {
            return true;
        }
        cause = error.source();
    }
    error.kind() == std::io::ErrorKind::TimedOut
}

/// The message in the body of a failure: where servers usually put one, or else the whole body.
pub fn server_message(body: &[u8]) -> String {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    // Gemini wraps its errors in a list.
    if let Value::Array(list) = &mut value
        && !list.is_empty()
    {
        value = list.swap_remove(0);
    }
    let places = ["/error/message", "/error", "/message", "/detail"];
    let said = places.iter().find_map(|place| value.pointer(place));
    match said.unwrap_or(&value) {
        Value::String(message) => message.clone(),
        other => other.to_string(),
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_where_servers_put_them() {
        for (body, message) in [
            (r#"{"error":{"message":"too long","code":7}}"#, "too long"),
            (r#"[{"error":{"message":"Unknown name"}}]"#, "Unknown name"),
            (r#"{"error":"no such model"}"#, "no such model"),
            (
                r#"{"detail":[{"msg":"field required"}]}"#,
                r#"[{"msg":"field required"}]"#,
            ),
            (r#"{"message":"m"}"#, "m"),
            ("<html>bad gateway</html>", "<html>bad gateway</html>"),
            ("[]", "[]"),
            ("", ""),
        ] {
            assert_eq!(server_message(body.as_bytes()), message);
        }
    }

    #[test]
    fn a_message_is_one_short_line_without_the_key() {
        let environment = |_: &str| Some("sk-secret".to_owned());
        let spec = Spec::parse("http://127.0.0.1/v1?model=m", environment).unwrap();
        let transport = Transport::new(&spec, 1 << 20).unwrap();
        assert_eq!(transport.presentable("a\n b\u{7} sk-secret"), "a b [key]");
        assert_eq!(transport.presentable("\u{202e}b"), r"\u{202e}b");
        // Cutting through the key must not leave its beginning.
        let long = "x".repeat(MESSAGE - 3) + "sk-secret";
        assert_eq!(
            transport.presentable(&long),
            "x".repeat(MESSAGE - 3) + "[ke…"
        );
    }
}
