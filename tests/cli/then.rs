//! `--then`: releases that another model rewrites once more.

use crate::outside::PROGRAM;
use crate::sandbox::{Sandbox, text};

/// Two mechanisms of one run, with what comes after them.
const AUDIT: [&str; 11] = [
    "audit",
    "--mech",
    "identity,em",
    "--epsilon",
    "60",
    "--limit",
    "40",
    "--lambda",
    "0",
    "--trials",
    "60",
];

/// Trial, candidates, secret and release.
type Release = (u64, Vec<u32>, u32, String);

/// The releases of a run, by trial, for one of its cells.
fn releases(sandbox: &Sandbox, run: &str, cell: u32) -> Vec<Release> {
    let rows = teda_results::trials::rows(&sandbox.path(run)).unwrap();
    rows.map(Result::unwrap)
        .filter(|row| row.cell == cell)
        .map(|row| (row.trial, row.candidates, row.secret, row.release))
        .collect()
}

#[test]
fn the_name_the_claim_and_the_manifest_say_what_comes_after() {
    let s = Sandbox::new();
    let plain = s.cells(&[&AUDIT[..], &["--out", "plain"]].concat());
    let then = ["--then", "builtin", "--out", "then"];
    let cells = s.cells(&[&AUDIT[..], &then].concat());
    for (cell, plain) in cells.iter().zip(&plain) {
        let name = plain["mechanism"].as_str().unwrap();
        assert_eq!(cell["mechanism"], format!("{name} then builtin"));
        assert_eq!(cell["claimed_epsilon"], plain["claimed_epsilon"]);
        assert_eq!(cell["epsilon"], plain["epsilon"]);
    }
    let manifest: serde_json::Value =
        serde_json::from_slice(&s.bytes("then", "manifest.json")).unwrap();
    assert_eq!(manifest["config"]["then"], "builtin");
    let models = manifest["models"].to_string();
    assert!(models.contains("builtin/rewriter"), "{models}");
    let plain: serde_json::Value =
        serde_json::from_slice(&s.bytes("plain", "manifest.json")).unwrap();
    assert_eq!(plain["config"].get("then"), None);
}

/// The same trials, and of each what the mechanism releases in it without anything after it: the rewriter in the
/// binary nearly always repeats a short text when it is greedy.
#[test]
fn what_is_rewritten_is_what_the_mechanism_releases_alone() {
    let s = Sandbox::new();
    s.stdout(&[&AUDIT[..], &["--out", "plain"]].concat());
    let then = ["--then", "builtin", "--out", "then"];
    s.stdout(&[&AUDIT[..], &then].concat());
    let [plain, then] = ["plain", "then"].map(|run| releases(&s, run, 0));
    assert_eq!(plain.len(), 60);
    let mut repeated = 0;
    for (plain, then) in plain.iter().zip(&then) {
        assert_eq!((plain.0, &plain.1, plain.2), (then.0, &then.1, then.2));
        repeated += u32::from(plain.3 == then.3);
    }
    assert!((45..=60).contains(&repeated), "{repeated} of 60 repeated");
    // With room for two tokens it can write only the beginning.
    let then = ["--then", "builtin:max_new_tokens=2", "--out", "short"];
    s.stdout(&[&AUDIT[..], &then].concat());
    let [plain, short] = ["plain", "short"].map(|run| releases(&s, run, 1));
    let is_shorter = |(plain, short): (&Release, &Release)| plain.3.len() > short.3.len();
    assert!(plain.iter().zip(&short).all(is_shorter));
}

#[test]
fn a_temperature_has_coins_of_its_own_and_the_same_ones_every_time() {
    let s = Sandbox::new();
    let audit = |out: &str, then: &str| {
        s.stdout(&[&AUDIT[..], &["--then", then, "--out", out]].concat());
        releases(&s, out, 0)
    };
    let warm = audit("warm", "builtin:temperature=1.5");
    assert_eq!(warm, audit("again", "builtin:temperature=1.5"));
    assert_ne!(warm, audit("greedy", "builtin"));
}

#[test]
fn programs_and_lines_are_rewritten_too() {
    let s = Sandbox::new();
    let audit = ["audit", "--mech", PROGRAM, "--dataset", "categories:2"];
    let more = ["--lambda", "0", "--trials", "40", "--epsilon", "2"];
    let claim = ["--claim", "neighbours=any-texts", "--then", "builtin"];
    let cells = s.cells(&[&audit[..], &more, &claim].concat());
    let name = cells[0]["mechanism"].as_str().unwrap();
    assert!(name.starts_with("exec:while") && name.ends_with(" then builtin"));
    assert_eq!(cells[0]["claimed_epsilon"], 2.0);
    let lines = s.file("lines", "play some jazz by miles davis\n\n");
    let input = std::fs::File::open(lines).unwrap();
    let rewrite = ["rewrite", "--mech", "identity", "--then", "builtin"];
    let output = s.command(&rewrite).stdin(input).output().unwrap();
    assert_eq!(text(&output.stdout), "play some jazz by miles davis\n\n");
}

#[test]
fn check_files_name_it_and_wrong_ones_are_refused() {
    let s = Sandbox::new();
    let file = |then: &str| {
        let audit =
            "[[audit]]\nname = \"a\"\nmech = \"krr\"\nepsilon = 1\ndataset = \"categories:2\"";
        let lines = format!("{audit}\nlambda = 0\nattack = \"embedding\"\ntrials = 300\n");
        s.file("check.toml", format!("{lines}then = \"{then}\"\n"))
    };
    let shown = s.stdout(&["check", &file("builtin")]);
    assert!(shown.contains("mechanism krr then builtin"), "{shown}");
    let refused = |arguments: &[&str], said: &str| {
        let output = s.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(said), "{arguments:?}: {error}");
    };
    refused(
        &["check", &file("builtin:mask=0.3")],
        "unknown option 'mask'",
    );
    let wrong = ["--then", "builtin:temperature=-1"];
    refused(&[&AUDIT[..], &wrong].concat(), "temperature=-1");
    let recorded = s.file("recorded.csv", "source,release\na,b\nc,d\n");
    let wrong = ["audit", "--releases", &recorded, "--then", "builtin"];
    refused(&wrong, "--then");
    // Whoever knows how likely a release of the mechanism is does not know it of what comes after.
    let ratio = ["audit", "--mech", "krr", "--dataset", "categories:2"];
    let then = ["--attack", "likelihood-ratio", "--then", "builtin"];
    refused(
        &[&ratio[..], &then].concat(),
        "'krr then builtin' cannot say",
    );
}

/// A folder, as `scripts/models/post_processor.py` writes one: the same model follows in an audit, a rewrite and a task.
#[test]
fn a_folder_is_taken_wherever_releases_are_made() {
    let s = Sandbox::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/bart");
    let then = format!("{folder}:max_new_tokens=8");
    let cells = s.cells(&[&AUDIT[..], &["--then", &then, "--out", "run"]].concat());
    let name = format!("identity then {then}");
    assert_eq!(cells[0]["mechanism"], name);
    let rows = releases(&s, "run", 0);
    let lines = s.file("lines", "play some jazz\n");
    let rewrite = ["rewrite", "--mech", "identity", "--then", &then];
    let input = std::fs::File::open(lines).unwrap();
    let output = s.command(&rewrite).stdin(input).output().unwrap();
    let line = text(&output.stdout);
    assert!(
        output.status.success() && line != "play some jazz\n",
        "{line}"
    );
    assert!(rows.iter().all(|row| !row.3.contains("play some jazz")));
    let task = [
        "task", "--mech", "identity", "--then", &then, "--limit", "60",
    ];
    let more = ["--seeds", "1", "--format", "json"];
    let document = s.stdout(&[&task[..], &more].concat());
    assert!(document.contains(&name), "{document}");
}
