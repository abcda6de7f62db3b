//! The requests of the tools that prompts were written for, by their documents.
//!
//! Placeholders are replaced in the file's text one after the other. Nothing here knows the readers of `proem-engine`.

use std::collections::BTreeMap;

use proem_engine::message::Role;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::compat::{Dotprompt, RenderData};
use proem_engine::prompt::import::ImportKind;
use proem_engine::prompt::picoschema::NamedSchemas;
use proem_engine::prompt::yaml;
use serde_json::Value as Json;

use super::ChatMessage;

/// Values by the name of their input.
type Values = BTreeMap<String, Json>;

/// The conversations that a file makes with these values.
pub(super) fn original_messages(
    kind: ImportKind,
    path: &str,
    text: &str,
    beside: &BTreeMap<String, String>,
    values: &Values,
) -> Vec<Vec<ChatMessage>> {
    let text = text.trim_start_matches('\u{feff}');
    let user = |text: String| vec![vec![(Role::User, text)]];
    match kind {
        ImportKind::Fabric => vec![fabric(text, beside, values)],
        ImportKind::Jinja => user(fill_placeholders(text.strip_suffix('\n').unwrap_or(text), "{{", "}}", values)),
        ImportKind::FString => user(f_string(text, values)),
        ImportKind::ClaudeCommand => user(claude(body_after_front_matter(text), values)),
        ImportKind::CopilotPrompt => user(copilot(body_after_front_matter(text), values)),
        ImportKind::SemanticKernel if path.ends_with(".txt") => vec![semantic_kernel(text, "{{$", values)],
        ImportKind::SemanticKernel => {
            let root = parse_json_or_yaml(text);
            let template = root.get("template").and_then(Json::as_str).unwrap_or_default();
            let is_handlebars = root.get("template_format").is_some_and(|format| format == "handlebars");
            vec![semantic_kernel(template, if is_handlebars { "{{" } else { "{{$" }, values)]
        }
        ImportKind::LangChain => vec![lang_chain(&parse_json_or_yaml(text), beside, values)],
        ImportKind::Prompty => vec![prompty(text, values)],
        ImportKind::Dotprompt => vec![dotprompt(path, text, values)],
        ImportKind::Request => vec![messages_of_request(&parse_json_or_yaml(text))],
        ImportKind::Promptfoo => promptfoo(text, beside, values),
    }
}

fn parse_json_or_yaml(text: &str) -> Json {
    let read = serde_json::from_str(text).ok();
    read.or_else(|| Some(yaml::parse_yaml(text, 0).ok()??.to_json())).unwrap_or_default()
}

/// The text behind the front matter, if there is one.
fn body_after_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    rest.split_once("\n---\n").map_or(text, |(_, body)| body)
}

fn printed_value(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The text with the value of each placeholder between two signs.
fn fill_placeholders(text: &str, open: &str, close: &str, values: &Values) -> String {
    let mut out = text.to_owned();
    for (name, value) in values {
        // A name that templates have for themselves got a `_` behind it.
        for name in [name.as_str(), name.strip_suffix('_').unwrap_or(name)] {
            for space in ["", " "] {
                out = out.replace(&format!("{open}{space}{name}{space}{close}"), &printed_value(value));
                let inner = open.replace("{{$", "{{ $");
                out = out.replace(&format!("{inner}{name}{space}{close}"), &printed_value(value));
            }
        }
        for (field, value) in value.as_object().into_iter().flatten() {
            for space in ["", " "] {
                out = out.replace(&format!("{open}{space}{name}.{field}{space}{close}"), &printed_value(value));
            }
        }
    }
    out
}

fn f_string(text: &str, values: &Values) -> String {
    // Braces that represent themselves are put aside before names are replaced.
    let mut out = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
    for (name, value) in values {
        for name in [name.as_str(), name.strip_suffix('_').unwrap_or(name)] {
            out = out.replace(&format!("{{{name}}}"), &printed_value(value));
        }
    }
    out.replace('\u{1}', "{").replace('\u{2}', "}")
}

fn fabric(text: &str, beside: &BTreeMap<String, String>, values: &Values) -> Vec<ChatMessage> {
    let given = values.get("input").map(printed_value).unwrap_or_default();
    let before = beside.get("user.md").cloned().unwrap_or_default();
    vec![(Role::System, text.to_owned()), (Role::User, format!("{before}{given}"))]
}

fn claude(text: &str, values: &Values) -> String {
    let mut out = text.to_owned();
    for (name, value) in values {
        let sign = match name.strip_prefix("argument_") {
            Some(digit) => format!("${digit}"),
            None => "$ARGUMENTS".to_owned(),
        };
        out = out.replace(&sign, &printed_value(value));
    }
    out
}

fn copilot(text: &str, values: &Values) -> String {
    let mut out = text.to_owned();
    for (name, value) in values {
        out = out.replace(&format!("${{{name}}}"), &printed_value(value));
        while let Some(start) = out.find(&format!("${{input:{name}")) {
            let Some(end) = out.get(start..).and_then(|rest| rest.find('}')) else { break };
            out.replace_range(start..=start + end, &printed_value(value));
        }
    }
    out
}

/// A text, or its messages: white space around each and text between them are not sent, references are decoded.
fn semantic_kernel(text: &str, open: &str, values: &Values) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    for part in text.split("<message role=").skip(1) {
        let Some((tag, rest)) = part.split_once('>') else { continue };
        let role = match tag.trim_matches(['"', '\'', ' ']) {
            "system" => Role::System,
            "assistant" => Role::Model,
            _ => Role::User,
        };
        let body = rest.split("</message>").next().unwrap_or_default().trim();
        let body = body.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        messages.push((role, fill_placeholders(&body, open, "}}", values)));
    }
    if messages.is_empty() { vec![(Role::User, fill_placeholders(text, open, "}}", values))] } else { messages }
}

fn lang_chain(root: &Json, beside: &BTreeMap<String, String>, values: &Values) -> Vec<ChatMessage> {
    let prompt = root.get("prompt").unwrap_or(root);
    let kwargs = prompt.get("kwargs").unwrap_or(prompt);
    let Some(messages) = kwargs.get("messages").and_then(Json::as_array) else {
        if kwargs.get("_type").is_some_and(|kind| kind == "few_shot") {
            return vec![(Role::User, few_shot(kwargs, beside, values))];
        }
        let template = kwargs.get("template").and_then(Json::as_str).unwrap_or_default();
        return vec![(Role::User, f_string(template, values))];
    };
    let message = |message: &Json| {
        let class = message.pointer("/id").and_then(Json::as_array).and_then(|id| id.last()).and_then(Json::as_str);
        let role = match class.unwrap_or_default() {
            class if class.starts_with("System") => Role::System,
            class if class.starts_with("AI") => Role::Model,
            _ => Role::User,
        };
        let template = message.pointer("/kwargs/prompt/kwargs/template").and_then(Json::as_str).unwrap_or_default();
        (role, f_string(template, values))
    };
    messages.iter().map(message).collect()
}

/// Prefix, examples and suffix, joined and then filled.
fn few_shot(kwargs: &Json, beside: &BTreeMap<String, String>, values: &Values) -> String {
    let text = |name: &str| kwargs.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let loaded = beside.get(&text("examples")).map(|file| parse_json_or_yaml(file));
    let examples = loaded.as_ref().or_else(|| kwargs.get("examples")).and_then(Json::as_array).cloned();
    let template = kwargs.pointer("/example_prompt/template").and_then(Json::as_str).unwrap_or_default();
    let filled = examples.unwrap_or_default().into_iter().map(|example| {
        let own = example.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
        f_string(template, &own.collect())
    });
    let parts = [text("prefix")].into_iter().chain(filled).chain([text("suffix")]);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let separator = kwargs.get("example_separator").and_then(Json::as_str).unwrap_or("\n\n");
    f_string(&parts.join(separator), values)
}

fn prompty(text: &str, values: &Values) -> Vec<ChatMessage> {
    let is_first =
        text.contains("\nsample:") || text.contains("\n  configuration:") || text.contains("\n  parameters:");
    let mut messages: Vec<(Role, Vec<String>)> = vec![(Role::System, Vec::new())];
    for line in body_after_front_matter(text).lines() {
        let role = match line.trim().to_lowercase().as_str() {
            "system:" => Some(Role::System),
            "user:" => Some(Role::User),
            "assistant:" => Some(Role::Model),
            _ => None,
        };
        match (role, messages.last_mut()) {
            (Some(role), _) => messages.push((role, Vec::new())),
            // A thread is empty where there is no earlier message.
            (None, _) if line.trim().starts_with("![thread]") || line.trim() == "{{conversation}}" => {}
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    let message = |(role, lines): (Role, Vec<String>)| {
        let text = lines.join("\n");
        let text = if is_first { text.as_str() } else { text.trim_matches('\n') };
        (role, fill_placeholders(text, "{{", "}}", values))
    };
    let mut all: Vec<ChatMessage> =
        messages.into_iter().map(message).filter(|(_, text)| !text.trim().is_empty()).collect();
    // The readers add the caller's text where a file has none, which its note says.
    if !all.iter().any(|(role, _)| *role == Role::User) {
        all.push((Role::User, values.get("input").map(printed_value).unwrap_or_default()));
    }
    all
}

fn dotprompt(path: &str, text: &str, values: &Values) -> Vec<ChatMessage> {
    let Ok(prompt) = Dotprompt::parse(path, text, &BTreeMap::new(), &NamedSchemas::new()) else { return Vec::new() };
    let input = values.iter().map(|(name, value)| (name.as_str(), OrderedJson::from(value.clone()))).collect();
    let data = RenderData { input, ..RenderData::default() };
    let messages = prompt.render(&data, None).unwrap_or_default();
    let message = |message: &proem_engine::message::Message| {
        let text = message.content.iter().map(|part| match part {
            proem_engine::message::Part::Text(text) => text.as_str(),
            _ => "",
        });
        (Role::parse(&message.role).unwrap_or(Role::User), text.collect())
    };
    messages.iter().map(message).collect()
}

fn messages_of_request(root: &Json) -> Vec<ChatMessage> {
    let words = |content: &Json| match content {
        Json::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        other => printed_value(other),
    };
    let system = root.get("system").map(|system| (Role::System, words(system)));
    let messages = root.get("messages").and_then(Json::as_array).cloned().unwrap_or_default();
    system.into_iter().chain(messages.iter().map(|message| chat_message(message, &words))).collect()
}

fn chat_message(message: &Json, words: &dyn Fn(&Json) -> String) -> ChatMessage {
    let role = match message.get("role").and_then(Json::as_str) {
        Some("system" | "developer") => Role::System,
        Some("assistant") => Role::Model,
        _ => Role::User,
    };
    (role, message.get("content").map(words).unwrap_or_default())
}

fn promptfoo(text: &str, beside: &BTreeMap<String, String>, values: &Values) -> Vec<Vec<ChatMessage>> {
    let root = parse_json_or_yaml(text);
    let one;
    let named;
    let prompts = match root.get("prompts") {
        Some(Json::Array(prompts)) => prompts.as_slice(),
        // A mapping has files as keys and their labels as values.
        Some(Json::Object(_)) => {
            let ordered = yaml::parse_yaml(text, 0).ok().flatten().map(|root| root.to_ordered());
            let files = ordered.as_ref().and_then(|root| root.get("prompts")?.fields());
            named =
                files.into_iter().flat_map(|files| files.iter().map(|(file, _)| Json::from(file))).collect::<Vec<_>>();
            &named
        }
        Some(prompt) => {
            one = [prompt.clone()];
            &one
        }
        None => &[],
    };
    let mut all = Vec::new();
    for prompt in prompts {
        let text = prompt.get("raw").or_else(|| prompt.get("id")).unwrap_or(prompt).as_str().unwrap_or_default();
        let name = text.strip_prefix("file://").unwrap_or(text);
        match beside.get(name) {
            Some(file) if name.ends_with(".txt") => {
                let parts = file.split("---").map(str::trim).filter(|part| !part.is_empty());
                all.extend(parts.map(|part| promptfoo_chat(part, values)));
            }
            Some(file) => all.push(promptfoo_chat(file, values)),
            None => all.push(promptfoo_chat(text, values)),
        }
    }
    all
}

fn promptfoo_chat(text: &str, values: &Values) -> Vec<ChatMessage> {
    let is_yaml = text.trim_start().starts_with("- role:");
    let yaml = is_yaml.then(|| parse_json_or_yaml(text)).and_then(|root| root.as_array().cloned());
    let chat: Option<Vec<Json>> = serde_json::from_str(text).ok().or(yaml);
    let words = |content: &Json| fill_placeholders(&printed_value(content), "{{", "}}", values);
    match chat {
        Some(messages) => messages.iter().map(|message| chat_message(message, &words)).collect(),
        None => vec![(Role::User, fill_placeholders(text, "{{", "}}", values))],
    }
}
