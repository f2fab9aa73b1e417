//! Audits how private differentially private text rewriting actually is.
//!
//! A mechanism claims that no two texts can be told apart from its output, up to a nominal ε. An audit tests the
//! claim: it draws k candidate texts, has one of them rewritten in secret, and lets an attack guess which. How often
//! the attack is right over many trials gives a lower bound on ε, the *empirical* ε, which holds with a stated
//! confidence. A bound above the claim refutes it; a bound below it proves nothing, because a cleverer attack may find
//! more.
//!
//! # Auditing your own mechanism
//! Anything that implements [`Mechanism`] can be audited. This one releases the text itself one time in four, and
//! claims ε = 1:
//!
//! ```
//! use teda::{Audit, Guarantee, Mechanism, Query, Release, Result};
//!
//! struct Leaky;
//!
//! impl Mechanism for Leaky {
//!     fn guarantee(&self) -> Option<Guarantee> {
//!         Some(Guarantee::claimed(1.0))
//!     }
//!
//!     fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
//!         let rewrite = |query: &Query<'_>| match query.seed.stream().below(4) {
//!             0 => Release::of(query.text),
//!             _ => Release::of("nothing to see"),
//!         };
//!         Ok(batch.iter().map(rewrite).collect())
//!     }
//! }
//!
//! # fn main() -> teda::Result<()> {
//! let report = Audit::new(Leaky)
//!     .texts(["I moved to Rome.", "My knee hurts again.", "We won the cup!", "It rained all day."])
//!     .attacks(["overlap", "learned"])
//!     .lambda(0.0)
//!     .trials(2_000)
//!     .run()?;
//! assert!(report.cells().iter().any(|cell| cell.empirical_epsilon > 1.0));
//! println!("{}", report.table());
//! # Ok(())
//! # }
//! ```
//!
//! All randomness comes from [`Query::seed`]: the same audit gives the same numbers for any number of threads.
//!
//! # By name
//! [`Audit::of`] takes any name from `teda list mechanisms`, or `exec:COMMAND`; [`Audit::attacks`] takes names from
//! `teda list attacks`; [`Audit::attack`] and [`Audit::learner`] add your own.
//!
//! # Results
//! [`Report::cells`] has one [`Cell`] for each ε and attack; [`Report::table`] formats them with explanations;
//! [`Report::write`] draws the curve. [`Audit::out`] keeps the run, with a row for every trial, where `teda report`
//! and [`Report::open`] find it.
//!
//! # Modules
//! Data flows from [`audit`] (candidates, releases, guesses, counts) to [`report`] (bounds, verdicts, sentences,
//! curves); [`task`] measures what privatised texts are good for and give away; [`study`] runs both for a paper's
//! figures and statements. The library prints nothing (except the progress of downloads, unless [`models::Access`] is quiet, as it is
//! by default), never ends the process and keeps no global state: the caller passes in a stop flag, a progress
//! receiver and threads.

pub mod audit;
mod builder;
pub mod models;
pub mod report;
pub mod selftest;
pub mod study;
pub mod task;

pub use builder::{Audit, Report};
pub use teda_core::{
    Answer, Attack, Encoder, Error, Guarantee, Learner, Mechanism, Neighbours, Observation, Query,
    Reading, Recalled, Reconstruction, Reconstructor, Release, Result, Verdict,
};
pub use teda_datasets::Limits;
pub use teda_results::Cell;
