//! Chat templates: the format in which an instruction-tuned model expects its prompts.
//!
//! A template is a program that comes with a model. It runs within bounds: [`guard`] limits its length and makes every
//! operator countable, [`budget`] limits what it may compute and hold. Anything beyond that is an error.

mod budget;
mod guard;

use std::path::Path;
use std::thread;

use minijinja::machinery::{CodeGenerator, eval, make_string_output, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Value, context};
use teda_core::{Error, Prompt, Result};

/// Placeholder for the text while a template is filled: no template produces it by itself.
const PLACE: &str = "\u{E000}text\u{E000}";

/// Stack of a template's thread. Parser and engine recurse into nested parts; what [`guard`] admits fits here, but not
/// always into the stack of the calling thread.
const STACK: usize = 256 << 20;
/// Characters of the engine's message that are passed on: it may quote the template.
const MESSAGE: usize = 400;

/// A model's chat template (Jinja).
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    template: String,
    begin: Option<String>,
    end: Option<String>,
}

impl Chat {
    /// A template with the texts of the tokens that begin and end a text.
    ///
    /// # Errors
    /// If it is not a Jinja template.
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
    /// If a file cannot be read or is invalid.
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

    /// The conversation in which a user says `prompt` and the model has to answer.
    ///
    /// # Errors
    /// If the template fails or leaves out what the user says.
    pub(crate) fn wrap(&self, prompt: &Prompt) -> Result<Prompt> {
        let bad = |e: String| Error::failed(format!("the model's chat template: {e}"));
        // Templates that know thinking models are asked to leave the thinking out.
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

/// The output of `template` with some values, within bounds.
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

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use super::*;

    /// The output of a template without bounds: the engine as it is.
    fn unbounded(template: &str, values: Value) -> String {
        let mut engine = Environment::new();
        engine.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .unwrap();
        engine.set_syntax(syntax);
        engine.render_str(template, values).unwrap()
    }

    /// The published templates of popular models, and other features that templates use.
    const TEMPLATES: [&str; 12] = [
        // SmolLM2.
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        // Gemma.
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
        // Gemma 3.
        "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- if messages[0]['content'] is string -%}\n        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}\n    {%- else -%}\n        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}\n    {%- endif -%}\n    {%- set loop_messages = messages[1:] -%}\n{%- else -%}\n    {%- set first_user_prefix = \"\" -%}\n    {%- set loop_messages = messages -%}\n{%- endif -%}\n{%- for message in loop_messages -%}\n    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}\n        {{ raise_exception(\"Conversation roles must alternate user/assistant/user/assistant/...\") }}\n    {%- endif -%}\n    {%- if (message['role'] == 'assistant') -%}\n        {%- set role = \"model\" -%}\n    {%- else -%}\n        {%- set role = message['role'] -%}\n    {%- endif -%}\n    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else \"\") }}\n    {%- if message['content'] is string -%}\n        {{ message['content'] | trim }}\n    {%- elif message['content'] is iterable -%}\n        {%- for item in message['content'] -%}\n            {%- if item['type'] == 'image' -%}\n                {{ '<start_of_image>' }}\n            {%- elif item['type'] == 'text' -%}\n                {{ item['text'] | trim }}\n            {%- endif -%}\n        {%- endfor -%}\n    {%- else -%}\n        {{ raise_exception(\"Invalid content type\") }}\n    {%- endif -%}\n    {{ '<end_of_turn>\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    {{'<start_of_turn>model\n'}}\n{%- endif -%}\n",
        // Llama 3.
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
        // Llama 3.2, as far as it concerns a single message.
        "{{- bos_token }}\n{%- if custom_tools is defined %}\n    {%- set tools = custom_tools %}\n{%- endif %}\n{%- if not tools_in_user_message is defined %}\n    {%- set tools_in_user_message = true %}\n{%- endif %}\n{%- if not date_string is defined %}\n    {%- if strftime_now is defined %}\n        {%- set date_string = strftime_now(\"%d %b %Y\") %}\n    {%- else %}\n        {%- set date_string = \"26 Jul 2024\" %}\n    {%- endif %}\n{%- endif %}\n{%- if not tools is defined %}\n    {%- set tools = none %}\n{%- endif %}\n{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n{%- else %}\n    {%- set system_message = \"\" %}\n{%- endif %}\n{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n{%- if tools is not none %}\n    {{- \"Environment: ipython\\n\" }}\n{%- endif %}\n{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n{{- \"Today Date: \" + date_string + \"\\n\\n\" }}\n{%- if tools is not none and not tools_in_user_message %}\n    {%- for t in tools %}\n        {{- t | tojson(indent=4) }}\n        {{- \"\\n\\n\" }}\n    {%- endfor %}\n{%- endif %}\n{{- system_message }}\n{{- \"<|eot_id|>\" }}\n{%- if tools_in_user_message and not tools is none %}\n    {%- if messages | length != 0 %}\n        {%- set first_user_message = messages[0]['content']|trim %}\n        {%- set messages = messages[1:] %}\n    {%- endif %}\n{%- endif %}\n{%- for message in messages %}\n    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}\n        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}\n    {%- elif 'tool_calls' in message %}\n        {%- set tool_call = message.tool_calls[0].function %}\n        {{- tool_call.arguments | tojson }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n",
        // Qwen2.5, without the part for tools.
        "{%- if tools %}\n    {{- '<|im_start|>system\\n' }}\n{%- else %}\n    {%- if messages[0]['role'] == 'system' %}\n        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n    {%- else %}\n        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}\n    {%- endif %}\n{%- endif %}\n{%- for message in messages %}\n    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) or (message.role == \"assistant\" and not message.tool_calls) %}\n        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- elif message.role == \"tool\" %}\n        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != \"tool\") %}\n            {{- '<|im_start|>user' }}\n        {%- endif %}\n        {{- '\\n<tool_response>\\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n",
        // Qwen3, without the part for tools.
        "{%- if messages[0].role == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n{%- endif %}\n{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n{%- for message in messages[::-1] %}\n    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.multi_step_tool and message.role == \"user\" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}\n        {%- set ns.multi_step_tool = false %}\n        {%- set ns.last_query_index = index %}\n    {%- endif %}\n{%- endfor %}\n{%- for message in messages %}\n    {%- if message.content is string %}\n        {%- set content = message.content %}\n    {%- else %}\n        {%- set content = '' %}\n    {%- endif %}\n    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) %}\n        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}\n    {%- elif message.role == \"assistant\" %}\n        {%- set reasoning_content = '' %}\n        {%- if '</think>' in content %}\n            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n        {%- endif %}\n        {{- '<|im_start|>' + message.role + '\\n' + content }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}",
        // Mistral.
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}",
        // Zephyr.
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
        // Methods, filters and tests that others use.
        "{% set x = ['b', 'a', 'c'] %}{{ x|sort|join(', ') }} {{ x[::-1] }} {{ x[1:] }} {{ x[-1] }} {{ x|map('upper')|list }} {{ x|select('in', ['a', 'b'])|list }} {{ {'a': 1, 'b': [1, 2.5, none, true]}|tojson }} {{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|map(attribute='role')|join }} {{ 'A b'.lower().title().split(' ') }} {{ 'x' * 3 ~ [1] * 2 }} {{ (1, 2) + (3,) }} {{ 7 // 2 ** 1 % 3 - -1 }} {{ 'a' in 'abc' and 'd' not in ['a'] }} {{ x|first ~ x|last }} {{ x|length > 2 }} {{ 'é'|upper }} {{ undefined_name }} {{ '%s-%05d'|format('a', 7) }} {{ 'a\nb'|indent(2, true) }} {{ [3, 1]|min }} {{ {'b': 1, 'a': 2}|dictsort }} {{ {'k': 'v'}.items()|list }} {{ {'k': 'v'}.keys()|list }} {{ 'a,b'.split(',')|last }} {{ 'abc'|reverse }} {{ 3.7|int }} {{ '3'|int + 1 }} {{ 2.0 * 3 }} {{ '<b>'|e }} {{ none is none }} {{ [1, [2]] == [1, [2]] }} {{ '{} {}'.format(1, 'x') }}",
        // Blocks, macros, loops and namespaces.
        "{%- macro show(role, text='none') -%}\n[{{ role }}: {{ text|trim }}]\n{%- endmacro -%}\n{% set ns = namespace(found=false, items=[]) %}{% for i in range(5) if i % 2 == 0 %}{% set ns.items = ns.items + [i] %}{{ loop.index }}/{{ loop.length }}{% if i > 3 %}{% break %}{% else %}{% continue %}{% endif %}{% else %}empty{% endfor %}{{ ns.items }}{% set block %}<{{ show('a') }}>{% endset %}{{ block|upper }}{% filter lower %}ABC{{ 'D' }}{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}c{% endcall %}{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}{{ 'yes' if ns.found else 'no' }}{% raw %}{{ raw }}{% endraw %}{# nothing #}{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}{% endif %}{% endfor %}\n  {%- if true %}\n  kept\n  {% endif %}\nend",
        // White space.
        "  {% if true %}  \n a {%- if true -%} b {%- endif %}\n\n{{- ' c ' -}}\n d\n{% endif %}\n",
    ];

    #[test]
    fn what_models_come_with_says_the_same_within_bounds() {
        for template in TEMPLATES {
            for text in ["Rewrite this: \u{E000}", "  é \"quoted\" <b>\n"] {
                let values = || {
                    context! {
                        messages => [context! { role => "user", content => text }],
                        add_generation_prompt => true,
                        enable_thinking => false,
                        bos_token => "<s>",
                        eos_token => "</s>",
                    }
                };
                let expected = unbounded(template, values());
                assert_eq!(render(template, values()).unwrap(), expected, "{template}");
            }
        }
    }
}
