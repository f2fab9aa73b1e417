//! The models that `--encoder` and `--llm` name: those in the binary, those of the store, and those on
//! servers.

use std::path::PathBuf;
use std::sync::Arc;

use teda_core::{Encoder, Error, LanguageModel, Result, TextGenerator, TokenMap};
use teda_mechanisms::registry as mechanisms;
use teda_mechanisms::{Context, Rewriter};
use teda_models::builtin::{self, Infill};
use teda_models::generate::{self, LocalModel, Sampler};
use teda_models::http::{self, Budget, Http, Usage};
use teda_models::store::{self, Resolved, Store};
use teda_models::{Backend, Checkpoint, SentenceEncoder};
use teda_results::ModelRecord;

use crate::config::Config;
use crate::model_spec::{Spec, Target};

/// What `--llm auto` takes where the model in the binary cannot serve.
const DEFAULT_LANGUAGE_MODEL: &str = "smollm2-135m";

/// How models are reached and run; nothing here can change a result.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Whether the network may not be used to fetch models.
    pub offline: bool,
    /// No notes and no progress on standard error.
    pub quiet: bool,
    /// Bytes for the keys and values of language models.
    pub memory: usize,
    /// What may be spent on servers.
    pub budget: Budget,
}

/// The models of a run, chosen by name.
pub struct Models {
    /// The sentence encoder of attack, candidate sampling and pruning.
    pub encoder: Arc<dyn Encoder>,
    /// The public token map of word-level mechanisms.
    pub tokens: Arc<dyn TokenMap>,
    /// The black-box rewriter, where a mechanism of the run needs one.
    pub generator: Option<Arc<dyn TextGenerator>>,
    /// The black-box rewriter that follows instructions, where a mechanism of the run needs one.
    pub instructed: Option<Arc<dyn TextGenerator>>,
    /// The language model whose logits are seen, where a mechanism of the run needs one.
    pub language_model: Option<Arc<dyn LanguageModel>>,
    /// What the manifest says of them.
    pub records: Vec<ModelRecord>,
    servers: Vec<Arc<Http>>,
}

impl Models {
    /// Loads what the configuration's mechanisms and attacks need.
    ///
    /// # Errors
    /// Usage, for an unknown name or option, or a model that cannot serve what is asked of it; failed,
    /// where one cannot be obtained or loaded.
    pub fn load(config: &Config, access: &Access) -> Result<Self> {
        let tokens = Arc::new(builtin::encoder()?);
        let mut models = Self {
            encoder: tokens.clone(),
            tokens,
            generator: None,
            instructed: None,
            language_model: None,
            records: shipped("builtin/encoder/"),
            servers: Vec::new(),
        };
        models.load_encoder(&Spec::parse("--encoder", &config.encoder)?, access)?;
        let needs = needs(config)?;
        let spec = Spec::parse("--llm", &config.llm)?;
        // A wrong name is a mistake even where nothing would use it.
        spec.check_name()?;
        if spec.target == Target::Automatic {
            models.load_defaults(&needs, access)?;
        } else if !needs.is_empty() {
            models.load_language_model(&spec, access)?;
            models.check(&spec, &needs)?;
        }
        Ok(models)
    }

    /// The model in the binary for what it can serve, a small language model for the rest.
    fn load_defaults(&mut self, needs: &[(&str, Rewriter)], access: &Access) -> Result<()> {
        if needs.iter().any(|(_, need)| *need != Rewriter::Generator) {
            let spec = Spec::parse("--llm", DEFAULT_LANGUAGE_MODEL)?;
            self.load_language_model(&spec, access)?;
            self.generator = None;
        }
        if needs.iter().any(|(_, need)| *need == Rewriter::Generator) {
            self.load_language_model(&Spec::parse("--llm", "builtin")?, access)?;
        }
        Ok(())
    }

    fn load_encoder(&mut self, spec: &Spec, access: &Access) -> Result<()> {
        spec.takes(&[])?;
        spec.check_name()?;
        match &spec.target {
            Target::Builtin | Target::Automatic => {}
            Target::Server(address) => {
                let server = Arc::new(Http::open_encoder(address, server_options(access)?)?);
                self.records.push(server_record(&server));
                self.servers.push(server.clone());
                self.encoder = server;
            }
            Target::Stored(name) => {
                let (checkpoint, _) = self.open(name, access)?;
                self.encoder = Arc::new(SentenceEncoder::load(checkpoint)?);
            }
        }
        Ok(())
    }

    fn load_language_model(&mut self, spec: &Spec, access: &Access) -> Result<()> {
        match &spec.target {
            Target::Builtin | Target::Automatic => {
                self.generator = Some(Arc::new(builtin::infill(spec.infill()?)?));
                self.records.extend(shipped("builtin/infill/"));
            }
            Target::Server(address) => {
                let server = Arc::new(Http::open(address, server_options(access)?)?);
                self.records.push(server_record(&server));
                self.servers.push(server.clone());
                self.generator = Some(server.clone());
                self.instructed = Some(server);
            }
            Target::Stored(name) => {
                let (checkpoint, resolved) = self.open(name, access)?;
                if checkpoint.is_masked() {
                    self.generator = Some(Arc::new(Infill::of(checkpoint, spec.infill()?)?));
                    return Ok(());
                }
                let options = generate::Options {
                    chat: spec.chat()?,
                    memory: access.memory,
                    logit_moments: resolved.card.and_then(|card| card.logit_moments),
                };
                let model = Arc::new(LocalModel::load(checkpoint, options)?);
                let sampler = Arc::new(Sampler(model.clone()));
                self.generator = Some(sampler.clone());
                self.instructed = Some(sampler);
                self.language_model = Some(model);
            }
        }
        Ok(())
    }

    /// A model's files, from the store, recorded for the manifest.
    fn open(&mut self, name: &str, access: &Access) -> Result<(Checkpoint, Resolved)> {
        let resolved = Store::open(store_options(access))?.resolve(name)?;
        self.records
            .extend(resolved.files.iter().map(|file| ModelRecord {
                name: format!("{name}/{}", file.name),
                source: resolved.source.clone(),
                sha256: Some(file.sha256.clone()),
            }));
        if !access.quiet {
            eprintln!("loading {name} ({})", resolved.source);
        }
        let checkpoint = Checkpoint::open(name, &resolved.path)?;
        Ok((checkpoint, resolved))
    }

    /// Whether what was loaded can do what the mechanisms need.
    fn check(&self, spec: &Spec, needs: &[(&str, Rewriter)]) -> Result<()> {
        for (mechanism, need) in needs {
            let (served, what) = match need {
                Rewriter::Nothing | Rewriter::Generator => (true, ""),
                Rewriter::InstructedGenerator => (
                    self.instructed.is_some(),
                    "a language model that follows instructions",
                ),
                Rewriter::LanguageModel => (
                    self.language_model.is_some(),
                    "a language model whose logits can be seen, which a server does not show",
                ),
            };
            if !served {
                return Err(Error::usage(format!(
                    "'{mechanism}' needs {what}, and --llm {spec} is none. Take for example --llm smollm2-135m (`teda models pull smollm2-135m` fetches it, `teda models list` shows others)"
                )));
            }
        }
        Ok(())
    }

    /// What a mechanism that rewrites so is built from, on a data set of these distinct texts.
    #[must_use]
    pub fn context(&self, rewriter: Rewriter, texts: Arc<[String]>) -> Context {
        let generator = match rewriter {
            Rewriter::InstructedGenerator => &self.instructed,
            _ => &self.generator,
        };
        Context {
            texts,
            tokens: self.tokens.clone(),
            encoder: self.encoder.clone(),
            generator: generator.clone(),
            language_model: self.language_model.clone(),
        }
    }

    /// Whether the same configuration gives the same rows again.
    #[must_use]
    pub fn reproducible(&self) -> bool {
        self.servers.is_empty()
    }

    /// What was spent on servers, one entry a server.
    #[must_use]
    pub fn usage(&self) -> Vec<(String, Usage)> {
        self.servers
            .iter()
            .map(|server| (server.name(), server.usage()))
            .collect()
    }
}

/// The model that `name` names in the store, ready to be loaded, and its card's values.
///
/// # Errors
/// Those of the store and of opening the files.
pub fn stored_model(name: &str, chat: bool, access: &Access) -> Result<LocalModel> {
    let resolved = Store::open(store_options(access))?.resolve(name)?;
    let options = generate::Options {
        chat,
        memory: access.memory,
        logit_moments: None,
    };
    LocalModel::load(Checkpoint::open(name, &resolved.path)?, options)
}

/// What the configuration's mechanisms rewrite with, where they need anything.
fn needs(config: &Config) -> Result<Vec<(&str, Rewriter)>> {
    let all: Vec<(&str, Rewriter)> = config
        .mechanisms
        .iter()
        .map(|name| Ok((&name[..], mechanisms::entry(name)?.rewriter)))
        .collect::<Result<_>>()?;
    Ok(all
        .into_iter()
        .filter(|(_, need)| *need != Rewriter::Nothing)
        .collect())
}

/// The device that models run on, as the manifest names it.
#[must_use]
pub fn device() -> &'static str {
    Backend::best().name()
}

fn shipped(prefix: &str) -> Vec<ModelRecord> {
    builtin::digests()
        .into_iter()
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, sha256)| ModelRecord {
            name: name.to_owned(),
            source: "ships in the binary".to_owned(),
            sha256: Some(sha256),
        })
        .collect()
}

fn server_record(server: &Http) -> ModelRecord {
    ModelRecord {
        name: server.name(),
        source: "server".to_owned(),
        sha256: None,
    }
}

fn store_options(access: &Access) -> store::Options {
    store::Options {
        offline: access.offline,
        quiet: access.quiet,
    }
}

/// Answers are kept beside the models.
fn server_options(access: &Access) -> Result<http::Options> {
    let store = Store::open(store_options(access))?;
    Ok(http::Options {
        budget: access.budget,
        cache: store
            .directory()
            .parent()
            .map(|cache| -> PathBuf { cache.join("answers") }),
    })
}
