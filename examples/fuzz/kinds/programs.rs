//! What outside programs answer.

use std::time::Duration;

use teda_core::{Mechanism, Query, Seed};
use teda_mechanisms::{Children, Exec, ExecOptions};

use super::{Kind, folder};

pub const ANSWERS: Kind = Kind {
    name: "program",
    dictionary: &[
        "\"id\":",
        "\"text\":",
        "\"failure\":",
        "\"log_likelihood\":",
        "{\"id\":0,\"text\":\"x\"}\n",
    ],
    corpus: || {
        let sound: [&[u8]; 3] = [
            b"{\"id\":0,\"text\":\"a release\"}\n{\"id\":1,\"text\":\"another\"}\n",
            b"{\"id\":1,\"text\":\"\"}\n{\"id\":0,\"failure\":\"no answer\"}\n",
            b"{\"id\":0,\"text\":\"\\ud83c\\udfb5\",\"more\":[1,{}]}\n{\"id\":1,\"text\":\"b\"}\n",
        ];
        sound.map(<[u8]>::to_vec).to_vec()
    },
    run,
};

fn run(bytes: &[u8]) -> bool {
    let answers = folder().join("answers");
    std::fs::write(&answers, bytes).expect("it is written");
    let exec = Exec::new(ExecOptions {
        command: format!("cat '{}'; exec cat > /dev/null", answers.display()),
        processes: 1,
        timeout: Duration::from_millis(200),
        restarts: 0,
        epsilon: Some(1.0),
        guarantee: None,
        children: Children::default(),
    })
    .expect("the options are sound");
    let query = |number| Query {
        text: "a text",
        seed: Seed::root(0).at(number),
    };
    let released = exec.rewrite(&[query(0), query(1)]);
    released.is_ok_and(|released| released.iter().all(|release| release.failure.is_none()))
}
