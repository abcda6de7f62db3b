//! Any prompt of the book as one contracted call: inputs in, a request out.
//!
//! The caller vouches for inputs that the prompt declares trusted. Everything else is from outside: the guard looks at
//! it, and it reaches the model contained. The parts that the guard keeps out are noted.

use crate::screen::{PromptPlace, Screen, Screening, ScreeningNote};
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Appendix;
use proem_engine::budget::AnswerLength;
use proem_engine::cache::{CachePlan, plan_request};
use proem_engine::call::{AnswerForm, Arrival, CacheInquiry, Request};
use proem_engine::contract::Contract;
use proem_engine::history;
use proem_engine::input::{DeclaredTrust, InputTrust, Inputs};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::Profile;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{EnforcementSource, Model};
use proem_engine::report::Report;
use proem_engine::run::{AnswerRequirement, FORMAT_SECTION};
use proem_engine::tokens::CachingCounter;
use proem_engine::{Error, ErrorKind};
use proem_guard::{InstallationKey, LabelTree, LanguageFamily, Untrusted, show};
use proem_text::{Label, Source};

/// The placeholder for a text that is kept out.
const WITHHELD: &str = "(withheld)";

/// The writer of the inputs, on whom their labels depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputAuthor {
    /// The caller, who vouches for what the prompt declares trusted.
    ByCaller,
    /// Somebody else: nothing in them is trusted.
    FromOutside,
}

/// A prompt and what it is asked with.
#[derive(Debug, Clone, Copy)]
pub struct PromptCall<'a> {
    /// The prompt that asks.
    pub prompt: &'a Prompt,
    /// The required form of its answer.
    pub owed: AnswerRequirement<'a>,
    /// Its inputs: an object, gone through in its order.
    pub inputs: &'a OrderedJson,
    /// The author of the inputs, which decides whether any of them is trusted.
    pub given: InputAuthor,
    /// The model that is asked.
    pub model: &'a Model,
    /// The installation's key.
    pub key: &'a InstallationKey,
    /// The guard for text from outside.
    pub screening: Screening<'a>,
    /// The most input tokens. `None` leaves it to the prompt and the model.
    pub input_tokens: Option<usize>,
    /// The tokens of the answer, if a person chose them.
    pub output_tokens: Option<usize>,
    /// How the answer arrives.
    pub arrival: Arrival,
    /// The lessons and wishes.
    pub profile: Option<&'a Profile>,
    /// Whether the provider is asked what its cache makes of the request.
    pub inquiry: Option<&'a CacheInquiry>,
}

/// A prompt whose inputs have their labels: whoever made them vouches for what is ours, and had the rest looked at.
#[derive(Debug, Clone, Copy)]
pub struct LabelledCall<'a> {
    /// The prompt that asks.
    pub prompt: &'a Prompt,
    /// The required form of its answer.
    pub owed: AnswerRequirement<'a>,
    /// The values for the prompt, each with its label.
    pub inputs: &'a Inputs,
    /// Whether the prompt's declarations of trust hold for them.
    pub declared: DeclaredTrust,
    /// The model that is asked.
    pub model: &'a Model,
    /// The installation's key.
    pub key: &'a InstallationKey,
    /// The most input tokens. `None` leaves it to the prompt and the model.
    pub input_tokens: Option<usize>,
    /// The most tokens of the answer.
    pub answer: AnswerLength,
    /// How the answer arrives.
    pub arrival: Arrival,
    /// The lessons and wishes.
    pub profile: Option<&'a Profile>,
    /// Whether the provider is asked what its cache makes of the request.
    pub inquiry: Option<&'a CacheInquiry>,
}

/// A request with its account.
#[derive(Debug, Clone)]
pub struct PreparedRequest {
    /// The question to the model.
    pub request: Request,
    /// The account of every token.
    pub report: Report,
    /// The forecast of the provider's cache.
    pub plan: CachePlan,
    /// Texts that did not go in as they were.
    pub noted: Vec<ScreeningNote>,
    /// How many texts from outside were looked at.
    pub scanned: usize,
}

/// Assembles the request.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] if the inputs are no object, and what
/// [`proem_engine::assemble::assemble_request`] refuses.
pub fn prepare_prompt_call(ask: &PromptCall<'_>, counts: &mut CachingCounter<'_>) -> Result<PreparedRequest, Error> {
    let (inputs, noted, scanned) = prompt_call_inputs(ask)?;
    let call = LabelledCall {
        prompt: ask.prompt,
        owed: ask.owed,
        inputs: &inputs,
        declared: match ask.given {
            InputAuthor::ByCaller => DeclaredTrust::Holds,
            InputAuthor::FromOutside => DeclaredTrust::Overridden,
        },
        model: ask.model,
        key: ask.key,
        input_tokens: ask.input_tokens,
        answer: AnswerLength::of(ask.output_tokens, ask.prompt),
        arrival: ask.arrival,
        profile: ask.profile,
        inquiry: ask.inquiry,
    };
    Ok(PreparedRequest { noted, scanned, ..prepare_labelled(&call, counts)? })
}

/// Assembles the request of inputs that have their labels. Nothing is looked at or kept out here.
///
/// # Errors
///
/// The errors of [`proem_engine::assemble::assemble_request`].
pub fn prepare_labelled(ask: &LabelledCall<'_>, counts: &mut CachingCounter<'_>) -> Result<PreparedRequest, Error> {
    let counter = counts.counter();
    let answer = answer_form(ask);
    let contract = ask.owed.contract().filter(|_| matches!(answer, AnswerForm::Value { .. }));
    let prints_format = ask.prompt.prints_output_format();
    let printed = contract.filter(|_| prints_format).map(|contract| format_note(contract, ask.model));
    let is_told = ask.model.answers.is_by_prompt() && !prints_format;
    let format = contract.filter(|_| is_told).map(|contract| format_note(contract, ask.model));
    // If the way is found by trying, a later one may put the note behind everything else.
    let way = ask.owed.contract().map(|_| ask.model.answers).filter(|_| ask.model.is_way_tried());
    let is_open = ask.model.answers_by == EnforcementSource::Tried && format.is_none();
    let later = ask.owed.contract().filter(|_| is_open).map(Contract::form_note);
    let reserved = format.as_deref().or(later.as_deref()).map_or(0, |format| counter.count(format));
    let options = AssemblyOptions {
        input_tokens: ask.input_tokens.map(|tokens| tokens.saturating_sub(reserved)),
        window: ask.model.context_tokens.map(|tokens| tokens.get().saturating_sub(reserved)),
        output_tokens: Some(ask.answer.tokens(ask.model)),
        declared: ask.declared,
        profile: ask.profile,
        model: Some(ask.model),
        output_format: printed.as_deref(),
        ..AssemblyOptions::new(ask.key)
    };
    let (mut assembly, report) = assemble_request(ask.prompt, ask.inputs, counts, &options)?;
    if let Some(format) = &format {
        assembly.append(FORMAT_SECTION, Appendix::Ours(format), counter);
    }
    let model = ask.model.name.clone();
    let sampling = ask.prompt.file.header.sampling.clone();
    let inquiry = ask.inquiry.cloned();
    let request = Request { model, assembly, answer, way, sampling, arrival: ask.arrival, inquiry };
    let plan = plan_request(&request, ask.model, counter);
    Ok(PreparedRequest { request, report, plan, noted: Vec::new(), scanned: 0 })
}

/// The form of the model's answer: calls as far as it can be made to call.
fn answer_form(ask: &LabelledCall<'_>) -> AnswerForm {
    match ask.owed {
        AnswerRequirement::Text => AnswerForm::Text,
        AnswerRequirement::Value(contract) => AnswerForm::Value { tool: contract.tool().clone() },
        AnswerRequirement::Calls { tools, .. } => tools.form(ask.model.calls()),
    }
}

/// The note to a model on its answer if its provider doesn't hold it to the schema: the schema, if the model is a
/// listed one, and otherwise a form to fill in, which small models follow better.
fn format_note(contract: &Contract, model: &Model) -> String {
    if model.sources.is_empty() { contract.form_note() } else { contract.schema_note() }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct InputText {
    /// Its place among all texts of all inputs.
    order: usize,
    /// The input's name.
    input: String,
}

impl PromptPlace for InputText {
    fn names(&self) -> (&str, &str) {
        ("input", &self.input)
    }

    fn section(&self) -> usize {
        0
    }

    fn is_long(&self) -> bool {
        true
    }
}

fn prompt_call_inputs(ask: &PromptCall<'_>) -> Result<(Inputs, Vec<ScreeningNote>, usize), Error> {
    let Some(fields) = ask.inputs.fields() else {
        let problem = "the input is not a JSON object; give one with the prompt's inputs by name";
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    };
    let mut screen = Screen::new(ask.screening);
    let mut order = 0;
    let screened = fields
        .iter()
        .flat_map(|(name, value)| screened_parts(ask, name, value).into_iter().map(move |value| (name, value)));
    for (name, value) in screened {
        visit(value, name, None, &mut |text, what, syntax| {
            let place = InputText { order, input: name.to_owned() };
            order = order.saturating_add(1);
            match syntax {
                _ if shown_before(ask.prompt, name) => screen.admit_shown(place, what, text),
                Some(syntax) => screen.admit_source(place, what, text, syntax),
                None => screen.admit(place, what, text, None),
            };
        });
    }
    screen.rejoin();
    let mut order = 0;
    let mut values = Inputs::new();
    for (name, value) in fields.iter() {
        // A file is no text: it is never printed, and the guard can't read what a model sees in it.
        let value = match (is_vouched(ask, name), value) {
            (true, OrderedJson::List(turns)) if ask.prompt.file.is_history(name) => {
                LabelTree::list(turns.iter().map(|turn| match is_users_own(turn) {
                    true => LabelTree::from(turn),
                    false => build_input_tree(turn, name, &mut order, &screen),
                }))
            }
            (true, _) => LabelTree::from(value),
            (false, _) if ask.prompt.file.is_media(name) => unread_input(value, name),
            (false, _) => build_input_tree(value, name, &mut order, &screen),
        };
        values.insert(name.to_owned(), value);
    }
    let scanned = screen.scanned();
    Ok((values, screen.into_noted(), scanned))
}

/// The prompt and its input that hold what the person has read before: an earlier question and its answer.
const SHOWN_BEFORE: (&str, &str, &str) = ("ask", "question", "earlier");

/// Whether the person who asks has read every word of an input before.
fn shown_before(prompt: &Prompt, input: &str) -> bool {
    (prompt.id.agent.as_str(), prompt.id.name.as_str(), input) == SHOWN_BEFORE
}

/// Whether the caller vouches for an input.
fn is_vouched(ask: &PromptCall<'_>, name: &str) -> bool {
    let declared = ask.prompt.file.strict.inputs.iter().find(|(declared, _)| declared == name);
    ask.given == InputAuthor::ByCaller && declared.is_some_and(|(_, trust)| *trust == InputTrust::Trusted)
}

/// The parts of an input that the guard looks at: those that the caller doesn't vouch for, without files. Of a history
/// a caller vouches for the user's own turns alone.
fn screened_parts<'v>(ask: &PromptCall<'_>, name: &str, value: &'v OrderedJson) -> Vec<&'v OrderedJson> {
    match (is_vouched(ask, name), value) {
        (true, OrderedJson::List(turns)) if ask.prompt.file.is_history(name) => {
            turns.iter().filter(|turn| !is_users_own(turn)).collect()
        }
        (true, _) => Vec::new(),
        (false, _) if ask.prompt.file.is_media(name) => Vec::new(),
        (false, _) => vec![value],
    }
}

/// Whether a turn of a history has only texts of the user's, and so no result of a tool.
fn is_users_own(turn: &OrderedJson) -> bool {
    let field = |value: &OrderedJson, name: &str| value.fields().and_then(|fields| fields.get(name)).cloned();
    let is_text = |value: &OrderedJson| matches!(value, OrderedJson::Text(_));
    let is_text_part = |part: &OrderedJson| {
        is_text(part)
            || part.fields().is_some_and(|fields| fields.iter().all(|(name, _)| matches!(name, "type" | "text")))
    };
    let is_user = field(turn, "role") == Some(OrderedJson::from("user"));
    is_user
        && match field(turn, "content") {
            Some(OrderedJson::List(parts)) => parts.iter().all(is_text_part),
            Some(content) => is_text(&content),
            None => false,
        }
}

/// The family that a file is read as, as a scan of its folder reads it: no file is a message but a mail.
fn family_of_file(path: &str) -> Option<LanguageFamily> {
    let is_mail = [".eml", ".mbox"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    LanguageFamily::of_name(path).or((!is_mail).then_some(LanguageFamily::Plain))
}

/// Every text of an input, in its order, with the family that it is read as: by the `path` that is beside it, or by its
/// lines. `None` for prose.
fn visit(
    value: &OrderedJson,
    name: &str,
    path: Option<&str>,
    seen: &mut impl FnMut(&Untrusted<String>, &str, Option<LanguageFamily>),
) {
    match value {
        OrderedJson::Text(text) => {
            let syntax = path.map_or_else(|| LanguageFamily::of_text(text), family_of_file);
            let what = path.map_or_else(
                || format!("input `{name}`"),
                |path| format!("{} of input `{name}`", show::terminal_str(path)),
            );
            seen(&outside_input_text(text, name), &what, syntax);
        }
        OrderedJson::List(items) => items.iter().for_each(|item| visit(item, name, None, seen)),
        OrderedJson::Map(fields) => {
            let path = fields.iter().find_map(|(key, field)| match field {
                // A turn is no file, whatever somebody writes beside its text.
                OrderedJson::Text(path) if key == "path" && name != history::INPUT => Some(path.as_ref()),
                _ => None,
            });
            fields.iter().for_each(|(key, field)| visit(field, name, path.filter(|_| key == "text"), seen));
        }
        OrderedJson::Null | OrderedJson::Bool(_) | OrderedJson::Number(_) => {}
    }
}

/// The input with those of its texts that stay.
fn build_input_tree(value: &OrderedJson, name: &str, order: &mut usize, screen: &Screen<'_, InputText>) -> LabelTree {
    match value {
        OrderedJson::Text(_) => {
            let place = InputText { order: *order, input: name.to_owned() };
            *order = order.saturating_add(1);
            screen.value(&place, |text| text).unwrap_or_else(|| LabelTree::Outside(outside_input_text(WITHHELD, name)))
        }
        OrderedJson::List(items) => {
            LabelTree::list(items.iter().map(|item| build_input_tree(item, name, order, screen)))
        }
        OrderedJson::Map(fields) => {
            let fields = fields.iter().map(|(key, field)| (key, build_input_tree(field, name, order, screen)));
            LabelTree::map(fields)
        }
        other => LabelTree::from(other),
    }
}

/// The input as it was given, from outside.
fn unread_input(value: &OrderedJson, name: &str) -> LabelTree {
    match value {
        OrderedJson::Text(text) => LabelTree::Outside(outside_input_text(text, name)),
        OrderedJson::List(items) => LabelTree::list(items.iter().map(|item| unread_input(item, name))),
        other => LabelTree::from(other),
    }
}

fn outside_input_text(text: &str, name: &str) -> Untrusted<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let source = Source::parse(&format!("input/{}", name.chars().map(plain).collect::<String>()));
    Untrusted::new(text.to_owned(), Label::from_source(source.unwrap_or(Source::named("input"))))
}
