//! Audits how private differentially private text rewriting really is.
//!
//! A mechanism claims that no two texts can be told apart by what it makes of them, up to a nominal ε. An audit tests
//! the claim: it draws k candidate texts, has one of them rewritten in secret, and lets an attack guess which. From how
//! often it is right over many trials follows a lower bound on ε, the *empirical* ε, which holds with a stated
//! confidence. A bound above the claim refutes it; one below proves nothing, for a cleverer attack may find more.
//!
//! # An audit of your own mechanism
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
//! All coins come from [`Query::seed`]: the same audit gives the same numbers, whatever the threads.
//!
//! # By name
//! [`Audit::of`] takes what `teda list mechanisms` lists, or `exec:COMMAND`; [`Audit::attacks`] what `teda list
//! attacks` lists; [`Audit::attack`] and [`Audit::learner`] bring your own.
//!
//! # What comes back
//! [`Report::cells`] has one [`Cell`] for each ε and attack; [`Report::table`] prints them with what they mean;
//! [`Report::write`] draws the curve. [`Audit::out`] keeps the run, with a row for every trial, where `teda report` and
//! [`Report::open`] find it.
//!
//! # Rooms
//! Data flows from [`audit`] (candidates, releases, guesses, counts) to [`report`] (bounds, verdicts, sentences,
//! curves). The library prints nothing (but the progress of downloads, unless [`models::Access`] is quiet, as it is by
//! default), ends nothing and keeps no state of its own: whoever calls it gives it a flag to stop by, somebody to tell
//! how it goes on, and threads.

pub mod audit;
mod builder;
pub mod models;
pub mod report;
pub mod selftest;

pub use builder::{Audit, Report};
pub use teda_core::{
    Answer, Attack, Encoder, Error, Guarantee, Learner, Mechanism, Neighbours, Observation, Query,
    Release, Result, Verdict,
};
pub use teda_datasets::Limits;
pub use teda_results::Cell;
