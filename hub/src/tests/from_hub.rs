//! What comes from the hub: whole, resumed, refused.

use super::*;
use server::COMMIT;

#[test]
fn a_repository_is_fetched_once_and_then_needs_no_network() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    let found = place.store(false).resolve("org/name").unwrap();
    let names: Vec<&str> = found.files.iter().map(|file| &*file.name).collect();
    assert_eq!(
        names,
        [
            "1_Pooling/config.json",
            "config.json",
            "model.safetensors",
            "tokenizer.json"
        ]
    );
    assert_eq!(found.files[2].sha256, sha256(&weights()));
    assert_eq!(found.source, format!("hub org/name@{COMMIT}"));
    assert_eq!(
        std::fs::read(found.path.join("model.safetensors")).unwrap(),
        weights()
    );
    let asked = hub.requests().len();
    let again = place.store(true).resolve("org/name").unwrap();
    assert_eq!(again.files, found.files);
    place.store(false).pull("org/name", false).unwrap();
    assert_eq!(hub.requests().len(), asked);
    place.store(false).pull("org/name", true).unwrap();
    assert!(hub.requests().len() > asked);
    assert_eq!(place.models(), ["org--name"]);
}

/// The content is shared with the Hugging Face cache, and outlives it.
#[test]
fn the_hugging_face_cache_serves_offline_and_may_go() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    place.store(false).resolve("org/name").unwrap();
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    assert!(place.store(true).is_shared("org/name").unwrap());
    assert!(!place.store(true).is_shared("minilm").unwrap());
    let found = place.store(true).cached("org/name").unwrap().unwrap();
    assert_eq!(found.files.len(), 4);
    std::fs::remove_dir_all(place.path("hf")).unwrap();
    place.store(true).verify("org/name").unwrap();
}

#[test]
fn an_interrupted_download_goes_on_where_it_broke_off() {
    let hub = FakeHub::start(Behaviour {
        truncated: 1,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    place.store(false).resolve("org/name").unwrap();
    let rest = format!("GET /storage/model.safetensors {}-", weights().len() / 2);
    // Storage is asked through the redirect; the range goes with the request.
    assert!(hub.requests().contains(&rest), "{:?}", hub.requests());
}

#[test]
fn a_download_may_take_long_and_may_not_stall() {
    let hub = FakeHub::start(Behaviour {
        dripping: true,
        stalled: 1,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    let found = place.store(false).resolve("org/name").unwrap();
    assert_eq!(found.files[2].sha256, sha256(&weights()));
    let rest = format!("GET /storage/model.safetensors {}-", weights().len() / 2);
    assert!(hub.requests().contains(&rest), "{:?}", hub.requests());
}

#[test]
fn a_hub_that_knows_no_parts_is_asked_for_the_whole_again() {
    let hub = FakeHub::start(Behaviour {
        truncated: 1,
        whole: true,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    let found = place.store(false).resolve("org/name").unwrap();
    assert_eq!(found.files[2].sha256, sha256(&weights()));
}

#[test]
fn a_repository_is_followed_to_its_new_name() {
    let hub = FakeHub::start(Behaviour {
        renamed: true,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    let found = place.store(false).resolve("org/name").unwrap();
    assert_eq!(found.files[2].sha256, sha256(&weights()));
    let cached = format!("hf/hub/models--org--name/blobs/{}", sha256(&weights()));
    assert!(place.path(&cached).is_file());
}

/// Other tools find contents, snapshots and what a branch means where they keep them themselves.
#[cfg(unix)]
#[test]
fn the_hugging_face_cache_is_laid_out_as_its_tools_do_it() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    place.store(false).resolve("org/name").unwrap();
    let folder = place.path("hf/hub/models--org--name");
    let points = |name: &str| {
        let link = folder.join("snapshots").join(COMMIT).join(name);
        std::fs::read_link(link).unwrap().display().to_string()
    };
    let weights = format!("../../blobs/{}", sha256(&weights()));
    assert_eq!(points("model.safetensors"), weights);
    assert!(points("1_Pooling/config.json").starts_with("../../../blobs/"));
    let means = |revision: &str| std::fs::read_to_string(folder.join("refs").join(revision));
    assert_eq!(means("main").unwrap(), COMMIT);
    assert_eq!(means(COMMIT).unwrap(), COMMIT);
    let blobs = std::fs::read_dir(folder.join("blobs")).unwrap();
    let names = blobs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.ends_with(".part")));
}

#[test]
fn a_download_that_fails_leaves_nothing_that_looks_complete() {
    let hub = FakeHub::start(Behaviour {
        truncated: usize::MAX,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    let error = place.store(false).resolve("org/name").unwrap_err();
    assert!(error.to_string().contains("model.safetensors: "), "{error}");
    assert!(place.models().is_empty());
    assert!(place.store(true).cached("org/name").unwrap().is_none());
    hub.change(|behaviour| behaviour.truncated = 0);
    place.store(false).resolve("org/name").unwrap();
}

/// As a process leaves it that is killed after the last byte and before the end.
#[test]
fn a_part_as_long_as_the_whole_is_fetched_anew() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    let part = format!("hf/hub/models--org--name/blobs/{}.part", sha256(&weights()));
    place.write(&part, &vec![0; weights().len()]);
    place.store(false).resolve("org/name").unwrap();
}

#[test]
fn what_differs_from_the_stated_digest_is_refused() {
    let mut behaviour = repository();
    behaviour.files[4].sha256 = Some("0".repeat(64));
    let hub = FakeHub::start(behaviour);
    let place = Place::new(&hub.endpoint);
    let error = place.store(false).resolve("org/name").unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("model.safetensors: its sha256 is")
            && said.contains(&sha256(&weights()))
            && said.contains(&"0".repeat(64)),
        "{said}"
    );
    assert!(place.models().is_empty());
}

#[test]
fn damage_in_the_hugging_face_cache_is_repaired() {
    let hub = FakeHub::start(repository());
    let place = Place::new(&hub.endpoint);
    place.store(false).resolve("org/name").unwrap();
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    damage(&place.path(&format!(
        "hf/hub/models--org--name/snapshots/{COMMIT}/model.safetensors"
    )));
    place.store(false).resolve("org/name").unwrap();
}

#[test]
fn refusals_say_what_to_do() {
    let hub = FakeHub::start(Behaviour {
        gated: true,
        ..repository()
    });
    let place = Place::new(&hub.endpoint);
    let gated = place.store(false).resolve("org/name").unwrap_err();
    for said in ["401", "HF_TOKEN", "accept its terms", "is restricted"] {
        assert!(gated.to_string().contains(said), "{gated}");
    }
    assert!(place.models().is_empty());
    let absent = place.store(false).resolve("org/other").unwrap_err();
    assert!(absent.to_string().contains("404: no such"), "{absent}");
    let unreachable = Place::new(NO_HUB).store(false).resolve("org/name");
    let unreachable = unreachable.unwrap_err().to_string();
    for said in [
        "cannot be reached",
        "HF_ENDPOINT",
        "teda models pull org/name",
    ] {
        assert!(unreachable.contains(said), "{unreachable}");
    }
}

#[test]
fn pickles_are_never_taken() {
    let mut behaviour = repository();
    behaviour.files.remove(4);
    let hub = FakeHub::start(behaviour);
    let place = Place::new(&hub.endpoint);
    let error = place.store(false).resolve("org/name").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("only the pickle pytorch_model.bin"),
        "{error}"
    );
    assert!(!hub.requests().iter().any(|r| r.contains("/resolve/")));
}

#[test]
fn one_gguf_file_of_many() {
    let hub = FakeHub::start(Behaviour {
        files: vec![large("q/a.Q8_0.gguf", &weights()), large("b.gguf", b"b")],
        ..Behaviour::default()
    });
    let place = Place::new(&hub.endpoint);
    let found = place
        .store(false)
        .resolve("org/name/q/a.Q8_0.gguf")
        .unwrap();
    assert!(
        found
            .path
            .ends_with("org--name--q--a.Q8_0.gguf/a.Q8_0.gguf")
    );
    assert_eq!(found.files[0].sha256, sha256(&weights()));
    let error = place.store(false).resolve("org/name/c.gguf").unwrap_err();
    assert!(
        error.to_string().contains("q/a.Q8_0.gguf, b.gguf"),
        "{error}"
    );
}

#[test]
fn a_model_in_several_files_is_all_of_them() {
    let index = r#"{"weight_map":{"x":"model-1.safetensors","y":"model-2.safetensors"}}"#;
    let mut behaviour = repository();
    behaviour.files.truncate(4);
    behaviour.files.push(HubFile {
        name: "model.safetensors.index.json".to_owned(),
        content: index.as_bytes().to_vec(),
        sha256: None,
    });
    behaviour.files.push(large("model-1.safetensors", b"first"));
    behaviour
        .files
        .push(large("model-2.safetensors", b"second"));
    let hub = FakeHub::start(behaviour);
    let place = Place::new(&hub.endpoint);
    assert_eq!(
        place.store(false).resolve("org/name").unwrap().files.len(),
        6
    );
}
