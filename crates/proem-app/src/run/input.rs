//! The inputs of runs: files and other readers, and texts that are laid over them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use proem_engine::history;
use proem_engine::media::{MediaFacts, data_address};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_guard::show;
use proem_runtime::files;
use proem_text::OrderedMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use crate::error::Error;
use crate::message::Hint;

/// The most bytes of one run's inputs.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The source of inputs.
pub enum Source<'s> {
    /// A file, which may be read more than once.
    File(&'s Path),
    /// A reader, under its name in messages.
    Reader(&'s str, Box<dyn BufRead + 's>),
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Source").field(&self.shown()).finish()
    }
}

impl<'s> Source<'s> {
    /// Its name in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::File(path) => input_path(path),
            Self::Reader(name, _) => (*name).to_owned(),
        }
    }

    /// Opens it.
    pub(super) fn open(self) -> Result<Box<dyn BufRead + 's>, Error> {
        match self {
            Self::File(path) => {
                let failed = |error| Error::invalid(format!("could not open {}: {error}", input_path(path)));
                Ok(Box::new(BufReader::new(files::open_regular(path).map_err(failed)?)))
            }
            Self::Reader(_, reader) => Ok(reader),
        }
    }
}

/// Whether a text that could be an object of inputs is looked at as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputReading {
    /// An object of JSON is the inputs; whatever could be meant in two ways is refused.
    #[default]
    Detected,
    /// The text is the prompt's one text input, also if it looks like JSON.
    Text,
}

/// The inputs of a prompt, and the way a text becomes them: of a file, of standard input and of each line of a batch
/// alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputForm {
    /// The prompt's inputs with their schemas, by name.
    declared: serde_json::Map<String, Json>,
    /// The prompt's only input, if it is a text.
    text: Option<String>,
    /// Its inputs that are pictures or files.
    files: BTreeSet<String>,
    reading: InputReading,
}

impl InputForm {
    /// The inputs of this prompt.
    ///
    /// # Errors
    ///
    /// If the caller asks for a text, and the prompt takes more or something else.
    pub fn of(prompt: &Prompt, reading: InputReading) -> Result<Self, Error> {
        let schema = prompt.file.input_schema();
        let declared = schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
        let mut all = declared.iter();
        let text = match (all.next(), all.next()) {
            (Some((name, schema)), None) if is_text_schema(schema) && !prompt.file.is_media(name) => Some(name.clone()),
            _ => None,
        };
        let files = declared.keys().filter(|name| prompt.file.is_media(name)).cloned().collect();
        let mut declared = declared.clone();
        if prompt.file.history.is_some() {
            declared.insert(history::INPUT.to_owned(), serde_json::json!({ "type": "array" }));
        }
        if reading == InputReading::Text && text.is_none() {
            return Err(Error::invalid("only a prompt whose single input is a text takes a text as it is")
                .hinting(Hint::NameInput));
        }
        Ok(Self { declared, text, files, reading })
    }

    /// The inputs that `text` holds, with these values laid over them. `shown` is its source in messages.
    ///
    /// # Errors
    ///
    /// If the text is not an object of JSON where the prompt needs one, can be meant in two ways, or is the input that
    /// one of the values gives.
    pub(super) fn inputs(
        &self,
        text: &str,
        shown: &str,
        given: &[(String, OrderedJson)],
    ) -> Result<OrderedJson, Error> {
        let mut inputs = match self.text.as_ref().filter(|_| self.is_plain(text)) {
            Some(name) if given.iter().any(|(known, _)| known == name) => {
                let name = show::terminal_str(name);
                return Err(Error::invalid(format!("the input `{name}` is given twice; leave one out")));
            }
            Some(name) => OrderedMap::from_iter([(name.as_str(), OrderedJson::from(text))]).into(),
            None => self.object(text, shown)?,
        };
        set_inputs(&mut inputs, given)?;
        Ok(inputs)
    }

    /// Whether a text for a prompt of one text can only be meant as that text.
    fn is_plain(&self, text: &str) -> bool {
        self.reading == InputReading::Text || !looks_like_json(text)
    }

    /// The inputs by name that `text` holds.
    fn object(&self, text: &str, shown: &str) -> Result<OrderedJson, Error> {
        let Some(name) = &self.text else {
            return serde_json::from_str::<UniqueNames>(text).map(|read| read.0).map_err(|error| {
                // The message of the parser doesn't quote what is there.
                let kind = if error.is_data() { "not an object of inputs" } else { "not JSON" };
                Error::invalid(format!("{shown} is {kind}: {error}; give an object with the prompt's inputs by name"))
            });
        };
        let two_ways = |what: &str| {
            let name = show::terminal_str(name);
            let problem = format!(
                "{shown} {what}: it could be the text of `{name}`, or the prompt's inputs by name; write \
                 {{\"{name}\": \"…\"}} for inputs by name, or send it as a text"
            );
            Error::invalid(problem).hinting(Hint::SendTextAsItIs)
        };
        let value = serde_json::from_str::<UniqueNames>(without_byte_order_mark(text))
            .map_err(|error| two_ways(&format!("begins like JSON and is not ({error})")))?;
        match value.0.fields() {
            Some(fields) if fields.iter().len() > 0 && fields.iter().all(|(name, _)| self.schema(name).is_some()) => {
                Ok(value.0)
            }
            Some(_) => Err(two_ways("is a JSON object with names that are not inputs of the prompt")),
            None => Err(two_ways("is JSON, but no object")),
        }
    }

    /// The value of an input that a file gives: its text, or, where the prompt takes a picture or file, all of it. A list
    /// of files takes one more with each.
    ///
    /// # Errors
    ///
    /// If it can't be read, is too long, is no text where one is wanted or no picture where that is, or the input was
    /// given before.
    pub fn add_file(
        &self,
        given: &mut Vec<(String, OrderedJson)>,
        name: &str,
        source: Source<'_>,
    ) -> Result<(), Error> {
        let is_list = self.files.contains(name) && self.schema(name).is_some_and(is_list);
        let before = given.iter().position(|(known, _)| known == name);
        if before.is_some() && !is_list {
            let name = show::terminal_str(name);
            return Err(Error::invalid(format!("the input `{name}` is given twice; leave one out")));
        }
        let value =
            OrderedJson::from(if self.files.contains(name) { file_address(source)? } else { verbatim_input(source)? });
        match (is_list, before.and_then(|place| given.get_mut(place))) {
            (true, Some((_, OrderedJson::List(items)))) => Arc::make_mut(items).push(value),
            (true, _) => given.push((name.to_owned(), OrderedJson::List(Arc::new(vec![value])))),
            (false, _) => given.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The turns of a conversation before the one that is asked: a list of JSON, an object with such a list under
    /// `messages`, or a turn on each line.
    ///
    /// # Errors
    ///
    /// If the prompt takes none, or the source can't be read or is something else.
    pub fn history(&self, source: Source<'_>) -> Result<OrderedJson, Error> {
        if self.schema(history::INPUT).is_none() {
            return Err(Error::invalid(
                "the prompt takes no history; write {{history}} into its file where the turns go",
            ));
        }
        let shown = source.shown();
        let text = read_input(source, &shown)?;
        let text = without_byte_order_mark(&text);
        let whole = serde_json::from_str::<OrderedJson>(text);
        let turns = match &whole {
            Ok(OrderedJson::List(_)) => return Ok(whole.unwrap_or_default()),
            Ok(OrderedJson::Map(fields)) => fields.get("messages").filter(|messages| is_turns(messages)).cloned(),
            _ => None,
        };
        if let Some(turns) = turns {
            return Ok(turns);
        }
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let turn = |(number, line): (usize, &str)| {
            let number = number.saturating_add(1);
            let problem = |what: &str| {
                Error::invalid(format!(
                    "{shown}, line {number}: {what}; a history is a JSON list of turns, or a turn such as \
                     {{\"role\": \"user\", \"content\": \"…\"}} on each line"
                ))
            };
            let value =
                serde_json::from_str::<OrderedJson>(line).map_err(|error| problem(&format!("not JSON ({error})")))?;
            if value.fields().is_some() { Ok(value) } else { Err(problem("no turn")) }
        };
        Ok(OrderedJson::List(Arc::new(lines.map(turn).collect::<Result<_, _>>()?)))
    }

    /// Whether the caller sends a text as it is.
    pub(super) fn is_text_asked_for(&self) -> bool {
        self.reading == InputReading::Text
    }

    /// The schema of an input. `None` if the prompt declares none of that name.
    pub(super) fn schema(&self, name: &str) -> Option<&Json> {
        self.declared.get(name)
    }
}

const fn is_turns(value: &OrderedJson) -> bool {
    matches!(value, OrderedJson::List(_))
}

/// Whether a schema takes a list.
fn is_list(schema: &Json) -> bool {
    match schema.get("type") {
        Some(Json::String(kind)) => kind == "array",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    }
}

/// Whether a schema takes texts and nothing else.
fn is_text_schema(schema: &Json) -> bool {
    match schema.get("type") {
        Some(Json::String(kind)) => kind == "string",
        Some(Json::Array(kinds)) => kinds.iter().all(|kind| kind == "string" || kind == "null"),
        _ => false,
    }
}

/// Whether a text is JSON that isn't only a number or a word, or begins like an object.
fn looks_like_json(text: &str) -> bool {
    let text = without_byte_order_mark(text).trim_start();
    match text.chars().next() {
        Some('{') => matches!(text.chars().skip(1).find(|c| !c.is_whitespace()), Some('"' | '}')),
        Some('[' | '"') => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
        _ => false,
    }
}

/// A text without the mark that some editors write before it, which JSON doesn't have.
fn without_byte_order_mark(text: &str) -> &str {
    text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace())
}

/// A value whose outermost object names nothing twice: of two texts under one name, one would vanish.
struct UniqueNames(OrderedJson);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = OrderedJson;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<OrderedJson, A::Error> {
                let mut fields = OrderedMap::default();
                while let Some((name, value)) = entries.next_entry::<String, OrderedJson>()? {
                    if fields.get(&name).is_some() {
                        return Err(serde::de::Error::custom("a name is given twice"));
                    }
                    fields.insert(name.as_str(), value);
                }
                Ok(fields.into())
            }
        }
        deserializer.deserialize_map(Names).map(Self)
    }
}

/// The inputs of a single run in that form, with these values laid over them by name.
///
/// # Errors
///
/// If they can't be read, are not an object of JSON where one is wanted, or an input is given twice.
pub fn single_run_inputs(
    source: Option<Source<'_>>,
    form: &InputForm,
    given: &[(String, OrderedJson)],
) -> Result<OrderedJson, Error> {
    let Some(source) = source else {
        let mut inputs = OrderedMap::default().into();
        set_inputs(&mut inputs, given)?;
        return Ok(inputs);
    };
    let shown = source.shown();
    form.inputs(&read_input(source, &shown)?, &shown, given)
}

/// A text as it is, whatever it looks like.
///
/// # Errors
///
/// If it can't be read, is too long, or is no text.
pub fn verbatim_input(source: Source<'_>) -> Result<String, Error> {
    let shown = source.shown();
    read_input(source, &shown)
}

/// A picture or file as an address that holds it.
///
/// # Errors
///
/// If it can't be read, is too long, or is no picture or file that providers take.
pub fn file_address(source: Source<'_>) -> Result<String, Error> {
    let shown = source.shown();
    let bytes = read_bytes(source, &shown, MediaFacts::MAX_BYTES as u64, "a provider takes no more")?;
    data_address(&bytes).map_err(|fault| Error::invalid(format!("{shown} {}", fault.in_words())))
}

/// Lays values over inputs.
pub(super) fn set_inputs(inputs: &mut OrderedJson, given: &[(String, OrderedJson)]) -> Result<(), Error> {
    let OrderedJson::Map(fields) = inputs else {
        return Err(Error::invalid("the input is not a JSON object; give one with the prompt's inputs by name"));
    };
    let fields = Arc::make_mut(fields);
    for (name, value) in given {
        fields.insert(name.as_str(), value.clone());
    }
    Ok(())
}

/// A file's name in messages.
pub(super) fn input_path(path: &Path) -> String {
    format!("`{}`", show::terminal_str(&path.display().to_string()))
}

fn read_input(source: Source<'_>, shown: &str) -> Result<String, Error> {
    let bytes = read_bytes(source, shown, MAX_BYTES, "shorten the inputs")?;
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{shown} is not UTF-8; convert it")))
}

fn read_bytes(source: Source<'_>, shown: &str, most: u64, remedy: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = source.open()?.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::outside(format!("could not read {shown}: {e}")))?;
    if bytes.len() as u64 > most {
        return Err(Error::invalid(format!("{shown} has more than {most} bytes; {remedy}")));
    }
    Ok(bytes)
}
