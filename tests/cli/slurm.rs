//! `teda slurm` without a cluster: the text of its scripts, what reaches a task, and what it makes of what Slurm says.
//! `scripts/clusters/slurm.sh` runs it on a real one.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, text};

/// A cheap audit.
const AUDIT: [&str; 12] = [
    "--mech",
    "krr",
    "--epsilon",
    "1,2",
    "--dataset",
    "categories:3",
    "--lambda",
    "0",
    "--trials",
    "700",
    "--attack",
    "learned,overlap",
];

/// Writes a program into `bin`.
fn program(s: &Sandbox, name: &str, script: &str) {
    std::fs::create_dir_all(s.path("bin")).unwrap();
    let path = s.path("bin").join(name);
    std::fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A Slurm that takes any job, writes down what it was asked, and says what stands in the files `queue` and `accounts`.
fn cluster(s: &Sandbox) {
    let here = s.path("").display().to_string();
    program(
        s,
        "sbatch",
        &format!(
            "cd '{here}'; echo \"sbatch $*\" >> asked; n=$(($(cat last 2> /dev/null || echo 80) + 1)); echo $n | tee last"
        ),
    );
    program(
        s,
        "squeue",
        &format!("cat '{here}/queue' 2> /dev/null || true"),
    );
    program(s, "sacct", &format!("cat '{here}/accounts'"));
    program(
        s,
        "scontrol",
        &format!(
            "cd '{here}'; case $1 in show) echo 'MaxArraySize            = 5';; *) echo \"scontrol $*\" >> asked;; esac"
        ),
    );
}

/// `teda slurm` where only our Slurm is found.
fn slurm(s: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = s.command(&[&["slurm"], arguments].concat());
    let path = format!("{}:/usr/bin:/bin", s.path("bin").display());
    command
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Where no Slurm is: not even that of this machine.
fn nowhere(s: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = s.command(&[&["slurm"], arguments].concat());
    command
        .env("PATH", s.path("nothing"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

fn refused(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "not yet: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What Slurm was asked since the last look.
fn asked(s: &Sandbox) -> String {
    let text = std::fs::read_to_string(s.path("asked")).unwrap_or_default();
    s.file("asked", "");
    text
}

/// The job of the cheap audit in 7 shards, which are two arrays of this Slurm.
fn job(s: &Sandbox, more: &[&str]) -> Output {
    slurm(
        s,
        &[
            &["audit"],
            &AUDIT[..],
            &["--shards", "7", "--out", "job", "--quiet"],
            more,
        ]
        .concat(),
    )
}

/// Makes a shard of that job as its task would.
fn make(s: &Sandbox, shard: u32) {
    let (shard, out) = (format!("{shard}/7"), format!("job/shards/{shard}"));
    s.stdout(
        &[
            &["audit"],
            &AUDIT[..],
            &["--shard", &shard, "--out", &out, "--quiet"],
        ]
        .concat(),
    );
}

#[test]
fn the_scripts_of_a_profile_and_flags() {
    let s = Sandbox::new();
    cluster(&s);
    s.file("cluster.toml", concat!(
        "partition = \"slow\"\naccount = \"nlp\"\ntime = \"4:00:00\"\nmem = \"8G\"\ncpus = 2\ngpus = 1\narray-limit = 3\n",
        "modules = [\"cuda/12\", \"it's\"]\nprelude = [\"export HF_HOME=$SCRATCH\", \"ulimit -n 4096\"]\n",
        "container = \"apptainer exec --nv $HOME/teda.sif\"\nsbatch = [\"exclusive\", \"comment=a # b\"]\n",
    ));
    let printed = done(job(
        &s,
        &[
            "--profile",
            "cluster.toml",
            "--partition",
            "fast",
            "--offline",
            "--print",
        ],
    ));
    let here = std::fs::canonicalize(s.path(""))
        .unwrap()
        .display()
        .to_string();
    assert_snapshot!("slurm", printed.replace(here.trim_end_matches('/'), "HERE"));
    assert!(!s.path("job").exists(), "it was only printed");
    assert_eq!(asked(&s), "");
}

/// Whatever a flag says reaches the task, to the byte, and so does the place of its shard.
#[test]
fn hostile_texts_reach_a_task_as_they_are() {
    let s = Sandbox::new();
    program(&s, "teda", "printf '%s\\0' \"$@\" > \"$ARGUMENTS\"");
    let mechs = [
        "exec:a 'b' \"c\" $d `e` \\ \\\\ \\n",
        "exec:line\nfeed\ttab\r",
        "exec:{1..3} ~ * ? [a] !! # %s %% ; & | < > ( ) -- =",
        "exec:ünïcödé 日本 \u{202e}\u{1f600}'''\"\"\"'\"'\"",
        "exec:$(touch hacked) ${IFS} '; touch hacked; '",
    ];
    let out = "a 'job' $(touch hacked) \"ü\"\n%a";
    let mut arguments = vec![
        "audit",
        "--epsilon=1",
        "--attack=overlap",
        "--shards=3",
        "--out",
        out,
    ];
    arguments.extend(["--program", "teda"]);
    for mech in mechs {
        arguments.extend(["--mech", mech]);
    }
    let printed = nowhere(&s, &[&arguments[..], &["--print"]].concat());
    let printed = done(printed);
    let (array, merge) = printed.split_once("# merge.sbatch\n").unwrap();
    let here = std::fs::canonicalize(s.path("")).unwrap();
    let given = |script: &str| {
        let path = s.file("script", script);
        let mut bash = Command::new("bash");
        bash.arg(path)
            .current_dir(s.path(""))
            .env("ARGUMENTS", s.path("arguments"));
        bash.env("PATH", format!("{}:/usr/bin:/bin", s.path("bin").display()));
        let ran = bash.env("SLURM_ARRAY_TASK_ID", "2").output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let words = text(&s.bytes("", "arguments"));
        words
            .split_terminator('\0')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let shards = here.join(out).join("shards");
    let words = given(array);
    for mech in mechs {
        assert!(
            words.contains(&format!("--mech={mech}")),
            "{mech:?} in {words:?}"
        );
    }
    let shard = shards.join("2").display().to_string();
    let end = ["--shard", "2/3", "--out", &shard, "--go-on"];
    assert_eq!(words[words.len() - 5..], end);
    let run = here.join(out).join("run").display().to_string();
    let parts = [1, 2, 3].map(|part| shards.join(part.to_string()).display().to_string());
    let expected = [
        "merge",
        "--threads=1",
        "--offline",
        "--out",
        &run,
        &parts[0],
        &parts[1],
        &parts[2],
    ];
    assert_eq!(given(merge), expected);
    assert!(!s.path("hacked").exists());
}

/// The signal before the time limit lets teda store what it has, and the task comes back.
#[test]
fn a_task_at_its_time_limit_stops_and_is_requeued() {
    let s = Sandbox::new();
    cluster(&s);
    program(
        &s,
        "teda",
        "trap 'echo stored > stored; exit 130' TERM; echo > at-work; while :; do sleep 0.05; done",
    );
    let printed = done(job(&s, &["--program", "teda", "--print"]));
    let script = printed.split("# shards-2.sbatch\n").nth(1).unwrap();
    let script = s.file("script", script.split("# merge.sbatch\n").next().unwrap());
    let mut bash = Command::new("bash");
    bash.arg(script)
        .env("PATH", format!("{}:/usr/bin:/bin", s.path("bin").display()));
    bash.env("SLURM_ARRAY_TASK_ID", "3")
        .env("SLURM_ARRAY_JOB_ID", "81");
    let mut task = bash.current_dir(s.path("")).spawn().unwrap();
    until("the task begins", || s.path("at-work").exists());
    let number = task.id().to_string();
    let signal = Command::new("kill").args(["-USR1", &number]).status();
    assert!(signal.unwrap().success());
    until("the task ends", || task.try_wait().unwrap().is_some());
    assert_eq!(task.wait().unwrap().code(), Some(130));
    assert!(s.path("stored").exists());
    assert_eq!(asked(&s), "scontrol requeue 81_3\n");
}

#[test]
fn what_cannot_be_a_job_is_refused() {
    let s = Sandbox::new();
    cluster(&s);
    for (flags, why) in [
        (&["--shards", "701"][..], "only 700 trials"),
        (&["--shards", "1"], "2..=100000"),
        (&["--dataset", "-", "--limit", "5"], "standard input"),
        (&["--until", "decided"], "--until with --shard"),
        (&["--keep", "counts"], "--keep counts with --shard"),
        (&["--shard", "1/4"], "--shards"),
        (&["--dry-run"], "--print"),
        (&["--time", "1:00"], "--stop-before"),
        (&["--time", "4h"], "as for sbatch"),
        (&["--sbatch", "array=1-9"], "is set by teda"),
        (&["--partition", "a\n#SBATCH --nice"], "one line"),
        (&["--mem", "8'G"], "without quotes"),
        (&["--epsilon", "-1"], "epsilon = -1"),
        (&["--submit", "--print"], "cannot be used with"),
    ] {
        let mut arguments = vec!["audit", "--out", "job"];
        // A flag that is given twice is an error of its own.
        let given = |pair: &[&str]| !flags.contains(&pair[0]);
        arguments.extend(AUDIT.chunks(2).filter(|pair| given(pair)).flatten());
        if !flags.contains(&"--shards") {
            arguments.extend(["--shards", "4"]);
        }
        arguments.extend(flags);
        let said = refused(slurm(&s, &arguments));
        assert!(said.contains(why), "{flags:?}: {said}");
        assert!(!s.path("job").exists(), "{flags:?}");
    }
    let neither = refused(slurm(
        &s,
        &[&["audit", "--out", "job"], &AUDIT[..]].concat(),
    ));
    assert!(neither.contains("--time-per-task"), "{neither}");
    std::fs::create_dir(s.path("job")).unwrap();
    s.file("job/thesis.tex", "");
    assert!(refused(job(&s, &[])).contains("not empty"));
    assert!(refused(slurm(&s, &["status", "job"])).contains("teda slurm audit"));
}

#[test]
fn a_wrong_profile_is_named_with_its_line() {
    let s = Sandbox::new();
    for (profile, why) in [
        (
            "partition = \"a\"\n\nparttion = \"b\"",
            "p.toml:3: unknown key 'parttion'",
        ),
        ("cpus = 1\nmem = \"a\\nb\"", "p.toml:2: "),
        ("cpus = \"many\"", "p.toml:1: "),
        ("sbatch = [\"output=x\"]", "p.toml:1: "),
        ("time = {}", "p.toml:1: "),
        ("partition = ", "invalid TOML"),
        ("submit = true", "p.toml:1: unknown key 'submit'"),
        ("profile = \"p.toml\"", "p.toml:1: unknown key 'profile'"),
    ] {
        s.file("p.toml", profile);
        let said = refused(job(&s, &["--profile", "p.toml"]));
        assert!(said.contains(why), "{profile}: {said}");
    }
    assert!(refused(job(&s, &["--profile", "none.toml"])).contains("none.toml"));
}

/// Submission, a shard that fails, and one command that sends it again and lets the merge wait for it.
#[test]
fn what_is_missing_is_sent_again_and_the_merge_waits_for_it() {
    let s = Sandbox::new();
    cluster(&s);
    let said = done(job(&s, &["--array-limit", "2", "--submit"]));
    assert!(said.contains("job 83 joins them"), "{said}");
    let submitted = concat!(
        "sbatch --parsable --array=1-4%2 shards-1.sbatch\n",
        "sbatch --parsable --array=1-3%2 shards-2.sbatch\n",
        "sbatch --parsable --kill-on-invalid-dep=no --dependency=afterok:81,afterok:82 merge.sbatch\n",
    );
    assert_eq!(asked(&s), submitted);
    assert!(
        refused(job(&s, &[])).contains("resubmit job"),
        "a job is not overwritten"
    );

    // 1 and 6 are done, 2 failed, 3 and 4 wait, 5 runs, 7 was lost long ago.
    make(&s, 1);
    make(&s, 6);
    s.file("queue", "81|2|FAILED|NonZeroExitCode\n81|3|PENDING|Resources\n81|4|PENDING|Resources\n82|1|RUNNING|None\n83|N/A|PENDING|Dependency\n");
    s.file(
        "accounts",
        "81_1|COMPLETED|0:0\n82_3|NODE_FAIL|1:0\n82_[4-9]|PENDING|0:0\n",
    );
    let status = done(slurm(&s, &["status", "job"]));
    assert_snapshot!("slurm-status", status);
    done(slurm(&s, &["resubmit", "job"]));
    let again = concat!(
        "sbatch --parsable --array=2%2 shards-1.sbatch\n",
        "sbatch --parsable --array=3%2 shards-2.sbatch\n",
        "scontrol update JobId=83 Dependency=afterany:81,afterany:82,afterok:84,afterok:85\n",
    );
    assert_eq!(asked(&s), again);

    // Sent once is enough; and where the merge is gone, there is a new one.
    s.file("queue", "84|2|PENDING|Resources\n85|3|RUNNING|None\n81|3|RUNNING|None\n81|4|RUNNING|None\n82|1|RUNNING|None\n83|N/A|CANCELLED|Dependency\n");
    done(slurm(&s, &["resubmit", "job"]));
    let waits = "afterany:81,afterany:84,afterany:82,afterany:85";
    assert_eq!(
        asked(&s),
        format!("sbatch --parsable --kill-on-invalid-dep=no --dependency={waits} merge.sbatch\n")
    );

    // All there: nothing to wait for. The merge is what one process makes.
    s.file("queue", "");
    for shard in [2, 3, 4, 5, 7] {
        make(&s, shard);
    }
    done(slurm(&s, &["resubmit", "job"]));
    assert_eq!(
        asked(&s),
        "sbatch --parsable --kill-on-invalid-dep=no merge.sbatch\n"
    );
    let merge = Command::new("bash")
        .arg(s.path("job/merge.sbatch"))
        .output()
        .unwrap();
    assert!(merge.status.success(), "{}", text(&merge.stderr));
    s.stdout(&[&["audit"], &AUDIT[..], &["--out", "one", "--quiet"]].concat());
    for file in ["trials.parquet", "guesses.parquet", "texts.parquet"] {
        assert!(s.bytes("one", file) == s.bytes("job/run", file), "{file}");
    }
    // Killed and begun again, it is the same.
    let again = Command::new("bash")
        .arg(s.path("job/merge.sbatch"))
        .output()
        .unwrap();
    assert!(again.status.success());
    assert!(done(slurm(&s, &["resubmit", "job"])).contains("complete: teda report job/run"));
    assert_eq!(asked(&s), "");
    assert!(done(slurm(&s, &["status", "job"])).contains("7 of 7 shards are complete; joined"));
}

/// A run that is stopped by an error keeps its rows, and its files alone say how many.
#[test]
fn files_alone_show_how_far_a_shard_is() {
    let s = Sandbox::new();
    done(nowhere(
        &s,
        &[
            &["audit"],
            &AUDIT[..],
            &["--shards", "7", "--out", "job", "--quiet"],
        ]
        .concat(),
    ));
    make(&s, 2);
    // As a kill leaves it: rows in the journal, no results.
    let slow = "exec:while read -r line; do sleep 0.1; id=${line#*:}; echo \"{\\\"id\\\": ${id%%,*}, \\\"text\\\": \\\"a\\\"}\"; done";
    let out = s.path("job/shards/3");
    let mut killed = s.command(&[
        "audit",
        "--mech",
        slow,
        "--epsilon",
        "1",
        "--limit",
        "5",
        "--shard",
        "3/7",
        "--attack",
        "overlap",
    ]);
    killed.args([
        "--batch",
        "2",
        "--threads",
        "1",
        "--trials",
        "7000",
        "--lambda",
        "0",
        "--quiet",
        "--out",
    ]);
    let mut killed = killed.arg(&out).stdin(Stdio::null()).spawn().unwrap();
    let rows =
        || std::fs::read_to_string(out.join("trials.jsonl")).map_or(0, |text| text.lines().count());
    until("trials are made", || rows() >= 5);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // A header, and a row a trial.
    let made = rows() - 1;
    let status = done(nowhere(&s, &["status", "job"]));
    assert!(status.contains(&format!("{made} of 1000")), "{status}");
    for line in [
        " 1       not begun",
        " 2       complete",
        " 3       running or killed",
        " 4-7     not begun",
    ] {
        assert!(status.contains(line), "{line:?} in {status}");
    }
    assert!(
        status.contains("1 of 7 shards are complete; not joined yet; merge: not submitted"),
        "{status}"
    );
    let submit = [
        "audit", "--mech", "em", "--shards", "2", "--out", "new", "--submit",
    ];
    let refused = nowhere(&s, &submit);
    assert!(text(&refused.stderr).contains("squeue is not on the PATH"));
    assert!(!s.path("new").exists());
    let refused = nowhere(&s, &["resubmit", "job"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("squeue is not on the PATH"));
}

/// Slurm that does not answer is an error where something is to be submitted, and a note where files say enough.
#[test]
fn a_slurm_that_is_down_is_said_so() {
    let s = Sandbox::new();
    done(nowhere(
        &s,
        &[
            &["audit"],
            &AUDIT[..],
            &["--shards", "7", "--out", "job", "--quiet"],
        ]
        .concat(),
    ));
    program(
        &s,
        "squeue",
        "echo 'Unable to contact slurm controller \x1b[1m' >&2; exit 1",
    );
    let status = done(slurm(&s, &["status", "job"]));
    assert!(
        status.contains("Unable to contact") && !status.contains('\x1b'),
        "{status}"
    );
    let refused = slurm(&s, &["resubmit", "job"]);
    assert_eq!(refused.status.code(), Some(1));
    program(&s, "squeue", "true");
    program(&s, "sbatch", "echo hello");
    let refused = slurm(&s, &["resubmit", "job"]);
    assert!(
        text(&refused.stderr).contains("'hello"),
        "{}",
        text(&refused.stderr)
    );
}

/// Each task is to take a time; how many that makes is estimated.
#[test]
fn the_number_of_shards_follows_from_the_time_of_a_task() {
    let s = Sandbox::new();
    let said = done(nowhere(
        &s,
        &[
            &["audit"],
            &AUDIT[..],
            &["--time-per-task", "1-0", "--out", "job"],
        ]
        .concat(),
    ));
    assert!(said.contains("2 shards, by a few trials"), "{said}");
    let slow = [
        "--mech",
        "exec:sleep 100",
        "--llm",
        "http://127.0.0.1:9/v1?model=m",
    ];
    let server = [
        &[
            "audit",
            "--epsilon",
            "1",
            "--attack",
            "llm",
            "--judge",
            slow[3],
            "--mech",
            "em",
            "--time-per-task",
            "1",
            "--out",
            "other",
        ],
        &[][..],
    ]
    .concat();
    let output = nowhere(&s, &server);
    assert!(!output.status.success() && !s.path("other").exists());
}
