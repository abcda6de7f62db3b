//! The inputs of runs: files and other readers, and texts that are laid over them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use proem_engine::ordered::OrderedJson;
use proem_engine::prompt::loaded::Prompt;
use proem_runtime::files;
use proem_text::OrderedMap;
use serde_json::Value as Json;

use crate::error::Error;

/// The most bytes of one run's inputs.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Where inputs are read from.
pub enum Source<'s> {
    /// A file, which may be read more than once.
    File(&'s Path),
    /// Whatever is there, under the name that messages have for it.
    Reader(&'s str, Box<dyn BufRead + 's>),
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Source").field(&self.shown()).finish()
    }
}

impl<'s> Source<'s> {
    /// What messages call it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::File(path) => shown(path),
            Self::Reader(name, _) => (*name).to_owned(),
        }
    }

    /// Opens it.
    pub(super) fn open(self) -> Result<Box<dyn BufRead + 's>, Error> {
        match self {
            Self::File(path) => {
                let failed = |error| Error::invalid(format!("could not open {}: {error}", shown(path)));
                Ok(Box::new(BufReader::new(files::open(path).map_err(failed)?)))
            }
            Self::Reader(_, reader) => Ok(reader),
        }
    }
}

/// What a file with the inputs of one run holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputForm {
    /// An object of JSON with the inputs by name.
    Object,
    /// The one input of that name, as it stands; an object with nothing but that name and a text is an object of inputs.
    Text(String),
}

impl InputForm {
    /// A prompt with a single input, which is a text, is given that; every other one an object.
    #[must_use]
    pub fn of(prompt: &Prompt) -> Self {
        let schema = prompt.file.input_schema();
        let mut inputs = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        let (Some((name, declared)), None) = (inputs.next(), inputs.next()) else { return Self::Object };
        let is_text = match declared.get("type") {
            Some(Json::String(kind)) => kind == "string",
            Some(Json::Array(kinds)) => kinds.iter().all(|kind| kind == "string" || kind == "null"),
            _ => false,
        };
        if is_text { Self::Text(name.clone()) } else { Self::Object }
    }
}

/// The inputs of a single run in that form, with these texts laid over them by name.
///
/// # Errors
///
/// If they can't be read, or are not an object of JSON where one is wanted.
pub fn one(source: Option<Source<'_>>, form: InputForm, texts: &[(String, String)]) -> Result<OrderedJson, Error> {
    let mut inputs = match (source, form) {
        (None, _) => OrderedMap::default().into(),
        (Some(source), InputForm::Text(name)) => {
            if texts.iter().any(|(known, _)| *known == name) {
                let name = proem_guard::show::terminal_str(&name);
                return Err(Error::invalid(format!("the input `{name}` is given twice; leave one out")));
            }
            let text = text(source)?;
            let text = only_member(&text, &name).unwrap_or(text);
            OrderedMap::from_iter([(name.as_str(), OrderedJson::from(text.as_str()))]).into()
        }
        (Some(source), InputForm::Object) => {
            let shown = source.shown();
            let text = read(source, &shown)?;
            serde_json::from_str(&text).map_err(|error| not_json(&shown, &error))?
        }
    };
    set(&mut inputs, texts)?;
    Ok(inputs)
}

/// The text of an object that has nothing but this input: an object of inputs by name, as other prompts are given one.
fn only_member(text: &str, name: &str) -> Option<String> {
    let mut fields = serde_json::from_str::<serde_json::Map<String, Json>>(text).ok()?;
    match (fields.len(), fields.remove(name)) {
        (1, Some(Json::String(value))) => Some(value),
        _ => None,
    }
}

/// A text as it stands, whatever it looks like.
///
/// # Errors
///
/// If it can't be read, is too long, or is no text.
pub fn text(source: Source<'_>) -> Result<String, Error> {
    let shown = source.shown();
    read(source, &shown)
}

/// Lays texts over inputs.
pub(super) fn set(inputs: &mut OrderedJson, texts: &[(String, String)]) -> Result<(), Error> {
    let OrderedJson::Map(fields) = inputs else {
        return Err(Error::invalid("the input is not a JSON object; give one with the prompt's inputs by name"));
    };
    let fields = Arc::make_mut(fields);
    for (name, text) in texts {
        fields.insert(name.as_str(), OrderedJson::from(text.as_str()));
    }
    Ok(())
}

/// What messages call a file.
pub(super) fn shown(path: &Path) -> String {
    format!("`{}`", proem_guard::show::terminal_str(&path.display().to_string()))
}

fn not_json(shown: &str, error: &serde_json::Error) -> Error {
    // The message of the parser doesn't quote what stands there.
    Error::invalid(format!("{shown} is not JSON: {error}; give an object with the prompt's inputs by name"))
}

fn read(source: Source<'_>, shown: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = source.open()?.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::outside(format!("could not read {shown}: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::invalid(format!("{shown} has more than {MAX_BYTES} bytes; shorten the inputs")));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{shown} is not UTF-8; convert it")))
}
