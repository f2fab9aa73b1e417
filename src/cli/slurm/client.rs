//! Slurm's own commands: what is in the queue, what became of a job, and a new one.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use teda_core::{Error, Result, shown};

/// Tasks of an array where the cluster does not say how many it takes: Slurm's own default.
const MAX_ARRAY_SIZE: u32 = 1001;

/// States of a job that will not run any more.
const ENDED: [&str; 10] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// A job, or with a number one task of an array.
pub type Id = (u64, Option<u32>);

/// What Slurm says of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Such as `RUNNING`.
    pub name: String,
    /// Why it waits, or with what status it ended, if there is anything to say.
    pub detail: String,
}

impl State {
    /// Whether it runs, or will.
    pub fn is_alive(&self) -> bool {
        // "CANCELLED by 1000".
        let name = self.name.split(' ').next().unwrap_or_default();
        !ENDED.contains(&name)
    }

    /// Whether it runs now.
    pub fn runs(&self) -> bool {
        self.is_alive() && self.name != "PENDING"
    }
}

/// The user's jobs that Slurm still holds; `None` where there is no Slurm.
///
/// # Errors
/// Failed, if it does not answer.
pub fn queue() -> Result<Option<BTreeMap<Id, State>>> {
    let flags = [
        "--noheader",
        "--me",
        "--array",
        "--states=all",
        "--format=%F|%K|%T|%r",
    ];
    let Some(text) = run(Command::new("squeue").args(flags))? else {
        return Ok(None);
    };
    let state = |line: &str| {
        let fields: Vec<&str> = line.split('|').collect();
        let [job, task, name, detail] = fields[..] else {
            return None;
        };
        let detail = match detail {
            "None" => "",
            detail => detail,
        };
        Some((
            (job.trim().parse().ok()?, task.trim().parse().ok()),
            of(name, detail),
        ))
    };
    Ok(Some(text.lines().filter_map(state).collect()))
}

/// Like [`queue`], where nothing can be done without it.
///
/// # Errors
/// Failed, if there is no Slurm or it does not answer.
pub fn held() -> Result<BTreeMap<Id, State>> {
    queue()?.ok_or_else(|| missing("squeue"))
}

/// What became of jobs that Slurm no longer holds, by its accounting; nothing where it keeps none.
pub fn accounted(jobs: &[u64]) -> BTreeMap<Id, State> {
    let named: Vec<String> = jobs.iter().map(u64::to_string).collect();
    let mut command = Command::new("sacct");
    command.args(["--noheader", "--allocations", "--parsable2", "--array"]);
    command.arg("--format=JobID,State,ExitCode");
    command.arg(format!("--jobs={}", named.join(",")));
    // Most small clusters keep no accounts, and it only adds to what is known.
    let text = run(&mut command).ok().flatten().unwrap_or_default();
    let state = |line: &str| {
        let fields: Vec<&str> = line.split('|').collect();
        let [id, name, exit] = fields[..] else {
            return None;
        };
        let id = match id.split_once('_') {
            Some((job, task)) => (job.parse().ok()?, Some(task.parse().ok()?)),
            None => (id.parse().ok()?, None),
        };
        let detail = match exit {
            "0:0" => String::new(),
            exit => format!("exit {exit}"),
        };
        Some((id, of(name, &detail)))
    };
    text.lines().filter_map(state).collect()
}

/// Submits a script that stands in `directory`, and returns the number of its job.
///
/// # Errors
/// Failed, if Slurm refuses it or is not there.
pub fn submit(directory: &Path, script: &str, options: &[String]) -> Result<u64> {
    let mut command = Command::new("sbatch");
    // The job begins where it is submitted.
    command.arg("--parsable").args(options).arg(script);
    command.current_dir(directory);
    let text = run(&mut command)?.ok_or_else(|| missing("sbatch"))?;
    // With the cluster's name after it where there are several.
    let number = text.trim().split(';').next().unwrap_or_default();
    number.parse().map_err(|_| {
        Error::failed(format!(
            "sbatch answered '{}', which is no job",
            shown(&text)
        ))
    })
}

/// Lets a job wait for others.
///
/// # Errors
/// Failed, if Slurm refuses it or is not there.
pub fn depend(job: u64, dependency: &str) -> Result<()> {
    let mut command = Command::new("scontrol");
    command.args([
        "update",
        &format!("JobId={job}"),
        &format!("Dependency={dependency}"),
    ]);
    run(&mut command)?.ok_or_else(|| missing("scontrol"))?;
    Ok(())
}

/// One more than the greatest number that a task of an array may have here.
pub fn max_array_size() -> u32 {
    let text = run(Command::new("scontrol").args(["show", "config"]));
    // Scripts can be written far from the cluster.
    let text = text.ok().flatten().unwrap_or_default();
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "MaxArraySize").then(|| value.trim().parse().ok())?
    };
    text.lines().find_map(value).unwrap_or(MAX_ARRAY_SIZE)
}

fn of(name: &str, detail: &str) -> State {
    State {
        name: name.to_owned(),
        detail: detail.to_owned(),
    }
}

fn missing(program: &str) -> Error {
    Error::failed(format!(
        "{program} is not on the PATH: run this on a machine of the cluster from which jobs are submitted"
    ))
}

/// What a command printed; `None` if there is no such command.
fn run(command: &mut Command) -> Result<Option<String>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::failed(format!("cannot run {name}: {e}"))),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::failed(format!(
            "{name} ended with {}: {}",
            output.status,
            shown(said.trim())
        )));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}
