//! What a study consists of: parts that are run, and what is said about their points.

use serde::Deserialize;
use teda_core::{Error, Result};

use super::figure::Figure;
use super::published::Published;
use super::statement::Statement;
use crate::audit::choices::EstimatorChoice;
use crate::audit::config::Config;
use crate::task::Task;

/// A study at one scale.
pub struct Study {
    /// Its short name: that of its file.
    pub name: String,
    /// `smoke`, `default` or `paper`.
    pub scale: String,
    /// What is said about it and about its points.
    pub views: Views,
    /// What is run, in this order.
    pub parts: Vec<Part>,
}

/// What a study file says besides its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Views {
    /// What is reproduced.
    pub title: String,
    /// The paper.
    pub source: String,
    /// What can be reproduced with the models at hand, and what not.
    pub about: String,
    /// The error β of each statement's test.
    #[serde(default = "error")]
    pub error: f64,
    /// Statements of the paper.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
    /// Numbers of the paper.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Pictures.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
}

fn error() -> f64 {
    0.05
}

/// One thing that is run.
pub struct Part {
    /// Its name in the study.
    pub name: String,
    /// The name of its folder: several parts of one name differ in their mechanisms.
    pub folder: String,
    /// What its method is called instead of the mechanism's name.
    pub method: Option<String>,
    /// What it is.
    pub what: What,
}

/// What a part is.
pub enum What {
    /// An audit; and whether its attacks are compared trial by trial.
    Audit(Box<Config>, bool),
    /// The trials of another part, judged by another estimator.
    Again {
        /// That part.
        part: String,
        /// The estimator.
        estimator: EstimatorChoice,
    },
    /// A classifier on privatised texts.
    Task(Box<Task>),
    /// Some releases to look at, under several seeds.
    Samples(Box<Samples>),
    /// The latents of dp-bart beside their noise.
    Snr(Box<Config>),
    /// What is not run, and what it would need.
    Left(String),
}

/// Releases to look at.
pub struct Samples {
    /// The mechanisms, ε, models and root of coins; texts, where none are named, are the first of its data set.
    pub config: Config,
    /// The texts.
    pub texts: Vec<String>,
    /// Releases of each text.
    pub seeds: u32,
}

impl Study {
    /// Refuses a study that cannot be evaluated.
    ///
    /// # Errors
    /// Usage: no parts, a name twice, an estimator for a part that is no audit, an error outside (0, 1), a published row
    /// without places.
    pub fn check(&self) -> Result<()> {
        if self.parts.is_empty() {
            return Err(Error::usage(
                "nothing to run: write [[audit]], [[task]], [[samples]] or [[snr]]",
            ));
        }
        if !(self.views.error > 0.0 && self.views.error < 1.0) {
            return Err(Error::usage(format!(
                "error = {}: the error of a test is between 0 and 1",
                self.views.error
            )));
        }
        for (index, part) in self.parts.iter().enumerate() {
            let earlier = &self.parts[..index];
            let same = |other: &&Part| other.folder.eq_ignore_ascii_case(&part.folder);
            if let Some(other) = earlier.iter().find(same) {
                return Err(Error::usage(format!(
                    "two parts are named '{}' and '{}': their results would share a folder",
                    other.name, part.name
                )));
            }
            if let What::Again { part: of, .. } = &part.what {
                let is_audit =
                    |other: &&Part| matches!(other.what, What::Audit(..) | What::Left(_));
                if !earlier
                    .iter()
                    .filter(is_audit)
                    .any(|other| other.name == *of)
                {
                    return Err(Error::usage(format!(
                        "part '{}' judges the trials of '{of}' again, which is no audit above it",
                        part.name
                    )));
                }
            }
        }
        self.views.published.iter().try_for_each(Published::check)
    }
}
