//! Tasks and attackers on labelled data: what a classifier learns from privatised texts, and what an attacker infers
//! from them.
//!
//! # Definition
//! All training texts and all test texts are rewritten, each by itself, with coins of its own. A classifier of the
//! label is trained on clean and on privatised training texts, and tested on clean and on privatised test texts:
//!
//! | mode | trained on | tested on | says |
//! |---|---|---|---|
//! | clean | clean | clean | the upper line |
//! | majority | – | clean | the most frequent class of the training texts: the lower line |
//! | utility | privatised | clean | what the privatised texts are still good for |
//! | static | clean | privatised | what an attacker infers who does not know the mechanism |
//! | adaptive | privatised | privatised | what one infers who can run it on texts of known label |
//!
//! The label is the task for utility, and the private attribute for the attackers. Utility and the adaptive attacker
//! are one model; the static attacker is that of the clean line. A release that failed is an empty text, to train and
//! to test on, and is counted.
//!
//! # Source
//! Utility and attribute inference: TeDA (arXiv 2603.22968), Figure 4. Static and adaptive attackers: Mattern et al.
//! (2022); Meisenbacher & Matthes, "Just rewrite it again" (2024).

mod classifier;
mod document;
mod features;
mod grams;
mod lbfgs;
mod learner;
mod privatise;
mod regression;
mod run;
mod score;
mod sparse;
pub mod table;

pub use classifier::Classifier;
pub use document::{Class, Data, Document, Line, Mode};
pub use learner::{FineTuning, Learner};
pub use privatise::Privatised;
pub use run::{Keep, Prepared, Record, Task};
pub use score::{Score, Spread};
pub use teda_models::fine_tune::Options;
