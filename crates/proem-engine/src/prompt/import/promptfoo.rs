//! Configurations of promptfoo: each prompt becomes a prompt file, the tests become cases of each.
//!
//! Source: <https://www.promptfoo.dev/docs/configuration/reference/>, `src/prompts/processors` of
//! <https://github.com/promptfoo/promptfoo>.

mod assertions;
mod tests_read;

use proem_text::OrderedMap;

use self::tests_read::read_tests;
use super::document::{items, mapping_entries, parse_document};
use super::placeholder::{PlaceholderStyle, scan_placeholders};
use super::request::{chat_role, content_fragments};
use super::source::{Fragment, ImportReader, SourceFile, text_as_prompt_name};
use super::{ImportedPrompt, ImportedSettings, ImportedTurn};
use crate::error::{Error, ErrorKind};
use crate::message::Role;
use crate::prompt::yaml::{YamlNode, YamlValue};

/// Keys about promptfoo's own run: they change neither a request nor a test.
const OWN_KEYS: [&str; 8] = [
    "$schema",
    "outputPath",
    "evaluateOptions",
    "commandLineOptions",
    "sharing",
    "writeLatestResults",
    "tags",
    "metadata",
];

/// How files that are programs end.
const PROGRAMS: [&str; 9] = [".py", ".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".rb", ".go"];

/// The files that prompts and tests name.
pub(super) fn promptfoo_files(file: SourceFile<'_>) -> Result<Vec<String>, Error> {
    let root = parse_document(file).map_err(|problem| Error::new(ErrorKind::InvalidFile, problem))?;
    let mut wanted = Vec::new();
    for node in prompt_nodes(&root) {
        wanted.extend(prompt_file(&node));
    }
    let tests = root.get("tests");
    for node in tests.into_iter().chain(items(tests)) {
        wanted.extend(node.as_str().map(|path| path.strip_prefix("file://").unwrap_or(path).to_owned()));
    }
    Ok(wanted)
}

/// The prompts as nodes, whether they are a list, a mapping or one text.
fn prompt_nodes(root: &YamlNode) -> Vec<YamlNode> {
    match root.get("prompts") {
        Some(YamlNode { data: YamlValue::List(items), .. }) => items.clone(),
        Some(YamlNode { data: YamlValue::Map(entries), .. }) => {
            let node = |name: &str, span| YamlNode { span, data: YamlValue::Scalar(name.into()) };
            entries.iter().map(|(key, _)| node(&key.name, key.span)).collect()
        }
        Some(node) => vec![node.clone()],
        None => Vec::new(),
    }
}

/// The path of a prompt that is a file.
fn prompt_file(node: &YamlNode) -> Option<String> {
    let text = node.as_str().or_else(|| node.get("id")?.as_str()).or_else(|| node.get("raw")?.as_str())?;
    if let Some(path) = text.strip_prefix("file://") {
        return Some(path.to_owned());
    }
    let endings = [".txt", ".json", ".jsonl", ".yaml", ".yml", ".md", ".j2", ".csv"];
    let is_path = !text.contains(char::is_whitespace)
        && endings.iter().chain(&PROGRAMS).any(|ending| text.ends_with(ending) || text.contains(&format!("{ending}:")));
    is_path.then(|| text.to_owned())
}

/// Reads a configuration.
pub(super) fn read_promptfoo(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let root = match parse_document(file) {
        Ok(root) => root,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let mut settings = ImportedSettings::default();
    for (key, value) in mapping_entries(Some(&root)) {
        let at = key.span.start;
        match key.name.as_str() {
            "prompts" | "tests" | "defaultTest" | "description" | "assertionTemplates" => {}
            "providers" | "targets" => settings = read_providers(value, reader),
            "extensions" | "nunjucksFilters" => {
                reader.refuse(file, at, &format!("`{}` is code, which is not imported", key.name), "take it out");
            }
            other if OWN_KEYS.contains(&other) => {
                reader.leave_out(file, at, format!("`{other}` is left out: it is about promptfoo's own run"));
            }
            "scenarios" => {
                reader.refuse_check(
                    file,
                    at,
                    "`scenarios` are not imported; each can be written as tests under `tests`",
                );
            }
            other => reader.refuse_check(file, at, &format!("`{other}` is no key that is imported")),
        }
    }
    let folder = reader.folder.to_owned();
    let mut prompts = Vec::new();
    for node in prompt_nodes(&root) {
        read_prompt(&node, &folder, &mut prompts, reader);
    }
    number_names(&mut prompts);
    let cases = read_tests(&root, reader);
    for prompt in &mut prompts {
        prompt.settings = settings.clone();
        prompt.purpose = root.get("description").and_then(YamlNode::as_str).map(str::to_owned);
        tests_read::add_cases(prompt, &cases);
    }
    prompts
}

/// Numbers prompts that would have one name.
fn number_names(prompts: &mut [ImportedPrompt]) {
    let mut seen: OrderedMap<usize> = OrderedMap::default();
    for prompt in prompts {
        let count = seen.get(&prompt.name).copied().unwrap_or(0).saturating_add(1);
        seen.insert(prompt.name.clone(), count);
        if count > 1 {
            prompt.name = format!("{}-{count}", prompt.name);
        }
    }
}

fn read_prompt(node: &YamlNode, folder: &str, prompts: &mut Vec<ImportedPrompt>, reader: &mut ImportReader<'_>) {
    let file = reader.file;
    let at = node.span.start;
    let label = node.get("label").or_else(|| node.get("id")).and_then(YamlNode::as_str);
    if node.get("function").is_some() {
        return reader.refuse(file, at, "a prompt with a function is not imported", "save the text that it makes");
    }
    if let Some(path) = prompt_file(node) {
        return read_prompt_file(&path, at, prompts, reader);
    }
    let text = node.get("raw").unwrap_or(node);
    let Some(fragment) = Fragment::of_node(file, text) else {
        return reader.refuse(file, at, "this prompt is neither a text nor a file", "");
    };
    if let Some(sign) = ["exec:", "langfuse://", "portkey://", "helicone://", "python:"]
        .iter()
        .find(|sign| fragment.text.starts_with(**sign))
    {
        let message = format!("a prompt of `{sign}` is made by a program or a service, which is not imported");
        return reader.refuse(file, at, &message, "save the text that it makes and import that");
    }
    let name = label.filter(|label| !label.starts_with("file:")).unwrap_or(folder);
    push_prompt(&fragment, name, prompts, reader);
    let schema = node.get("config").and_then(|config| config.get("response_format")?.get("json_schema")?.get("schema"));
    if let (Some(schema), Some(prompt)) = (schema, prompts.last_mut()) {
        prompt.answer = Some(schema.to_ordered());
    }
    for (key, _) in
        mapping_entries(node.get("config")).iter().filter(|(key, _)| key.name != "response_format" || schema.is_none())
    {
        reader.leave_out(file, key.span.start, format!("`config.{}` of the prompt is left out", key.name));
    }
}

fn read_prompt_file(path: &str, at: usize, prompts: &mut Vec<ImportedPrompt>, reader: &mut ImportReader<'_>) {
    let file = reader.file;
    let bare = path.split(':').next().unwrap_or(path);
    if PROGRAMS.iter().any(|ending| bare.ends_with(ending)) {
        let help = "save the text that it makes and import that";
        return reader.refuse(file, at, &format!("`{path}` is a program, which is not imported"), help);
    }
    let Some(beside) = reader.beside(path) else {
        let help = "put it beside the configuration; patterns such as `*.txt` and folders above are not read";
        return reader.refuse(file, at, &format!("the prompt file `{path}` is not there"), help);
    };
    let stem = beside.base_name().split('.').next().unwrap_or_default();
    // A folder has one such file, and its own name says more.
    let is_generic = matches!(stem, "prompt" | "prompts" | "template") && !reader.folder.is_empty();
    let stem = if is_generic { reader.folder.to_owned() } else { stem.to_owned() };
    if path.ends_with(".txt") {
        // A line `---` parts prompts of one file. White space around each is not sent.
        let mut offset = 0_usize;
        for part in beside.text.split("---") {
            let start = offset.saturating_add(part.len().saturating_sub(part.trim_start().len()));
            let fragment = Fragment { file: beside, start, text: part.trim().to_owned() };
            offset = offset.saturating_add(part.len()).saturating_add(3);
            if !fragment.text.is_empty() {
                push_prompt(&fragment, &stem, prompts, reader);
            }
        }
        return;
    }
    if path.ends_with(".jsonl") || path.ends_with(".csv") {
        return reader.refuse(
            file,
            at,
            &format!("`{path}` holds many prompts, which is not imported"),
            "save each as a file",
        );
    }
    let fragment = Fragment { file: beside, start: 0, text: beside.text.to_owned() };
    push_prompt(&fragment, &stem, prompts, reader);
}

/// A prompt of one text: a chat in JSON or YAML, or the user's words.
fn push_prompt(fragment: &Fragment<'_>, name: &str, prompts: &mut Vec<ImportedPrompt>, reader: &mut ImportReader<'_>) {
    let mut prompt = reader.prompt(&text_as_prompt_name(name));
    let is_chat =
        fragment.text.trim_start().starts_with(['[', '{']) || fragment.text.trim_start().starts_with("- role:");
    let inner = SourceFile { name: fragment.file.name, text: &fragment.text };
    let chat = is_chat.then(|| parse_document(inner)).and_then(Result::ok);
    let messages: Vec<YamlNode> = items(chat.as_ref()).to_vec();
    let line = fragment.file.line(fragment.start);
    if messages.is_empty() || messages.iter().any(|message| message.get("role").is_none()) {
        let pieces = scan_placeholders(fragment, PlaceholderStyle::Jinja, reader);
        prompt.turns.push(ImportedTurn { role: Role::User, pieces, line });
        prompts.push(prompt);
        return;
    }
    for message in &messages {
        let Some(role) = chat_role(message, inner, reader) else { continue };
        let mut pieces = Vec::new();
        let contents = message.get("content").map(|content| content_fragments(content, inner, reader));
        for content in contents.unwrap_or_default() {
            let placed = Fragment { file: fragment.file, start: fragment.start, text: content.text };
            pieces.extend(scan_placeholders(&placed, PlaceholderStyle::Jinja, reader));
        }
        prompt.turns.push(ImportedTurn { role, pieces, line });
    }
    prompts.push(prompt);
}

/// The model and settings, if there is one provider.
fn read_providers(node: &YamlNode, reader: &mut ImportReader<'_>) -> ImportedSettings {
    let file = reader.file;
    let one = [node.clone()];
    let providers = if matches!(node.data, YamlValue::List(_)) { items(Some(node)) } else { &one };
    let mut settings = ImportedSettings::default();
    let [provider] = providers else {
        let text = format!(
            "`providers` names {} models and is left out: name one with `--model`, or compare them by `book test --live --models`",
            providers.len()
        );
        reader.leave_out(file, node.span.start, text);
        return settings;
    };
    let id = provider.as_str().or_else(|| provider.get("id")?.as_str()).unwrap_or_default();
    let service = id.split(':').next().unwrap_or_default();
    if matches!(service, "openai" | "anthropic" | "azure" | "azureopenai") && id.contains(':') {
        settings.model = id.rsplit(':').next().map(str::to_owned);
    } else {
        reader.leave_out(
            file,
            provider.span.start,
            format!("the provider `{id}` is left out: set one in your configuration"),
        );
    }
    for entry in mapping_entries(provider.get("config")) {
        reader.take_setting(file, entry, "config.", &mut settings);
    }
    settings
}
