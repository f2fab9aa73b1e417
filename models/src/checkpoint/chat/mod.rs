//! Chat templates: how an instruction-tuned model wants to be addressed.
//!
//! A template is a program that comes with a model. It runs within bounds: [`guard`] says how long it may be
//! and makes every operator countable, [`budget`] says what it may compute and hold. Whatever it asks for
//! beyond that is an error.

mod budget;
mod guard;

use std::path::Path;
use std::thread;

use minijinja::machinery::{CodeGenerator, eval, make_string_output, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Value, context};
use teda_core::{Error, Prompt, Result};

/// Stands in for the text while a template is filled: no template produces it by itself.
const PLACE: &str = "\u{E000}text\u{E000}";

/// Stack of a template's thread. Parser and engine go into nested parts by recursion; what [`guard`] lets
/// pass fits here, and not always into the stack of the thread that asks.
const STACK: usize = 256 << 20;
/// Characters of the engine's message that are handed on: it may quote the template.
const MESSAGE: usize = 400;

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
        let template =
            match super::read(&path, super::LONGEST_SETTINGS)? {
                Some(bytes) => Some(String::from_utf8(bytes).map_err(|e| {
                    Error::failed(format!("{}: not UTF-8 text: {e}", path.display()))
                })?),
                None => config["chat_template"].as_str().map(str::to_owned),
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
        // Templates that know thinking models ask for it to be left out.
        let values = context! {
            messages => [context! { role => "user", content => prompt.fill(PLACE) }],
            add_generation_prompt => true,
            enable_thinking => false,
            bos_token => self.begin.as_deref(),
            eos_token => self.end.as_deref(),
        };
        let text = thread::scope(|scope| {
            let render = || render(&self.template, values);
            thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, render)
                .map_err(|e| format!("no thread to fill it on: {e}"))?
                .join()
                .unwrap_or_else(|_| Err("the template engine gave up on it".to_owned()))
        })
        .map_err(|e| bad(e.chars().take(MESSAGE).collect()))?;
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

/// What `template` writes with some values, within bounds.
fn render(template: &str, values: Value) -> std::result::Result<String, String> {
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|e| e.to_string())?;
    guard::check(template, &syntax)?;
    let parsed = parse(template, "<string>", syntax).map_err(|e| e.to_string())?;
    let mut generator = CodeGenerator::new("<string>", template);
    generator.compile_stmt(&guard::statement(&parsed)?);
    let (instructions, blocks) = generator.finish();
    let engine = budget::engine();
    let mut text = String::new();
    let mut output = make_string_output(&mut text);
    eval(
        &engine,
        &instructions,
        values,
        &blocks,
        &mut output,
        AutoEscape::None,
    )
    .map_err(|e| e.to_string())?;
    drop(output);
    Ok(text)
}
