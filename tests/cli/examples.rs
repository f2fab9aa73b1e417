//! The commands of README.md run as they stand there, from the root of the repository with `teda` on the path.
//!
//! What is scaled down, and how, is in [`scaled`]: nothing else is changed.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::old_runs::copied;
use crate::sandbox::{Sandbox, text};

/// How a command is run here.
enum Scaled {
    /// As this line.
    Run(String),
    /// As this line, which fails with these words: it needs weights, which are not fetched.
    Lacks(String, &'static str),
}

/// The fewest trials that the attack `learned` can learn from.
const TRIALS: &str = "700";

/// A command of the README with fewer trials, or with its slowest part left out.
fn scaled(line: &str) -> Scaled {
    let mut line = line.to_owned();
    if let Some((before, after)) = line.split_once("--trials ") {
        let (_, rest) = after.split_once(' ').unwrap_or((after, ""));
        line = format!("{before}{rest}");
    }
    if line.contains("--llm smollm2-135m") {
        return Scaled::Lacks(format!("{line} --offline"), "teda models pull");
    }
    let more = match &line[..] {
        // Twelve mechanisms, most of them with a language model: a few trials of each at one epsilon.
        audit if audit.contains("--utility cosine --mech") => {
            format!("--epsilon 100 --trials {TRIALS} --dry-run")
        }
        // The grid has five epsilons.
        audit if audit.starts_with("teda audit --mech privrewrite ") => {
            format!("--epsilon 4 --trials {TRIALS}")
        }
        audit if audit.contains("--resume") => String::new(),
        audit if audit.starts_with("teda audit") => format!("--trials {TRIALS}"),
        // Minutes; they run whole in other tests.
        study if study.starts_with("teda study") => "--dry-run".to_owned(),
        "teda selftest" => "--help".to_owned(),
        task if task.starts_with("teda task") => "--limit 300 --seeds 1".to_owned(),
        _ => String::new(),
    };
    Scaled::Run(
        format!("{line} {more}")
            .replace("results/runs/…", "interrupted")
            .trim()
            .to_owned(),
    )
}

/// The commands of `teda` in the shell blocks of a text, without comments.
fn commands(markdown: &str) -> Vec<String> {
    let blocks = markdown.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().replace("\\\n", " "));
    let lines: Vec<String> = blocks
        .flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let uncommented = lines.iter().map(|line| {
        line.split("  #")
            .next()
            .unwrap()
            .split(" # ")
            .next()
            .unwrap()
            .trim()
    });
    let own = uncommented.map(|line| line.replace("cargo run --release -- ", "teda "));
    // Cargo's own commands build and test what runs here.
    own.filter(|line| !line.is_empty() && !line.starts_with("cargo "))
        .collect()
}

#[test]
fn the_commands_of_the_readme_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let s = Sandbox::new();
    symlink(root.join("examples"), s.path("examples")).unwrap();
    copied(&s, "interrupted");
    for (run, seed) in [("run1", "1"), ("run2", "2")] {
        s.stdout(&[
            "audit", "--mech", "em", "--trials", "300", "--seed", seed, "--out", run, "--quiet",
        ]);
    }
    std::fs::create_dir(s.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_teda"), s.path("bin/teda")).unwrap();
    let path = format!(
        "{}:{}",
        s.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = |line: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(s.path(""))
            .env("PATH", &path);
        // No weights that happen to be on this machine.
        shell
            .env("TEDA_CACHE", s.path("cache"))
            .env("HF_HOME", s.path("hub"))
            .env_remove("HF_HUB_CACHE");
        shell.stdin(Stdio::null()).output().unwrap()
    };
    let has_python = run("python3 --version").status.success();
    let commands = commands(&std::fs::read_to_string(root.join("README.md")).unwrap());
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        if command.contains("python3") && !has_python {
            println!("skipped: {command}: python3 is not installed");
            continue;
        }
        let (line, lacks) = match scaled(&command) {
            Scaled::Run(line) => (line, None),
            Scaled::Lacks(line, why) => (line, Some(why)),
        };
        let output = run(&line);
        let said = text(&output.stderr);
        match lacks {
            None => assert!(output.status.success(), "{line}: {said}"),
            Some(why) => {
                assert!(
                    !output.status.success() && said.contains(why),
                    "{line}: {said}"
                );
            }
        }
    }
}
