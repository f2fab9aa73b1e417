//! Parses `--encoder`, `--llm`, `--judge` and `--then`: `builtin`, a name of the store, or a server's address, with options
//! after a colon.

use std::fmt;

use teda_core::{Error, Result, Sampling};
use teda_models::builtin;

/// Where a model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// For a judge, the model that rewrites unless that is the one in the binary; otherwise the one in the binary.
    Automatic,
    /// In the binary.
    Builtin,
    /// In the store, or yet to be fetched: a short name, a repository of the hub, a path.
    Stored(String),
    /// On a server, with the address's own options.
    Server(String),
}

/// How a language model judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By how likely it finds the release, given each candidate.
    Likelihood,
    /// By being asked which candidate it was.
    Prompt,
}

/// Options of `--then` that say how its model rewrites; the others are the model's.
const TEMPERATURE: &str = "temperature";
const MAX_NEW_TOKENS: &str = "max_new_tokens";
/// Tokens of a text that was rewritten again, at most, by default: the rewriter in the binary has room for 127.
const REWRITTEN: usize = 100;

/// A model and how to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    flag: &'static str,
    text: String,
    /// Where the model is.
    pub target: Target,
    options: Vec<(String, String)>,
}

impl Spec {
    /// Parses `text`, the value of `flag`.
    ///
    /// # Errors
    /// Usage, if no model is named or an option is not KEY=VALUE.
    pub fn parse(flag: &'static str, text: &str) -> Result<Self> {
        let new = |target, options| Self {
            flag,
            text: text.to_owned(),
            target,
            options,
        };
        if teda_server::is_url(text) {
            return Ok(new(Target::Server(text.to_owned()), Vec::new()));
        }
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        if name.trim().is_empty() {
            return Err(Error::usage(format!(
                "{flag} '{text}' names no model: give builtin, a name of `teda models list`, a repository of the hub (org/name), a path, or a server's address (http://…?model=NAME)"
            )));
        }
        let options = pairs(options).map_err(|option| {
            Error::usage(format!(
                "{flag} {text}: '{option}' is not an option: write KEY=VALUE after the colon"
            ))
        })?;
        let target = match name {
            "auto" => Target::Automatic,
            "builtin" => Target::Builtin,
            _ => Target::Stored(name.to_owned()),
        };
        Ok(new(target, options))
    }

    /// Parses `text`, the value of `--judge`: a model that can judge, and how to judge if `by=` says so.
    ///
    /// # Errors
    /// Usage, for anything that [`Spec::parse`] refuses, or an unknown way to judge or option.
    pub fn parse_judge(text: &str) -> Result<(Self, Option<By>)> {
        // The other options of a server belong to its address: only this one follows it.
        let (model, after) = match text.rsplit_once(":by=") {
            Some((address, by)) if teda_server::is_url(address) => (address, Some(by.to_owned())),
            _ => (text, None),
        };
        let mut spec = Self::parse("--judge", model)?;
        let place = spec.options.iter().position(|(key, _)| key == "by");
        let by = after.or_else(|| place.map(|place| spec.options.remove(place).1));
        let by = match by.as_deref() {
            None => None,
            Some("likelihood") => Some(By::Likelihood),
            Some("prompt") => Some(By::Prompt),
            Some(other) => {
                let kind = format!("way to judge in --judge {text}: by");
                return Err(Error::unknown(&kind, other, &["likelihood", "prompt"]));
            }
        };
        match spec.target {
            Target::Stored(_) => spec.chat().map(drop)?,
            _ => spec.takes(&[])?,
        }
        Ok((spec, by))
    }

    /// Parses `text`, the value of `--then`: a model, and how it rewrites (`temperature=T`, 0 by default, which is
    /// greedy; `max_new_tokens=N`).
    ///
    /// # Errors
    /// Usage, for anything that [`Spec::parse`] refuses, or a value that is not a number in its range.
    pub fn parse_then(text: &str) -> Result<(Self, Sampling)> {
        let own = |(key, _): &(String, String)| key == TEMPERATURE || key == MAX_NEW_TOKENS;
        // The other options of a server belong to its address: only these follow it.
        let after = text.rsplit_once(':').and_then(|(address, options)| {
            let options = pairs(options).ok()?;
            let follows = !options.is_empty() && options.iter().all(own);
            (teda_server::is_url(address) && follows).then_some((address, options))
        });
        let (model, after) = after.unwrap_or((text, Vec::new()));
        let mut spec = Self::parse("--then", model)?;
        let given = std::mem::take(&mut spec.options).into_iter();
        let (mut options, others): (Vec<_>, Vec<_>) = given.partition(own);
        spec.options = others;
        options.extend(after);
        let mut sampling = Sampling {
            temperature: 0.0,
            max_new_tokens: REWRITTEN,
        };
        for (key, value) in options {
            let bad = || {
                Error::usage(format!(
                    "--then {text}: {key}={value}: {TEMPERATURE} takes a number of 0 (greedy) or more, {MAX_NEW_TOKENS} a whole number from 1 on"
                ))
            };
            if key == TEMPERATURE {
                sampling.temperature = value.parse().map_err(|_| bad())?;
                sampling.check().map_err(|_| bad())?;
            } else {
                sampling.max_new_tokens = value.parse().map_err(|_| bad())?;
                if sampling.max_new_tokens == 0 {
                    return Err(bad());
                }
            }
        }
        if spec.is_builtin() {
            spec.takes(&[])?;
        }
        spec.check_name()?;
        Ok((spec, sampling))
    }

    /// Whether it is in the binary.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        matches!(self.target, Target::Builtin | Target::Automatic)
    }

    /// Whether this names the same model as `other`, run in the same way.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.target == other.target && self.options == other.options
    }

    /// Checks that the name is a valid model name.
    ///
    /// # Errors
    /// Usage, for an unknown short name or a path that is not a model.
    pub fn check_name(&self) -> Result<()> {
        match &self.target {
            Target::Stored(name) => teda_hub::check_name(name)
                .map_err(|e| e.context(format!("{} {}", self.flag, self.text))),
            Target::Automatic | Target::Builtin | Target::Server(_) => Ok(()),
        }
    }

    /// Checks that no other options than these are given.
    ///
    /// # Errors
    /// Usage, naming the first unknown option.
    pub fn takes(&self, known: &[&str]) -> Result<()> {
        let Some((key, _)) = self
            .options
            .iter()
            .find(|(key, _)| !known.contains(&&key[..]))
        else {
            return Ok(());
        };
        if known.is_empty() {
            return Err(Error::usage(format!(
                "{} {}: unknown option '{key}': this model takes no options",
                self.flag, self.text
            )));
        }
        Err(Error::unknown(
            &format!("option of {} {}", self.flag, self.text),
            key,
            known,
        ))
    }

    /// The options of an infilling model: `mask=SHARE`, `rounds=N`.
    ///
    /// # Errors
    /// Usage, for another option or a value that is not a number.
    pub fn infill(&self) -> Result<builtin::Options> {
        self.takes(&["mask", "rounds"])?;
        let mut parsed = builtin::Options::default();
        for (key, value) in &self.options {
            let bad = || {
                Error::usage(format!(
                    "{} {}: {key}={value}: mask takes a share (0 to 1), rounds a number (1 to 3), as in builtin:mask=0.3,rounds=2",
                    self.flag, self.text
                ))
            };
            if key == "mask" {
                parsed.mask_rate = value.parse().map_err(|_| bad())?;
            } else {
                parsed.rounds = value.parse().map_err(|_| bad())?;
            }
        }
        Ok(parsed)
    }

    /// Whether a language model's chat template is used: `chat=yes` (the default) or `chat=no`.
    ///
    /// # Errors
    /// Usage, for another option or value.
    pub fn chat(&self) -> Result<bool> {
        self.takes(&["chat"])?;
        match self.options.last().map(|(_, value)| &value[..]) {
            None | Some("yes") => Ok(true),
            Some("no") => Ok(false),
            Some(other) => Err(Error::usage(format!(
                "{} {}: chat={other}: it is yes or no",
                self.flag, self.text
            ))),
        }
    }
}

/// Options KEY=VALUE with commas between them, or the first that is none.
fn pairs(options: &str) -> std::result::Result<Vec<(String, String)>, &str> {
    options
        .split(',')
        .filter(|option| !option.is_empty())
        .map(|option| {
            let (key, value) = option.split_once('=').ok_or(option)?;
            Ok((key.to_owned(), value.to_owned()))
        })
        .collect()
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        Spec::parse("--llm", text).unwrap()
    }

    #[test]
    fn names_addresses_and_options_are_told_apart() {
        assert_eq!(spec("builtin:rounds=2").target, Target::Builtin);
        let stored = |name: &str| Target::Stored(name.to_owned());
        assert_eq!(spec("org/name@rev").target, stored("org/name@rev"));
        assert_eq!(spec("./m.gguf:chat=no").target, stored("./m.gguf"));
        let address = "http://localhost:80/v1?model=m";
        assert_eq!(spec(address).target, Target::Server(address.to_owned()));
        assert!(!spec("smollm2-135m:chat=no").chat().unwrap());
        assert!(spec("smollm2-135m").chat().unwrap());
        let options = spec("builtin:mask=0.5,rounds=2").infill().unwrap();
        assert_eq!((options.mask_rate, options.rounds), (0.5, 2));
    }

    #[test]
    fn a_judge_is_a_model_and_a_way_to_judge() {
        let judge = |text| Spec::parse_judge(text).unwrap();
        let (spec, by) = judge("smollm2-135m:by=prompt,chat=no");
        assert!(spec.is(&Spec::parse("--llm", "smollm2-135m:chat=no").unwrap()));
        assert_eq!((by, spec.chat().unwrap()), (Some(By::Prompt), false));
        assert_eq!(judge("org/name").1, None);
        let (spec, by) = judge("auto:by=prompt");
        assert_eq!((spec.target, by), (Target::Automatic, Some(By::Prompt)));
        let address = "http://localhost/v1?model=llama3:8b";
        let server = Target::Server(address.to_owned());
        let (spec, by) = judge("http://localhost/v1?model=llama3:8b:by=likelihood");
        assert_eq!((spec.target, by), (server.clone(), Some(By::Likelihood)));
        assert_eq!((judge(address).0.target, judge(address).1), (server, None));
        for wrong in [
            "builtin:mask=0.3",
            "m:by=ear",
            "m:by=prompt,by=likelihood",
            "m:bye=prompt",
            "auto:chat=no",
            "m:by",
            "",
        ] {
            let error = Spec::parse_judge(wrong).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_rewrites_again_is_a_model_and_a_temperature() {
        let then = |text: &str| Spec::parse_then(text).unwrap();
        let (spec, sampling) = then("builtin");
        assert_eq!(spec.target, Target::Builtin);
        assert_eq!((sampling.temperature, sampling.max_new_tokens), (0.0, 100));
        let (spec, sampling) = then("smollm2-135m:chat=no,temperature=0.7,max_new_tokens=9");
        assert!(spec.is(&Spec::parse("--llm", "smollm2-135m:chat=no").unwrap()));
        assert_eq!((sampling.temperature, sampling.max_new_tokens), (0.7, 9));
        let address = "http://localhost/v1?model=llama3:8b";
        let server = Target::Server(address.to_owned());
        for (options, temperature) in [("", 0.0), (":temperature=2", 2.0)] {
            let text = format!("{address}{options}");
            let (spec, sampling) = Spec::parse_then(&text).unwrap();
            assert_eq!(
                (spec.target, sampling.temperature),
                (server.clone(), temperature)
            );
        }
        for wrong in [
            "",
            "builtin:temperature=-1",
            "builtin:temperature=inf",
            "builtin:temperature=warm",
            "builtin:max_new_tokens=0",
            "builtin:mask=0.3",
            "no-such-model",
        ] {
            let error = Spec::parse_then(wrong).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{wrong}: {error}");
        }
    }

    #[test]
    fn wrong_options_are_usage_errors() {
        for wrong in ["", ":chat=no", "m:chat"] {
            assert!(
                matches!(Spec::parse("--llm", wrong), Err(Error::Usage(_))),
                "{wrong}"
            );
        }
        assert!(matches!(spec("m:chat=maybe").chat(), Err(Error::Usage(_))));
        assert!(matches!(spec("m:chta=no").chat(), Err(Error::Usage(_))));
        assert!(matches!(
            spec("builtin:mask=x").infill(),
            Err(Error::Usage(_))
        ));
        assert!(matches!(
            spec("minilm:a=b").takes(&[]),
            Err(Error::Usage(_))
        ));
    }
}
