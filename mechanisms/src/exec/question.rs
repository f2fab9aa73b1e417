//! The questions for a process: to rewrite a text, or how likely a release is for a text.

use teda_core::{Answer, Error, Query, Result};

use super::protocol::{self, Fields, Line};

/// A question to a process, in one line, and its answer.
pub trait Question: Copy + Sync {
    /// The content of a successful answer.
    type Told: Clone + Send;
    /// What a process must do with it, for messages.
    const EXPECTED: &'static str;

    /// The line that asks the question.
    fn line(&self, id: u64, epsilon: Option<f64>) -> Line<'_>;

    /// The content of an answer's fields.
    ///
    /// # Errors
    /// A description of the error, as in "the answer '…' …".
    fn told(fields: Fields) -> Result<Answer<Self::Told>>;
}

/// A text to rewrite; the answer is its release.
impl Question for Query<'_> {
    type Told = String;
    const EXPECTED: &'static str = "For each line that it reads, the process must write one line \
         {\"id\":…,\"text\":\"…\"} (or {\"id\":…,\"error\":\"…\"}) with the same id, flush its standard output \
         and go on to the next; all else belongs on standard error";

    fn line(&self, id: u64, epsilon: Option<f64>) -> Line<'_> {
        Line {
            id,
            text: self.text,
            release: None,
            epsilon,
            seed: protocol::number(&self.seed),
        }
    }

    fn told(fields: Fields) -> Result<Answer<String>> {
        match (fields.error, fields.text) {
            (Some(reason), _) => Ok(Err(reason.into())),
            (None, Some(text)) => Ok(Ok(text)),
            (None, None) => Err(Error::failed("has neither a text nor an error")),
        }
    }
}

/// A pair (release, text); the answer is ln P(release | text).
impl Question for (&str, &str) {
    type Told = f64;
    const EXPECTED: &'static str = "A line with a \"release\" asks how likely that release is for its text: for \
         each, the process must write one line {\"id\":…,\"log_likelihood\":…} with the same id (the natural \
         logarithm of the probability, \"-inf\" where that is 0; or {\"id\":…,\"error\":\"…\"}) and flush its \
         standard output. For a program that cannot tell, take another attack than 'likelihood-ratio' and no \
         white-box estimator: only these ask";

    /// Nothing is drawn. The seed is there for programs that read it before they see what they are asked: they then
    /// answer wrongly, which is more informative than a crash.
    fn line(&self, id: u64, epsilon: Option<f64>) -> Line<'_> {
        let (release, text) = *self;
        Line {
            id,
            text,
            release: Some(release),
            epsilon,
            seed: 0,
        }
    }

    fn told(fields: Fields) -> Result<Answer<f64>> {
        if let Some(reason) = fields.error {
            return Ok(Err(reason.into()));
        }
        // A program that does not know this kind of question takes it for a text to rewrite: the request is at fault,
        // not the program.
        let stated = fields
            .log_likelihood
            .ok_or_else(|| Error::usage("has neither a log_likelihood nor an error"))?;
        // JSON's numbers are finite; the one legal infinity is a string.
        let read = match stated.as_str() {
            Some("-inf") => Some(f64::NEG_INFINITY),
            _ => stated.as_f64(),
        };
        let what = || Error::failed("has a log_likelihood that is neither a number nor \"-inf\"");
        read.map(Ok).ok_or_else(what)
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;

    /// Parses an answer to a question of this kind.
    fn told<Q: Question>(answer: &str) -> Result<Answer<Q::Told>> {
        Q::told(protocol::read(answer.as_bytes()).unwrap())
    }

    #[test]
    fn a_scoring_query_is_another_with_a_release() {
        let mut lines = Vec::new();
        protocol::write(&("b", "a").line(4, Some(0.5)), &mut lines);
        let query = Query {
            text: "a",
            seed: Seed::root(5),
        };
        protocol::write(&query.line(5, None), &mut lines);
        let seed = protocol::number(&Seed::root(5));
        let expected = format!(
            "{{\"id\":4,\"text\":\"a\",\"release\":\"b\",\"epsilon\":0.5,\"seed\":0}}\n\
             {{\"id\":5,\"text\":\"a\",\"epsilon\":null,\"seed\":{seed}}}\n"
        );
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
    }

    #[test]
    fn a_rewriting_answer_tells_its_text_whatever_else_it_says() {
        let told = told::<Query<'_>>;
        let text = |text: &str| Ok(Ok(text.to_owned()));
        assert_eq!(
            told(r#"{"id":3,"text":"b","log_likelihood":"?"}"#),
            text("b")
        );
        assert_eq!(told(r#"{"id":0,"text":"","error":null}"#), text(""));
        assert_eq!(
            told(r#"{"id":1,"text":"\u0000\n\ud83d\ude00"}"#),
            text("\0\n😀")
        );
        let failed = Ok(Err("no".into()));
        assert_eq!(told(r#"{"id":1,"text":null,"error":"no"}"#), failed);
        assert_eq!(told(r#"{"id":1,"text":"a","error":"no"}"#), failed);
        for lacking in [r#"{"id":1}"#, r#"{"id":1,"text":null}"#] {
            assert!(matches!(told(lacking), Err(Error::Failed(_))), "{lacking}");
        }
    }

    #[test]
    fn a_scoring_answer_tells_a_logarithm() {
        let told = |said: &str| told::<(&str, &str)>(&format!(r#"{{"id":1,{said}}}"#));
        for (said, value) in [
            ("-1.25", -1.25),
            ("0", 0.0),
            ("3.5", 3.5),
            ("-1e308", -1e308),
            ("\"-inf\"", f64::NEG_INFINITY),
        ] {
            let said = format!(r#""log_likelihood":{said}"#);
            assert_eq!(told(&said), Ok(Ok(value)), "{said}");
        }
        let failed = Ok(Err("too long".into()));
        assert_eq!(told(r#""error":"too long","log_likelihood":null"#), failed);
        for lacking in [r#""text":"b""#, r#""log_likelihood":null"#] {
            assert!(matches!(told(lacking), Err(Error::Usage(_))), "{lacking}");
        }
        for wrong in ["\"inf\"", "\"nan\"", "\"-1\"", "[-1]", "true"] {
            let said = format!(r#""log_likelihood":{wrong}"#);
            assert!(matches!(told(&said), Err(Error::Failed(_))), "{wrong}");
        }
    }
}
