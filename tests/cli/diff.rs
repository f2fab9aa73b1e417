//! `teda diff`: what moved is named, what did not is counted, and what cannot be compared is said.

use serde_json::Value;

use crate::sandbox::{Sandbox, text};

fn audit(sandbox: &Sandbox, out: &str, trials: &str, more: &[&str]) {
    let mut command = vec![
        "audit",
        "--mech",
        "krr",
        "--dataset",
        "categories:2",
        "--lambda",
        "0",
    ];
    command.extend(["--out", out, "--quiet", "--trials", trials]);
    command.extend(more);
    sandbox.stdout(&command);
}

/// The result of a run with other hits in its first cell.
fn moved(sandbox: &Sandbox, run: &str, hits: impl Fn(u64) -> u64) {
    let mut document: Value = serde_json::from_slice(&sandbox.bytes(run, "result.json")).unwrap();
    let cell = &mut document["cells"][0];
    let now = hits(cell["hits"].as_u64().unwrap());
    cell["hits"] = now.into();
    cell["success_rate"] = (now as f64 / 2000.0).into();
    cell["verdict"] = "violation".into();
    sandbox.file("moved.json", document.to_string());
}

fn diff(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String) {
    let output = sandbox.run(&[&["diff"], arguments].concat());
    // It is wrapped.
    let said = text(&output.stdout) + &text(&output.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code(), said)
}

#[test]
fn a_cell_that_moved_is_found_and_one_that_did_not_is_not() {
    let s = Sandbox::new();
    audit(
        &s,
        "run",
        "2000",
        &["--epsilon", "1,2", "--utility", "length"],
    );
    audit(
        &s,
        "other-seed",
        "1500",
        &["--epsilon", "1,2", "--seed", "5", "--utility", "length"],
    );
    let (status, said) = diff(&s, &["run", "other-seed", "--exit-code"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("no cell moved (2 compared") && said.contains("not tested"),
        "{said}"
    );
    // Of 2000 trials at a rate of 0.73: by 200 hits is much, by 20 is chance.
    moved(&s, "run", |hits| hits - 200);
    let (status, said) = diff(&s, &["run", "moved.json"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("1 moved, 1 did not (2 compared"), "{said}");
    assert!(said.contains("consistent → violation"), "{said}");
    assert_eq!(diff(&s, &["run", "moved.json", "--exit-code"]).0, Some(3));
    let document = s.stdout(&["diff", "run", "moved.json", "--format", "json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["schema"], "teda.diff/1");
    let of = |field: &str| -> Vec<Value> {
        let cells = document["cells"].as_array().unwrap();
        cells.iter().map(|cell| cell[field].clone()).collect()
    };
    assert_eq!(of("moved"), [true, false]);
    assert_eq!(of("epsilon"), [1.0, 2.0]);
    assert_eq!(
        (&document["level"], &document["moved"]),
        (&0.005.into(), &1.into())
    );
    assert_eq!(of("p_value")[1], 1.0);
    // The level of two cells is half the tolerance.
    let p = of("p_value")[0].as_f64().unwrap();
    let with = |tolerance: f64| {
        let tolerance = tolerance.to_string();
        diff(
            &s,
            &[
                "run",
                "moved.json",
                "--exit-code",
                "--tolerance",
                &tolerance,
            ],
        )
        .0
    };
    assert_eq!((with(1.9 * p), with(2.1 * p)), (Some(0), Some(3)));
    moved(&s, "run", |hits| hits - 20);
    let (status, said) = diff(&s, &["run", "moved.json", "--exit-code"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("its rate did not move"), "{said}");
}

#[test]
fn what_is_not_compared_is_said() {
    let s = Sandbox::new();
    audit(&s, "run", "2000", &["--epsilon", "1"]);
    audit(
        &s,
        "stopped",
        "2000",
        &["--epsilon", "1", "--until", "decided"],
    );
    let (status, said) = diff(&s, &["run", "stopped"]);
    assert_eq!(status, Some(0), "{said}");
    // A check that compared nothing must not pass.
    assert_eq!(diff(&s, &["run", "stopped", "--exit-code"]).0, Some(3));
    assert!(
        said.contains("no cell is compared") && said.contains("--until decided"),
        "{said}"
    );
    audit(&s, "another", "2000", &["--epsilon", "2"]);
    let (_, said) = diff(&s, &["run", "another"]);
    assert!(
        said.contains("in run alone:") && said.contains("(the other run has nominal ε 2)"),
        "{said}"
    );
    for (arguments, why) in [
        (&["run", "nothing"][..], "cannot read"),
        (&["run", "."], "not a teda run"),
        (
            &["run", "run", "--tolerance", "1"],
            "strictly between 0 and 1",
        ),
    ] {
        let (status, said) = diff(&s, arguments);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
