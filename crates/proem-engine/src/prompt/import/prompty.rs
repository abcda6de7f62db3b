//! Prompty files, the first form and the second.
//!
//! Sources: <https://prompty.ai/docs>, `runtime/prompty/prompty/parsers.py` and
//! `runtime/python/prompty/prompty/parsers/prompty.py` of <https://github.com/microsoft/prompty>.

use proem_text::OrderedMap;
use serde_json::json;

use super::document::{FrontMatter, items, mapping_entries, parse_document, parse_front_matter, scalar_text};
use super::placeholder::{PlaceholderStyle, scan_placeholders};
use super::source::{Fragment, ImportReader, SourceFile, input_name, is_secret_key, text_input};
use super::{ImportedCase, ImportedInput, ImportedPrompt, ImportedTurn};
use crate::error::Error;
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::yaml::{YamlNode, YamlValue};

/// Which form a file has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `model.configuration`, `sample`. Messages keep their blank lines.
    First,
    /// `model.id`, `model.options`. Messages lose the line breaks around them.
    Second,
}

/// The file that holds the sample.
pub(super) fn prompty_files(file: SourceFile<'_>) -> Result<Vec<String>, Error> {
    let front = parse_front_matter(file).ok();
    let sample = front.as_ref().and_then(|front| sample_file(front.root.as_ref()?.get("sample")?));
    Ok(sample.into_iter().collect())
}

/// `sample: data.json`, `sample: ${file:data.json}`.
fn sample_file(node: &YamlNode) -> Option<String> {
    let text = node.as_str()?;
    let name = text.strip_prefix("${file:").and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    name.ends_with(".json").then(|| name.to_owned())
}

/// Reads a prompty file.
pub(super) fn read_prompty(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let front = match parse_front_matter(file) {
        Ok(front) => front,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let root = front.root.as_ref();
    let get = |key: &str| root.and_then(|root| root.get(key));
    let base = file.base_name();
    let mut prompt = reader.prompt(base.strip_suffix(".prompty").unwrap_or(base));
    let model = get("model");
    let has_old = model.is_some_and(|model| model.get("configuration").is_some() || model.get("parameters").is_some());
    let form = if has_old || get("sample").is_some() { Form::First } else { Form::Second };
    let mut style = PlaceholderStyle::Jinja;
    for (key, node) in mapping_entries(root) {
        let at = key.span.start;
        match key.name.as_str() {
            "name" => {}
            "description" => prompt.purpose = node.as_str().map(str::to_owned),
            "model" => read_model(node, &mut prompt, reader),
            "inputs" | "inputSchema" => read_prompty_inputs(node, &mut prompt, reader),
            "sample" => read_sample(node, &mut prompt, reader),
            "template" => style = read_prompty_template(node, at, reader),
            "outputs" | "outputSchema" => prompt.answer = read_outputs(node),
            "version" | "kind" | "$schema"
                if node.as_str().is_none_or(|text| text != "prompt" && !text.starts_with("http")) =>
            {
                let text = scalar_text(node).unwrap_or_default();
                reader.refuse(file, at, &format!("`{}` is `{text}`, a form that is not known", key.name), "");
            }
            "tools" => reader.leave_out(file, at, "`tools` is left out: name tools under `proem.tools`"),
            other => reader.leave_out(file, at, format!("`{other}` is left out: a prompt file has no such key")),
        }
    }
    prompt.turns = read_turns(&front, file, (style, form), reader);
    vec![prompt]
}

/// The language of the body.
fn read_prompty_template(node: &YamlNode, at: usize, reader: &mut ImportReader<'_>) -> PlaceholderStyle {
    let format = node.get("format").or_else(|| node.get("type")).unwrap_or(node);
    let name = format.as_str().or_else(|| format.get("kind").and_then(YamlNode::as_str)).unwrap_or("jinja2");
    match name {
        "jinja2" | "nunjucks" | "prompty" => PlaceholderStyle::Jinja,
        "mustache" | "handlebars" => PlaceholderStyle::Mustache,
        other => {
            let message = format!("the template language `{other}` is not known; known: jinja2, mustache");
            reader.refuse(reader.file, at, &message, "");
            PlaceholderStyle::Jinja
        }
    }
}

fn read_model(node: &YamlNode, prompt: &mut ImportedPrompt, reader: &mut ImportReader<'_>) {
    let file = reader.file;
    if let Some(name) = node.as_str() {
        prompt.settings.model = Some(name.to_owned());
        return;
    }
    for (key, value) in mapping_entries(Some(node)) {
        match key.name.as_str() {
            "id" => prompt.settings.model = value.as_str().map(str::to_owned),
            "api" | "apiType" if matches!(value.as_str(), Some("chat" | "responses" | "completion")) => {}
            "api" | "apiType" => {
                let text = scalar_text(value).unwrap_or_default();
                reader.refuse(
                    file,
                    key.span.start,
                    &format!("`{}` is `{text}`; only chats are imported", key.name),
                    "",
                );
            }
            "parameters" | "options" => {
                for entry in mapping_entries(Some(value)) {
                    reader.take_setting(file, entry, "", &mut prompt.settings);
                }
            }
            "configuration" | "connection" => leave_connection(key.name.as_str(), value, key.span.start, reader),
            other => {
                reader.leave_out(
                    file,
                    key.span.start,
                    format!("`model.{other}` is left out: a provider is set in your configuration"),
                );
            }
        }
    }
}

/// Names what a connection holds, and none of its values.
fn leave_connection(name: &str, node: &YamlNode, at: usize, reader: &mut ImportReader<'_>) {
    if mapping_entries(Some(node)).is_empty() {
        reader.leave_out(reader.file, at, format!("`{name}` is left out: a provider is set in your configuration"));
    }
    let mut plain = Vec::new();
    for (key, _) in mapping_entries(Some(node)) {
        if is_secret_key(&key.name) {
            let text = format!(
                "`{name}.{}` may be a credential and is left out; your configuration names where a key is",
                key.name
            );
            reader.leave_out(reader.file, key.span.start, text);
        } else {
            plain.push(format!("`{}`", key.name));
        }
    }
    if !plain.is_empty() {
        let keys = plain.join(", ");
        let text = format!("{keys} of `{name}` left out: a provider is set in your configuration");
        reader.leave_out(reader.file, at, text);
    }
}

/// Inputs as a mapping by name, as a list with names, or as a schema's `properties`.
fn read_prompty_inputs(node: &YamlNode, prompt: &mut ImportedPrompt, reader: &mut ImportReader<'_>) {
    let node = node.get("properties").unwrap_or(node);
    let mut sample: OrderedMap<OrderedJson> = OrderedMap::default();
    let named = mapping_entries(Some(node)).iter().map(|(key, value)| (key.name.clone(), key.span.start, value));
    let listed = items(Some(node))
        .iter()
        .filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), item.span.start, item)));
    for (name, at, value) in named.chain(listed) {
        let name = input_name(&name);
        let kind = value.get("kind").or_else(|| value.get("type")).and_then(YamlNode::as_str);
        if let Some(kind) = kind.filter(|kind| matches!(*kind, "image" | "audio" | "file")) {
            let message = format!("the input `{name}` is of the kind `{kind}`, which is not imported");
            reader.refuse(reader.file, at, &message, "");
            continue;
        }
        if kind == Some("thread") {
            reader.leave_out(
                reader.file,
                at,
                format!("the thread `{name}` is left out; write `{{{{history}}}}` in its place to send earlier turns"),
            );
            continue;
        }
        let mut input = input_of(kind, value);
        let is_scalar = matches!(value.data, YamlValue::Scalar(_));
        if let Some(value) = value.get("default").filter(|value| scalar_text(value).is_some()) {
            input.default = Some(value.to_ordered());
        }
        let example = value.get("example").or_else(|| value.get("sample")).or_else(|| is_scalar.then_some(value));
        if let Some(example) = example.filter(|example| scalar_text(example).is_some()) {
            sample.insert(name.as_str(), example.to_ordered());
        }
        prompt.inputs.insert(name.as_str(), input);
    }
    let all = prompt.inputs.iter().all(|(name, input)| sample.get(name).is_some() || input.default.is_some());
    if all && sample.iter().len() > 0 {
        prompt.cases.push(ImportedCase { name: "example".to_owned(), inputs: sample, ..ImportedCase::default() });
    }
}

fn input_of(kind: Option<&str>, node: &YamlNode) -> ImportedInput {
    let mut schema: OrderedMap<OrderedJson> = OrderedMap::default();
    let kind = match kind {
        Some("number" | "float") => "number",
        Some("integer") => "integer",
        Some("boolean") => "boolean",
        _ => "string",
    };
    schema.insert("type", kind.into());
    if let Some(text) = node.get("description").and_then(YamlNode::as_str) {
        schema.insert("description", text.into());
    }
    ImportedInput { schema: schema.into(), ..text_input() }
}

fn read_sample(node: &YamlNode, prompt: &mut ImportedPrompt, reader: &mut ImportReader<'_>) {
    let beside = sample_file(node).map(|name| (reader.beside(&name), name));
    let read = match &beside {
        None => None,
        Some((None, name)) => {
            reader.leave_out(
                reader.file,
                node.span.start,
                format!("the sample `{name}` is not there; no case was made"),
            );
            return;
        }
        Some((Some(file), _)) => match parse_document(*file) {
            Ok(root) => Some(root),
            Err(problem) => return reader.refuse_whole(problem),
        },
    };
    let mut inputs: OrderedMap<OrderedJson> = OrderedMap::default();
    for (key, value) in mapping_entries(Some(read.as_ref().unwrap_or(node))) {
        let name = input_name(&key.name);
        if scalar_text(value).is_none() {
            let text = format!("the sample `{name}` is no single value; no case was made");
            return reader.leave_out(reader.file, node.span.start, text);
        }
        inputs.insert(name.as_str(), value.to_ordered());
    }
    for (name, value) in inputs.iter() {
        let kind = match value {
            OrderedJson::Number(_) => "number",
            OrderedJson::Bool(_) => "boolean",
            _ => "string",
        };
        if prompt.inputs.get(name).is_none() {
            prompt.inputs.insert(name, ImportedInput { schema: json!({ "type": kind }).into(), ..text_input() });
        }
    }
    prompt.cases.push(ImportedCase { name: "sample".to_owned(), inputs, ..ImportedCase::default() });
}

/// The answer's schema, where `outputs` is a mapping or list of typed fields.
fn read_outputs(node: &YamlNode) -> Option<OrderedJson> {
    if node.get("type").is_some() {
        return Some(node.to_ordered());
    }
    let named = mapping_entries(Some(node.get("properties").unwrap_or(node)))
        .iter()
        .map(|(key, value)| (key.name.clone(), value));
    let listed = items(Some(node)).iter().filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), item)));
    let mut properties: OrderedMap<OrderedJson> = OrderedMap::default();
    let mut required = Vec::new();
    for (name, value) in named.chain(listed) {
        let kind = value.get("kind").or_else(|| value.get("type")).and_then(YamlNode::as_str);
        properties.insert(name.as_str(), input_of(kind, value).schema);
        required.push(OrderedJson::Text(name.into()));
    }
    if required.is_empty() {
        return None;
    }
    let mut schema: OrderedMap<OrderedJson> = OrderedMap::default();
    schema.insert("type", "object".into());
    schema.insert("additionalProperties", OrderedJson::Bool(false));
    schema.insert("properties", properties.into());
    schema.insert("required", OrderedJson::List(required.into()));
    Some(schema.into())
}

/// The messages of the body: a line such as `user:` begins one.
fn read_turns(
    front: &FrontMatter<'_>,
    file: SourceFile<'_>,
    (style, form): (PlaceholderStyle, Form),
    reader: &mut ImportReader<'_>,
) -> Vec<ImportedTurn> {
    // Jinja takes one line break from the end in the first form. The second strips them all.
    let body = front.body;
    let mut turns = Vec::new();
    let threads = thread_names(front.root.as_ref());
    let mut open = OpenMessage { role: Role::System, lines: Vec::new(), start: front.body_start };
    let mut offset = front.body_start;
    for raw in body.split_inclusive('\n') {
        let start = offset;
        offset = offset.saturating_add(raw.len());
        let line = raw.trim_end_matches(['\n', '\r']);
        let bare = line.trim();
        if bare.starts_with("![thread]") || threads.iter().any(|name| is_placeholder_of(bare, name)) {
            reader.leave_out(
                file,
                start,
                "the thread is left out; write `{{history}}` in its place to send earlier turns",
            );
            continue;
        }
        if line.contains("![") && line.contains("](") {
            reader.refuse(file, start, "a picture is not imported", "take it out");
            continue;
        }
        match role_of(line) {
            None => open.lines.push(line),
            Some(Ok(role)) => {
                let done = core::mem::replace(&mut open, OpenMessage { role, lines: Vec::new(), start: offset });
                turns.extend(done.turn(file, style, form, reader));
            }
            Some(Err(word)) => reader.refuse(file, start, &format!("messages of `{word}` are not imported"), ""),
        }
    }
    turns.extend(open.turn(file, style, form, reader));
    turns
}

/// The inputs that represent earlier messages.
fn thread_names(root: Option<&YamlNode>) -> Vec<String> {
    let inputs = root.and_then(|root| root.get("inputs"));
    let listed = items(inputs).iter().filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), item)));
    let named = mapping_entries(inputs).iter().map(|(key, value)| (key.name.clone(), value));
    let is_thread = |(_, node): &(String, &YamlNode)| node.get("kind").and_then(YamlNode::as_str) == Some("thread");
    listed.chain(named).filter(is_thread).map(|(name, _)| name).collect()
}

/// Whether a line is a placeholder of this name and nothing else.
fn is_placeholder_of(line: &str, name: &str) -> bool {
    line.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).is_some_and(|inner| inner.trim() == name)
}

struct OpenMessage<'t> {
    role: Role,
    lines: Vec<&'t str>,
    start: usize,
}

impl OpenMessage<'_> {
    fn turn(
        self,
        file: SourceFile<'_>,
        style: PlaceholderStyle,
        form: Form,
        reader: &mut ImportReader<'_>,
    ) -> Option<ImportedTurn> {
        let text = self.lines.join("\n");
        let text = match form {
            Form::First => text,
            Form::Second => text.trim_matches('\n').to_owned(),
        };
        if text.trim().is_empty() {
            return None;
        }
        let pieces = scan_placeholders(&Fragment { file, start: self.start, text }, style, reader);
        Some(ImportedTurn { role: self.role, pieces, line: file.line(self.start) })
    }
}

/// The role that a line names: `user:`, `# user:`, `user[name="x"]:`. An unknown role is the error.
fn role_of(line: &str) -> Option<Result<Role, String>> {
    let text = line.trim().strip_suffix(':')?.trim();
    let text = text.strip_prefix('#').unwrap_or(text).trim();
    let word = text.split_once('[').filter(|(_, rest)| rest.ends_with(']')).map_or(text, |(word, _)| word);
    match word.to_ascii_lowercase().as_str() {
        "system" | "developer" => Some(Ok(Role::System)),
        "user" => Some(Ok(Role::User)),
        "assistant" => Some(Ok(Role::Model)),
        other @ ("function" | "tool" | "tools") => Some(Err(other.to_owned())),
        _ => None,
    }
}
