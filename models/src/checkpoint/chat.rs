//! Chat templates: how an instruction-tuned model wants to be addressed.

use std::fs;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, context};
use teda_core::{Error, Prompt, Result};

/// Stands in for the text while a template is filled: no template produces it by itself.
const PLACE: &str = "\u{E000}text\u{E000}";

/// A model's chat template (Jinja).
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    template: String,
    begin: Option<String>,
    end: Option<String>,
}

impl Chat {
    /// A template and the texts of the tokens that begin and end a text.
    ///
    /// # Errors
    /// Where it is no Jinja template.
    pub(super) fn new(template: &str, begin: Option<String>, end: Option<String>) -> Result<Self> {
        let chat = Self {
            template: template.to_owned(),
            begin,
            end,
        };
        chat.wrap(&Prompt::new("{}"))?;
        Ok(chat)
    }

    /// The template in a model's directory, if there is one.
    ///
    /// # Errors
    /// Where a file cannot be read or is not what it should be.
    pub(super) fn of_directory(directory: &Path) -> Result<Option<Self>> {
        let config = super::json(&directory.join("tokenizer_config.json"))?.unwrap_or_default();
        let path = directory.join("chat_template.jinja");
        let template = match fs::read_to_string(&path) {
            Ok(template) => Some(template),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                config["chat_template"].as_str().map(str::to_owned)
            }
            Err(e) => {
                return Err(Error::failed(format!(
                    "cannot read {}: {e}",
                    path.display()
                )));
            }
        };
        let special = |name: &str| {
            let token = &config[name];
            let text = token.as_str().or_else(|| token["content"].as_str());
            text.map(str::to_owned)
        };
        template
            .map(|template| Self::new(&template, special("bos_token"), special("eos_token")))
            .transpose()
    }

    /// The conversation in which a user says `prompt` and the model is to answer.
    ///
    /// # Errors
    /// Where the template fails or leaves out what the user says.
    pub(crate) fn wrap(&self, prompt: &Prompt) -> Result<Prompt> {
        let bad = |e: String| Error::failed(format!("the model's chat template: {e}"));
        let mut environment = Environment::new();
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|e| bad(e.to_string()))?;
        environment.set_syntax(syntax);
        // Templates that know thinking models ask for it to be left out.
        let text = environment
            .render_str(
                &self.template,
                context! {
                    messages => [context! { role => "user", content => prompt.fill(PLACE) }],
                    add_generation_prompt => true,
                    enable_thinking => false,
                    bos_token => self.begin.as_deref(),
                    eos_token => self.end.as_deref(),
                },
            )
            .map_err(|e| bad(e.to_string()))?;
        if text.matches(PLACE).count() != 1 {
            return Err(bad("it does not show the user's message once".to_owned()));
        }
        Ok(Prompt::new(&text.replace(PLACE, "{}")))
    }

    /// Whether the template itself writes the token that begins a text.
    pub(crate) fn begins(&self, wrapped: &Prompt) -> bool {
        self.begin
            .as_ref()
            .is_some_and(|begin| wrapped.before().starts_with(begin))
    }
}
