//! Command lines and check files, put to the program itself.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Kind, folder};
use crate::driver::longest;

pub const CHECK: Kind = Kind {
    name: "check",
    dictionary: &[
        "[[audit]]",
        "[defaults]",
        "at-most = \"claim\"",
        "trials = ",
        "epsilon = [1]",
        "'''",
        "\"\"\"",
    ],
    corpus: || {
        let sound = [
            "[defaults]\ntrials = 200\nattack = \"overlap\"\n\n[[audit]]\nname = \"krr\"\nmech = \"krr\"\nepsilon = [1, 2]\ndataset = \"categories:2\"\nlambda = 0\n",
            "[[audit]]\nname = \"a\"\nmech = [\"grr\", \"oue\"]\ndataset = \"categories:3\"\ntrials = 50\nk = 2\nat-least = 0.5\nexpect = \"consistent\"\nset = [\"x=1\"]\n",
        ];
        sound.map(|text| text.as_bytes().to_vec()).to_vec()
    },
    run: |bytes| {
        std::fs::write(folder().join("check.toml"), bytes).expect("it is written");
        teda(&["check".into(), "check.toml".into(), "--dry-run".into()])
    },
};

/// An argument a line. Nothing is computed: an audit is only planned.
pub const COMMAND: Kind = Kind {
    name: "command",
    dictionary: &[
        "\n--epsilon\n",
        "\n--k\n",
        "\n--alpha\n",
        "\n--set\n",
        "\n--mech\n",
        "exec:",
        "\n--dataset\n",
        "\n--claim\n",
        "=",
        ",",
        "\n-",
        "inf",
        "nan",
    ],
    corpus: || {
        let sound = [
            "audit\n--mech\nkrr,identity\n--epsilon\n1,2\n--limit\n20\n--trials\n50\n--k\n2,3\n--lambda\n-5",
            "audit\n--mech\nexec:cat\n--claim\nepsilon=1,neighbours=any-texts\n--epsilon\n1\n--limit\n9\n--trials\n9",
            "audit\n--mech\nprivrewrite\n--set\ntau=0.9,rho=3\n--limit\n9\n--alpha\n0.05\n--delta\n1e-5\n--trials\n9\n--attack\noverlap",
            "audit\n--mech\ngrr\n--dataset\ncategories:4\n--shard\n1/4\n--estimator\nteda\n--trials\n100\n--attack\nlength",
            "report\nnowhere\n--alpha\n0.1\n--attack\nlearned:share=0.3,most=500\n--out\nthere",
            "merge\na\nb\n--out\nc",
            "rewrite\n--mech\nem\n--epsilon\n3\n--limit\n5\n--seed\n7",
            "list\nmechanisms",
            "data\nlist",
            "models\npath\nminilm",
        ];
        sound.map(|text| text.as_bytes().to_vec()).to_vec()
    },
    run: |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        // A network or hours of work are not what is tried.
        if text.contains('\0')
            || ["pull", "selftest", "calibrate"]
                .iter()
                .any(|word| text.contains(word))
        {
            return false;
        }
        let mut arguments: Vec<String> = text.split('\n').map(String::from).collect();
        if arguments[0] == "audit" {
            arguments.push("--dry-run".into());
        }
        teda(&arguments)
    },
};

/// Runs the program in a folder of its own, and whether it did what was asked. It must end by itself, with a status
/// that is documented.
fn teda(arguments: &[String]) -> bool {
    let started = Command::new(program())
        .args(arguments)
        .current_dir(folder())
        .env("TEDA_CACHE", folder().join("cache"))
        .env("HF_HUB_OFFLINE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        // The system refuses it, not the program.
        Err(e) if e.kind() == ErrorKind::ArgumentListTooLong => return false,
        Err(e) => panic!("teda does not start: {e}"),
    };
    let said = child.stderr.take().expect("it is piped");
    let said = std::thread::spawn(move || std::io::read_to_string(said).unwrap_or_default());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        // A little before this process is found to hang: it says which command it was.
        if started.elapsed() > longest().mul_f64(0.9) {
            // It may have ended just now.
            let _ = child.kill();
            panic!("teda {arguments:?} takes longer than {:?}", longest());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = said.join().unwrap_or_default();
    let code = status.code();
    assert!(
        matches!(code, Some(0..=3)) && !said.contains("panicked"),
        "teda {arguments:?} ended with {status}: {said}"
    );
    code == Some(0)
}

/// `teda` beside the examples.
fn program() -> PathBuf {
    let here = std::env::current_exe().expect("this program is somewhere");
    let folder = here.parent().and_then(|folder| folder.parent());
    folder.expect("it is an example").join("teda")
}
