//! `teda slurm audit`: from flags to a job directory.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use teda::audit::run::Prepared;
use teda_core::{Error, Result};
use teda_results::atomic_write;

use super::client;
use super::cluster::Cluster;
use super::given::Given;
use super::job::{self, Job, MERGE};
use super::quoting::named;
use super::script::Plan;
use super::send;
use crate::cli::Outcome;
use crate::cli::output::{print, say};

/// Writes an audit as a job array over its shards and a job that joins them, and submits both if asked.
///
/// All flags of `teda audit` apply. Models and data are loaded here once, so that mistakes show and weights are fetched
/// before anything waits in a queue; the tasks fetch nothing. A task that is killed, pre-empted, requeued or at its time
/// limit goes on where it stopped.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    given: Given,
    #[command(flatten, next_help_heading = "Cluster")]
    cluster: Cluster,
    /// TOML file of the options of this list under the same names (partition = "long"); flags win
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    profile: Option<PathBuf>,
    /// Submits the job; without it `teda slurm resubmit DIR` does
    #[arg(long, help_heading = "Cluster")]
    submit: bool,
    /// Prints the scripts; loads, writes and submits nothing
    #[arg(long, help_heading = "Cluster", conflicts_with = "submit")]
    print: bool,
}

const EXAMPLES: &str = "Examples:
  teda slurm audit --mech em --epsilon 1,10,100 --shards 12 --time 4:00:00 --out /shared/em --submit
  teda slurm audit --mech dp-prompt --llm smollm2-135m --time-per-task 60 --profile cluster.toml --out /shared/dp --submit
  teda slurm status /shared/em
  teda slurm resubmit /shared/em";

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.given.audit.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let profile = self.profile.as_deref().map(Cluster::read).transpose()?;
        let cluster = self.cluster.clone().or(profile.unwrap_or_default());
        cluster.validate()?;
        let out = self.given.audit.directory();
        let out = out.ok_or_else(|| Error::usage("--out: name the job directory"))?;
        if !self.print {
            refuse_content(out)?;
        }
        if self.submit {
            // Before models are loaded, which may take long.
            client::held()?;
        }
        let shards = self.shards(&cluster)?;
        let (job, scripts) = self.scripts(out, cluster, shards)?;
        if self.print {
            let texts = scripts
                .iter()
                .map(|(name, text)| format!("# {name}\n{text}"));
            print(&texts.collect::<Vec<_>>().join("\n"))?;
            return Ok(Outcome::Done);
        }
        write(out, &job, &scripts)?;
        if self.given.audit.is_told() {
            say(format_args!("{}: {shards} shards", out.display()));
        }
        if self.submit {
            return send::again(out);
        }
        if self.given.audit.is_told() {
            say(format_args!(
                "submit them with: teda slurm resubmit {}",
                named(out)
            ));
        }
        Ok(Outcome::Done)
    }

    /// How many shards there are to be, once everything that a task needs was loaded here.
    fn shards(&self, cluster: &Cluster) -> Result<u32> {
        let mut config = self.given.audit.config(self.given.audit.limits())?;
        if config.datasets.iter().any(|data| data.source == "-") {
            return Err(Error::usage(
                "--dataset -: the tasks of a job have no standard input; give the data set as a file",
            ));
        }
        let trials = config.trials;
        let part = |shards: u32| match u64::from(shards) <= trials {
            true => Ok((1, shards)),
            false => Err(Error::usage(format!(
                "--shards {shards}: there are only {trials} trials a cell to divide"
            ))),
        };
        config.shard = match (cluster.shards, cluster.time_per_task) {
            (Some(shards), _) => Some(part(shards)?),
            (None, Some(_)) => None,
            (None, None) => {
                return Err(Error::usage(
                    "how many tasks? Say --shards N, or --time-per-task TIME to have it estimated",
                ));
            }
        };
        let access = self.given.audit.access();
        if let (true, Some((_, shards))) = (self.print, config.shard) {
            config.validate()?;
            return Ok(shards);
        }
        let prepared = Prepared::new(config.clone(), &access)?;
        if self.given.audit.is_told() {
            prepared.notes().iter().for_each(say);
        }
        if let Some((_, shards)) = config.shard {
            return Ok(shards);
        }
        let shards = estimated(&prepared, cluster)?;
        let shards = shards.min(trials.try_into().unwrap_or(u32::MAX));
        config.shard = Some(part(shards)?);
        config.validate()?;
        Ok(shards)
    }

    /// The job and its files.
    fn scripts(
        &self,
        out: &Path,
        cluster: Cluster,
        shards: u32,
    ) -> Result<(Job, Vec<(String, String)>)> {
        let job = Job::new(shards, cluster.array_limit, client::max_array_size());
        let plan = Plan {
            shards,
            directory: absolute(out)?,
            here: absolute(Path::new("."))?,
            program: program(&cluster)?,
            audit: self.given.words.clone(),
            merge: self.given.merge.clone(),
            cluster,
        };
        let arrays = job.arrays.iter().enumerate();
        let scripts =
            arrays.map(|(number, array)| Ok((job::script(number), plan.array(number, array)?)));
        let mut scripts = scripts.collect::<Result<Vec<_>>>()?;
        scripts.push((MERGE.to_owned(), plan.joined()?));
        Ok((job, scripts))
    }
}

/// As many shards as make a task as long as wished.
fn estimated(prepared: &Prepared, cluster: &Cluster) -> Result<u32> {
    let wished = cluster.time_per_task.map_or(1, |time| time.seconds());
    let Some(seconds) = prepared.expected_seconds()? else {
        return Err(Error::usage(
            "--time-per-task: how long a server takes cannot be estimated without asking it; say --shards N",
        ));
    };
    let here = rayon::current_num_threads() as f64;
    let there = f64::from(cluster.cpus.unwrap_or(1));
    let tasks = (seconds.iter().sum::<f64>() * here / there / wished as f64).ceil();
    // A float becomes the nearest integer that there is.
    let shards = (tasks as u32).clamp(2, 100_000);
    say(format_args!(
        "{shards} shards, by a few trials timed on this machine"
    ));
    Ok(shards)
}

/// Writes a new job directory.
fn write(out: &Path, job: &Job, scripts: &[(String, String)]) -> Result<()> {
    for folder in ["log", job::SHARDS] {
        fs::create_dir_all(out.join(folder)).map_err(|e| {
            Error::failed(format!(
                "{}: cannot create: {e}",
                out.join(folder).display()
            ))
        })?;
    }
    for (name, text) in scripts {
        atomic_write(&out.join(name), text.as_bytes())?;
    }
    // Last: what has it is whole.
    job.save(out)
}

/// Refuses a directory that holds anything.
fn refuse_content(out: &Path) -> Result<()> {
    if Job::is_in(out) {
        return Err(Error::usage(format!(
            "{0}: there is a job already: `teda slurm status {0}` shows it, `teda slurm resubmit {0}` goes on with it; or name another --out",
            named(out)
        )));
    }
    match fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::usage(format!(
            "{}: the directory is not empty; name another --out",
            out.display()
        ))),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::usage(format!(
            "{}: cannot be the job directory: {e}",
            out.display()
        ))),
        _ => Ok(()),
    }
}

/// An absolute path as text.
fn absolute(path: &Path) -> Result<String> {
    let absolute =
        std::path::absolute(path).map_err(|e| Error::usage(format!("{}: {e}", path.display())))?;
    match absolute.into_os_string().into_string() {
        Ok(text) => Ok(text),
        Err(path) => Err(Error::usage(format!(
            "{}: the path is not UTF-8, and cannot be written into a script",
            path.display()
        ))),
    }
}

/// The program that the tasks run.
fn program(cluster: &Cluster) -> Result<String> {
    if let Some(program) = &cluster.program {
        return Ok(program.clone());
    }
    let named = || "teda".to_owned();
    if cluster.container.is_some() {
        return Ok(named());
    }
    let own = std::env::current_exe().map_err(|e| {
        Error::failed(format!(
            "cannot find out where teda is ({e}): say --program PATH"
        ))
    })?;
    // As a part of a Python package it is the interpreter, which finds teda beside itself.
    match own.file_stem().is_some_and(|stem| stem == "teda") {
        true => absolute(&own),
        false => Ok(named()),
    }
}
