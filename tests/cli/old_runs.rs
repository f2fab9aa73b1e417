//! Runs that an earlier version made are still read and finished, to the same bytes.
//!
//! `tests/old-runs` holds runs of the version before the library, each with the table that it printed (`table.txt`):
//! two complete ones, and one that was interrupted, with the table of a run that was not.

use std::fs;
use std::path::Path;

use crate::sandbox::{Sandbox, text};

/// A copy of an old run: report and resume write into it. Its version is this one's, as a run goes on with the version
/// that began it alone.
pub fn copied(sandbox: &Sandbox, name: &str) -> String {
    let old = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/old-runs")
        .join(name);
    fs::create_dir(sandbox.path(name)).unwrap();
    for entry in fs::read_dir(&old).unwrap() {
        let entry = entry.unwrap();
        let to = sandbox.path(name).join(entry.file_name());
        if entry.file_name() != "manifest.json" {
            fs::copy(entry.path(), to).unwrap();
            continue;
        }
        let mut manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
        manifest["version"] = env!("CARGO_PKG_VERSION").into();
        fs::write(to, manifest.to_string()).unwrap();
    }
    fs::read_to_string(old.join("table.txt")).unwrap()
}

#[test]
fn complete_runs_are_reported() {
    for name in ["learned-snips", "exec"] {
        let sandbox = Sandbox::new();
        let table = copied(&sandbox, name);
        assert_eq!(sandbox.stdout(&["report", name]), table, "{name}");
    }
}

#[test]
fn an_interrupted_run_is_finished() {
    let sandbox = Sandbox::new();
    let table = copied(&sandbox, "interrupted");
    let finished = sandbox.run(&["audit", "--resume", "interrupted"]);
    assert!(finished.status.success(), "{}", text(&finished.stderr));
    assert_eq!(text(&finished.stdout), table);
}
