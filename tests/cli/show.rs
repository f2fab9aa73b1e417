//! `teda show`: every trial that a run stored, with the guesses that count in its results.

use std::path::Path;

use serde_json::Value;
use teda_results::trials;

use crate::sandbox::{Sandbox, read, text};

/// A run of two mechanisms, each with an attack that guesses at once and two that learn.
fn run(sandbox: &Sandbox) {
    sandbox.stdout(&[
        "audit",
        "--mech",
        "krr,em",
        "--epsilon",
        "3",
        "--limit",
        "40",
        "--trials",
        "5000",
        "--attack",
        "learned,embedding,learned:share=0.9",
        "--out",
        "run",
        "--quiet",
    ]);
}

/// The trials that a command shows, as JSON.
fn shown(sandbox: &Sandbox, filters: &[&str]) -> Vec<Value> {
    let command = ["show", "run", "--format", "jsonl", "--limit", "1000000"];
    let shown = sandbox.stdout(&[&command, filters].concat());
    let lines = shown.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

fn guesses(trial: &Value) -> &Vec<Value> {
    trial["guesses"].as_array().unwrap()
}

/// Guesses of attacks that learn stand in another file, and those of two of them are mixed there.
#[test]
fn every_trial_has_the_guesses_that_its_cells_count() {
    let s = Sandbox::new();
    run(&s);
    let trials = shown(&s, &[]);
    assert_eq!(trials.len(), 10_000);
    let cells: Value = serde_json::from_slice(&s.bytes("run", "result.json")).unwrap();
    let cells = cells["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for (number, cell) in cells.iter().enumerate() {
        let of = trials.iter().flat_map(guesses);
        let own = of.filter(|guess| guess["cell"] == number && guess["counted"] == true);
        let own: Vec<&Value> = own.collect();
        assert_eq!(own.len(), cell["trials"], "{cell}");
        let hits = own.iter().filter(|guess| guess["hit"] == true).count();
        assert_eq!(hits, cell["hits"], "{cell}");
    }
    for trial in &trials {
        assert_eq!(guesses(trial).len(), 3, "{trial}");
        for guess in guesses(trial) {
            assert_eq!(guess["hit"], guess["guess"] == trial["secret"], "{trial}");
        }
    }
    // What a trial is, is what its row says.
    let rows = trials::rows(&s.path("run")).unwrap().map(Result::unwrap);
    let of_embedding = rows.filter(|row| row.cell % 3 == 1);
    for (row, trial) in of_embedding.zip(&trials) {
        assert_eq!(
            (row.trial.into(), row.release.into()),
            (trial["trial"].clone(), trial["release"].clone())
        );
        let numbers: Vec<Value> = row
            .candidates
            .iter()
            .map(|number| (*number).into())
            .collect();
        let candidates = trial["candidates"].as_array().unwrap();
        let stored: Vec<Value> = candidates
            .iter()
            .map(|text| text["number"].clone())
            .collect();
        assert_eq!(numbers, stored);
    }
}

#[test]
fn filters_keep_what_they_say_and_pages_join_to_the_whole() {
    let s = Sandbox::new();
    run(&s);
    let all = shown(&s, &["--mech", "em", "--attack", "embedding"]);
    assert_eq!(all.len(), 5000);
    assert!(
        all.iter()
            .all(|trial| trial["mechanism"] == "em" && guesses(trial).len() == 1)
    );
    let of = |filters: &[&str]| shown(&s, &[&["--cell", "4"], filters].concat());
    let (hits, misses) = (of(&["--hits"]), of(&["--misses"]));
    assert_eq!(hits.len() + misses.len(), 5000);
    assert!(hits.iter().all(|trial| guesses(trial)[0]["hit"] == true));
    assert!(!misses.is_empty() && of(&["--failed"]).is_empty());
    let said = |trial: &Value| {
        let candidates = trial["candidates"].as_array().unwrap().iter();
        let texts = candidates.map(|text| text["text"].as_str().unwrap());
        let all: Vec<&str> = texts.chain(trial["release"].as_str()).collect();
        all.iter()
            .any(|text| text.to_lowercase().contains("playlist"))
    };
    let found = of(&["--text", "PLAYList"]);
    assert_eq!(
        found,
        all.iter()
            .filter(|trial| said(trial))
            .cloned()
            .collect::<Vec<_>>()
    );
    assert!(!found.is_empty() && found.len() < all.len());
    let [one] = &of(&["--trial", "17"])[..] else {
        panic!("one trial")
    };
    assert_eq!(one, &all[17]);
    let page = |from: &str| {
        let page = s.run(&[
            "show", "run", "--cell", "4", "--format", "jsonl", "--limit", "3000", "--from", from,
        ]);
        (text(&page.stdout), text(&page.stderr))
    };
    let (first, second) = (page("0"), page("3000"));
    let lines = [first.0, second.0].concat();
    let joined: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(joined, all);
    assert!(
        first
            .1
            .contains("3000 of 5000 trials that match; the next: add --from 3000"),
        "{}",
        first.1
    );
    assert!(second.1.contains("5000 trials match"), "{}", second.1);
    let beyond = page("9000").1;
    assert!(
        beyond.contains("--from 9000 is beyond the last"),
        "{beyond}"
    );
}

#[test]
fn formats_say_the_same() {
    let s = Sandbox::new();
    run(&s);
    let of = |format: &str| {
        s.stdout(&[
            "show", "run", "--cell", "1,5", "--limit", "2", "--from", "4999", "--format", format,
        ])
    };
    let document: Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!(
        (&document["schema"], &document["matching"]),
        (&"teda.show/1".into(), &10_000.into())
    );
    let numbers: Vec<&Value> = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| &cell["cell"])
        .collect();
    assert_eq!(numbers, [1, 5]);
    let lines: Vec<Value> = of("jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(document["trials"].as_array().unwrap(), &lines);
    // The last of krr, and the first of em.
    assert_eq!(
        (&lines[0]["mechanism"], &lines[1]["mechanism"]),
        (&"krr".into(), &"em".into())
    );
    let csv = of("csv");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        csv.lines().nth(2).unwrap().starts_with("5,0,snips,em,3,"),
        "{csv}"
    );
    let table = of("table");
    let secret = lines[1]["secret"].as_u64().unwrap() as usize;
    let source = lines[1]["candidates"][secret]["text"].as_str().unwrap();
    assert!(table.contains(&source[..20]), "{table}");
    // One attack guesses, so one candidate is marked.
    assert_eq!(
        table
            .lines()
            .filter(|line| line.starts_with("> ") && !line.contains("by:"))
            .count(),
        2,
        "{table}"
    );
}

#[test]
fn texts_are_wrapped_to_the_columns_that_there_are() {
    let s = Sandbox::new();
    let long = "a text of many words that is said again and again ".repeat(9);
    s.file(
        "texts.txt",
        (0..30).map(|i| format!("{i} {long}\n")).collect::<String>(),
    );
    s.stdout(&[
        "audit",
        "--mech",
        "identity",
        "--dataset",
        "texts.txt",
        "--trials",
        "50",
        "--out",
        "run",
        "--quiet",
    ]);
    for columns in [50, 80] {
        let mut command = s.command(&["show", "run", "--cell", "0"]);
        let shown = command
            .env("COLUMNS", columns.to_string())
            .output()
            .unwrap();
        let shown = text(&shown.stdout);
        let longest = shown.lines().map(|line| line.chars().count()).max();
        assert!(
            longest.is_some_and(|longest| longest <= columns && longest > columns - 12),
            "{shown}"
        );
        assert!(shown.contains("20 of 50 trials that match"), "{shown}");
    }
    let first = s.stdout(&["show", "run"]);
    assert!(first.contains("cell  attack     hits / trials"), "{first}");
}

#[test]
fn what_a_run_lacks_is_said() {
    let s = Sandbox::new();
    let audit = |more: &[&str]| {
        let grr = [
            "audit",
            "--mech",
            "grr",
            "--epsilon",
            "1",
            "--dataset",
            "categories:4",
            "--quiet",
        ];
        s.stdout(&[&grr, more].concat())
    };
    audit(&[
        "--keep",
        "counts",
        "--trials",
        "1000",
        "--attack",
        "likelihood-ratio",
        "--out",
        "counts",
    ]);
    let shown = s.stdout(&["show", "counts"]);
    assert!(
        shown.contains("/ 1000") && shown.contains("--keep counts"),
        "{shown}"
    );
    let refused = s.run(&["show", "counts", "--hits"]);
    assert_eq!(refused.status.code(), Some(2));
    audit(&[
        "--trials", "4000", "--attack", "learned", "--shard", "2/4", "--out", "part",
    ]);
    let shown = s.stdout(&["show", "part", "--limit", "1"]);
    assert!(
        shown.contains("part 2 of 4") && shown.contains("trial 1000 "),
        "{shown}"
    );
    assert!(
        !shown.contains("right") && !shown.contains("wrong"),
        "{shown}"
    );
    // One that was stopped before its texts were kept: they come from its data set, which ships.
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old-runs/interrupted");
    let shown = s.stdout(&["show", &old.display().to_string(), "--limit", "1"]);
    assert!(
        shown.contains("not complete") && shown.contains("secret"),
        "{shown}"
    );
    let wrong = s.run(&["show", "part", "--mech", "grrr"]);
    assert_eq!(wrong.status.code(), Some(2));
    let wrong = text(&wrong.stderr);
    assert!(wrong.contains("Did you mean 'grr'?"), "{wrong}");
    let none = s.run(&["show", "nothing"]);
    assert_eq!(none.status.code(), Some(2));
}

/// A run of the texts in `texts.txt`, which are their own releases.
fn released_as_they_are(s: &Sandbox) {
    s.stdout(&[
        "audit",
        "--mech",
        "identity",
        "--dataset",
        "texts.txt",
        "--lambda",
        "0",
        "--trials",
        "50",
        "--out",
        "run",
        "--quiet",
    ]);
}

#[test]
fn a_text_steers_no_terminal() {
    let s = Sandbox::new();
    s.file(
        "texts.txt",
        "play \u{1b}[2J some\u{202e} jazz\nwill it rain \u{7}today\n",
    );
    released_as_they_are(&s);
    for format in ["table", "csv"] {
        let shown = s.stdout(&["show", "run", "--format", format]);
        assert!(
            shown.contains(r"\u{1b}[2J") && shown.contains(r"\u{202e}"),
            "{shown}"
        );
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
            "{shown}"
        );
    }
}

/// A program that fails for some texts: an attack that learns guesses from that, another one by chance.
#[cfg(unix)]
#[test]
fn a_failure_is_shown_with_its_reason() {
    let s = Sandbox::new();
    let program = r#"while read -r query; do
  id=${query#*\"id\":}; id=${id%%,*}
  case $query in
    *jazz*) echo "{\"id\":$id,\"error\":\"no jazz\"}";;
    *) echo "{\"id\":$id,\"text\":\"some\"}";;
  esac
done
"#;
    s.file("fails.sh", program);
    s.file("texts.txt", "play some jazz\nwill it rain\nadd this song\n");
    s.stdout(&[
        "audit",
        "--mech",
        "exec:sh fails.sh",
        "--dataset",
        "texts.txt",
        "--lambda",
        "0",
        "--trials",
        "800",
        "--attack",
        "learned,overlap",
        "--out",
        "run",
        "--quiet",
    ]);
    let failed = shown(&s, &["--failed"]);
    assert!(!failed.is_empty() && failed.len() < 800);
    for trial in &failed {
        assert_eq!(
            (&trial["error"], &trial["release"]),
            (&"no jazz".into(), &Value::Null)
        );
        assert_eq!(trial["cause"], "mechanism");
    }
    let table = s.stdout(&[
        "show",
        "run",
        "--failed",
        "--trial",
        &failed.last().unwrap()["trial"].to_string(),
    ]);
    assert!(
        table.contains("  no release  the mechanism failed: no jazz"),
        "{table}"
    );
    let of = |attack: &str| {
        table
            .lines()
            .find(|line| line.trim_start().starts_with(attack))
            .unwrap()
    };
    assert!(
        of("overlap").ends_with("by chance") && !of("learned").contains("chance"),
        "{table}"
    );
}

/// A pager is for terminals, and this is none.
#[test]
fn what_is_piped_goes_through_no_pager() {
    let s = Sandbox::new();
    s.stdout(&[
        "audit", "--mech", "identity", "--trials", "50", "--out", "run", "--quiet",
    ]);
    let mut command = s.command(&["show", "run"]);
    let shown = command.env("PAGER", "touch paged").output().unwrap();
    assert!(shown.status.success() && !shown.stdout.is_empty());
    assert!(!s.path("paged").exists());
}

/// On a terminal that cannot hold it all, the pager gets it, and nothing of the texts that a pager obeys.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_paged() {
    let s = Sandbox::new();
    s.file("texts.txt", "play \u{1b}[2J jazz\nwill it rain\n");
    released_as_they_are(&s);
    let on_terminal = |lines: u32, more: &str| {
        let _ = std::fs::remove_file(s.path("paged"));
        let teda = env!("CARGO_BIN_EXE_teda");
        let line = format!("stty rows {lines} cols 80; exec '{teda}' show run {more}");
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .current_dir(s.path(""));
        script
            .env("PAGER", "cat > paged")
            .env_remove("LINES")
            .env_remove("COLUMNS");
        script.stdin(std::process::Stdio::null()).output()
    };
    let Ok(_) = on_terminal(10, "") else {
        println!("skipped: script, which makes a terminal, is not installed");
        return;
    };
    let paged = String::from_utf8(read(&s.path("paged"))).unwrap();
    assert!(
        paged.contains("20 of 50 trials") && paged.contains(r"\u{1b}[2J"),
        "{paged}"
    );
    on_terminal(500, "").unwrap();
    assert!(!s.path("paged").exists(), "it fits");
    on_terminal(10, "--no-pager").unwrap();
    assert!(!s.path("paged").exists(), "it was not asked for");
}
