//! Named parameters with defaults and ranges (`--set name=value`).

use std::collections::BTreeMap;

use crate::{Error, Result};

/// One number that a mechanism can be set by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// Value when nothing is given.
    pub default: f64,
    /// Least legal value.
    pub least: f64,
    /// Greatest legal value.
    pub greatest: f64,
    /// Whether only whole numbers are legal.
    pub whole: bool,
    /// What it is, in one line, with its source.
    pub meaning: &'static str,
}

/// Values of a mechanism's parameters: its defaults, then a preset, then what the user set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, f64>,
    defaults: BTreeMap<&'static str, f64>,
}

impl Settings {
    /// Defaults of `parameters`, overridden in order by `given`.
    ///
    /// # Errors
    /// Usage, for a name that is not among them or a value out of range.
    pub fn resolve(owner: &str, parameters: &[Parameter], given: &[(String, f64)]) -> Result<Self> {
        let defaults: BTreeMap<_, _> = parameters.iter().map(|p| (p.name, p.default)).collect();
        let mut values = defaults.clone();
        for (name, value) in given {
            let Some(parameter) = parameters.iter().find(|p| p.name == name) else {
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
            let legal = (parameter.least..=parameter.greatest).contains(value)
                && (!parameter.whole || value.fract() == 0.0);
            if !legal {
                let kind = if parameter.whole {
                    "a whole number"
                } else {
                    "a number"
                };
                return Err(Error::usage(format!(
                    "{name} = {value} of '{owner}' is out of range: it is {kind} from {} to {}",
                    parameter.least, parameter.greatest
                )));
            }
            values.insert(parameter.name, *value);
        }
        Ok(Self { values, defaults })
    }

    /// The value of a parameter that its owner declares.
    ///
    /// # Panics
    /// If the owner asks for a name that it does not declare.
    #[must_use]
    pub fn get(&self, name: &str) -> f64 {
        self.values[name]
    }

    /// The values that are not their parameter's default, by name, in alphabetical order: what
    /// distinguishes an instance, today and after parameters have been added.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.values
            .iter()
            .map(|(name, value)| (*name, *value))
            .filter(|(name, value)| self.defaults[name] != *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [Parameter; 2] = [
        Parameter {
            name: "tau",
            default: 0.8,
            least: 0.6,
            greatest: 1.0,
            whole: false,
            meaning: "",
        },
        Parameter {
            name: "candidates",
            default: 10.0,
            least: 1.0,
            greatest: 500.0,
            whole: true,
            meaning: "",
        },
    ];

    fn resolve(given: &[(&str, f64)]) -> Result<Settings> {
        let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        Settings::resolve("m", &PARAMETERS, &given)
    }

    #[test]
    fn later_values_win_over_earlier_ones_and_defaults() {
        let settings = resolve(&[("tau", 0.7), ("tau", 0.9)]).unwrap();
        assert_eq!(
            (settings.get("tau"), settings.get("candidates")),
            (0.9, 10.0)
        );
        assert_eq!(settings.changed().collect::<Vec<_>>(), [("tau", 0.9)]);
    }

    #[test]
    fn bad_names_and_values_are_usage_errors() {
        for bad in [
            ("tua", 0.7),
            ("tau", 0.5),
            ("tau", f64::NAN),
            ("candidates", 2.5),
        ] {
            assert!(matches!(resolve(&[bad]), Err(Error::Usage(_))), "{bad:?}");
        }
    }
}
