//! `teda check`: what passes, what fails and why, and what is no check file.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::sandbox::{Sandbox, read, text};

/// A file of one audit of randomised response over two categories, with these lines besides.
fn krr(lines: &str) -> String {
    format!(
        "[[audit]]\nname = \"krr\"\nmech = \"krr\"\nepsilon = [1, 2]\ndataset = \"categories:2\"\n\
         lambda = 0\nattack = \"embedding\"\ntrials = 2000\n{lines}\n"
    )
}

/// Checks the file and returns exit status, standard output and standard error.
fn check(sandbox: &Sandbox, file: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let file = sandbox.file("check.toml", file);
    let output = sandbox.run(&[&["check", &file], arguments].concat());
    let (shown, error) = (text(&output.stdout), text(&output.stderr));
    assert!(!error.contains("panicked"), "{error}");
    (output.status.code(), shown, error)
}

/// The document of a check with its exit status.
fn document(sandbox: &Sandbox, file: &str) -> (Option<i32>, serde_json::Value) {
    let (status, shown, error) = check(sandbox, file, &["--format", "json"]);
    let document = serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {error}"));
    (status, document)
}

fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_sound_example_passes_and_leaves_its_runs() {
    let s = Sandbox::new();
    let shown = s.stdout(&["check", &example("check.toml"), "--out", "out"]);
    assert!(shown.contains("ok: all 21 cells"), "{shown}");
    assert!(!shown.contains("FAILED"), "{shown}");
    s.bytes("out/krr-is-measured", "trials.parquet");
    let again = s.run(&["check", &example("check.toml"), "--out", "out"]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
}

#[test]
fn the_broken_example_fails_and_junit_says_why() {
    let s = Sandbox::new();
    let file = example("check-broken.toml");
    let output = s.run(&["check", &file, "--junit", "report.xml"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("FAILED: 9 of 9 cells."), "{shown}");
    assert!(shown.contains("exceeds the claim of 0.5"), "{shown}");
    let (elements, said) = elements(&read(&s.path("report.xml")));
    let count = |name: &str| elements.iter().filter(|e| *e == name).count();
    assert_eq!((count("testsuite"), count("testcase")), (1, 9));
    assert_eq!(count("failure"), 9);
    let why = "krr-half-noise (nominal ε = 0.5) leaks at least ε = ";
    assert!(
        said.iter().any(|sentence| sentence.contains(why)),
        "{said:?}"
    );
    assert!(said.iter().all(|sentence| !sentence.is_empty()), "{said:?}");
}

/// The names of all elements and the texts of those that hold one. Fails for ill-formed XML.
fn elements(xml: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().trim_text(true);
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(e) | Event::Empty(e) => {
                for attribute in e.attributes() {
                    let attribute = attribute.expect("a well-formed attribute");
                    attribute.unescape_value().expect("escaped");
                }
                names.push(text(e.name().as_ref()));
            }
            Event::Text(e) => texts.push(e.decode().expect("UTF-8").into_owned()),
            Event::Eof => return (names, texts),
            _ => {}
        }
    }
}

#[test]
fn names_are_escaped_in_junit() {
    let s = Sandbox::new();
    s.file("a<&'b.txt", "one text\nanother text\n");
    let file = "[[audit]]\nname = \"odd\"\nmech = \"identity\"\nattack = \"embedding\"\ndataset = \"a<&'b.txt\"\ntrials = 20\nat-most = 0";
    let (status, ..) = check(&s, file, &["--junit", "report.xml"]);
    assert_eq!(status, Some(3));
    let xml = read(&s.path("report.xml"));
    assert_eq!(elements(&xml).0.len(), 4);
    assert!(text(&xml).contains("a&lt;&amp;"), "{}", text(&xml));
}

#[test]
fn limits_and_verdicts_are_kept_or_named() {
    let s = Sandbox::new();
    for (limits, status, said) in [
        ("at-most = 2.0", 0, "≤ 2"),
        ("at-most = 0.5", 3, "exceeds at-most = 0.5"),
        ("at-least = 0.5", 0, "≥ 0.5"),
        ("at-least = 1.5", 3, "stays below at-least = 1.5"),
        ("expect = \"consistent\"", 0, "ok: all 2 cells"),
        (
            "expect = \"violation\"",
            3,
            "verdict consistent where violation is expected",
        ),
    ] {
        let (found, shown, error) = check(&s, &krr(limits), &[]);
        assert_eq!(found, Some(status), "{limits}: {error}");
        // Prose is wrapped.
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert!(words.join(" ").contains(said), "{limits}: {shown}");
    }
}

#[test]
fn defaults_hold_where_an_audit_says_nothing_else() {
    let s = Sandbox::new();
    let file = "[defaults]\ndataset = \"categories:2\"\nlambda = 0\ntrials = 100\nepsilon = 1\n\
                [[audit]]\nname = \"a\"\nmech = [\"krr\", \"identity\"]\n\
                [[audit]]\nname = \"b\"\nmech = \"krr\"\ntrials = 0x40\nattack = [\"embedding\", \"random\"]\n";
    let (status, document) = document(&s, file);
    assert_eq!(status, Some(0));
    assert_eq!(document["schema"], "teda.check/1");
    let trials =
        |audit: usize, cell: usize| &document["audits"][audit]["cells"][cell]["cell"]["trials"];
    for (audit, expected) in [(0, 100), (1, 64)] {
        for cell in [0, 1] {
            assert_eq!(*trials(audit, cell), expected);
        }
    }
}

#[test]
fn the_recorded_counts_of_an_unchanged_program_are_equal() {
    let s = Sandbox::new();
    let record = &["check", &s.file("first.toml", krr("")), "--out", "first"];
    s.stdout(record);
    for recorded in ["first/krr", "first/krr/result.json"] {
        let file = krr(&format!("recorded = \"{recorded}\""));
        let (status, document) = document(&s, &file);
        assert_eq!(status, Some(0), "{document}");
        for cell in document["audits"][0]["cells"].as_array().unwrap() {
            assert_eq!(cell["recorded"]["p_value"], 1.0);
            assert_eq!(cell["recorded"]["hits"], cell["cell"]["hits"]);
        }
    }
}

#[test]
fn other_counts_than_the_recorded_ones_fail_beyond_chance_alone() {
    let s = Sandbox::new();
    s.stdout(&["check", &s.file("first.toml", krr("")), "--out", "first"]);
    let result: serde_json::Value =
        serde_json::from_slice(&s.bytes("first/krr", "result.json")).unwrap();
    for (fewer, status) in [(10, 0), (200, 3)] {
        let mut changed = result.clone();
        let hits = changed["cells"][1]["hits"].as_u64().unwrap() - fewer;
        changed["cells"][1]["hits"] = hits.into();
        s.file("changed.json", changed.to_string());
        let file = krr("reference = \"changed.json\"\ntolerance = 0.02");
        let (found, document) = document(&s, &file);
        assert_eq!(found, Some(status), "{document}");
        let cells = &document["audits"][0]["cells"];
        assert_eq!(cells[0]["ok"], true);
        assert_eq!(cells[1]["ok"], status == 0);
        // Two cells are compared, so each may spend half of the tolerance.
        assert_eq!(cells[1]["recorded"]["level"], 0.01);
    }
}

#[test]
fn records_that_cannot_be_compared_are_refused_before_a_trial_is_made() {
    let s = Sandbox::new();
    s.stdout(&["check", &s.file("first.toml", krr("")), "--out", "first"]);
    let refused = |lines: &str, said: &[&str]| {
        let file = krr(lines).replace("[1, 2]", "[1, 4]");
        for dry in [&["--out", "second"][..], &["--dry-run"]] {
            let (status, _, error) = check(&s, &file, dry);
            assert_eq!(status, Some(2), "{error}");
            assert!(said.iter().all(|words| error.contains(words)), "{error}");
            assert!(!s.path("second/krr").exists());
        }
    };
    refused("reference = \"first/krr\"", &["no recorded cell krr ε=4"]);
    refused(
        "reference = \"none\"",
        &["check.toml:9", "none", "cannot read"],
    );
    refused(
        "reference = \"first/krr\"\nuntil = \"decided\"\nestimator = \"anytime\"",
        &["check.toml:10", "fixed numbers of trials"],
    );
    refused(
        "reference = \"first/krr\"\ntolerance = 1",
        &["check.toml:10", "strictly between 0 and 1"],
    );
    refused("tolerance = 0.01", &["nothing to compare with"]);
}

#[test]
fn a_wrong_file_is_refused_with_line_and_reason() {
    let s = Sandbox::new();
    for (lines, said) in [
        (
            "epsilom = 1",
            "check.toml:9: unknown key 'epsilom'. Did you mean 'epsilon'?",
        ),
        ("atmost = 1", "Did you mean 'at-most'?"),
        ("shard = \"1/2\"", "unknown key 'shard'"),
        ("k = \"two\"", "check.toml:9: invalid value 'two' for '--k"),
        ("k = 1", "a guess needs at least 2 candidates"),
        ("k = []", "k: an empty list"),
        ("k = true", "invalid value 'true' for '--k"),
        ("seed = [1, 2]", "cannot be used multiple times"),
        ("neighbours = \"all\"", "one-token"),
        ("until = \"soon\"", "until 'soon'"),
        ("at-most = \"clam\"", "or \"claim\""),
        ("at-most = -1", "0 or more"),
        ("at-least = nan", "at-least = nan"),
        ("expect = \"violatio\"", "Did you mean 'violation'?"),
        ("at-most = 1\nat-least = 2", "no bound keeps both"),
        (
            "at-most = \"claim\"\nexpect = \"violation\"",
            "leave one of them out",
        ),
        ("split = \"x", "check.toml:9: invalid TOML"),
        (
            "[[audit]]\nname = \"KRR\"\nmech = \"em\"",
            "two audits are named",
        ),
        ("[[audit]]\nmech = \"em\"", "without a name"),
        (
            "[[audit]]\nname = \"../x\"\nmech = \"em\"",
            "names a directory",
        ),
        ("[[audit]]\nname = \"x\"", "--mech"),
        ("[[audits]]", "Did you mean 'audit'?"),
        ("[defaults]\nname = \"x\"", "unknown key 'name'"),
    ] {
        let (status, shown, error) = check(&s, &krr(lines), &[]);
        assert_eq!(status, Some(2), "{lines}: {error}");
        assert!(error.contains(said), "{lines}: '{said}' is not in: {error}");
        assert_eq!(shown, "");
    }
    for (file, said) in [
        ("", "nothing to check"),
        ("audit = 1", "nothing to check"),
        ("defaults = 1", "integer"),
    ] {
        let (status, _, error) = check(&s, file, &[]);
        assert_eq!(status, Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let missing = s.run(&["check", "missing.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(!s.path("results").exists(), "a wrong file runs nothing");
}

#[test]
fn a_dry_run_shows_the_cells_and_runs_none() {
    let s = Sandbox::new();
    let (status, shown, error) = check(&s, &krr("at-most = 1.5"), &["--dry-run"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(
        shown.contains("krr ε=2 k=2 λ=0 embedding on categories:2  2000    ≤ 1.5"),
        "{shown}"
    );
    assert!(!s.path("results").exists());
}
