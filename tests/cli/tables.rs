//! What is printed fits the terminal, and says the same in every format.

use unicode_width::UnicodeWidthStr;

use crate::sandbox::{Sandbox, text};

const AUDIT: [&str; 17] = [
    "audit",
    "--mech",
    "krr,krr-half-noise,identity",
    "--dataset",
    "categories:4",
    "--lambda",
    "0",
    "--epsilon",
    "1,2",
    "--trials",
    "800",
    "--attack",
    "embedding,overlap",
    "--quiet",
    "--out",
    "run",
    "--utility=copied,length,rouge1,rougeL",
];

fn at(sandbox: &Sandbox, width: &str, arguments: &[&str]) -> String {
    let output = sandbox
        .command(arguments)
        .env("COLUMNS", width)
        .output()
        .expect("teda runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn widest(text: &str) -> (usize, &str) {
    let lines = text.lines().map(|line| (line.width(), line));
    lines.max_by_key(|(width, _)| *width).unwrap_or_default()
}

#[test]
fn what_is_printed_fits_eighty_columns() {
    let s = Sandbox::new();
    s.stdout(&AUDIT);
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check.toml");
    for arguments in [
        &["report", "run"][..],
        &["report", "run", "--agreement"],
        &["list"],
        &["data", "list"],
        &["study", "list"],
        &["check", check, "--dry-run"],
        &["audit", "--mech", "em", "--trials", "10", "--dry-run"],
    ] {
        let printed = s.stdout(arguments);
        let (width, line) = widest(&printed);
        // A word that is longer than the terminal is not broken.
        let breakable = line.trim().contains(' ');
        assert!(width <= 80 || !breakable, "{arguments:?}: {width}: {line}");
    }
}

#[test]
fn a_wide_terminal_has_one_row_a_cell_and_a_narrow_one_says_what_it_left_out() {
    let s = Sandbox::new();
    s.stdout(&AUDIT);
    let wide = at(&s, "200", &["report", "run"]);
    let header = wide.lines().nth(2).unwrap();
    for column in [
        "mechanism",
        "nominal ε",
        "attack",
        "hits",
        "rate",
        "verdict",
    ] {
        assert!(header.contains(column), "{header}");
    }
    // The broken mechanism comes first.
    assert!(
        wide.lines().nth(3).unwrap().contains("krr-half-noise"),
        "{wide}"
    );
    let narrow = at(&s, "60", &["report", "run"]);
    let said = "(left out at this width: ";
    assert!(narrow.contains(said) && !wide.contains(said), "{narrow}");
    assert!(widest(&narrow).0 <= 60, "{narrow}");
    // One sentence a mechanism.
    let sentences = wide.lines().filter(|line| {
        ["violation: ", "consistent: ", "no-claim: ", "saturated: "]
            .iter()
            .any(|verdict| line.starts_with(verdict))
    });
    assert_eq!(sentences.count(), 3, "{wide}");
}

#[test]
fn every_format_has_every_cell() {
    let s = Sandbox::new();
    s.stdout(&AUDIT);
    let rows = |format: &str, is_row: fn(&str) -> bool| {
        let printed = s.stdout(&["report", "run", "--format", format]);
        let cells = printed.split("\n\n").nth(usize::from(format == "markdown"));
        cells.unwrap().lines().filter(|line| is_row(line)).count()
    };
    let audit: Vec<&str> = AUDIT
        .into_iter()
        .filter(|word| *word != "--quiet")
        .collect();
    let cells = s.cells(&audit[..13]).len();
    assert_eq!(rows("csv", |line| line.starts_with("categories")), cells);
    // Header and rule besides.
    assert_eq!(rows("markdown", |line| line.starts_with('|')), cells + 2);
    let latex = s.stdout(&["report", "run", "--format", "latex"]);
    let (first, _) = latex.split_once("\\end{tabular}").unwrap();
    assert_eq!(first.matches(r" \\").count(), cells + 1);
}

#[test]
fn a_label_names_a_program_and_changes_no_number() {
    let s = Sandbox::new();
    let program = r#"while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; printf '{"id":%s,"text":"x"}\n' "$id"
done"#;
    let cell = |mechanism: &str| {
        let audit = ["audit", "--mech", mechanism, "--dataset", "categories:3"];
        let rest = ["--epsilon", "1", "--lambda", "0", "--trials", "300"];
        let mut cells = s.cells(&[&audit[..], &rest, &["--attack", "random"]].concat());
        cells.remove(0)
    };
    let plain = cell(&format!("exec:{program}"));
    let named = cell(&format!("mine=exec:{program}"));
    assert_eq!(named["mechanism"], "mine");
    assert_eq!(plain["hits"], named["hits"]);
    let refused = s.run(&["audit", "--mech", "krr=exec:cat"]);
    assert_eq!(refused.status.code(), Some(2));
    let error = text(&refused.stderr);
    assert!(
        error.contains("a mechanism of teda is called so"),
        "{error}"
    );
    let twice = s.run(&["audit", "--mech", "a=exec:cat", "--mech", "a=exec:tac"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(text(&twice.stderr).contains("mechanism a is named twice"));
}

/// One mechanism with two settings in two runs is two mechanisms in a report on both: in the table, its sentences, the picture
/// and the page.
#[test]
fn runs_that_differ_in_settings_are_told_apart() {
    let s = Sandbox::new();
    for (out, epsilon, more) in [
        ("plain", "20", &[][..]),
        ("half", "20", &["--set", "share=0.5"]),
        ("again", "30", &[]),
    ] {
        let audit = ["audit", "--mech", "em", "--limit", "30", "--trials", "40"];
        let rest = [
            "--epsilon",
            epsilon,
            "--attack",
            "overlap",
            "--utility",
            "length",
        ];
        let out = ["--quiet", "--out", out];
        s.stdout(&[&audit[..], &rest, more, &out].concat());
    }
    let both = s.stdout(&["report", "plain", "half", "--out", "both", "--page"]);
    for said in ["em share=0.5", "of em share=0.5 (nominal"] {
        assert!(both.replace('\n', " ").contains(said), "{said}\n{both}");
    }
    for file in ["curve.svg", "cells.csv", "utilities.csv", "report.html"] {
        assert!(
            text(&s.bytes("both", file)).contains("em share=0.5"),
            "{file}"
        );
    }
    // To choose among runs is a choice, whatever they are called.
    let json = s.stdout(&[
        "report", "plain", "half", "--out", "both", "--format", "json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        assert_eq!(cell["choices"], 2, "{cell}");
    }
    let same = s.stdout(&["report", "plain", "again", "--out", "same"]);
    assert!(
        !same.contains("em share") && same.contains("mechanism em"),
        "{same}"
    );
}
