//! `teda audit --config`: fields of a file are flags, and flags win.

use crate::sandbox::{Sandbox, text};

const FILE: &str = "# An audit.\nmech = [\"krr\", \"identity\"]\nepsilon = [1, 2]\ndataset = \"categories:2\"\n\
                    lambda = 0\nattack = \"overlap\"\ntrials = 300\nset = []\n";

#[test]
fn a_file_is_a_command_line_and_its_flags_win() {
    let s = Sandbox::new();
    s.file("audit.toml", FILE.replace("set = []\n", ""));
    let by_file = s.cells(&[
        "audit",
        "--config",
        "audit.toml",
        "--attack",
        "overlap",
        "--out",
        "file",
    ]);
    let by_flags = s.cells(&[
        "audit",
        "--mech",
        "krr,identity",
        "--epsilon",
        "1,2",
        "--dataset",
        "categories:2",
        "--lambda",
        "0",
        "--attack",
        "overlap",
        "--trials",
        "300",
        "--out",
        "flags",
    ]);
    let untimed = |cells: &[serde_json::Value]| -> Vec<serde_json::Value> {
        let mut cells = cells.to_vec();
        cells.iter_mut().for_each(|cell| cell["seconds"] = 0.into());
        cells
    };
    assert_eq!(by_file.len(), 3);
    assert_eq!(untimed(&by_file), untimed(&by_flags));
    assert_eq!(
        s.bytes("file", "trials.parquet"),
        s.bytes("flags", "trials.parquet")
    );
    // The page says how to make the run again without the file.
    let page = |run: &str| {
        let page = text(&s.bytes(run, "report.html"));
        let start = page.find("teda audit --mech").unwrap();
        page[start..].split('<').next().unwrap().to_owned()
    };
    assert_eq!(page("file"), page("flags"));
    let own = s.cells(&[
        "audit",
        "--config=audit.toml",
        "--mech",
        "constant",
        "--trials=100",
        "--attack",
        "random",
    ]);
    assert_eq!(own.len(), 1, "{own:?}");
    let of = |field: &str| own[0][field].clone();
    assert_eq!(
        (of("mechanism"), of("attack"), of("trials")),
        ("constant".into(), "random".into(), 100.into())
    );
    assert_eq!(of("dataset"), "categories:2");
    let plan = s.stdout(&["audit", "--config", "audit.toml", "--dry-run"]);
    assert!(plan.contains("3 cells, 900 releases"), "{plan}");
}

#[test]
fn errors_name_the_file_and_the_line() {
    let s = Sandbox::new();
    let refused = |file: &str, more: &[&str]| {
        s.file("audit.toml", file);
        let output = s.run(&[&["audit", "--config", "audit.toml"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{file}");
        text(&output.stderr)
    };
    for (file, why) in [
        (
            "mech = \"krr\"\n\ntrails = 5\n",
            "audit.toml:3: unknown key 'trails'. Did you mean 'trials'?",
        ),
        (
            "mech = \"krr\"\ntrials = \"many\"\n",
            "audit.toml:2: invalid value 'many'",
        ),
        ("mech = [\n", "audit.toml:1: invalid TOML"),
        (FILE, "audit.toml:8: set: an empty list"),
        ("mech = \"krr\"\nepsilon = 0\n", "audit.toml: epsilon = 0"),
        (
            "mech = \"kr\"\n",
            "audit.toml: unknown mechanism 'kr'. Did you mean 'krr'?",
        ),
        (
            "mech = \"krr\"\nreleases = \"x.csv\"\n",
            "audit.toml:1: the argument '--mech",
        ),
        (
            "[[audit]]\nname = \"a\"\n",
            "audit.toml:1: [audit] is of a file of several audits: run it with teda check",
        ),
        ("trials = 5\n", "no mechanism"),
    ] {
        let said = refused(file, &[]);
        assert!(said.contains(why), "{said}");
    }
    // What is wrong on the command line is no matter of the file.
    let said = refused("mech = \"krr\"\n", &["--trials", "many"]);
    assert!(
        said.contains("invalid value 'many'") && !said.contains("audit.toml"),
        "{said}"
    );
    let said = refused("mech = \"krr\"\n", &["--resume", "run"]);
    assert!(said.contains("cannot be used with"), "{said}");
}
