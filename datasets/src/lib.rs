//! Where the texts of an audit come from: corpora that ship in the binary, files, standard input, and
//! made-up categories.
//!
//! One call, [`load()`], turns a [`Request`] into a [`Dataset`] of distinct texts, and counts every row that
//! did not become one. What ships is described by [`cards()`]: source, licence, splits and digest. Another call,
//! [`recorded()`], reads what a mechanism released earlier, together with the texts that it rewrote.

mod bytes;
mod cards;
mod categories;
mod clean;
mod columns;
mod digest;
mod formats;
mod intake;
mod load;
mod place;
mod recorded;
mod selection;
mod source;
mod splits;
mod texts;
mod unicode;

pub use cards::{Card, Split, cards};
pub use load::{Dataset, Request, load};
pub use recorded::{Recorded, RecordedRelease, recorded};
pub use splits::ALL_SPLITS;
