//! What the end-to-end tests share: the binary, a scratch directory, and its results as JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A scratch working directory in which the binary runs.
pub struct Sandbox {
    directory: TempDir,
}

impl Sandbox {
    /// An empty directory.
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a scratch directory"),
        }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file into it and returns its path as text.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a scratch file");
        path.display().to_string()
    }

    /// The command `teda` with these arguments, run in the directory. An audit that names no attack has the one that
    /// needs nothing: what is tested there is not the default.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teda"));
        command.args(arguments).current_dir(self.directory.path());
        // The width of whoever runs the tests.
        command.env_remove("COLUMNS");
        let given = |flags: [&str; 3]| arguments.iter().any(|argument| flags.contains(argument));
        if arguments.first() == Some(&"audit") && !given(["--attack", "--resume", "--help"]) {
            command.args(["--attack", "embedding"]);
        }
        command
    }

    /// Runs `teda` to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        // Without a terminal anywhere, help is wrapped at one width on every machine.
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).output().expect("teda runs")
    }

    /// Runs `teda`, which must succeed, and returns its standard output.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// Runs an audit and returns its cells.
    pub fn cells(&self, arguments: &[&str]) -> Vec<serde_json::Value> {
        let printed = self.stdout(&[arguments, &["--format", "json", "--quiet"]].concat());
        let document: serde_json::Value = serde_json::from_str(&printed).expect("a JSON document");
        assert_eq!(document["schema"], "teda.audit/1");
        document["cells"].as_array().expect("cells").clone()
    }

    /// Bytes of a file in a run directory.
    pub fn bytes(&self, run: &str, file: &str) -> Vec<u8> {
        read(&self.path(run).join(file))
    }
}

/// Bytes of a file.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8 output")
}

/// A number in a cell.
pub fn number(cell: &serde_json::Value, field: &str) -> f64 {
    cell[field]
        .as_f64()
        .unwrap_or_else(|| panic!("{field} in {cell}"))
}
