//! What servers answer.

use super::Kind;

pub const ANSWERS: Kind = Kind {
    name: "server",
    dictionary: &[
        "\"choices\":",
        "\"content\":",
        "\"logprobs\":",
        "\"usage\":",
        "null",
        "</think>",
        "\"error\":",
        "\"embedding\":[",
        "1e999",
    ],
    corpus: || {
        let sound = [
            r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"a release"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}"#,
            r#"{"choices":[{"text":" a b c","logprobs":{"tokens":["Say"," a"," b"," c"],"token_logprobs":[null,-1.5,-0.25,-3.0],"text_offset":[0,3,5,7],"top_logprobs":[{" a":-1.5}]}}]}"#,
            r#"{"data":[{"index":0,"embedding":[0.1,-0.2,0.3]},{"index":1,"embedding":[0.0,1e-3,0.5]}],"usage":{"total_tokens":9}}"#,
            r#"{"error":{"message":"rate limit of key sk-abcdefghijklmnop reached","type":"requests","code":429}}"#,
            r#"{"choices":[{"message":{"content":"<think>hm</think>2","logprobs":{"content":[{"token":"2","logprob":-0.1,"top_logprobs":[{"token":"1","logprob":-2.0}]}]}}}]}"#,
        ];
        sound.map(|text| text.as_bytes().to_vec()).to_vec()
    },
    run: |bytes| {
        teda_server::read_as_any_answer(bytes);
        serde_json::from_slice::<serde_json::Value>(bytes).is_ok()
    },
};
