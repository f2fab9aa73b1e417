//! Named parameters with defaults and ranges (`--set name=value`).

use std::collections::BTreeMap;
use std::fmt;

use crate::{Error, Result};

/// A parameter of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is, in one line, with its source.
    pub meaning: &'static str,
    /// Name in the seeds of runs: the first that it ever had, so that renaming it changes no results.
    first_name: &'static str,
    kind: Kind,
}

/// The values that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Number {
        default: f64,
        least: f64,
        greatest: f64,
        whole: bool,
    },
    /// One of these names, the first by default.
    Choice(&'static [&'static str]),
    /// Words joined by `+`; empty by default.
    Words,
}

/// Separates words on the command line, where a comma ends the setting.
const BETWEEN_WORDS: char = '+';

impl Parameter {
    /// A number from `range[0]` to `range[1]`.
    #[must_use]
    pub const fn number(
        name: &'static str,
        default: f64,
        range: [f64; 2],
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            meaning,
            first_name: name,
            kind: Kind::Number {
                default,
                least: range[0],
                greatest: range[1],
                whole: false,
            },
        }
    }

    /// A whole number from `range[0]` to `range[1]`.
    #[must_use]
    pub const fn whole(
        name: &'static str,
        default: u32,
        range: [u32; 2],
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            meaning,
            first_name: name,
            kind: Kind::Number {
                default: default as f64,
                least: range[0] as f64,
                greatest: range[1] as f64,
                whole: true,
            },
        }
    }

    /// One of `names`, the first by default.
    #[must_use]
    pub const fn choice(
        name: &'static str,
        names: &'static [&'static str],
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            meaning,
            first_name: name,
            kind: Kind::Choice(names),
        }
    }

    /// A list of words, empty by default.
    #[must_use]
    pub const fn words(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            first_name: name,
            kind: Kind::Words,
        }
    }

    /// The same parameter, formerly called `first_name`: that name is still accepted, and stays in seeds.
    #[must_use]
    pub const fn formerly(self, first_name: &'static str) -> Self {
        Self { first_name, ..self }
    }

    /// Whether `name` is its current or former name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.first_name == name
    }

    /// The values it takes, as shown in a list of parameters.
    #[must_use]
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Number {
                least,
                greatest,
                whole,
                ..
            } => {
                let whole = if whole { ", whole" } else { "" };
                format!("{least} to {greatest}{whole}")
            }
            Kind::Choice(names) => names.join(" | "),
            Kind::Words => "words with + between them".to_owned(),
        }
    }

    /// Its default value, in the form in which a user would give it.
    #[must_use]
    pub fn default(&self) -> String {
        self.default_value().to_string()
    }

    fn default_value(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Choice(names) => Value::Choice(names[0]),
            Kind::Words => Value::Words(Vec::new()),
        }
    }

    /// # Errors
    /// Usage, if `text` is not a valid value.
    fn parse(&self, owner: &str, text: &str) -> Result<Value> {
        let name = self.name;
        match self.kind {
            Kind::Number {
                least,
                greatest,
                whole,
                ..
            } => {
                let value: Option<f64> = text.trim().parse().ok();
                value
                    .filter(|v| (least..=greatest).contains(v) && (!whole || v.fract() == 0.0))
                    .map(Value::Number)
                    .ok_or_else(|| {
                        let kind = if whole { "a whole number" } else { "a number" };
                        Error::usage(format!(
                            "{name} = {text} of '{owner}' is out of range: it is {kind} from {least} to {greatest}"
                        ))
                    })
            }
            Kind::Choice(names) => names
                .iter()
                .find(|known| **known == text)
                .map(|known| Value::Choice(known))
                .ok_or_else(|| Error::unknown(&format!("{name} of '{owner}'"), text, names)),
            Kind::Words => {
                let words = text.split(BETWEEN_WORDS).map(str::trim);
                let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
                Ok(Value::Words(words.collect()))
            }
        }
    }
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(f64),
    Choice(&'static str),
    Words(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Choice(name) => f.write_str(name),
            Self::Words(words) => f.write_str(&words.join(&BETWEEN_WORDS.to_string())),
        }
    }
}

/// Values of a mechanism's parameters: its defaults, then a preset, then what the user set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// By first name.
    values: BTreeMap<&'static str, Value>,
    /// By first name.
    defaults: BTreeMap<&'static str, Value>,
    /// By name, the first name.
    first_names: BTreeMap<&'static str, &'static str>,
}

impl Settings {
    /// Defaults of `parameters`, overridden in order by `given`, with values as a user writes them.
    ///
    /// # Errors
    /// Usage, for an unknown name or a value that its parameter does not take.
    pub fn resolve(
        owner: &str,
        parameters: &[Parameter],
        given: &[(String, String)],
    ) -> Result<Self> {
        let defaults: BTreeMap<_, _> = parameters
            .iter()
            .map(|p| (p.first_name, p.default_value()))
            .collect();
        let mut values = defaults.clone();
        for (name, text) in given {
            let Some(parameter) = parameters.iter().find(|p| p.is_called(name)) else {
                if parameters.is_empty() {
                    return Err(Error::usage(format!(
                        "'{owner}' has no parameter '{name}': it has none at all"
                    )));
                }
                let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
                return Err(Error::unknown(
                    &format!("parameter of '{owner}'"),
                    name,
                    &known,
                ));
            };
            values.insert(parameter.first_name, parameter.parse(owner, text)?);
        }
        let first_names = parameters.iter().map(|p| (p.name, p.first_name));
        Ok(Self {
            values,
            defaults,
            first_names: first_names.collect(),
        })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(self.first_names.get(name)?)
    }

    /// # Panics
    /// If the owner declares no parameter with that name.
    fn declared(&self, name: &str) -> &Value {
        self.value(name)
            .unwrap_or_else(|| panic!("no parameter is called {name}"))
    }

    /// The value of a number that the owner declares.
    ///
    /// # Panics
    /// If the owner declares no number with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> f64 {
        match self.declared(name) {
            Value::Number(number) => *number,
            other => panic!("{name} is no number: {other}"),
        }
    }

    /// The chosen name of a choice that the owner declares.
    ///
    /// # Panics
    /// If the owner declares no choice with that name.
    #[must_use]
    pub fn chosen(&self, name: &str) -> &'static str {
        match self.declared(name) {
            Value::Choice(chosen) => chosen,
            other => panic!("{name} is no choice: {other}"),
        }
    }

    /// The words of a list that the owner declares.
    ///
    /// # Panics
    /// If the owner declares no list with that name.
    #[must_use]
    pub fn words(&self, name: &str) -> &[String] {
        match self.declared(name) {
            Value::Words(words) => words,
            other => panic!("{name} is no list of words: {other}"),
        }
    }

    /// The value of any parameter in the form in which a user would give it, if the owner declares one with that name.
    #[must_use]
    pub fn written(&self, name: &str) -> Option<String> {
        self.value(name).map(Value::to_string)
    }

    /// The values that differ from their parameter's default, as a user would give them, by first name in alphabetical
    /// order: what distinguishes an instance, even after parameters are added.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.values
            .iter()
            .filter(|(name, value)| self.defaults[**name] != **value)
            .map(|(name, value)| (*name, value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [Parameter; 4] = [
        Parameter::number("tau", 0.8, [0.6, 1.0], ""),
        Parameter::whole("candidates", 10, [1, 500], ""),
        Parameter::choice("release", &["ndp", "jem"], ""),
        Parameter::words("mask", ""),
    ];

    fn resolve(given: &[(&str, &str)]) -> Result<Settings> {
        let given: Vec<_> = given
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        Settings::resolve("m", &PARAMETERS, &given)
    }

    #[test]
    fn later_values_win_over_earlier_ones_and_defaults() {
        let settings = resolve(&[("tau", "0.7"), ("tau", "0.90")]).unwrap();
        assert_eq!(
            (settings.get("tau"), settings.get("candidates")),
            (0.9, 10.0)
        );
        let changed: Vec<_> = settings.changed().collect();
        assert_eq!(changed, [("tau", "0.9".to_owned())]);
    }

    #[test]
    fn names_and_words_are_values_too() {
        let none = resolve(&[]).unwrap();
        assert_eq!(none.chosen("release"), "ndp");
        assert!(none.words("mask").is_empty() && none.changed().next().is_none());
        let set = resolve(&[("release", "jem"), ("mask", "alice+ bob ++")]).unwrap();
        assert_eq!(set.chosen("release"), "jem");
        assert_eq!(set.words("mask"), ["alice", "bob"]);
        assert_eq!(set.written("mask").as_deref(), Some("alice+bob"));
        assert_eq!(set.written("masks"), None);
        assert_eq!(set.changed().count(), 2);
    }

    #[test]
    fn a_renamed_parameter_is_read_by_both_names_and_keeps_its_place_in_seeds() {
        let parameters = [Parameter::whole("new", 1, [0, 9], "").formerly("old")];
        for name in ["new", "old"] {
            let given = [(name.to_owned(), "7".to_owned())];
            let settings = Settings::resolve("m", &parameters, &given).unwrap();
            assert_eq!(settings.get("new"), 7.0);
            assert_eq!(settings.written("new").as_deref(), Some("7"));
            let changed: Vec<_> = settings.changed().collect();
            assert_eq!(changed, [("old", "7".to_owned())]);
        }
    }

    #[test]
    fn bad_names_and_values_are_usage_errors() {
        for bad in [
            ("tua", "0.7"),
            ("tau", "0.5"),
            ("tau", "NaN"),
            ("tau", "high"),
            ("tau", ""),
            ("candidates", "2.5"),
            ("release", "JEM"),
        ] {
            assert!(matches!(resolve(&[bad]), Err(Error::Usage(_))), "{bad:?}");
        }
    }
}
