//! What comes back where all goes well.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use teda_core::{Basis, Guarantee, Likelihood, Mechanism, Neighbours, Unit};

use super::super::protocol;
use super::*;
use crate::testing::statistics::{assert_sampled, probabilities, releases};

#[test]
fn answers_in_any_order_go_to_their_queries() {
    let texts_in = numbered(50);
    let batch = queries(&texts_in);
    assert_eq!(texts(exec("cat").rewrite(&batch).unwrap()), texts_in);
    let swapped =
        "while IFS= read -r a && IFS= read -r b; do printf '%s\\n\\n%s\\n' \"$b\" \"$a\"; done";
    assert_eq!(texts(exec(swapped).rewrite(&batch).unwrap()), texts_in);
    // All at once, last first.
    let reversed = format!(
        "all=; n=0; {}",
        each(
            "all=\"$line\n$all\"; n=$((n + 1)); if [ $n -eq 50 ]; then printf %s \"$all\"; all=; n=0; fi"
        )
    );
    let exec = exec(reversed);
    for _ in 0..3 {
        assert_eq!(texts(exec.rewrite(&batch).unwrap()), texts_in);
    }
}

#[test]
fn every_batch_and_number_of_processes_gives_the_same_releases() {
    let all = numbered(500);
    let batch = queries(&all);
    let expected: Vec<String> = batch
        .iter()
        .map(|query| protocol::number(&query.seed).to_string())
        .collect();
    for processes in [1, 2, 4] {
        let exec = Exec::new(Options {
            processes,
            ..options(each(SEED))
        })
        .unwrap();
        for size in [1, 3, 64, 500] {
            let parts = batch.chunks(size).map(|part| exec.rewrite(part).unwrap());
            let releases: Vec<Release> = parts.flatten().collect();
            assert_eq!(
                texts(releases),
                expected,
                "{processes} processes, batches of {size}"
            );
        }
    }
    assert_eq!(exec("exit 1").rewrite(&[]).unwrap(), []);
}

#[test]
fn callers_on_the_threads_of_a_pool_wait_for_each_other() {
    let all = numbered(400);
    let batch = queries(&all);
    for (threads, processes) in [(8, 1), (8, 3), (2, 4)] {
        let exec = Exec::new(Options {
            processes,
            ..options("cat")
        })
        .unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let releases: Vec<Release> = pool.install(|| {
            let parts = batch.par_chunks(7).map(|part| exec.rewrite(part).unwrap());
            parts.flatten().collect()
        });
        assert_eq!(texts(releases), all);
    }
}

#[test]
fn processes_are_kept_and_few_are_started_for_few_queries() {
    let exec = Exec::new(Options {
        processes: 4,
        ..options(each(r#"printf '{"id":%s,"text":"%s"}\n' "$id" $$"#))
    })
    .unwrap();
    let all = numbered(40);
    let batch = queries(&all);
    let distinct = |exec: &Exec, size: usize| {
        let parts = batch
            .chunks(size)
            .flat_map(|part| exec.rewrite(part).unwrap());
        let numbers: std::collections::BTreeSet<String> = parts.map(|r| r.text).collect();
        numbers.len()
    };
    assert_eq!(distinct(&exec, 1), 1);
    assert_eq!(distinct(&exec, 40), 4);
    assert_eq!(distinct(&exec, 10), 4);
}

#[test]
fn large_texts_fill_no_pipe() {
    let all: Vec<String> = (0..2000).map(|i| format!("{i:05}").repeat(4000)).collect();
    let exec = Exec::new(Options {
        processes: 2,
        ..options("cat")
    })
    .unwrap();
    let releases = texts(exec.rewrite(&queries(&all)).unwrap());
    assert!(releases == all, "a text came back changed");
}

#[test]
fn texts_come_back_as_they_were_and_no_shell_reads_them() {
    let all: Vec<String> = [
        "",
        " two\nlines\r\n",
        "a\0b",
        "\"quotes\" 'and' \\ $(touch here) `x` ; & | < > %s %PATH%",
        "é 日本 😀 \u{2028}\u{feff}\u{ffff}\u{10ffff}",
    ]
    .map(String::from)
    .to_vec();
    assert_eq!(texts(exec("cat").rewrite(&queries(&all)).unwrap()), all);
    assert!(!Path::new("here").exists());
    let shell = each("printf '%s\\n' \"$line\"");
    assert_eq!(texts(exec(shell).rewrite(&queries(&all)).unwrap()), all);
}

#[test]
fn what_it_claims_is_what_its_user_says() {
    assert_eq!(exec("cat").guarantee(), None);
    let claim = Some(Guarantee {
        epsilon: 1.0,
        delta: 0.0,
        unit: Unit::Text,
        neighbours: Neighbours::AnyTexts,
        basis: Basis::Claimed,
    });
    let exec = Exec::new(Options {
        guarantee: claim,
        ..options("cat")
    });
    assert_eq!(exec.unwrap().guarantee(), claim);
}

#[test]
fn dropped_processes_end_at_once_or_are_killed_together() {
    let cat = exec("cat");
    cat.rewrite(&queries(&numbered(1))).unwrap();
    let started = Instant::now();
    drop(cat);
    assert!(started.elapsed() < Duration::from_millis(900));
    // These three would stay for ever.
    let deaf = Exec::new(Options {
        processes: 3,
        ..options("head -n 1; while :; do sleep 1; done")
    })
    .unwrap();
    deaf.rewrite(&queries(&numbered(3))).unwrap();
    let started = Instant::now();
    drop(deaf);
    assert!(started.elapsed() < Duration::from_millis(2500));
}

#[test]
fn whatever_the_shell_started_is_killed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let exec = Exec::new(Options {
        timeout: Duration::from_millis(100),
        restarts: 0,
        ..options(format!("(sleep 2; : > '{}') & wait", mark.display()))
    })
    .unwrap();
    exec.rewrite(&queries(&numbered(1))).unwrap_err();
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!mark.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_process_forks_away_is_ended_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let number = folder.path().join("number");
    // The shell becomes `cat`, which ends by itself; what it started does not.
    let command = format!("sleep 300 & echo $! > '{}'; exec cat", number.display());
    let exec = exec(command);
    exec.rewrite(&queries(&numbered(1))).unwrap();
    let forked = std::fs::read_to_string(&number).unwrap();
    // One that has ended may wait for somebody to take note of it.
    let stat = format!("/proc/{}/stat", forked.trim());
    let is_alive = || {
        let stat = std::fs::read_to_string(&stat);
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(is_alive());
    drop(exec);
    let started = Instant::now();
    while is_alive() {
        assert!(started.elapsed() < Duration::from_secs(60), "it lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The template's releases follow randomised response's probabilities exactly, and it states these.
#[test]
fn the_python_template_is_randomised_response() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!(
            "skipped: there is no python3 here, so examples/randomised_response.py is not run"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts.txt");
    std::fs::write(&file, "one\ntwo é\n\none\nthree\r\nfour\n").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/randomised_response.py");
    let command = format!("python3 '{}' '{}'", script.display(), file.display());
    let template = |epsilon| {
        Exec::new(Options {
            processes: 2,
            epsilon,
            ..options(&command)
        })
        .unwrap()
    };
    let e = 2_f64.exp();
    let probability = |text: &str| if text == "two é" { e } else { 1.0 } / (e + 3.0);
    let domain = ["one", "two é", "three", "four"];
    let stated = probabilities(&template(Some(2.0)), &domain.map(str::to_owned), "two é");
    for (text, stated) in &stated {
        assert!((stated - probability(text)).abs() < 1e-15, "{text}");
    }
    let counts = releases(&template(Some(2.0)), "two é", 20_000);
    assert_sampled(&counts, &stated, "randomised_response.py");

    let elsewhere = vec!["elsewhere".to_owned()];
    let refused = template(Some(2.0)).rewrite(&queries(&elsewhere)).unwrap();
    let reason = refused[0].failure.clone().unwrap().reason;
    assert!(reason.contains("no line of the file"), "{reason}");
    let pairs = [("elsewhere", "one"), ("one", "elsewhere")];
    let scored = template(Some(2.0)).log_likelihood(&pairs).unwrap();
    assert_eq!(scored, [Ok(f64::NEG_INFINITY), Err(reason.into())]);
    let known = vec!["one".to_owned()];
    let error = template(None).rewrite(&queries(&known)).unwrap_err();
    assert!(error.to_string().contains("needs an epsilon"), "{error}");
}
