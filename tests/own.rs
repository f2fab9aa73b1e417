//! A program's own mechanisms and attacks: grids, runs that stop and go on, seeds that are not followed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use teda::audit::source::Source;
use teda::{
    Answer, Attack, Audit, Cell, Error, Guarantee, Mechanism, Observation, Query, Release, Report,
    Result,
};

const TEXTS: [&str; 4] = [
    "I moved to Rome.",
    "My knee hurts again.",
    "We won the cup!",
    "It rained all day.",
];

/// Releases the text with the chance 1 − e^−ε, calls that ε, and fails at the batch of this number.
struct Leaky {
    epsilon: f64,
    batches: AtomicU64,
    fails_at: u64,
    threads: std::sync::Mutex<Vec<std::thread::ThreadId>>,
    is_careless: bool,
}

impl Leaky {
    fn new(epsilon: f64) -> Self {
        Self {
            epsilon,
            batches: AtomicU64::new(0),
            fails_at: u64::MAX,
            threads: std::sync::Mutex::default(),
            is_careless: false,
        }
    }
}

impl Mechanism for Leaky {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee::claimed(self.epsilon))
    }

    fn is_sequential(&self) -> bool {
        true
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        self.threads
            .lock()
            .unwrap()
            .push(std::thread::current().id());
        let number = self.batches.fetch_add(1, Ordering::SeqCst);
        if number == self.fails_at {
            return Err(Error::failed("no more"));
        }
        assert!(number < self.fails_at, "asked again after it had failed");
        let rewrite = |(place, query): (usize, &Query<'_>)| {
            let leaks = query.seed.stream().uniform() < 1.0 - (-self.epsilon).exp();
            match leaks || (self.is_careless && place == 0) {
                true => Release::of(query.text),
                false => Release::of("nothing to see"),
            }
        };
        Ok(batch.iter().enumerate().map(rewrite).collect())
    }
}

/// Sure of the candidate that is the release.
struct Verbatim(Arc<[String]>);

impl Attack for Verbatim {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let score = |seen: &Observation<'_>| {
            let is = |text: &usize| f64::from(u8::from(self.0[*text] == seen.release));
            Ok(seen.candidates.iter().map(is).collect())
        };
        Ok(batch.iter().map(score).collect())
    }
}

fn with_verbatim(audit: Audit) -> Audit {
    audit.attack_made_by("verbatim", |context| {
        Ok(Box::new(Verbatim(context.texts.clone())))
    })
}

fn set_up(audit: Audit) -> Audit {
    with_verbatim(audit.named("leaky").texts(TEXTS).lambda(0.0).trials(1_000))
}

fn timeless(report: &Report) -> Vec<Cell> {
    let mut cells = report.cells().to_vec();
    cells.iter_mut().for_each(|cell| cell.seconds = None);
    cells
}

fn manifest(run: &Path) -> teda_results::Manifest {
    teda_results::Manifest::load(run).unwrap()
}

#[test]
fn a_factory_runs_a_grid_as_its_mechanisms_run_alone() {
    let grid = set_up(Audit::grid([0.5, 4.0], |epsilon| Ok(Leaky::new(epsilon))))
        .run()
        .unwrap();
    let claims: Vec<_> = grid
        .cells()
        .iter()
        .map(|c| (c.epsilon, c.claimed_epsilon))
        .collect();
    assert_eq!(claims, [(Some(0.5), Some(0.5)), (Some(4.0), Some(4.0))]);
    assert!(grid.cells()[0].hits < grid.cells()[1].hits);
    for (place, epsilon) in [0.5, 4.0].into_iter().enumerate() {
        let alone = set_up(Audit::new(Leaky::new(epsilon))).run().unwrap();
        assert_eq!(alone.cells()[0].hits, grid.cells()[place].hits);
    }
    let nowhere = Source::grid_of("own", Arc::new(|_| Err(Error::failed("not made"))));
    assert!(matches!(nowhere.grid(None), Err(Error::Usage(m)) if m.contains("say at which")));
}

#[test]
fn what_is_sequential_is_asked_by_one_thread_and_gives_the_same() {
    let mechanism = Arc::new(Leaky::new(1.0));
    let source = Source::own("leaky", mechanism.clone());
    let config = teda::audit::config::Config::new(vec![source]);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let on_three = set_up(Audit::configured(config))
        .pool(Arc::new(pool))
        .batch(10);
    let on_three = on_three.run().unwrap();
    assert_eq!(
        timeless(&on_three),
        timeless(&set_up(Audit::new(Leaky::new(1.0))).run().unwrap())
    );
    let threads = mechanism.threads.lock().unwrap();
    assert_eq!(threads.len(), 100);
    assert!(threads.iter().all(|thread| *thread == threads[0]));
}

#[test]
fn a_run_that_broke_off_is_gone_on_with_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let broken = Leaky {
        fails_at: 7,
        ..Leaky::new(1.0)
    };
    let error = set_up(Audit::new(broken)).out(&out).run().unwrap_err();
    assert!(error.to_string().contains("no more"), "{error}");
    let rows = teda_results::trials::rows(&out).unwrap().count();
    assert_eq!(rows, 7 * 64);
    // Its texts are in the directory; what else the program brought is missing.
    let nothing = Audit::resume(&out).run().unwrap_err().to_string();
    assert!(nothing.contains("'own:leaky'"), "{nothing}");
    let mechanism = Arc::new(Leaky::new(1.0));
    let own = Source::own("another name", mechanism.clone());
    let unarmed = Audit::resume(&out).source(own.clone()).run().unwrap_err();
    assert!(unarmed.to_string().contains("verbatim"), "{unarmed}");
    let resumed = with_verbatim(Audit::resume(&out).source(own))
        .run()
        .unwrap();
    assert_eq!(
        mechanism.batches.load(Ordering::SeqCst),
        (1_000_u64 - 448).div_ceil(64)
    );
    assert_eq!(
        timeless(&resumed),
        timeless(&set_up(Audit::new(Leaky::new(1.0))).run().unwrap())
    );
    let again = Audit::resume(&out).run().unwrap();
    assert_eq!(timeless(&again), timeless(&resumed));
    let missing = Audit::resume(&folder.path().join("none"))
        .run()
        .unwrap_err();
    assert!(matches!(missing, Error::Usage(_)), "{missing}");
}

#[test]
fn the_same_program_goes_on_until_it_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let at = |fails_at| {
        let mechanism = Leaky {
            fails_at,
            ..Leaky::new(1.0)
        };
        set_up(Audit::new(mechanism)).out(&out).go_on()
    };
    assert!(at(3).run().is_err());
    assert!(at(5).run().is_err());
    let done = at(u64::MAX).run().unwrap();
    assert_eq!(
        timeless(&done),
        timeless(&set_up(Audit::new(Leaky::new(1.0))).run().unwrap())
    );
    assert_eq!(timeless(&at(0).run().unwrap()), timeless(&done));
    let other = at(0).alpha(0.05).run().unwrap_err().to_string();
    assert!(other.contains("another configuration"), "{other}");
    let nowhere = set_up(Audit::new(Leaky::new(1.0)))
        .go_on()
        .run()
        .unwrap_err();
    assert!(
        nowhere.to_string().contains("name its directory"),
        "{nowhere}"
    );
}

#[test]
fn a_mechanism_that_does_not_follow_its_seeds_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for (is_careless, name) in [(true, "careless"), (false, "careful")] {
        let out = folder.path().join(name);
        let mechanism = Leaky {
            is_careless,
            ..Leaky::new(0.1)
        };
        let report = set_up(Audit::new(mechanism))
            .make_twice(8)
            .out(&out)
            .run()
            .unwrap();
        let noted = report.notes().iter().any(|note| note.contains("differed"));
        assert_eq!(noted, is_careless);
        assert_eq!(manifest(&out).reproducible, !is_careless);
    }
}

#[test]
fn what_is_stopped_before_its_first_trial_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let audit = set_up(Audit::new(Leaky::new(1.0)))
        .stop_flag(stop)
        .out(&out);
    let error = audit.run().unwrap_err().to_string();
    assert!(error.contains("nothing was begun"), "{error}");
    assert!(!out.exists());
}

#[test]
fn parts_with_an_attack_of_the_program_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let places = [1, 2].map(|part| folder.path().join(part.to_string()));
    for (part, out) in (1..).zip(&places) {
        let own = Source::own("leaky", Arc::new(Leaky::new(1.0)));
        let config = teda::audit::config::Config {
            shard: Some((part, 2)),
            ..teda::audit::config::Config::new(vec![own])
        };
        set_up(Audit::configured(config)).out(out).run().unwrap();
    }
    let out = folder.path().join("whole");
    let access = teda::models::Access::default();
    let (_, cells) = teda::report::merge::merge(&places, Some(&out), &access).unwrap();
    let whole = set_up(Audit::new(Leaky::new(1.0))).run().unwrap();
    assert_eq!(
        (&cells[0].attack[..], cells[0].hits),
        ("verbatim", whole.cells()[0].hits)
    );
}

#[test]
fn utilities_are_measured_of_what_a_program_rewrites() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let audit = set_up(Audit::new(Leaky::new(1.0)))
        .utilities(["copied"])
        .out(&out);
    let report = audit.run().unwrap();
    assert_eq!(report.utilities().len(), 1);
    assert_eq!(Report::open(&out).unwrap().utilities(), report.utilities());
    assert!(report.to_json().unwrap().contains("\"utilities\""));
}
