//! `report.html`: what stands in it, that hostile texts stay texts, and that its command repeats the run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, text};

const HOSTILE: &str = include_str!("../../scripts/page/hostile.txt");

fn page(sandbox: &Sandbox, run: &str) -> String {
    text(&sandbox.bytes(run, "report.html"))
}

/// What stands between two marks, the first time.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

/// Data inside the page, read as JSON.
fn data(page: &str, id: &str) -> serde_json::Value {
    let from = format!("<script type=\"application/json\" id=\"{id}\">");
    serde_json::from_str(between(page, &from, "</script>")).unwrap()
}

#[test]
fn a_run_has_a_page_whose_command_repeats_it() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&[
        "audit",
        "--mech",
        "em,krr-half-noise",
        "--epsilon",
        "2,20",
        "--limit",
        "40",
        "--lambda",
        "0",
        "--trials",
        "700",
        "--attack",
        "embedding,learned",
        "--set",
        "share=0.5",
        "--utility",
        "copied",
        "--seed",
        "3",
        "--out",
        "run",
        "--quiet",
    ]);
    let page = page(&sandbox, "run");
    for section in [
        "verdicts",
        "curve",
        "read",
        "utility",
        "learned",
        "pairs",
        "trials",
        "failures",
        "provenance",
        "cite",
    ] {
        assert!(
            page.contains(&format!("<section id=\"{section}\">")),
            "{section}"
        );
    }
    // The worst comes first.
    let verdicts = between(&page, "<ul class=\"verdicts\">", "</ul>");
    assert!(
        verdicts.starts_with("<li class=\"violation\">"),
        "{verdicts}"
    );

    // The policy allows the page's own style and script, and these alone.
    let policy = between(
        &page,
        "http-equiv=\"Content-Security-Policy\" content=\"",
        "\"",
    );
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    let style = between(&page, "<style>", "</style>");
    let (_, last) = page.rsplit_once("<script>").unwrap();
    for own in [style, last.split_once("</script>").unwrap().0] {
        let digest = STANDARD.encode(Sha256::digest(own));
        assert!(policy.contains(&format!("'sha256-{digest}'")), "{policy}");
    }
    assert!(!page.contains("unsafe-inline") && !page.contains(" style=\""));

    let result: serde_json::Value =
        serde_json::from_slice(&sandbox.bytes("run", "result.json")).unwrap();
    let shown = data(&page, "result");
    assert_eq!(shown["cells"], result["cells"]);
    assert_eq!(shown["utilities"], result["utilities"]);
    let sample = data(&page, "trials-0");
    let drawn = sample["trials"].as_array().unwrap().len();
    assert!((1000..=2000).contains(&drawn), "{drawn}");

    let command = between(&page, "<p>The same numbers again:</p><pre>", "</pre>").to_owned();
    let mut words: Vec<&str> = command.split_whitespace().skip(1).collect();
    words.extend(["--out", "again", "--quiet"]);
    sandbox.stdout(&words);
    assert_eq!(
        sandbox.bytes("again", "trials.parquet"),
        sandbox.bytes("run", "trials.parquet")
    );
    assert_eq!(
        sandbox.bytes("again", "guesses.parquet"),
        sandbox.bytes("run", "guesses.parquet")
    );
}

#[test]
fn hostile_texts_stay_texts() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hostile.txt", HOSTILE);
    sandbox.stdout(&[
        "audit",
        "--mech",
        "identity",
        "--dataset",
        &file,
        "--lambda",
        "0",
        "--trials",
        "300",
        "--attack",
        "overlap",
        "--out",
        "run",
        "--quiet",
    ]);
    let page = page(&sandbox, "run");
    // Besides the page's own, nothing begins an element that a text of the data holds.
    for mark in [
        "<img",
        "<iframe",
        "<base",
        "<svg/",
        "<a href=javascript",
        "<b ",
        "onerror=\"",
        "<!--<",
    ] {
        assert!(!page.contains(mark), "{mark}");
    }
    assert_eq!(
        page.matches("<script").count(),
        3,
        "result, sample, and the script"
    );
    let sample = data(&page, "trials-0").to_string();
    assert!(sample.contains("window.pwned=1") && !sample.contains('\u{202e}'));
    // Few texts have a heat map.
    assert!(page.contains("class=\"heat h10\"") || page.contains("told from"));
}

#[test]
fn runs_of_all_kinds_have_pages() {
    let sandbox = Sandbox::new();
    let small = [
        "--mech",
        "krr",
        "--limit",
        "4",
        "--lambda",
        "0",
        "--trials",
        "400",
        "--epsilon",
        "1",
        "--quiet",
    ];
    let run = |more: &[&str]| sandbox.stdout(&[&["audit"], &small[..], more].concat());
    run(&[
        "--keep",
        "counts",
        "--attack",
        "embedding",
        "--out",
        "counts",
    ]);
    assert!(page(&sandbox, "counts").contains("No trials to browse"));
    run(&["--shard", "1/2", "--out", "one"]);
    run(&["--shard", "2/2", "--out", "two"]);
    sandbox.stdout(&["merge", "one", "two", "--out", "whole"]);
    run(&["--out", "at-once"]);
    let numbers = |run: &str| data(&page(&sandbox, run), "result")["cells"][0]["hits"].clone();
    assert_eq!(numbers("whole"), numbers("at-once"));

    sandbox.stdout(&["report", "counts", "at-once", "--page", "--out", "both"]);
    let both = page(&sandbox, "both");
    assert!(both.contains("id=\"trials-1\"") && both.contains(">run</th>"));
    // Judged by another attack than the run's.
    sandbox.stdout(&[
        "report", "at-once", "--attack", "overlap", "--page", "--out", "other",
    ]);
    assert!(page(&sandbox, "other").contains("overlap"));
}

/// Long texts and many trials do not make a large page.
#[test]
fn a_page_is_a_megabyte_at_most() {
    let sandbox = Sandbox::new();
    let long: String = (0..300)
        .map(|n| format!("{n} {}\n", "a <long> text & \u{1f3b5} more ".repeat(60)))
        .collect();
    let file = sandbox.file("long.txt", long);
    sandbox.stdout(&[
        "audit",
        "--mech",
        "identity",
        "--dataset",
        &file,
        "--lambda",
        "0",
        "--k",
        "4",
        "--trials",
        "3000",
        "--attack",
        "overlap",
        "--out",
        "run",
        "--quiet",
    ]);
    let page = page(&sandbox, "run");
    assert!(page.len() <= 1_000_000, "{} bytes", page.len());
    let sample = data(&page, "trials-0");
    assert!(sample["trials"].as_array().unwrap().len() > 50);
}
