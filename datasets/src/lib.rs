//! Sources of the texts of an audit: corpora that ship in the binary, files, standard input, and made-up categories.
//!
//! One call, [`load()`], turns a [`Request`] into a [`Dataset`] of distinct texts within [`Limits`] of size, and
//! counts every row that did not become one. [`cards()`] describes what ships: source, licence, splits and digest.
//! Another call, [`recorded()`], reads what a mechanism released earlier, together with the texts that it rewrote.
//! A third, [`labelled()`], reads texts with the values of another column. [`parse()`], [`parse_recorded()`] and
//! [`parse_labelled()`] do the same for bytes in memory.

mod bytes;
mod cards;
mod categories;
mod clean;
mod columns;
mod digest;
mod formats;
mod intake;
mod labelled;
mod limits;
mod load;
mod place;
mod recorded;
mod selection;
mod source;
mod splits;
mod texts;
mod unicode;

pub use cards::{Card, Split, cards};
pub use labelled::{Labelled, LabelledText, labelled, parse_labelled};
pub use limits::Limits;
pub use load::{Dataset, Request, load, parse};
pub use recorded::{Recorded, RecordedRelease, parse_recorded, recorded};
pub use splits::ALL_SPLITS;
