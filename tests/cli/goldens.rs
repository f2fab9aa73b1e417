//! Accepted output: help, lists, and the numbers of a small audit. A change of the last one is a
//! change of results, and the changelog must say so.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, text};

#[test]
fn help_of_every_command() {
    let sandbox = Sandbox::new();
    assert_snapshot!("help", sandbox.stdout(&["--help"]));
    for command in [
        "audit",
        "rewrite",
        "task",
        "study",
        "check",
        "report",
        "show",
        "diff",
        "merge",
        "slurm",
        "list",
        "data",
        "models",
        "selftest",
        "completions",
        "man",
    ] {
        assert_snapshot!(
            format!("help-{command}"),
            sandbox.stdout(&[command, "--help"])
        );
    }
}

#[test]
fn lists() {
    let sandbox = Sandbox::new();
    assert_snapshot!("list", sandbox.stdout(&["list"]));
    assert_snapshot!("data-list", sandbox.stdout(&["data", "list"]));
}

/// Every mechanism, both attacks, both directions of λ: the whole path in one table.
#[test]
fn the_numbers_of_a_small_audit() {
    let sandbox = Sandbox::new();
    let table = sandbox.stdout(&[
        "audit",
        "--mech",
        concat!(
            "privrewrite,privrewrite-naive,safedp-rewrite,safedp-rewrite-ns,em,word-perturb,",
            "krr,krr-half-noise,em-half-noise,privrewrite-cosine,identity,constant"
        ),
        "--set",
        "rounds=2",
        "--epsilon",
        "2,40",
        "--limit",
        "50",
        "--trials",
        "200",
        "--attack",
        "embedding,random",
        "--k",
        "3",
        "--lambda",
        "-10000,5",
        "--seed",
        "7",
        "--quiet",
    ]);
    assert_snapshot!("audit", table);
    let plan = sandbox.stdout(&[
        "audit",
        "--mech",
        "em,identity",
        "--epsilon",
        "1,2",
        "--dry-run",
    ]);
    // How long it would take depends on the machine: a number and its unit at the end of a line.
    let fixed: Vec<&str> = plan
        .lines()
        .map(|line| match line.ends_with(" s") {
            true => line.rsplitn(3, ' ').last().unwrap_or_default().trim_end(),
            false => line,
        })
        .map(|line| line.split_once(", about").map_or(line, |(start, _)| start))
        .collect();
    assert_snapshot!("dry-run", fixed.join("\n"));
}

#[test]
fn the_same_line_gives_the_same_rewrite() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "lines",
        "play some jazz by miles davis\nwill it snow in oslo tomorrow\n",
    );
    let mut shown = String::new();
    for (mechanism, epsilon) in [
        ("privrewrite", "4"),
        ("privrewrite-naive", "40"),
        ("safedp-rewrite", "3"),
        ("em", "40"),
        ("word-perturb", "100"),
    ] {
        let input = std::fs::File::open(sandbox.path("lines")).unwrap();
        let output = sandbox
            .command(&["rewrite", "--mech", mechanism, "--epsilon", epsilon])
            .stdin(input)
            .output()
            .unwrap();
        shown += &format!("{mechanism} at {epsilon}\n{}", text(&output.stdout));
    }
    assert_snapshot!("rewrite", shown);
}
