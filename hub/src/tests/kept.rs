//! What is on this machine already: the store's own models and the user's directories.

use super::*;
use teda_core::Error;

#[test]
fn damaged_models_are_not_loaded() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    let found = place.store(false).resolve("org/name").unwrap();
    let file = found.path.join("model.safetensors");
    damage(&file);
    for tried in [
        place.store(false).resolve("org/name"),
        place.store(true).verify("org/name"),
        place.store(false).pull("org/name", false),
    ] {
        let said = tried.unwrap_err().to_string();
        for part in [
            "model.safetensors: its sha256 is",
            &sha256(&weights()),
            "teda models pull org/name --force",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    place.store(false).pull("org/name", true).unwrap();
    place.store(true).verify("org/name").unwrap();
    std::fs::write(&file, "short").unwrap();
    let said = place
        .store(true)
        .verify("org/name")
        .unwrap_err()
        .to_string();
    assert!(said.contains("5 bytes where 800000 are expected"), "{said}");
    std::fs::remove_file(&file).unwrap();
    assert!(place.store(true).verify("org/name").is_err());
    place.write("cache/models/org--name/record.json", b"{");
    let said = place
        .store(true)
        .resolve("org/name")
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("not a record") && said.contains("--force"),
        "{said}"
    );
}

#[test]
fn offline_says_what_to_run_elsewhere() {
    let place = Place::new(NO_HUB);
    let error = place.store(true).resolve("minilm").unwrap_err();
    assert!(matches!(error, Error::Failed(_)));
    for said in [
        "teda models pull minilm",
        "TEDA_CACHE",
        "HF_HOME",
        "offline",
    ] {
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(place.store(true).cached("minilm").unwrap().is_none());
    assert!(!place.path("cache").exists());
}

#[test]
fn the_store_lists_what_is_complete() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    assert!(place.store(true).present().unwrap().is_empty());
    place.store(false).resolve("org/name").unwrap();
    place.write("cache/models/half/model.safetensors", b"half");
    let present = place.store(true).present().unwrap();
    assert_eq!(present.len(), 1);
    assert_eq!(present[0].name, "org/name");
    assert!(present[0].bytes > 800_000);
}

#[test]
fn directories_of_the_user_are_taken_as_they_are() {
    let place = Place::new(NO_HUB);
    for (name, content) in [
        ("config.json", "{}"),
        ("tokenizer.json", "{}"),
        ("model.safetensors", "w"),
    ] {
        place.write(&format!("mine/{name}"), content.as_bytes());
    }
    let path = place.path("mine").display().to_string();
    let found = place.store(true).resolve(&path).unwrap();
    assert_eq!(found.files.len(), 3);
    assert!(found.source.starts_with("local /"), "{}", found.source);
    std::fs::remove_file(place.path("mine/tokenizer.json")).unwrap();
    let error = place.store(true).resolve(&path).unwrap_err();
    assert!(matches!(error, Error::Usage(_)));
    assert!(
        error.to_string().contains("has no tokenizer.json"),
        "{error}"
    );
    let gguf = place.write("mine/a.gguf", b"g").display().to_string();
    assert_eq!(place.store(true).resolve(&gguf).unwrap().files[0].bytes, 1);
    for bad in [place.path("mine/config.json"), place.path("absent")] {
        let tried = place.store(true).resolve(&bad.display().to_string());
        assert!(matches!(tried, Err(Error::Usage(_))));
    }
}
