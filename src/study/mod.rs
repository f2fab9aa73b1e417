//! A study: the figures, tables and statements of a paper, run again and held against what was published.
//!
//! file → parts (audits, tasks, samples) → points with coordinates → statements tested, published numbers beside measured ones,
//! figures → JSON and Markdown.

mod comparison;
mod definition;
mod document;
mod figure;
mod interval;
mod markdown;
mod point;
mod published;
mod run;
mod samples;
pub mod snr;
mod statement;

use std::path::Path;

use teda_core::Result;

pub use definition::{Part, Samples, Study, Views, What};
pub use document::{Document, Drawn, PartRecord};
pub use markdown::{page, summary};
pub use run::run;
pub use statement::{Outcome, Tested};

/// The files of a study's result.
pub const JSON: &str = "study.json";
/// See [`JSON`].
pub const MARKDOWN: &str = "study.md";

/// Draws the pictures and writes JSON and Markdown into `out`.
///
/// # Errors
/// Usage, for a figure without a file name; failed, if a file cannot be written.
pub fn write(study: &Study, document: &mut Document, out: &Path) -> Result<()> {
    let subtitle = format!("{} · scale {}", document.source, document.scale);
    for figure in &study.views.figures {
        let is_drawn = figure.draw(out, &document.points, &document.published, &subtitle)?;
        document.figures.push(Drawn {
            file: is_drawn.then(|| figure.name.clone()),
            place: figure.place.clone(),
            title: figure.title.clone(),
        });
    }
    teda_results::atomic_write(&out.join(JSON), (document.to_line()? + "\n").as_bytes())?;
    teda_results::atomic_write(&out.join(MARKDOWN), page(document).as_bytes())
}
