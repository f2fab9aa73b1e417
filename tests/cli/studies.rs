//! `teda study`: what it writes, that it goes on, and what it refuses.

use serde_json::Value;

use crate::sandbox::{Sandbox, text};

/// Randomised response, whose success rates are known, and a data set that does not ship.
const SMALL: &str = r#"
title = "Randomised response"
source = "Warner 1965"
about = "A small study."

[all]
dataset = "categories:2"
lambda = 0
attack = "embedding"
trials = 2000

[smoke]
epsilon = [1, 4]

[default]
epsilon = [1, 4]

[mechanism.krr.paper]
trials = 10

[[audit]]
name = "response"
mech = ["krr", "identity"]
utility = "copied"
compare-attacks = false

[[audit]]
name = "again"
of = "response"
estimator = "baseline"

[[audit]]
name = "elsewhere"
mech = "krr"
dataset = "$reviews"

[[samples]]
name = "look"
mech = "krr"
epsilon = 1
seeds = 4

[[figure]]
name = "rates"
place = "Figure 1"
title = "success rates"
where = { part = "response", of = "success" }
y_title = "success rate"
published = "Table 1"

[[published]]
place = "Table 1"
known = "derived"
row = "e^ε / (1 + e^ε)"
where = { part = "response", method = "krr", of = "success" }
at = [1, 4]
values = [73.1, 98.2]
scale = 100

[[statement]]
place = "Table 1"
text = "More ε, more success"
where = { part = "response", method = "krr", of = "success" }
test = { rises = { by = "epsilon", margin = 0.05 } }

[[statement]]
place = "Table 1"
text = "At ε = 1 hardly anything is seen"
where = { part = "response", method = "krr", of = "success", epsilon = 1 }
test = { at-most = 0.55 }

[[statement]]
place = "Table 1"
text = "Reviews are the same"
where = { part = "elsewhere", of = "success" }
test = { rises = { by = "epsilon", margin = 0.05 } }
"#;

fn document(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let json = [&["study"], arguments, &["--format", "json", "--quiet"]].concat();
    serde_json::from_str(&sandbox.stdout(&json)).unwrap()
}

/// A mechanism that never answers.
const SILENT: &str = r#"
title = "Failures"
source = "none"
about = "A mechanism that fails."

[all]
dataset = "categories:2"
lambda = 0
attack = "embedding"
trials = 60

[smoke]
epsilon = 1

[default]
epsilon = 1

[[audit]]
name = "silent"
mech = '''fails=exec:while read -r line; do id=${line#*\"id\":}; id=${id%%,*}; printf '{"id":%s,"error":"no"}\n' "$id"; done'''

[[statement]]
place = "Table 1"
text = "Hardly anything is seen"
where = { part = "silent", of = "success" }
test = { at-most = 0.9 }
"#;

/// Coins guess where there are no answers. A share of one half then says nothing, and says that it does.
#[test]
fn nothing_holds_where_most_answers_are_missing() {
    let sandbox = Sandbox::new();
    sandbox.file("silent.toml", SILENT);
    let study = document(&sandbox, &["silent.toml", "--out", "study"]);
    assert_eq!(study["statements"][0]["outcome"], "not-tested");
    let page = text(&sandbox.bytes("study", "study.md"));
    let row = page.lines().find(|line| line.starts_with("| success |"));
    assert!(
        row.unwrap().contains("(most answers are missing)"),
        "{page}"
    );
}

#[test]
fn a_study_is_run_written_and_read_again() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let first = document(&sandbox, &["small.toml", "--out", "study"]);
    assert_eq!(first["schema"], "teda.study/1");
    let outcomes: Vec<&str> = first["statements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["holds", "refuted", "not-tested"]);

    // The published rates are the true ones: the measured intervals hold them.
    for row in first["published"].as_array().unwrap() {
        let published = row["published"].as_f64().unwrap();
        let [low, high] = [0, 1].map(|end| row["interval"][end].as_f64().unwrap());
        assert!(low < published && published < high, "{row}");
    }
    let needs = |name: &str| {
        let parts = first["parts"].as_array().unwrap();
        parts.iter().find(|part| part["name"] == name).unwrap()["needs"].clone()
    };
    assert_eq!(needs("response"), Value::Null);
    assert_eq!(
        needs("elsewhere"),
        "what does not ship: give --use reviews=PATH"
    );
    let methods = |part: &str, of: &str| -> Vec<String> {
        let points = first["points"].as_array().unwrap().iter();
        let of_part = points.filter(|p| p["at"]["part"] == part && p["at"]["of"] == of);
        of_part
            .map(|p| p["at"]["method"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(methods("response", "copied"), ["krr", "krr", "identity"]);
    assert_eq!(methods("again", "bound"), ["krr", "krr", "identity"]);
    assert_eq!(methods("look", "distinct"), ["krr"]);

    let page = text(&sandbox.bytes("study", "study.md"));
    for said in [
        "Of 3 statements: 1 holds, 1 refuted, 1 not tested",
        "![success rates](rates.svg)",
        "`elsewhere`",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let picture = text(&sandbox.bytes("study", "rates.svg"));
    assert!(picture.contains("(published)"));

    // The same again, read from what is there, and on one thread elsewhere.
    assert_eq!(document(&sandbox, &["small.toml", "--out", "study"]), first);
    let alone = document(
        &sandbox,
        &["small.toml", "--out", "other", "--threads", "1"],
    );
    assert_eq!(alone, first);
}

#[test]
fn parts_can_be_run_alone_and_mechanisms_apart() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let one = document(&sandbox, &["small.toml", "--only", "look", "--out", "look"]);
    assert_eq!(one["parts"].as_array().unwrap().len(), 1);
    assert_eq!(one["statements"][0]["outcome"], "not-tested");
    // At this scale one mechanism has fields of its own.
    let parts = sandbox.stdout(&["study", "small.toml", "--scale", "paper", "--dry-run"]);
    assert_eq!(
        parts.split_whitespace().collect::<Vec<_>>(),
        [
            "response-krr",
            "response-others",
            "again",
            "elsewhere-krr",
            "look-krr"
        ]
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let sandbox = Sandbox::new();
    for (what, with, said) in [
        (
            "trials = 2000",
            "trails = 2000",
            "small.toml:10: unknown key 'trails'",
        ),
        ("[[figure]]", "[[figures]]", "unknown key 'figures'"),
        (
            "mech = [\"krr\", \"identity\"]",
            "mech = \"kr\"",
            "small.toml:22: unknown mechanism 'kr'",
        ),
        (
            "of = \"response\"\nestimator",
            "of = \"nothing\"\nestimator",
            "which is no audit above it",
        ),
        (
            "values = [73.1, 98.2]",
            "values = [73.1]",
            "1 values at 2 places",
        ),
        ("margin = 0.05 }", "margins = 0.05 }", "margins"),
        ("name = \"look\"", "name = \"a/b\"", "it names a folder"),
    ] {
        assert!(SMALL.contains(what), "{what}");
        sandbox.file("small.toml", SMALL.replacen(what, with, 1));
        let output = sandbox.run(&["study", "small.toml", "--dry-run"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{with}: {error}");
        assert!(error.contains(said), "{with}: {error}");
    }
    let output = sandbox.run(&["study", "tedda"]);
    let error = text(&output.stderr);
    assert!(error.contains("teda study list"), "{error}");
    sandbox.file("small.toml", SMALL);
    let output = sandbox.run(&["study", "small.toml", "--only", "loook"]);
    assert!(
        text(&output.stderr).contains("'look'"),
        "{}",
        text(&output.stderr)
    );
}

/// Two that ship, from beginning to end.
#[test]
fn studies_that_ship_run_at_the_smallest_scale() {
    let sandbox = Sandbox::new();
    for name in ["dp-gtr", "just-rewrite-it-again"] {
        let study = document(&sandbox, &[name, "--scale", "smoke", "--out", name]);
        assert!(study["points"].as_array().unwrap().len() > 10, "{name}");
        assert!(sandbox.path(name).join("study.md").exists());
    }
}
