//! The models that `--encoder`, `--llm`, `--judge` and `--then` name: those in the binary, those of the store, and
//! those on servers.

mod access;
mod corpus_encoder;
mod loaded;
mod named;
mod pretrained;
mod records;
pub mod shared;
pub mod spec;
mod wanted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teda_attacks::Judge;
use teda_core::{
    Autoencoder, Encoder, Error, MaskedLanguageModel, Mechanism, Result, Sampling, Scorer,
    TextGenerator, TokenMap,
};
use teda_datasets::Limits;
use teda_hub::{Resolved, Store};
use teda_mechanisms::{Context, Memory, Rewriter, Then};
use teda_models::builtin::{self, Infill};
use teda_models::disk::Disk;
use teda_models::generate::{self, LocalModel};
use teda_models::{Backend, Checkpoint, FillMask, LstmAutoencoder, MaskedLm, SentenceEncoder};
use teda_results::ModelRecord;
use teda_server::{Http, Usage};

pub use self::access::{Access, Programs, Say, Watch};
use self::corpus_encoder::CorpusEncoder;
use self::loaded::{Loaded, check, only_infills};
use self::named::{SHARE_OF_STATES, masked, only_autoencoders, only_masked};
pub use self::named::{device, language_model, masked_language_model};
use self::records::{server_record, shipped};
use self::spec::{Spec, Target};
pub use self::wanted::Wanted;

/// The source of a model that the calling program supplies.
pub const OF_THE_PROGRAM: &str = "the program that made the run";

/// The tables of mechanisms may take one part in this many of the memory for language models, in addition to it.
const SHARE_OF_TABLES: usize = 4;

/// The models of a run, chosen by name.
pub struct Models {
    /// The sentence encoder of attack, candidate sampling and pruning.
    pub encoder: Arc<dyn Encoder>,
    /// Vectors of texts that it made in earlier runs.
    vectors: Option<Disk>,
    /// The public token map of word-level mechanisms.
    pub tokens: Arc<dyn TokenMap>,
    /// The black-box rewriter, if a mechanism of the run needs one.
    generator: Option<Loaded>,
    /// The language model that rewrites, if a mechanism of the run needs one.
    language: Option<Loaded>,
    /// The masked language model that rewrites, if a mechanism of the run needs one.
    masked: Option<Arc<FillMask>>,
    /// The autoencoder that rewrites, if a mechanism of the run needs one.
    autoencoder: Option<Arc<LstmAutoencoder>>,
    /// The language model whose perplexity ranks texts, if a mechanism of the run ranks any.
    scorer: Option<Arc<dyn Scorer>>,
    /// The model that rewrites every release again, if one does, and how.
    then: Option<(Arc<dyn TextGenerator>, Sampling)>,
    /// The adversary's language model, if an attack of the run needs one.
    pub judge: Option<Judge>,
    /// The same model as one that writes.
    pub writer: Option<Arc<dyn TextGenerator>>,
    /// The manifest's records of them.
    pub records: Vec<ModelRecord>,
    servers: Vec<Arc<Http>>,
    /// The language models loaded so far, so that none is loaded twice.
    loaded: Vec<(Spec, Loaded)>,
    /// The rewriter in the binary, once it is loaded.
    rewriter: Option<Arc<LocalModel>>,
    /// What models are computed on.
    backend: Backend,
    /// The memory for the tables of all mechanisms.
    memory: Memory,
    programs: Programs,
    limits: Limits,
    /// Whether the user was warned that others can write to where models and answers are kept.
    warned: bool,
    watch: Watch,
}

impl Models {
    /// Loads what mechanisms and attacks need.
    ///
    /// # Errors
    /// Usage, for an unknown name or option, or a model that cannot do what is asked of it; failed, if one cannot be
    /// obtained or loaded.
    pub fn load(wanted: &Wanted, access: &Access) -> Result<Self> {
        let tokens = Arc::new(builtin::encoder()?);
        let mut models = Self {
            encoder: tokens.clone(),
            vectors: None,
            tokens,
            generator: None,
            language: None,
            masked: None,
            autoencoder: None,
            scorer: None,
            then: None,
            judge: None,
            writer: None,
            records: shipped(builtin::Model::Encoder),
            servers: Vec::new(),
            loaded: Vec::new(),
            rewriter: None,
            backend: Backend::of(wanted.precision)?,
            memory: Memory::new(access.memory / SHARE_OF_TABLES),
            programs: access.programs.clone(),
            limits: access.limits,
            warned: false,
            watch: access.watch.clone(),
        };
        models.load_encoder(&Spec::parse("--encoder", &wanted.encoder)?, access)?;
        let spec = Spec::parse("--llm", &wanted.llm)?;
        // A wrong name is an error even if nothing would use it.
        spec.check_name()?;
        models.load_rewriters(&spec, &wanted.rewriters, access)?;
        models.load_scorer(wanted, access)?;
        models.load_then(wanted.then.as_deref(), access)?;
        models.load_judge(wanted, &spec, access)?;
        Ok(models)
    }

    /// Loads what the mechanisms rewrite with: the model that `spec` names, or those in the binary.
    fn load_rewriters(
        &mut self,
        spec: &Spec,
        needs: &[(String, Rewriter)],
        access: &Access,
    ) -> Result<()> {
        let any = |wanted: &[Rewriter]| needs.iter().any(|(_, need)| wanted.contains(need));
        if !spec.is_builtin() {
            if any(&[Rewriter::Masked]) {
                self.masked = Some(Arc::new(self.load_masked(spec, access)?));
            }
            if any(&[Rewriter::Autoencoder]) {
                self.autoencoder = Some(Arc::new(self.load_autoencoder(spec, access)?));
            }
            let own = [Rewriter::Masked, Rewriter::Autoencoder];
            let others: Vec<_> = needs
                .iter()
                .filter(|(_, need)| !own.contains(need))
                .cloned()
                .collect();
            if !others.is_empty() {
                let model = self.load_language_model(spec, true, access)?;
                check(spec, &model, &others)?;
                self.generator = Some(model.clone());
                self.language = Some(model);
            }
            return Ok(());
        }
        if any(&[Rewriter::Generator, Rewriter::Any]) {
            self.generator = Some(self.load_language_model(spec, true, access)?);
        } else {
            // The other models in the binary have no options, and an option without effect is an error.
            spec.takes(&[])?;
        }
        if any(&[
            Rewriter::Sampler,
            Rewriter::LanguageModel,
            Rewriter::EncoderDecoder,
            Rewriter::Any,
        ]) {
            self.language = Some(self.load_rewriter(access)?);
        }
        if any(&[Rewriter::Masked, Rewriter::Any]) {
            self.masked = Some(Arc::new(builtin::fill_mask(
                access.memory / SHARE_OF_STATES,
                &self.backend,
            )?));
            self.record(shipped(builtin::Model::Infill));
        }
        if any(&[Rewriter::Autoencoder, Rewriter::Any]) {
            self.autoencoder = Some(Arc::new(builtin::autoencoder()?));
            self.record(shipped(builtin::Model::Autoencoder));
        }
        Ok(())
    }

    /// The autoencoder that `spec` names.
    fn load_autoencoder(&mut self, spec: &Spec, access: &Access) -> Result<LstmAutoencoder> {
        let Target::Stored(name) = &spec.target else {
            return Err(only_autoencoders(spec));
        };
        spec.takes(&[])?;
        let (checkpoint, _) = self.open(name, access)?;
        match LstmAutoencoder::fits(&checkpoint) {
            true => LstmAutoencoder::load(checkpoint),
            false => Err(only_autoencoders(spec)),
        }
    }

    /// The masked language model that `spec` names.
    fn load_masked(&mut self, spec: &Spec, access: &Access) -> Result<FillMask> {
        let Target::Stored(name) = &spec.target else {
            return Err(only_masked(spec));
        };
        spec.takes(&[])?;
        let (checkpoint, resolved) = self.open(name, access)?;
        if !MaskedLm::fits(&checkpoint) {
            return Err(only_masked(spec));
        }
        let store = Store::open(access.store())?;
        let cache = store.directory().parent();
        masked(checkpoint, &resolved, &self.backend, access, cache)
    }

    /// Loads the language model whose perplexity ranks texts: by default the one that rewrites, or where that shows no
    /// probabilities, the one in the binary.
    fn load_scorer(&mut self, wanted: &Wanted, access: &Access) -> Result<()> {
        let spec = Spec::parse("--scorer", &wanted.scorer)?;
        spec.takes(&[])?;
        spec.check_name()?;
        let ranks = |(_, need): &(String, Rewriter)| *need == Rewriter::Any;
        if !wanted.scores && !wanted.rewriters.iter().any(ranks) {
            return Ok(());
        }
        let loaded = match (&spec.target, &self.language) {
            (Target::Automatic, Some(own @ Loaded::Local(_))) => own.clone(),
            _ if spec.is_builtin() => self.load_rewriter(access)?,
            _ => self.load_language_model(&spec, true, access)?,
        };
        self.scorer = Some(match loaded {
            Loaded::Local(model) => model,
            Loaded::Server(server) => server,
            Loaded::Infill(_) => {
                return Err(Error::usage(format!(
                    "--scorer {spec}: a model that fills gaps has no perplexity; take builtin, or a language model such as gpt2"
                )));
            }
        });
        Ok(())
    }

    /// The encoder for the texts of a corpus.
    #[must_use]
    pub fn corpus_encoder(&self) -> CorpusEncoder<'_> {
        CorpusEncoder {
            encoder: &*self.encoder,
            kept: self.vectors.as_ref(),
            watch: &self.watch,
        }
    }

    /// Makes attacks and candidate sampling use an encoder of the calling program.
    pub fn use_encoder(&mut self, encoder: Arc<dyn Encoder>) {
        (self.encoder, self.vectors) = (encoder, None);
        self.records.push(ModelRecord {
            name: "encoder".to_owned(),
            source: OF_THE_PROGRAM.to_owned(),
            sha256: None,
        });
    }

    /// Adds files to the manifest's records, each once: two models may share a tokenizer.
    fn record(&mut self, files: Vec<ModelRecord>) {
        for file in files {
            if !self.records.contains(&file) {
                self.records.push(file);
            }
        }
    }

    /// The rewriter in the binary.
    fn load_rewriter(&mut self, access: &Access) -> Result<Loaded> {
        if self.rewriter.is_none() {
            self.rewriter = Some(Arc::new(builtin::rewriter(access.memory, &self.backend)?));
            self.record(shipped(builtin::Model::Rewriter));
        }
        let rewriter = self.rewriter.clone().expect("it is loaded");
        Ok(Loaded::Local(rewriter))
    }

    /// Loads the model that rewrites every release again, if one does.
    fn load_then(&mut self, named: Option<&str>, access: &Access) -> Result<()> {
        let Some(named) = named else {
            return Ok(());
        };
        let (spec, sampling) = Spec::parse_then(named)?;
        let loaded = match spec.is_builtin() {
            true => self.load_rewriter(access),
            false => self.load_language_model(&spec, true, access),
        };
        let loaded = loaded.map_err(|e| e.context(format!("--then {named}")))?;
        self.then = Some((loaded.generator(), sampling));
        Ok(())
    }

    /// The mechanism with what comes after it: the model that rewrites its releases again, if one does.
    #[must_use]
    pub fn followed(&self, mechanism: Arc<dyn Mechanism>) -> Arc<dyn Mechanism> {
        match &self.then {
            None => mechanism,
            Some((model, sampling)) => Arc::new(Then {
                mechanism,
                model: model.clone(),
                sampling: *sampling,
            }),
        }
    }

    fn load_judge(&mut self, wanted: &Wanted, llm: &Spec, access: &Access) -> Result<()> {
        let (named, by) = Spec::parse_judge(&wanted.judge)?;
        named.check_name()?;
        if !wanted.judges {
            return Ok(());
        }
        let (spec, whose) = if named.target == Target::Automatic && !llm.is_builtin() {
            (llm.clone(), format!("--judge auto ({llm})"))
        } else {
            (named.clone(), format!("--judge {named}"))
        };
        let loaded = if spec.is_builtin() {
            self.load_rewriter(access)
        } else {
            self.load_language_model(&spec, false, access)
        };
        let judge = loaded.and_then(|loaded| Ok((loaded.generator(), loaded.judge(by)?)));
        let (writer, judge) = judge.map_err(|e| e.context(whose))?;
        self.judge = Some(judge);
        self.writer = Some(writer);
        Ok(())
    }

    fn load_encoder(&mut self, spec: &Spec, access: &Access) -> Result<()> {
        spec.takes(&[])?;
        spec.check_name()?;
        match &spec.target {
            Target::Builtin | Target::Automatic => {}
            Target::Server(address) => {
                let server = Arc::new(Http::open_encoder(address, self.server_options(access)?)?);
                self.records.push(server_record(&server));
                self.servers.push(server.clone());
                self.encoder = server;
            }
            Target::Stored(name) => {
                let (checkpoint, resolved) = self.open(name, access)?;
                let encoder = SentenceEncoder::on(checkpoint, &self.backend)?;
                let store = Store::open(access.store())?;
                let kept = |cache| {
                    corpus_encoder::kept(cache, &resolved, &self.backend, encoder.dimension())
                };
                self.vectors = store.directory().parent().map(kept).transpose()?;
                self.encoder = Arc::new(encoder);
            }
        }
        Ok(())
    }

    /// The language model that `spec` names, reused if it was loaded before. `infills` says whether a model that only
    /// fills gaps is acceptable.
    fn load_language_model(
        &mut self,
        spec: &Spec,
        infills: bool,
        access: &Access,
    ) -> Result<Loaded> {
        if let Some((_, known)) = self.loaded.iter().find(|(known, _)| known.is(spec)) {
            return Ok(known.clone());
        }
        let loaded = match &spec.target {
            Target::Builtin | Target::Automatic => {
                let model = builtin::infill(spec.infill()?, &self.backend)?;
                self.record(shipped(builtin::Model::Infill));
                Loaded::Infill(Arc::new(model))
            }
            Target::Server(address) => {
                let server = Arc::new(Http::open(address, self.server_options(access)?)?);
                self.records.push(server_record(&server));
                self.servers.push(server.clone());
                Loaded::Server(server)
            }
            Target::Stored(name) => {
                let (checkpoint, resolved) = self.open(name, access)?;
                if MaskedLm::fits(&checkpoint) {
                    if !infills {
                        return Err(only_infills());
                    }
                    let model = Infill::of(checkpoint, spec.infill()?, &self.backend)?;
                    Loaded::Infill(Arc::new(model))
                } else {
                    let options = generate::Options {
                        instructed: true,
                        chat: spec.chat()?,
                        memory: access.memory,
                        logit_moments: resolved.card.and_then(|card| card.logit_moments),
                    };
                    let model = LocalModel::on(checkpoint, options, &self.backend)?;
                    Loaded::Local(Arc::new(model))
                }
            }
        };
        self.loaded.push((spec.clone(), loaded.clone()));
        Ok(loaded)
    }

    /// Opens a model's files from the store, and records them for the manifest.
    fn open(&mut self, name: &str, access: &Access) -> Result<(Checkpoint, Resolved)> {
        let store = Store::open(access.store())?;
        let resolved = store.resolve(name)?;
        self.warn(store.directory(), access);
        self.records
            .extend(resolved.files.iter().map(|file| ModelRecord {
                name: format!("{name}/{}", file.name),
                source: resolved.source.clone(),
                sha256: Some(file.sha256.clone()),
            }));
        (access.say)(&format!("loading {name} ({})", resolved.source));
        let checkpoint = Checkpoint::open(name, &resolved.path)?;
        Ok((checkpoint, resolved))
    }

    /// Options for servers; answers are kept beside the models.
    fn server_options(&mut self, access: &Access) -> Result<teda_server::Options> {
        let store = Store::open(access.store())?;
        let cache = store.directory().parent();
        let cache = cache.map(|cache| -> PathBuf { cache.join("answers") });
        if let Some(cache) = &cache {
            self.warn(cache, access);
        }
        Ok(teda_server::Options {
            budget: access.budget,
            cache,
            largest_answer: access.largest_answer,
        })
    }

    /// Warns once if others can write into a directory that is trusted.
    fn warn(&mut self, directory: &Path, access: &Access) {
        if !self.warned {
            self.warned = shared::said(directory, &*access.say);
        }
    }

    /// What mechanisms are built from, for a data set with these distinct texts.
    #[must_use]
    pub fn context(&self, texts: Arc<[String]>) -> Context {
        Context {
            texts,
            tokens: self.tokens.clone(),
            encoder: self.encoder.clone(),
            generator: self.generator.as_ref().map(Loaded::generator),
            sampler: self.language.as_ref().map(Loaded::generator),
            language_model: self.language.as_ref().and_then(Loaded::language_model),
            masked_language_model: self
                .masked
                .clone()
                .map(|model| -> Arc<dyn MaskedLanguageModel> { model }),
            autoencoder: self
                .autoencoder
                .clone()
                .map(|model| -> Arc<dyn Autoencoder> { model }),
            scorer: self.scorer.clone(),
            memory: self.memory.clone(),
        }
    }

    /// The language model whose perplexity ranks texts, if it was asked for.
    #[must_use]
    pub fn scorer(&self) -> Option<Arc<dyn Scorer>> {
        self.scorer.clone()
    }

    /// How programs are run.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Maximum sizes of inputs.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the same configuration gives the same rows again.
    #[must_use]
    pub fn reproducible(&self) -> bool {
        self.servers.is_empty()
    }

    /// What was spent on servers, one entry per server.
    #[must_use]
    pub fn usage(&self) -> Vec<(String, Usage)> {
        self.servers
            .iter()
            .map(|server| (server.name(), server.usage()))
            .collect()
    }
}
