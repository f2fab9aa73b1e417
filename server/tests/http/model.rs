//! The toy model behind the server, and the queries that tests put to it.

use std::time::Duration;

use serde_json::{Value, json};
use teda_core::{Answer, Prompt, Query, Result, Sampling, Seed, TextGenerator};
use teda_server::{Http, Options};

use crate::server::{Act, Seen};

/// Answers as OpenAI's dialect wants it; the text says what was asked.
pub fn answer(seen: &Seen) -> Act {
    let usage = json!({"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10});
    let said = |prompt: &Value| {
        let prompt = prompt.as_str().unwrap();
        format!("{prompt} with seed {}", seen.body["seed"])
    };
    match seen.path.as_str() {
        "/v1/chat/completions" => {
            let text = said(&seen.body["messages"][0]["content"]);
            let message = json!({"role": "assistant", "content": text});
            Act::Answer(json!({"choices": [{"index": 0, "message": message}], "usage": usage}))
        }
        "/v1/completions" if seen.body["echo"] == true => echo(&seen.body["prompt"]),
        // The last word of the text and " new" as its echo has them.
        "/v1/completions" if seen.body["logprobs"] == 1 => {
            let word = seen.body["prompt"].as_str().unwrap().split(' ').next_back();
            let sum = -(word.unwrap().len() as f64) - 1.0 - 3.0;
            let top = json!([{" new": sum, " old": sum - 1.0}]);
            let choice = json!({"text": " new", "logprobs": {"top_logprobs": top}});
            Act::Answer(json!({"choices": [choice]}))
        }
        "/v1/completions" => {
            let text = said(&seen.body["prompt"]);
            Act::Answer(json!({"choices": [{"index": 0, "text": text}], "usage": usage}))
        }
        "/v1/embeddings" => {
            let texts = seen.body["input"].as_array().unwrap();
            // In reverse, as a server may.
            let data: Vec<Value> = texts
                .iter()
                .enumerate()
                .rev()
                .map(|(index, text)| {
                    let length = text.as_str().unwrap().len();
                    json!({"index": index, "embedding": [3, 0, length]})
                })
                .collect();
            Act::Answer(json!({"data": data, "usage": {"prompt_tokens": 5}}))
        }
        _ => Act::Status(404, "", "no such place".into()),
    }
}

/// One token a word, of log-probability −(its length in characters), and one more that is new.
fn echo(prompt: &Value) -> Act {
    let prompt = prompt.as_str().unwrap();
    let (mut offsets, mut values, mut at) = (Vec::new(), Vec::new(), 0);
    for word in prompt.split_inclusive(' ').chain([" new"]) {
        let length = word.chars().count();
        offsets.push(at);
        values.push(if at == 0 {
            Value::Null
        } else {
            json!(-(length as f64))
        });
        at += length;
    }
    let logprobs = json!({"text_offset": offsets, "token_logprobs": values});
    let choice = json!({"text": format!("{prompt} new"), "logprobs": logprobs});
    Act::Answer(json!({"choices": [choice]}))
}

/// The number in "Say text N, please", in whichever field the prompt stands.
pub fn number(seen: &Seen) -> usize {
    let text = seen.body.to_string();
    let (_, rest) = text.split_once("text ").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

pub const SAMPLING: Sampling = Sampling {
    temperature: 0.75,
    max_new_tokens: 40,
};

pub fn prompt() -> Prompt {
    Prompt::new("Say {}, please")
}

/// A model at `url` that waits next to nothing between tries.
pub fn open(url: &str) -> Http {
    open_with(url, Options::default())
}

pub fn open_with(url: &str, options: Options) -> Http {
    Http::open(url, options)
        .unwrap()
        .with_backoff(Duration::from_micros(100))
}

/// The answers to the texts numbered `numbers`, `n` each; trials of different `root`s differ.
pub fn ask(
    http: &Http,
    root: u64,
    numbers: std::ops::Range<usize>,
    n: usize,
) -> Result<Vec<Answer<Vec<String>>>> {
    let texts: Vec<String> = numbers.clone().map(|i| format!("text {i}")).collect();
    let queries: Vec<Query<'_>> = numbers
        .zip(&texts)
        .map(|(i, text)| Query {
            text,
            seed: Seed::root(root).at(i as u64),
        })
        .collect();
    http.complete(&prompt(), &queries, n, SAMPLING)
}

/// Asserts that these are the answers to the texts numbered `numbers`: in order, none missing, each
/// candidate with its own seed.
pub fn check(answers: &[Answer<Vec<String>>], numbers: std::ops::Range<usize>, n: usize) {
    assert_eq!(answers.len(), numbers.len());
    for (number, answer) in numbers.zip(answers) {
        let texts = answer.as_ref().unwrap();
        assert_eq!(texts.len(), n);
        let start = format!("Say text {number}, please with seed ");
        let seeds: std::collections::BTreeSet<u32> = texts
            .iter()
            .map(|text| text.strip_prefix(&start).unwrap().parse().unwrap())
            .collect();
        assert_eq!(seeds.len(), n, "{texts:?}");
    }
}
