//! Completions, manual pages, help by name, and colours.

use std::process::Command;

use crate::sandbox::{Sandbox, text};

#[test]
fn every_shell_completes_and_every_command_has_a_page() {
    let s = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = s.stdout(&["completions", shell]);
        for word in ["audit", "epsilon", "calibrate"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    // The other two complete no values.
    for shell in ["bash", "zsh", "fish"] {
        let script = s.stdout(&["completions", shell]);
        for word in [
            "one-token",
            "privrewrite-naive",
            "likelihood-ratio",
            "bertscore",
        ] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    s.file("teda.bash", s.stdout(&["completions", "bash"]));
    let parsed = Command::new("bash")
        .args(["-n"])
        .arg(s.path("teda.bash"))
        .status();
    assert!(parsed.map_or(true, |status| status.success()));
    s.stdout(&["man", "--out", "pages"]);
    let help = s.stdout(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !["", "help"].contains(name)).collect();
    assert!(names.contains(&"man") && names.len() > 10, "{names:?}");
    for name in names {
        let page = text(&s.bytes("pages", &format!("teda-{name}.1")));
        assert_eq!(page, s.stdout(&["man", name]));
        assert!(page.contains(&format!("teda\\-{name} \\- ")), "{page}");
        assert_eq!(s.stdout(&["help", name]), s.stdout(&[name, "--help"]));
    }
    assert!(text(&s.bytes("pages", "teda-models-pull.1")).contains("teda models pull"));
    let wrong = s.run(&["man", "adit"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("Did you mean 'audit'?"));
}

#[test]
fn colours_are_where_they_are_asked_for() {
    let s = Sandbox::new();
    let said = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = s.command(arguments);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    let (own, claps) = (["report", "nothing"], ["report", "--nothing"]);
    for wrong in [own, claps] {
        let colored = |words: &[&str], variables: &[(&str, &str)]| {
            said(&[&wrong, words].concat(), variables).contains('\u{1b}')
        };
        assert!(!colored(&[], &[]));
        assert!(colored(&["--color", "always"], &[]));
        assert!(colored(&["--color=always"], &[("NO_COLOR", "1")]));
        assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
        assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]));
        assert!(!colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }
    let plain = said(&own, &[]);
    let colored = said(&["--color", "always", "report", "nothing"], &[]);
    assert!(plain.starts_with("error: nothing"), "{plain}");
    assert!(
        colored.ends_with(plain.strip_prefix("error:").unwrap()),
        "{colored}"
    );
    assert!(said(&["--color", "sometimes", "list"], &[]).contains("sometimes"));
}
