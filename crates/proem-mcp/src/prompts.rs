//! The prompts of the book, as clients list and render them.
//!
//! A prompt's description says who wrote it. Arguments are texts by the protocol: an input that is none is given as JSON.

use proem_app::Error;
use proem_app::project::{BookReading, OpenProject};
use proem_engine::assembly::Assembly;
use proem_engine::message::Role as PartRole;
use proem_engine::prompt::compiled_prompt::Prompt as BookPrompt;
use proem_engine::prompt::origin::Origin;
use proem_guard::show;
use rmcp::model::{GetPromptResult, JsonObject, MetaObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value as Json, json};

use crate::McpSetting;
use crate::answer::text_without_credentials;
use crate::rendering::{prepare_prompt, request_notes};

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 400;

/// The prompts whose inputs a client can give: texts, and what JSON can write.
///
/// # Errors
///
/// If the book can't be read.
pub(crate) fn list_prompts(setting: &McpSetting) -> Result<Vec<Prompt>, Error> {
    let project = OpenProject::open(&setting.root, &setting.places, BookReading::Trusted)?;
    let book = project.book()?;
    let mut listed = Vec::new();
    for name in book.prompts() {
        // A prompt that can't be read is a matter for `proem book check`; the others are there all the same.
        let Ok(prompt) = book.prompt(&name, None) else { continue };
        if is_offered(&name, &prompt) {
            listed.push(described_prompt(&name, &prompt));
        }
    }
    Ok(listed)
}

/// Renders a prompt with a client's arguments.
///
/// # Errors
///
/// If the book has no such prompt, or the arguments don't suit it.
pub(crate) fn get_prompt(setting: &McpSetting, name: &str, arguments: JsonObject) -> Result<GetPromptResult, Error> {
    let project = OpenProject::open(&setting.root, &setting.places, BookReading::Trusted)?;
    let prompt = project.book()?.prompt(name, None)?;
    if !is_offered(name, &prompt) {
        return Err(Error::invalid("this prompt's inputs can't be given over MCP; `proem run` takes them"));
    }
    let inputs = prompt_inputs(&prompt, arguments)?;
    let prepared = prepare_prompt(setting, name, inputs, None)?.prepared;
    let mut result = GetPromptResult::new(prompt_messages(&prepared.request.assembly));
    let notes = request_notes(&prepared);
    let mut description = authored_description(&prompt);
    if !notes.is_empty() {
        description.push_str(&format!(" Notes: {}.", notes.join("; ")));
    }
    result.description = Some(description);
    result.meta = Some(prompt_meta(&prompt));
    Ok(result)
}

/// The texts of a request by their speakers, in its order.
///
/// The protocol has no role for the operator. Its text goes first, in a message of its own.
fn prompt_messages(assembly: &Assembly) -> Vec<PromptMessage> {
    let mut spoken: Vec<(PartRole, String)> = Vec::new();
    for section in &assembly.sections {
        match spoken.last_mut() {
            Some((role, text)) if *role == section.role => text.push_str(&section.text),
            _ => spoken.push((section.role, section.text.clone())),
        }
    }
    let message = |(role, text): (PartRole, String)| {
        let role = if role == PartRole::Model { Role::Assistant } else { Role::User };
        PromptMessage::new_text(role, text_without_credentials(text.trim_end()))
    };
    spoken.into_iter().map(message).collect()
}

/// Whether a client can give everything that a prompt takes. Pictures, files and turns are no texts, and the inputs of an
/// assembly are found out in a repository.
fn is_offered(name: &str, prompt: &BookPrompt) -> bool {
    let schema = prompt.file.input_schema();
    let inputs = schema.get("properties").and_then(Json::as_object);
    let has_media = inputs.into_iter().flatten().any(|(input, _)| prompt.file.is_media(input));
    name != proem_agents::assemble::PROMPT && prompt.file.history.is_none() && !has_media
}

fn described_prompt(name: &str, prompt: &BookPrompt) -> Prompt {
    let schema = prompt.file.input_schema();
    let required = |input: &str| {
        let listed = schema.get("required").and_then(Json::as_array);
        listed.into_iter().flatten().any(|required| required.as_str() == Some(input))
    };
    let inputs = schema.get("properties").and_then(Json::as_object);
    let argument = |(input, schema): (&String, &Json)| {
        let about = schema.get("description").and_then(Json::as_str).map(shown_description);
        let form = if is_text(schema) { None } else { Some("as JSON".to_owned()) };
        let about = [about, form].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let argument = PromptArgument::new(input.clone()).with_required(required(input));
        if about.is_empty() { argument } else { argument.with_description(about) }
    };
    let arguments = inputs.into_iter().flatten().map(argument).collect();
    Prompt::new(name, Some(authored_description(prompt)), Some(arguments)).with_meta(prompt_meta(prompt))
}

/// The prompt's purpose, and who wrote it.
fn authored_description(prompt: &BookPrompt) -> String {
    let purpose = prompt.file.strict.purpose.as_deref().map(shown_description);
    let author = match prompt_origin(prompt) {
        Origin::Embedded => "ships with Proem",
        Origin::User => "from your own book",
        Origin::Project => "from this project's book, which you trusted",
        Origin::Configured | Origin::Named => "from a file that your configuration names",
    };
    purpose.map_or_else(|| author.to_owned(), |purpose| format!("{purpose} ({author})"))
}

/// The least trusted author of a prompt's files.
fn prompt_origin(prompt: &BookPrompt) -> Origin {
    prompt.files.iter().map(|(_, origin)| *origin).max().unwrap_or(Origin::Embedded)
}

fn prompt_meta(prompt: &BookPrompt) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("proem/origin".to_owned(), json!(prompt_origin(prompt).as_str()));
    meta.insert("proem/version".to_owned(), json!(prompt.id.version));
    meta.insert("proem/closure".to_owned(), json!(prompt.id.closure));
    meta
}

/// The inputs that a client's arguments are. A text is taken as it is, everything else is read as JSON.
fn prompt_inputs(prompt: &BookPrompt, arguments: JsonObject) -> Result<Json, Error> {
    let schema = prompt.file.input_schema();
    let input = |(name, given): (String, Json)| {
        let declared = schema.get("properties").and_then(|inputs| inputs.get(&name));
        let value = match (&given, declared) {
            (Json::String(text), Some(declared)) if !is_text(declared) => {
                serde_json::from_str(text).map_err(|error| {
                    let name = show::terminal_str(&name);
                    Error::invalid(format!("the argument `{name}` is not JSON ({error}); its input is no text"))
                })?
            }
            _ => given,
        };
        Ok((name, value))
    };
    Ok(Json::Object(arguments.into_iter().map(input).collect::<Result<_, Error>>()?))
}

/// Whether an input takes a text as it is.
fn is_text(schema: &Json) -> bool {
    let named = |kind: &Json| kind.as_str() == Some("string");
    schema.get("type").is_some_and(|kind| named(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(named)))
}

fn shown_description(text: &str) -> String {
    show::terminal_str(&text.chars().take(MAX_DESCRIPTION).collect::<String>()).into_string()
}
