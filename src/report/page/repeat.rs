//! The command that makes a run again, from its configuration.

use serde_json::Value;
use teda_core::Result;

use crate::audit::config::Config;
use crate::audit::source::Source;

/// A field of the configuration and its flag.
const FLAGS: [(&str, &str); 20] = [
    ("epsilons", "epsilon"),
    ("preset", "preset"),
    ("claim", "claim"),
    ("attacks", "attack"),
    ("ks", "k"),
    ("lambdas", "lambda"),
    ("neighbours", "neighbours"),
    ("pairs", "pairs"),
    ("trials", "trials"),
    ("alpha", "alpha"),
    ("delta", "delta"),
    ("estimator", "estimator"),
    ("until", "until"),
    ("seed", "seed"),
    ("llm", "llm"),
    ("encoder", "encoder"),
    ("scorer", "scorer"),
    ("then", "then"),
    ("judge", "judge"),
    ("precision", "precision"),
];

/// Flags of a data set.
const DATA: [(&str, &str); 4] = [
    ("split", "split"),
    ("limit", "limit"),
    ("min_words", "min-words"),
    ("max_words", "max-words"),
];

/// `teda audit …` with every flag that is not at its default; `None` for a mechanism of a program of its own, which no command
/// has.
///
/// # Errors
/// Failed, if the configuration cannot be read.
pub fn command(config: &Config) -> Result<Option<String>> {
    if config
        .mechanisms
        .iter()
        .any(|source| matches!(source, Source::Own(_)))
    {
        return Ok(None);
    }
    let (own, usual) = (
        config.to_json()?,
        Config::new(config.mechanisms.clone()).to_json()?,
    );
    let mut words = vec!["teda audit".to_owned()];
    let mut flag = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    match config.recorded() {
        Some(path) => flag("releases", &path.display().to_string()),
        None => {
            let (programs, names): (Vec<String>, Vec<String>) = config
                .mechanisms
                .iter()
                .map(Source::to_string)
                .partition(|name| name.starts_with("exec:"));
            if !names.is_empty() {
                flag("mech", &names.join(","));
            }
            programs.iter().for_each(|program| flag("mech", program));
            let sources: Vec<&str> = config
                .datasets
                .iter()
                .map(|request| &request.source[..])
                .collect();
            if sources != ["snips"] {
                flag("dataset", &sources.join(","));
            }
            for (field, name) in DATA {
                if let Some(value) = shown(&own["datasets"][0][field]) {
                    flag(name, &value);
                }
            }
        }
    }
    for (name, value) in &config.set {
        flag("set", &format!("{name}={value}"));
    }
    for (field, name) in FLAGS {
        // Recorded releases are no data set, and nothing is drawn from them by likeness.
        let is_of_data = field == "lambdas" && config.recorded().is_some();
        if own[field] != usual[field]
            && !is_of_data
            && let Some(value) = shown(&own[field])
        {
            flag(name, &value);
        }
    }
    if let Some((part, parts)) = config.shard {
        flag("shard", &format!("{part}/{parts}"));
    }
    if own["keep"] != usual["keep"] {
        flag("keep", own["keep"].as_str().unwrap_or_default());
    }
    if !config.utilities.is_empty() {
        flag("utility", &config.utilities.join(","));
    }
    Ok(Some(words.join(" ")))
}

/// A value as a flag has it.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(shown).collect::<Vec<_>>().join(",")),
        Value::Number(number) => Some(
            number
                .as_f64()
                .map_or_else(|| number.to_string(), |x| x.to_string()),
        ),
        other => Some(other.to_string()),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/=@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], change: impl FnOnce(&mut Config)) -> String {
        let sources = names.iter().map(|name| Source::parse(name).unwrap());
        let mut config = Config::new(sources.collect());
        change(&mut config);
        command(&config).unwrap().unwrap()
    }

    #[test]
    fn only_what_is_not_usual_is_said() {
        assert_eq!(of(&["em", "krr"], |_| ()), "teda audit --mech em,krr");
        let said = of(&["em", "exec:python3 'my file.py'"], |config| {
            config.epsilons = Some(vec![0.5, 10.0]);
            config.lambdas = vec![0.0];
            config.datasets[0].source = "reviews.csv:body".to_owned();
            config.datasets[0].limit = Some(50);
            config.set = vec![("share".to_owned(), "0.5".to_owned())];
            config.seed = 7;
            config.utilities = vec!["bleu".to_owned(), "cosine".to_owned()];
        });
        assert_eq!(
            said,
            r"teda audit --mech em --mech 'exec:python3 '\''my file.py'\''' --dataset reviews.csv:body --limit 50 --set share=0.5 --epsilon 0.5,10 --lambda 0 --seed 7 --utility bleu,cosine"
        );
    }
}
