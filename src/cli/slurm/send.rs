//! Submits what is missing of a job.

use std::collections::BTreeMap;
use std::path::Path;

use teda::report::extent::extent;
use teda::report::page::PAGE;
use teda_core::Result;
use teda_results::Status;

use super::client::{self, Id, State};
use super::job::{self, Job, MERGE, RUN, SHARDS, ranges};
use super::quoting::named;
use crate::cli::Outcome;
use crate::cli::output::print;

/// Submits the shards that are neither complete nor queued, and sees to it that they will be joined.
///
/// # Errors
/// Usage, if there is no job in `directory`; failed, if Slurm refuses or is not there.
pub fn again(directory: &Path) -> Result<Outcome> {
    let mut job = Job::read(directory)?;
    let queue = client::held()?;
    if is_joined(directory)? {
        print(&format!(
            "complete: teda report {}\n",
            named(&directory.join(RUN))
        ))?;
        return Ok(Outcome::Done);
    }
    let missing = missing(directory, &job, &queue)?;
    // What an array leaves after its tasks that are still queued does not matter: the merge looks for itself.
    let mut waits: Vec<String> = (job.arrays.iter().flat_map(|array| &array.jobs))
        .filter(|id| lives(&queue, **id))
        .map(|id| format!("afterany:{id}"))
        .collect();
    for number in 0..job.arrays.len() {
        let array = &job.arrays[number];
        let tasks: Vec<u32> = missing
            .iter()
            .filter_map(|shard| array.task(*shard))
            .collect();
        if tasks.is_empty() {
            continue;
        }
        let limit = job.limit.map_or(String::new(), |limit| format!("%{limit}"));
        let options = [format!("--array={}{limit}", ranges(&tasks))];
        let id = client::submit(directory, &job::script(number), &options)?;
        waits.push(format!("afterok:{id}"));
        job.arrays[number].jobs.push(id);
        // Now: what is submitted must not be forgotten, whatever comes next.
        job.save(directory)?;
        print(&format!(
            "job {id}: shards {}\n",
            ranges(&shards_of(&job, number, &tasks))
        ))?;
    }
    join(directory, &mut job, &queue, &waits.join(","))?;
    Ok(Outcome::Done)
}

/// Lets the merge wait for `waits`: the one in the queue, or a new one.
fn join(directory: &Path, job: &mut Job, queue: &BTreeMap<Id, State>, waits: &str) -> Result<()> {
    let queued = job.merges.iter().rev().find(|id| lives(queue, **id));
    if let Some(id) = queued.copied() {
        if !queue.get(&(id, None)).is_some_and(State::runs) {
            client::depend(id, waits)?;
        }
        print(&format!("job {id} will join the shards\n"))?;
        return Ok(());
    }
    let mut options = vec!["--kill-on-invalid-dep=no".to_owned()];
    if !waits.is_empty() {
        options.push(format!("--dependency={waits}"));
    }
    let id = client::submit(directory, MERGE, &options)?;
    job.merges.push(id);
    job.save(directory)?;
    print(&format!(
        "job {id} joins them into {}\n",
        directory.join(RUN).display()
    ))?;
    Ok(())
}

/// The shards that are neither complete nor queued.
fn missing(directory: &Path, job: &Job, queue: &BTreeMap<Id, State>) -> Result<Vec<u32>> {
    let mut missing = Vec::new();
    for shard in 1..=job.shards {
        let is_queued = job.array_of(shard).is_some_and(|(_, array, task)| {
            let state = |id| queue.get(&(id, Some(task)));
            array
                .jobs
                .iter()
                .any(|id| state(*id).is_some_and(State::is_alive))
        });
        if !is_queued && !is_complete(&directory.join(SHARDS).join(shard.to_string()))? {
            missing.push(shard);
        }
    }
    Ok(missing)
}

/// Whether a job, or any task of it, runs or will.
fn lives(queue: &BTreeMap<Id, State>, job: u64) -> bool {
    let states = queue.range((job, None)..=(job, Some(u32::MAX)));
    states.into_iter().any(|(_, state)| state.is_alive())
}

/// Whether the whole is there, to its last file.
///
/// # Errors
/// Failed, if its manifest cannot be read.
pub fn is_joined(directory: &Path) -> Result<bool> {
    let run = directory.join(RUN);
    Ok(is_complete(&run)? && run.join(PAGE).exists())
}

fn is_complete(run: &Path) -> Result<bool> {
    Ok(extent(run)?.is_some_and(|extent| extent.status == Status::Complete))
}

fn shards_of(job: &Job, array: usize, tasks: &[u32]) -> Vec<u32> {
    let first = job.arrays[array].first;
    tasks.iter().map(|task| first + task - 1).collect()
}
