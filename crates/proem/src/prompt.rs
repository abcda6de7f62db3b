//! Prompts rendered under a budget.

pub use proem_engine::cache::{CachePlan, CachePrediction};
pub use proem_engine::message::Role;
pub use proem_engine::report::Report;

use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_agents::screen::Screening;
use proem_engine::call::Arrival;
use proem_engine::input::InputTrust;
use proem_engine::ordered_json::OrderedJson;
#[cfg(feature = "llm")]
use proem_engine::prompt::book::Book;
use proem_engine::prompt::book::{LoosePrompt, loose_prompt};
use proem_engine::prompt::compiled_prompt::Prompt as Loaded;
use proem_engine::run::AnswerRequirement;
use proem_engine::tokens::CachingCounter;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::key::derivation_key;
use crate::tokens::model_named;
use crate::{Error, ErrorKind, Guard};

/// A prompt: its template, its sections with their trust, its inputs, and what its answer must be.
#[derive(Debug)]
pub struct Prompt {
    pub(crate) loaded: Loaded,
    #[cfg(feature = "llm")]
    pub(crate) book: Book,
    #[cfg(feature = "llm")]
    name: (String, String),
}

impl Prompt {
    /// Reads a prompt from the text of a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] with everything that is wrong, each with its line. A prompt that uses partials or
    /// schemas of other files is read from a book, with `proem_engine::prompt::book`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let LoosePrompt { book, name, version } =
            loose_prompt("prompt", text.to_owned(), |_| Ok::<_, proem_engine::Error>(None))?;
        let loaded = book.prompt(&name, Some(&version))?;
        Ok(Self {
            loaded,
            #[cfg(feature = "llm")]
            book,
            #[cfg(feature = "llm")]
            name: (name, version),
        })
    }

    /// The names of the inputs that the prompt declares trusted: the caller vouches for their texts. Texts of all others
    /// are contained.
    pub fn trusted_inputs(&self) -> impl Iterator<Item = &str> {
        let declared = self.loaded.file.strict.inputs.iter();
        declared.filter(|(_, trust)| *trust == InputTrust::Trusted).map(|(name, _)| name.as_str())
    }

    /// The same prompt once more, for a run that keeps it.
    #[cfg(feature = "llm")]
    pub(crate) fn loaded_again(&self) -> Result<Loaded, Error> {
        let (name, version) = &self.name;
        Ok(self.book.prompt(name, Some(version))?)
    }

    /// Renders the prompt with its inputs, as the default [`RenderOptions`] say.
    ///
    /// # Errors
    ///
    /// Those of [`RenderOptions::render`].
    pub fn render(&self, inputs: &impl Serialize) -> Result<Rendered, Error> {
        RenderOptions::default().render(self, inputs)
    }
}

/// How a prompt is rendered: for which model, in how many tokens, with which delimiters.
///
/// It is read from an object of `model`, `max_tokens`, `key` and `untrusted`, each of which may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RenderOptions {
    model: Option<String>,
    max_tokens: Option<usize>,
    key: Option<[u8; 32]>,
    #[serde(rename = "untrusted")]
    from_outside: bool,
    #[serde(skip)]
    guard: Option<Guard>,
}

impl RenderOptions {
    /// For the model of that name, whose tokens are counted and whose cache is planned for. Otherwise for the role
    /// `small`.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// In at most so many tokens: sections shrink along their ladders, the least important first, and the report says
    /// which did.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// With delimiters derived from this secret of 32 random bytes, so that several processes write the same bytes.
    /// Otherwise with the guard's, or with one that each process makes of its own.
    #[must_use]
    pub const fn key(mut self, key: [u8; 32]) -> Self {
        self.key = Some(key);
        self
    }

    /// With inputs that somebody else wrote: none of them is trusted, whatever the prompt declares.
    #[must_use]
    pub const fn untrusted(mut self) -> Self {
        self.from_outside = true;
        self
    }

    /// With a guard of the caller's. Otherwise with [`Guard::default`].
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Renders a prompt with its inputs: an object of them by name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if an input is missing or has the wrong shape, with its path; if trust would be broken;
    /// or if what must stay does not fit the budget.
    pub fn render(&self, prompt: &Prompt, inputs: &impl Serialize) -> Result<Rendered, Error> {
        let inputs = in_declared_order(inputs)?;
        let model = model_named(self.model.as_deref().unwrap_or("small"))?;
        let guard = self.guard.clone().unwrap_or_default();
        let (scanners, policy) = guard.loaded()?;
        let key = derivation_key(self.key.or(guard.key))?;
        let call = PromptCall {
            prompt: &prompt.loaded,
            owed: AnswerRequirement::Text,
            inputs: &inputs,
            given: if self.from_outside { InputAuthor::FromOutside } else { InputAuthor::ByCaller },
            model: &model,
            key: &key,
            screening: Screening { guard: scanners, policy },
            input_tokens: self.max_tokens,
            output_tokens: None,
            arrival: Arrival::Whole,
            profile: None,
            inquiry: None,
        };
        let counter = model.counter();
        let prepared = prepare_prompt_call(&call, &mut CachingCounter::new(counter.as_ref()))?;
        Ok(Rendered { prepared })
    }
}

/// A rendered prompt with its account.
#[derive(Debug, Clone)]
pub struct Rendered {
    prepared: PreparedRequest,
}

impl Rendered {
    /// All of it, in the order in which a model reads it.
    #[must_use]
    pub fn text(&self) -> String {
        self.prepared.request.assembly.text()
    }

    /// Its messages: whose words they are, and the words.
    #[must_use]
    pub fn messages(&self) -> Vec<(Role, String)> {
        let mut messages: Vec<(Role, String)> = Vec::new();
        for section in &self.prepared.request.assembly.sections {
            match messages.last_mut() {
                Some((role, text)) if *role == section.role => text.push_str(&section.text),
                _ => messages.push((section.role, section.text.clone())),
            }
        }
        messages
    }

    /// The number of tokens of all messages, by the model's tokeniser.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.prepared.request.assembly.tokens()
    }

    /// The account of every token, with the parts that were shortened or left out.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.prepared.report
    }

    /// The sections that were shortened or left out, each with the reason.
    #[must_use]
    pub fn shortened(&self) -> Vec<String> {
        let sections = self.prepared.report.sections.iter();
        sections.filter_map(|section| Some(format!("{}: {}", section.name, section.reason.as_ref()?))).collect()
    }

    /// The forecast of the provider's cache.
    #[must_use]
    pub const fn cache(&self) -> &CachePlan {
        &self.prepared.plan
    }

    /// The guard's effect on texts from outside that did not go in unchanged, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.prepared.noted.iter().map(proem_agents::screen::ScreeningNote::in_words).collect()
    }
}

impl Serialize for Rendered {
    /// An object with what each method gives, by its name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages: Vec<_> = self.messages().into_iter().map(|(role, text)| (role.as_str(), text)).collect();
        let mut fields = serializer.serialize_struct("Rendered", 7)?;
        fields.serialize_field("text", &self.text())?;
        fields.serialize_field("messages", &messages)?;
        fields.serialize_field("tokens", &self.tokens())?;
        fields.serialize_field("shortened", &self.shortened())?;
        fields.serialize_field("cache", &self.cache().sentence())?;
        fields.serialize_field("notes", &self.notes())?;
        fields.serialize_field("report", self.report())?;
        fields.end()
    }
}

/// The inputs as an object in its own order.
pub(crate) fn in_declared_order(inputs: &impl Serialize) -> Result<OrderedJson, Error> {
    // By way of text, since a map of `serde_json` would sort the names.
    let text = serde_json::to_string(inputs).map_err(|error| Error::of(ErrorKind::Invalid, error))?;
    serde_json::from_str(&text).map_err(|error| Error::of(ErrorKind::Invalid, error))
}
