//! Audits of releases that were made earlier.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::sandbox::{Sandbox, number, text};

/// Randomised response between two texts at ε, `each` times for both, as rows of a CSV file.
fn responses(epsilon: f64, each: usize) -> String {
    let mut coins = ChaCha8Rng::seed_from_u64(5);
    let texts = ["play some jazz", "book a table"];
    let kept = 1.0 / (1.0 + (-epsilon).exp());
    (0..2 * each)
        .map(|row| {
            let (source, other) = (texts[row % 2], texts[(row + 1) % 2]);
            let release = if coins.random_bool(kept) {
                source
            } else {
                other
            };
            format!("{source},{release},{epsilon}\n")
        })
        .collect()
}

fn file(sandbox: &Sandbox, rows: &[String]) {
    let table = format!("source,release,epsilon\n{}", rows.concat());
    std::fs::write(sandbox.path("releases.csv"), table).unwrap();
}

fn cells(sandbox: &Sandbox, more: &[&str]) -> Vec<serde_json::Value> {
    sandbox.cells(&[&["audit", "--releases", "releases.csv"], more].concat())
}

#[test]
fn recorded_releases_are_audited_against_their_claim() {
    let sandbox = Sandbox::new();
    file(&sandbox, &[responses(1.0, 3000), responses(3.0, 2000)]);
    // As many trials as the smaller part is good for, all cells with as many.
    let cells = cells(&sandbox, &["--claim", "neighbours=any-texts"]);
    for (cell, epsilon) in cells.iter().zip([1.0, 3.0]) {
        assert_eq!(
            (number(cell, "trials"), number(cell, "epsilon")),
            (2000.0, epsilon)
        );
        assert_eq!(cell["verdict"], "consistent", "{cell}");
        let bound = number(cell, "empirical_epsilon");
        assert!((epsilon - 0.4..epsilon).contains(&bound), "{bound}");
    }
    let broken = self::cells(&sandbox, &["--epsilon", "3", "--claim", "epsilon=1"]);
    assert_eq!(
        (broken.len(), &broken[0]["verdict"]),
        (1, &"violation".into())
    );
    // Alone, this part is good for more.
    let one = self::cells(&sandbox, &["--epsilon", "1", "--until", "width=0.6"]);
    assert!(
        (100.0..3000.0).contains(&number(&one[0], "trials")),
        "{}",
        one[0]
    );
}

/// Sources that are recorded more often than others must not be what a guess goes by.
#[test]
fn a_mechanism_that_hides_everything_shows_nothing_however_it_was_recorded() {
    let sandbox = Sandbox::new();
    let often = "play some jazz,play some jazz,1\n".repeat(3000);
    let rare: String = (0..1000)
        .map(|i| format!("book a table for {i},play some jazz,1\n"))
        .collect();
    file(&sandbox, &[often, rare]);
    let cells = cells(&sandbox, &["--attack", "embedding,random"]);
    assert_eq!(number(&cells[0], "trials"), 1000.0);
    for cell in cells {
        assert_eq!(number(&cell, "empirical_epsilon"), 0.0, "{cell}");
    }
}

#[test]
fn what_a_file_is_good_for_is_said() {
    let sandbox = Sandbox::new();
    file(&sandbox, &[responses(1.0, 50)]);
    let said = |arguments: &[&str]| {
        let output = sandbox.run(&[&["audit", "--releases", "releases.csv"], arguments].concat());
        (output.status.code(), text(&output.stderr))
    };
    let (status, notes) = said(&[]);
    assert_eq!(status, Some(0), "{notes}");
    assert!(
        notes.contains("100 releases of 2 texts at ε = 1: good for 50 trials of k = 2"),
        "{notes}"
    );
    assert!(
        notes.contains("say what another row of the same source says"),
        "{notes}"
    );
    for (arguments, expected) in [
        (&["--trials", "51"][..], "are good for 50 trials of k = 2"),
        (&["--k", "3"], "make no trial"),
        (&["--epsilon", "2"], "it has 1"),
        (&["--attack", "likelihood-ratio"], "cannot say how likely"),
        (&["--mech", "em"], "cannot be used with"),
        (&["--dataset", "snips"], "cannot be used with"),
        (&["--lambda", "5"], "cannot be used with"),
        (&["--claim", "epsilon=x"], "a number of 0 or more"),
    ] {
        let (status, error) = said(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let other = sandbox.run(&["audit", "--mech", "releases:releases.csv"]);
    assert!(text(&other.stderr).contains("give --releases FILE"));
    let rewrite = sandbox.run(&["rewrite", "--mech", "releases:releases.csv"]);
    assert_eq!(rewrite.status.code(), Some(2), "{}", text(&rewrite.stderr));
}

#[test]
fn threads_batches_shards_and_the_files_name_change_nothing() {
    let sandbox = Sandbox::new();
    file(&sandbox, &[responses(2.0, 200), responses(1.0, 300)]);
    let audit = |out: &str, more: &[&str]| {
        let own = [
            "audit",
            "--releases",
            "releases.csv",
            "--quiet",
            "--out",
            out,
        ];
        sandbox.stdout(&[&own, more].concat())
    };
    let table = audit("whole", &[]);
    let rows = sandbox.bytes("whole", "trials.parquet");
    audit("small", &["--threads", "1", "--batch", "7"]);
    assert_eq!(sandbox.bytes("small", "trials.parquet"), rows);
    assert_eq!(audit("counts", &["--keep", "counts"]), table);
    audit("first", &["--shard", "1/2"]);
    audit("second", &["--shard", "2/2"]);
    let merged = sandbox.stdout(&["merge", "first", "second", "--out", "merged"]);
    assert_eq!(merged, table);
    assert_eq!(sandbox.bytes("merged", "trials.parquet"), rows);
    std::fs::copy(sandbox.path("releases.csv"), sandbox.path("b.csv")).unwrap();
    let copy = ["audit", "--releases", "b.csv", "--quiet", "--out", "copy"];
    sandbox.stdout(&copy);
    assert_eq!(sandbox.bytes("copy", "trials.parquet"), rows);
}
