//! Many jobs that wait for a server, on separate threads.
//!
//! Callers may be workers of a thread pool: they only wait here for threads that are independent of that pool, so
//! there is no circular wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use teda_core::Result;

/// `work(0)`, …, `work(jobs − 1)` on at most `threads` threads, in order.
///
/// # Errors
/// One of the errors that `work` returned; no job begins after one.
pub fn run<T: Send>(
    threads: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let worker = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                break;
            }
            match work(job) {
                Ok(result) => done.push((job, result)),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let parts: Vec<Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs))
            .map(|_| scope.spawn(worker))
            .collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let mut results: Vec<(usize, T)> = Vec::with_capacity(jobs);
    for part in parts {
        results.extend(part?);
    }
    results.sort_unstable_by_key(|(job, _)| *job);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use teda_core::Error;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        for (threads, jobs) in [(1, 5), (3, 100), (8, 2), (4, 0)] {
            let results = run(threads, jobs, |job| Ok(job * job)).unwrap();
            assert_eq!(results, (0..jobs).map(|job| job * job).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_job_begins_after_a_failure() {
        let begun = AtomicUsize::new(0);
        let result = run(1, 1000, |job| {
            begun.fetch_add(1, Ordering::Relaxed);
            if job == 3 {
                return Err(Error::failed("3"));
            }
            Ok(())
        });
        assert_eq!(result, Err(Error::failed("3")));
        assert_eq!(begun.into_inner(), 4);
    }
}
