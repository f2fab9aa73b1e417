//! Refusals that every request would get, because the server does not know one of its fields.

/// What to change in the address, if `message` refuses a field that every request has.
pub fn on(message: &str) -> Option<&'static str> {
    let message = message.to_ascii_lowercase();
    if message.contains("max_completion_tokens") {
        return Some("add length=max_completion_tokens to the address");
    }
    if names_thinking(&message) {
        return Some("leave thinking=off out of the address, or say thinking=on");
    }
    let refused = [
        "unknown",
        "unsupported",
        "not supported",
        "unrecognized",
        "unexpected",
        "extra",
        "not permitted",
        "not valid",
    ];
    let seed = message
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == "seed");
    (seed && refused.iter().any(|word| message.contains(word)))
        .then_some("add seed=no to the address")
}

/// Whether a refusal names the switch that turns thinking off.
pub fn names_thinking(message: &str) -> bool {
    ["chat_template_kwargs", "enable_thinking"]
        .iter()
        .any(|name| message.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_servers_refuse_are_recognised() {
        let gemini = r#"Invalid JSON payload received. Unknown name "seed": Cannot find field."#;
        assert!(on(gemini).unwrap().contains("seed=no"));
        let openai = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        assert!(on(openai).unwrap().contains("length="));
        let mistral = r#"[{"type":"extra_forbidden","loc":["body","seed"]}]"#;
        assert!(on(mistral).is_some());
        assert_eq!(
            on("This model's maximum context length is 2048 tokens"),
            None
        );
        assert_eq!(on("unknown role in message about seeds"), None);
    }
}
