//! How far a job is.

use std::collections::BTreeMap;
use std::path::Path;

use teda::report::columns::{lines, table};
use teda::report::extent::{Extent, extent};
use teda_core::Result;
use teda_results::Status;

use super::client::{self, Id, State};
use super::job::{self, Job, RUN, SHARDS, ranges};
use super::quoting::named;
use super::send::is_joined;
use crate::cli::Outcome;
use crate::cli::output::{print, say};

/// One shard, or several that stand alike.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    shards: Vec<u32>,
    run: &'static str,
    trials: String,
    job: String,
}

/// Prints how far every shard is.
///
/// # Errors
/// Usage, if there is no job in `directory`; failed, if a run in it is damaged.
pub fn show(directory: &Path) -> Result<Outcome> {
    let job = Job::read(directory)?;
    let states = states(&job);
    let mut all: Vec<Line> = Vec::new();
    let (mut complete, mut idle) = (0, Vec::new());
    for shard in 1..=job.shards {
        let run = extent(&directory.join(SHARDS).join(shard.to_string()))?;
        let latest = latest(&job, shard, states.as_ref());
        let lives = latest.as_ref().is_some_and(|(_, state)| state.is_alive());
        match run {
            Some(run) if run.status == Status::Complete => complete += 1,
            _ if !lives => idle.push(shard),
            _ => {}
        }
        let line = line(shard, run, latest, states.is_some());
        match all.last_mut() {
            Some(last)
                if (last.run, &last.trials, &last.job) == (line.run, &line.trials, &line.job) =>
            {
                last.shards.push(shard);
            }
            _ => all.push(line),
        }
    }
    let mut shown = table(["shards", "run", "trials", "job"]);
    for line in all {
        shown.add_row([
            ranges(&line.shards),
            line.run.to_owned(),
            line.trials,
            line.job,
        ]);
    }
    let whole = is_joined(directory)?;
    let joined = match whole {
        true => format!("joined: teda report {}", named(&directory.join(RUN))),
        false => format!("not joined yet; merge: {}", merge(&job, states.as_ref())),
    };
    print(&format!(
        "{}\n{complete} of {} shards are complete; {joined}\n",
        lines(&shown),
        job.shards
    ))?;
    if states.is_some() && !whole && !idle.is_empty() {
        advise(directory, &job, &idle);
    }
    Ok(Outcome::Done)
}

/// Says what to do about shards that nobody will make.
fn advise(directory: &Path, job: &Job, idle: &[u32]) {
    let logs = idle.first().and_then(|shard| job.array_of(*shard));
    let log = logs.map(|(number, _, task)| directory.join(job::log(number, &task.to_string())));
    let log = log.filter(|log| log.exists());
    let why = log.map_or(String::new(), |log| format!(" (see {})", log.display()));
    say(format_args!(
        "shards {} are neither complete nor queued{why}; submit them with: teda slurm resubmit {}",
        ranges(idle),
        named(directory)
    ));
}

/// What Slurm says of the job's tasks; `None` if it says nothing.
fn states(job: &Job) -> Option<BTreeMap<Id, State>> {
    let queue = match client::queue() {
        Ok(queue) => queue?,
        Err(error) => {
            say(format_args!(
                "note: {error}; what follows is from the files alone"
            ));
            return None;
        }
    };
    let jobs: Vec<u64> = (job
        .arrays
        .iter()
        .flat_map(|array| array.jobs.iter().copied()))
    .chain(job.merges.iter().copied())
    .collect();
    let mut states = match jobs.is_empty() {
        true => BTreeMap::new(),
        false => client::accounted(&jobs),
    };
    states.extend(queue);
    Some(states)
}

/// The latest job of a shard that Slurm knows of, with its name.
fn latest(job: &Job, shard: u32, states: Option<&BTreeMap<Id, State>>) -> Option<(String, State)> {
    let (_, array, task) = job.array_of(shard)?;
    let known = |id: &u64| Some((*id, states?.get(&(*id, Some(task)))?.clone()));
    let (id, state) = array.jobs.iter().rev().find_map(known)?;
    Some((format!("{id}_{task}"), state))
}

fn line(shard: u32, run: Option<Extent>, latest: Option<(String, State)>, asked: bool) -> Line {
    let runs = latest.as_ref().map(|(_, state)| state.runs());
    let name = match run.map(|run| run.status) {
        Some(Status::Complete) => "complete",
        None if runs == Some(true) => "starting",
        None => "not begun",
        Some(Status::Interrupted) => "interrupted",
        Some(Status::Running) => match (runs, asked) {
            (Some(true), _) => "running",
            // A process that is killed cannot say so.
            (_, true) => "killed",
            (_, false) => "running or killed",
        },
    };
    let is_complete = run.is_some_and(|run| run.status == Status::Complete);
    Line {
        shards: vec![shard],
        run: name,
        trials: match run {
            Some(run) if !is_complete => format!("{} of {}", run.made, run.wanted),
            _ => String::new(),
        },
        // What became of the job of a shard that is there does not matter.
        job: match latest {
            Some((id, state)) if !is_complete => format!("{id} {}", said(&state)),
            _ => String::new(),
        },
    }
}

/// What is known of the job that joins the shards.
fn merge(job: &Job, states: Option<&BTreeMap<Id, State>>) -> String {
    let Some(id) = job.merges.last() else {
        return "not submitted".to_owned();
    };
    let state = states.and_then(|states| states.get(&(*id, None)));
    match state {
        Some(state) => format!("{id} {}", said(state)),
        None => id.to_string(),
    }
}

fn said(state: &State) -> String {
    match &state.detail[..] {
        "" => state.name.clone(),
        detail => format!("{} ({detail})", state.name),
    }
}
