//! `manifest.json`: what a run was asked to do, with what, and how far it got.

use crate::atomic;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use teda_core::digest::hexadecimal;
use teda_core::{Composition, Error, Guarantee, Neighbours, Result, Sign, Unit};

const SCHEMA: &str = "teda.run/1";

/// The manifest's name in the run directory.
pub(crate) const FILE: &str = "manifest.json";

/// Everything that defines a run.
///
/// # Schema
/// The JSON fields are those of this struct; `schema` is `teda.run/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    schema: String,
    /// Version of teda that made the run.
    pub version: String,
    /// When the run began, RFC 3339 in UTC.
    pub created: String,
    /// How far the run got.
    pub status: Status,
    /// The whole configuration, including the seed, as the caller serialises it.
    pub config: serde_json::Value,
    /// Which part of a divided run this is, `[I, N]`; missing for an undivided one.
    pub shard: Option<(u32, u32)>,
    /// The datasets used.
    pub datasets: Vec<DatasetRecord>,
    /// The models used, file by file.
    pub models: Vec<ModelRecord>,
    /// What the models ran on: `cpu`, `cuda` or `metal`.
    pub device: String,
    /// Whether the same configuration gives the same rows again: not if a server answers.
    pub reproducible: bool,
    /// What was spent on servers by the process that ended the run, one entry per server.
    pub servers: serde_json::Value,
    /// Where the run was made.
    pub machine: Machine,
    /// The cells; their positions are the `cell` of the rows.
    pub cells: Vec<CellPlan>,
    /// SHA-256 of the finished run's `trials.parquet`, in hexadecimal; missing before it is finished.
    pub trials_sha256: Option<String>,
    /// SHA-256 of the finished run's `texts.parquet`; missing before it is finished, and for a run without this file.
    #[serde(default)]
    pub texts_sha256: Option<String>,
    /// SHA-256 of the finished run's `guesses.parquet`; missing before it is finished, and if no attack learned.
    #[serde(default)]
    pub guesses_sha256: Option<String>,
    /// SHA-256 over the cells of `result.json`, in a run that kept no rows from which they could be recounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells_sha256: Option<String>,
    /// SHA-256 of the file with zeros in this field; present only in files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Begun and not ended: running, or killed.
    Running,
    /// Ended early, on request or by an error, with its rows written.
    Interrupted,
    /// All trials are done.
    Complete,
}

/// A dataset as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetRecord {
    /// The name under which it was asked for.
    pub name: String,
    /// SHA-256 of the selected texts (for recorded releases: of the rows), in hexadecimal.
    pub sha256: String,
    /// Distinct texts that candidates are drawn from.
    pub texts: u64,
    /// Rows of the source.
    pub rows: u64,
    /// Rows that repeat an earlier text.
    pub merged: u64,
    /// Rows without text.
    pub empty: u64,
    /// Licence of the texts.
    pub licence: String,
}

/// A model as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The name under which it was asked for.
    pub name: String,
    /// Where it came from: the binary, the hub with its commit, a package with its version, a server.
    pub source: String,
    /// SHA-256 of the file, in hexadecimal; missing for a server's model.
    pub sha256: Option<String>,
}

/// The machine that a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Threads the machine can run at once.
    pub cpus: u32,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn current() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        }
    }
}

/// A cell as planned: [`Cell`](crate::Cell) without its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// The dataset's name.
    pub dataset: String,
    /// The mechanism's name.
    pub mechanism: String,
    /// The nominal ε as published, in `epsilon_unit`.
    pub epsilon: Option<f64>,
    /// What one nominal ε is spent on.
    pub epsilon_unit: Option<Unit>,
    /// Which pairs of texts the candidate sets hold.
    pub neighbours: Neighbours,
    /// Candidates per trial.
    pub k: u32,
    /// Sampling temperature of the candidate sets.
    pub lambda: f64,
    /// The attack's name.
    pub attack: String,
    /// Trials asked for.
    pub trials: u64,
    /// Two-sided level of the confidence interval.
    pub alpha: f64,
    /// The δ of the (ε, δ) that the bound will be about.
    pub delta: f64,
    /// The estimator's name.
    pub estimator: String,
    /// The mechanism's claim in its own unit; missing for a mechanism without a claim.
    pub guarantee: Option<Guarantee>,
    /// The ε of that claim between whole texts under `neighbours`; missing if nothing follows.
    pub claimed_epsilon: Option<f64>,
    /// The δ that goes with `claimed_epsilon`.
    pub claimed_delta: Option<f64>,
    /// Whether the mechanism is declared Gaussian.
    #[serde(default)]
    pub gaussian: bool,
    /// The list of `texts.parquet` that the candidates of its rows are indices into; missing for a run without such a
    /// file.
    #[serde(default)]
    pub texts: Option<u32>,
    /// The index of the series whose releases this cell shares with neighbouring cells, from 0; missing in older runs.
    #[serde(default)]
    pub series: Option<u32>,
    /// The node of the seed tree whose children are the series' trials, as `Seed::to_text` writes it.
    #[serde(default)]
    pub seed: Option<String>,
    /// Number of first trials that the attack learns from and is not counted on; 0 if it does not learn.
    #[serde(default)]
    pub trained: u64,
    /// Number of first trials that looked for the candidate set that shows most; none of them is counted.
    #[serde(default)]
    pub explored: u64,
    /// What the attack learned, once it has: largest weights first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Sign>,
    /// The greatest distance between two texts of a candidate set, if the claim grows with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter: Option<f64>,
    /// The mean number of units (tokens, triples) of a text of the audit, if ε is spent on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_units: Option<f64>,
    /// What `claimed_epsilon` is the product of, where it is one; missing in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<Composition>,
}

impl CellPlan {
    /// Whether its guesses are made once all trials are made, and stored in `guesses.parquet`.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        self.trained > 0
    }

    /// Number of first trials that are not counted.
    #[must_use]
    pub fn uncounted(&self) -> u64 {
        self.trained.max(self.explored)
    }
}

/// The temporary file of [`Manifest::interrupt`].
const IN_HASTE: &str = "manifest.json.interrupted.tmp";

/// Placeholder for the digest in the text over which the digest is computed.
const UNSEALED: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Comes before the digest.
const SEAL: &str = "\"digest\": \"";

/// The text of a manifest with its digest in place of [`UNSEALED`].
fn seal(text: &str) -> String {
    let digest = hexadecimal(&Sha256::digest(text));
    match around_digest(text) {
        Some((before, _, after)) => [before, &digest, after].concat(),
        None => text.to_owned(),
    }
}

/// Whether a manifest is as it was written. A manifest without a digest is from before digests.
fn is_sealed(text: &str) -> bool {
    around_digest(text).is_none_or(|(before, digest, after)| {
        let unsealed = [before, UNSEALED, after].concat();
        hexadecimal(&Sha256::digest(unsealed)) == digest
    })
}

/// The text before the digest, the digest, and the text after it. It is the last field.
fn around_digest(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.rfind(SEAL)? + SEAL.len();
    let end = start + text[start..].find('"')?;
    Some((&text[..start], &text[start..end], &text[end..]))
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: Option<String>,
}

impl Manifest {
    /// The manifest of a new run: running, undivided, on this machine, with nothing listed.
    #[must_use]
    pub fn new(version: &str, created: &str, config: serde_json::Value) -> Self {
        Self {
            schema: SCHEMA.into(),
            version: version.into(),
            created: created.into(),
            status: Status::Running,
            config,
            shard: None,
            datasets: Vec::new(),
            models: Vec::new(),
            device: String::new(),
            reproducible: true,
            servers: serde_json::Value::Null,
            machine: Machine::current(),
            cells: Vec::new(),
            trials_sha256: None,
            texts_sha256: None,
            guesses_sha256: None,
            cells_sha256: None,
            digest: None,
        }
    }

    /// Writes `manifest.json` in `dir` atomically.
    ///
    /// # Errors
    /// Failed, if the file cannot be written or a number in it is infinite or NaN.
    pub fn save(&self, dir: &Path) -> Result<()> {
        self.save_by(dir, &atomic::temporary(&dir.join(FILE)))
    }

    fn save_by(&self, dir: &Path, temporary: &Path) -> Result<()> {
        let path = dir.join(FILE);
        let unwritable = |e| atomic::failed(&path, "cannot write", &e);
        let sealed = Self {
            digest: Some(UNSEALED.into()),
            ..self.clone()
        };
        let mut text = serde_json::to_string_pretty(&sealed).map_err(unwritable)?;
        // JSON has no infinity: an infinite ε would be written as null and read back as missing.
        if serde_json::from_str::<Self>(&text).map_err(unwritable)? != sealed {
            return Err(atomic::failed(
                &path,
                "cannot write",
                &"a number in it is infinite or NaN",
            ));
        }
        text.push('\n');
        atomic::write_by(temporary, &path, seal(&text).as_bytes())
    }

    /// Marks the run in `dir` as interrupted unless it is complete: for a process that ends in a hurry, which may
    /// itself still be writing the manifest.
    ///
    /// # Errors
    /// Same as [`Self::load`] and [`Self::save`].
    pub fn interrupt(dir: &Path) -> Result<()> {
        let mut manifest = Self::load(dir)?;
        if manifest.status != Status::Running {
            return Ok(());
        }
        manifest.status = Status::Interrupted;
        // Another thread may be at [`Self::save`]: whichever renames last, the file is complete.
        manifest.save_by(dir, &dir.join(IN_HASTE))
    }

    /// Identifies what its trials follow from: a SHA-256 over version, configuration, shard, data sets, models and
    /// cells, which are the same from a run's beginning to its end.
    #[must_use]
    pub fn identity(&self) -> String {
        let mut cells = self.cells.clone();
        for cell in &mut cells {
            cell.signs.clear();
        }
        let what = (
            (&self.version, &self.config, self.shard),
            (&self.datasets, &self.models, cells),
        );
        // Anything that cannot be written as JSON cannot be saved either; the error occurs there.
        let bytes = serde_json::to_vec(&what).unwrap_or_default();
        hexadecimal(&Sha256::digest(bytes))
    }

    /// Reads `manifest.json` in `dir`.
    ///
    /// # Errors
    /// Usage, if `dir` has no manifest or it has another schema; failed, if it cannot be read or is damaged.
    pub fn load(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Error::usage(format!(
                "{}: not a teda run: there is no {FILE}",
                dir.display()
            )),
            _ => atomic::failed(&path, "cannot read", &e),
        })?;
        let damaged = |e| atomic::failed(&path, "damaged, so this run cannot be read", &e);
        let found: SchemaOnly = serde_json::from_str(&text).map_err(damaged)?;
        match found.schema.as_deref() {
            Some(SCHEMA) if is_sealed(&text) => {
                let manifest: Self = serde_json::from_str(&text).map_err(damaged)?;
                Ok(Self {
                    digest: None,
                    ..manifest
                })
            }
            Some(SCHEMA) => Err(Error::failed(format!(
                "{}: not the file that the run wrote (another digest): it was changed, so this run cannot be trusted",
                path.display()
            ))),
            other => Err(Error::usage(format!(
                "{}: schema '{}', but this teda reads '{SCHEMA}'",
                path.display(),
                other.unwrap_or("(none)")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teda_core::{Basis, Neighbours, Unit};

    fn example() -> Manifest {
        Manifest {
            shard: Some((1, 4)),
            datasets: vec![DatasetRecord {
                name: "snips".into(),
                sha256: "00ff".into(),
                texts: 10,
                rows: 12,
                merged: 1,
                empty: 1,
                licence: "CC0-1.0".into(),
            }],
            models: vec![ModelRecord {
                name: "builtin".into(),
                source: "ships in the binary".into(),
                sha256: Some("ab".into()),
            }],
            cells: vec![CellPlan {
                dataset: "snips".into(),
                mechanism: "krr".into(),
                epsilon: Some(0.1),
                epsilon_unit: Some(Unit::Text),
                neighbours: Neighbours::AnyTexts,
                k: 2,
                lambda: -10000.0,
                attack: "exact".into(),
                trials: 1000,
                alpha: 0.01,
                delta: 0.0,
                estimator: "clopper-pearson".into(),
                guarantee: Some(Guarantee {
                    epsilon: 0.1,
                    delta: 0.0,
                    unit: Unit::Text,
                    neighbours: Neighbours::AnyTexts,
                    basis: Basis::Proven,
                }),
                claimed_epsilon: Some(0.1),
                claimed_delta: Some(0.0),
                gaussian: false,
                texts: Some(0),
                series: Some(0),
                seed: None,
                trained: 0,
                explored: 0,
                signs: Vec::new(),
                diameter: None,
                mean_units: None,
                composition: None,
            }],
            ..Manifest::new(
                "0.1.0",
                "2026-11-21T12:04:05Z",
                serde_json::json!({"seed": u64::MAX, "mech": ["krr"]}),
            )
        }
    }

    #[test]
    fn a_manifest_reads_back_and_its_status_changes() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = example();
        manifest.save(dir.path()).unwrap();
        assert_eq!(Manifest::load(dir.path()).unwrap(), manifest);
        manifest.status = Status::Complete;
        manifest.save(dir.path()).unwrap();
        assert_eq!(Manifest::load(dir.path()).unwrap(), manifest);
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        for part in [
            "\"schema\": \"teda.run/1\"",
            "\"status\": \"complete\"",
            "\"seed\": 18446744073709551615",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_manifest_with_any_bit_changed_is_refused_or_says_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = example();
        manifest.save(dir.path()).unwrap();
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[place] ^= 1 << bit;
                fs::write(&path, &damaged).unwrap();
                match Manifest::load(dir.path()) {
                    Ok(read) => assert_eq!(read, manifest),
                    Err(error) => assert!(error.to_string().contains("manifest.json")),
                }
            }
        }
    }

    #[test]
    fn the_identity_is_of_what_trials_follow_from() {
        let one = example();
        let mut other = one.clone();
        other.status = Status::Complete;
        other.texts_sha256 = Some("00".into());
        other.created = "later".into();
        assert_eq!(one.identity(), other.identity());
        other.config["seed"] = 1.into();
        assert_ne!(one.identity(), other.identity());
        let mut level = one.clone();
        level.cells[0].alpha = 0.05;
        assert_ne!(one.identity(), level.identity());
        let mut shard = one.clone();
        shard.shard = Some((2, 4));
        assert_ne!(one.identity(), shard.identity());
    }

    #[test]
    fn every_truncation_is_a_clear_error() {
        let dir = tempfile::tempdir().unwrap();
        example().save(dir.path()).unwrap();
        let path = dir.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        for length in (0..text.trim_end().len()).filter(|&i| text.is_char_boundary(i)) {
            fs::write(&path, &text[..length]).unwrap();
            let error = Manifest::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains("manifest.json: damaged"), "{error}");
        }
    }

    #[test]
    fn a_missing_or_foreign_manifest_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for missing in [dir.path().to_owned(), dir.path().join("none")] {
            let error = Manifest::load(&missing).unwrap_err();
            assert!(matches!(&error, Error::Usage(m) if m.contains("not a teda run")));
        }
        let refused = |text: &str| {
            fs::write(dir.path().join(FILE), text).unwrap();
            Manifest::load(dir.path()).unwrap_err()
        };
        let error = refused(r#"{"schema":"teda.run/2","cells":3}"#);
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("'teda.run/2'")),
            "{error}"
        );
        let error = refused(r#"{"name":"something else"}"#);
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("(none)")),
            "{error}"
        );
    }

    #[test]
    fn an_infinite_number_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = example();
        manifest.cells[0].lambda = f64::NEG_INFINITY;
        assert!(manifest.save(dir.path()).is_err());
        // An optional number would be read back as missing, which would be worse than an error.
        manifest.cells[0].lambda = 0.0;
        manifest.cells[0].epsilon = Some(f64::INFINITY);
        assert!(manifest.save(dir.path()).is_err());
    }
}
