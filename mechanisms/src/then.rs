//! Post-processing: a mechanism whose releases another model rewrites.
//!
//! # Definition
//! T(M(x)): M releases a text of x, and the text-to-text model T, which is shown that text and nothing else, rewrites
//! it, greedily or at a temperature. What M fails to release stays failed; what T fails to rewrite is a failed release.
//!
//! # Guarantee
//! That of M, whatever T is: T sees only what M releases and tosses coins of its own (post-processing: Dwork & Roth
//! 2014, Proposition 2.1). How likely T(M(x)) is follows from no likelihood of M, so none is stated; and if M is a
//! Gaussian mechanism, T ∘ M need not be one.
//!
//! # Source
//! Meisenbacher & Matthes, *Just rewrite it again* (ARES 2024), Section 3.2. There T is trained on releases of M and
//! the public texts that they were made from; a model trained so is given by its path.
//!
//! # Seeds
//! M has the coins that it has alone, so that trial t releases T of what M releases in trial t. T has the coins
//! `seed.named("then")`, which no mechanism uses.

use std::sync::Arc;

use teda_core::{
    Beyond, Guarantee, Mechanism, Prompt, Query, Release, Result, Sampling, TextGenerator,
};

/// T ∘ M.
pub struct Then {
    /// M.
    pub mechanism: Arc<dyn Mechanism>,
    /// T.
    pub model: Arc<dyn TextGenerator>,
    /// How T rewrites.
    pub sampling: Sampling,
}

impl Mechanism for Then {
    fn guarantee(&self) -> Option<Guarantee> {
        self.mechanism.guarantee()
    }

    fn units(&self, text: &str) -> Option<u64> {
        self.mechanism.units(text)
    }

    fn diameter(&self, texts: &[&str]) -> Option<f64> {
        self.mechanism.diameter(texts)
    }

    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.mechanism.beyond_window(texts)
    }

    fn is_sequential(&self) -> bool {
        self.mechanism.is_sequential()
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let mut releases = self.mechanism.rewrite(batch)?;
        let has_text = |release: &Release| release.failure.is_none() && !is_empty(&release.text);
        let queries: Vec<Query<'_>> = releases
            .iter()
            .zip(batch)
            .filter(|(release, _)| has_text(release))
            .map(|(release, query)| Query {
                text: &release.text,
                seed: query.seed.named("then"),
            })
            .collect();
        // A text-to-text model reads the text alone.
        let prompt = Prompt::new("{}");
        let answers = self.model.complete(&prompt, &queries, 1, self.sampling)?;
        let rewritten = releases.iter_mut().filter(|release| has_text(release));
        for (release, answer) in rewritten.zip(answers) {
            *release = match answer {
                Ok(texts) => Release::of(texts.concat().trim()),
                Err(failure) => {
                    Release::failed(failure.map(|reason| format!("post-processing: {reason}")))
                }
            };
        }
        Ok(releases)
    }
}

/// Whether a release has no text, and so nothing to rewrite.
fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::{Answer, Seed};

    use super::*;
    use crate::registry;
    use crate::testing::{statistics, toy};

    /// Says its text twice at temperature 0; at others, with a fair coin, once or twice. Cannot rewrite "t7".
    struct Echo;

    impl TextGenerator for Echo {
        fn complete(
            &self,
            prompt: &Prompt,
            queries: &[Query<'_>],
            n: usize,
            sampling: Sampling,
        ) -> Result<Vec<Answer<Vec<String>>>> {
            let answer = |query: &Query<'_>| {
                let text = prompt.fill(query.text);
                if text == "t7" {
                    return Err("a word that it does not know".into());
                }
                let once = sampling.temperature > 0.0 && query.seed.stream().uniform() < 0.5;
                let said = if once { text } else { format!("{text} {text}") };
                Ok(vec![said; n])
            };
            Ok(queries.iter().map(answer).collect())
        }
    }

    fn then(mechanism: Arc<dyn Mechanism>, temperature: f64) -> Then {
        let sampling = Sampling {
            temperature,
            max_new_tokens: 9,
        };
        let model = Arc::new(Echo);
        Then {
            mechanism,
            model,
            sampling,
        }
    }

    fn krr() -> Arc<dyn Mechanism> {
        let entry = registry::entry("krr").unwrap();
        let settings = entry.settings(None, &[]).unwrap();
        let context = toy::over(&["t0", "t1", "t7"]);
        entry
            .instance(&context, Some(1.5), &settings)
            .unwrap()
            .into()
    }

    fn queries(text: &str, count: u64) -> Vec<Query<'_>> {
        let query = |i| Query {
            text,
            seed: Seed::root(4).at(i),
        };
        (0..count).map(query).collect()
    }

    #[test]
    fn releases_are_those_of_the_mechanism_rewritten() {
        let queries = queries("t0", 300);
        let alone = krr().rewrite(&queries).unwrap();
        let wrapped = then(krr(), 0.0).rewrite(&queries).unwrap();
        for (alone, wrapped) in alone.iter().zip(&wrapped) {
            match &alone.text[..] {
                "t7" => assert!(wrapped.failure.as_ref().unwrap().reason.contains("post-")),
                text => assert_eq!(wrapped.text, format!("{text} {text}")),
            }
        }
        assert!(alone.iter().any(|release| release.text == "t7"));
        // Row i depends on query i alone.
        for (query, expected) in queries.iter().zip(&wrapped).take(20) {
            assert_eq!(then(krr(), 0.0).rewrite(&[*query]).unwrap()[0], *expected);
        }
    }

    /// The coins of the mechanism and of the model are independent: the joint law is the product.
    #[test]
    fn the_model_tosses_coins_of_its_own() {
        let mechanism = then(krr(), 1.0);
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for release in mechanism.rewrite(&queries("t0", 60_000)).unwrap() {
            *counts.entry(release.text).or_default() += 1.0;
        }
        let own = 1.5_f64.exp() / (1.5_f64.exp() + 2.0);
        let other = (1.0 - own) / 2.0;
        let exact = [
            ("t0", own / 2.0),
            ("t0 t0", own / 2.0),
            ("t1", other / 2.0),
            ("t1 t1", other / 2.0),
            ("", other),
        ];
        let exact = exact.map(|(text, p)| (text.to_owned(), p)).into();
        statistics::assert_sampled(&counts, &exact, "krr, then a coin");
    }

    #[test]
    fn the_claim_is_the_mechanisms_and_nothing_else_is_known() {
        let wrapped = then(krr(), 0.0);
        assert_eq!(wrapped.guarantee(), krr().guarantee());
        assert!(krr().likelihood().is_some() && wrapped.likelihood().is_none());
        assert!(krr().categorical().is_some() && wrapped.categorical().is_none());
        assert!(!wrapped.is_gaussian());
        let words = registry::entry("word-perturb").unwrap();
        let words = words.instance(
            &toy::context(),
            Some(1.0),
            &words.settings(None, &[]).unwrap(),
        );
        let wrapped = then(words.unwrap().into(), 0.0);
        assert!(wrapped.diameter(&["t0 t1", "t0 t2"]).unwrap() > 0.0);
    }

    /// A failure of the mechanism is shown to no model, and keeps its reason.
    #[test]
    fn what_fails_stays_failed() {
        struct Fails;
        impl Mechanism for Fails {
            fn guarantee(&self) -> Option<Guarantee> {
                None
            }
            fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
                let release = |query: &Query<'_>| match query.text {
                    "t1" => Release::failed("no"),
                    text => Release::of(text),
                };
                Ok(batch.iter().map(release).collect())
            }
        }
        let texts = ["t1", "t0", " "];
        let query = |text| Query {
            text,
            seed: Seed::root(0),
        };
        let mechanism = then(Arc::new(Fails), 0.0);
        let releases = mechanism.rewrite(&texts.map(query)).unwrap();
        let expected = [
            Release::failed("no"),
            Release::of("t0 t0"),
            Release::of(" "),
        ];
        assert_eq!(releases, expected);
    }
}
