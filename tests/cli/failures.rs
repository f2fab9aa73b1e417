//! Failures as a user sees them: whose they are, and what they do to a verdict.

use crate::sandbox::{Sandbox, number};

/// Releases category 1 and 2 as they are, and does `fault` on the others.
fn program(fault: &str) -> String {
    format!(
        r#"exec:while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case $line in
  *"category 1"*) printf '{{"id":%s,"text":"category 1"}}\n' "$id";;
  *"category 2"*) printf '{{"id":%s,"text":"category 2"}}\n' "$id";;
  *) {fault};; esac; done"#
    )
}

/// Failures of each cause: by the mechanism, on the way, by the attack.
fn failed(cell: &serde_json::Value) -> [f64; 3] {
    let causes = ["mechanism", "transport", "attack"];
    let failed = causes.map(|cause| number(cell, &format!("failed_{cause}")));
    assert_eq!(failed.iter().sum::<f64>(), number(cell, "failed"), "{cell}");
    failed
}

fn audit<'a>(program: &'a str, categories: &'a str, trials: &'a str) -> Vec<&'a str> {
    let mechanism = ["audit", "--mech", program, "--dataset", categories];
    let rest = ["--lambda", "0", "--trials", trials, "--processes", "2"];
    [&mechanism[..], &rest].concat()
}

#[test]
fn a_text_that_its_program_refuses_or_crashes_on_is_the_mechanisms_failure() {
    let sandbox = Sandbox::new();
    let refuses = program(r#"printf '{"id":%s,"error":"too odd"}\n' "$id""#);
    let cells = sandbox.cells(
        &[
            &audit(&refuses, "categories:3", "300"),
            &["--out", "run"][..],
        ]
        .concat(),
    );
    let [mechanism, transport, attack] = failed(&cells[0]);
    // Five standard deviations of Bin(300, ⅓).
    assert!((60.0..140.0).contains(&mechanism), "{cells:?}");
    assert_eq!((transport, attack), (0.0, 0.0));
    let crashes = program("exit 3");
    let cells = sandbox.cells(&audit(&crashes, "categories:3", "12"));
    assert!(failed(&cells[0])[0] > 0.0, "{cells:?}");
    // Rows, sheets and documents say so, too.
    let report = sandbox.stdout(&["report", "run", "--format", "csv"]);
    let counts = format!(",{mechanism},{mechanism},0,0,");
    assert!(report.contains(&counts), "{report}");
}

#[test]
fn silence_until_the_time_is_up_is_the_transports() {
    let silent = program("sleep 60");
    let more = ["--timeout", "1"];
    let arguments = [&audit(&silent, "categories:3", "8"), &more[..]].concat();
    let [mechanism, transport, attack] = failed(&Sandbox::new().cells(&arguments)[0]);
    assert!(transport > 0.0);
    assert_eq!((mechanism, attack), (0.0, 0.0));
}
