//! Reads what other systems write about a project.
//!
//! A text is one JSON value or one on each line; a value is one signal, or a list or page of them. Whose it is is told
//! by its content, each value for itself.
//!
//! Invariants: each value becomes signals or is malformed with its place, never neither; one that is malformed stops
//! no other; nothing panics on any input.

mod asana;
mod authentication;
mod graph;
mod jira;
pub mod mail;
mod plain;
mod recognise;
mod taking;

use std::fmt;

use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_text::{Label, Source};
use serde_json::Value as Json;

use super::signal::ProjectSignal;
use recognise::{ListedItem, PageKind, SignalShape};

/// What an adapter has to know beside the text.
#[derive(Debug, Clone, Copy)]
pub struct SourceContext<'a> {
    /// The time of the clock.
    pub now: Time,
    /// The mail servers, by the names that they give themselves in `Authentication-Results`, that are believed.
    pub mail_servers: &'a [String],
}

/// What came of a text.
#[derive(Debug, Default)]
pub struct NormalisedSignals {
    /// The signals, in the order of the text.
    pub signals: Vec<ProjectSignal>,
    /// What could not be read.
    pub malformed: Vec<MalformedSignal>,
    /// Whether the last page of an answer that was read is the last one there is, and the text is whole.
    pub end: AnswerEnd,
}

/// What follows the last page of an answer, or the end of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Nothing that it tells of.
    #[default]
    Whole,
    /// More pages, which were not read.
    More,
    /// The rest of a value: the text ends in the middle of it, as if somebody still wrote it.
    Rest,
}

/// Something that is no signal, or a broken one.
#[derive(Debug)]
pub struct MalformedSignal {
    /// Where it stands.
    pub place: SignalPlace,
    /// Why it could not be read, in words of ours: lower case, no full stop.
    pub reason: String,
    /// What stands there.
    pub text: Untrusted<String>,
}

/// Where in a text a signal stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalPlace {
    /// The line, from 1; `None` if the text is one value.
    pub line: Option<usize>,
    /// The place within its list, from 0.
    pub item: Option<usize>,
}

impl fmt::Display for SignalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.item) {
            (None, None) => f.write_str("the whole text"),
            (Some(line), None) => write!(f, "line {line}"),
            (None, Some(item)) => write!(f, "item {item}"),
            (Some(line), Some(item)) => write!(f, "line {line}, item {item}"),
        }
    }
}

/// Reads a text: one JSON value, or one on each line. A byte order mark is skipped.
#[must_use]
pub fn normalise(text: &str, context: &SourceContext<'_>) -> NormalisedSignals {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = NormalisedSignals::default();
    if text.trim().is_empty() {
        all.refuse(SignalPlace::default(), "nothing but spaces; give signals as JSON, or one on each line", text);
    } else if is_lines(text) {
        let mut end = AnswerEnd::Whole;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            end = all.read(line, SignalPlace { line: Some(index.saturating_add(1)), item: None }, context);
        }
        all.end = if end == AnswerEnd::Rest { end } else { all.end };
    } else if all.read(text, SignalPlace::default(), context) == AnswerEnd::Rest {
        all.end = AnswerEnd::Rest;
    }
    all
}

/// Reads one JSON value.
#[must_use]
pub fn normalise_value(value: Json, context: &SourceContext<'_>) -> NormalisedSignals {
    let mut all = NormalisedSignals::default();
    all.take(value, SignalPlace::default(), context);
    all
}

/// Whether a text has a value on each line: several lines, the first or at least half of which have the brackets of a
/// whole value. One broken line among them makes no page of them.
fn is_lines(text: &str) -> bool {
    let is_whole = |line: &str| {
        let line = line.trim();
        line.len() > 1 && (line.starts_with('{') && line.ends_with('}') || line.starts_with('[') && line.ends_with(']'))
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let begins_whole = lines.next().is_some_and(is_whole);
    let (mut whole, mut all) = (usize::from(begins_whole), 1_usize);
    for line in lines {
        all = all.saturating_add(1);
        whole = whole.saturating_add(usize::from(is_whole(line)));
    }
    all > 1
        && (begins_whole
            || whole.saturating_mul(2) >= all && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err())
}

impl NormalisedSignals {
    /// Reads a text of one value, and says what of that value follows it.
    fn read(&mut self, text: &str, place: SignalPlace, context: &SourceContext<'_>) -> AnswerEnd {
        match serde_json::from_str(text) {
            Ok(value) => {
                self.take(value, place, context);
                AnswerEnd::Whole
            }
            Err(error) => {
                let reason = match place.line {
                    Some(_) => format!("no JSON: {} at column {}", fault(&error), error.column()),
                    None => format!("no JSON: {} at line {}, column {}", fault(&error), error.line(), error.column()),
                };
                self.refuse(place, reason, text);
                if error.is_eof() { AnswerEnd::Rest } else { AnswerEnd::Whole }
            }
        }
    }

    /// A value: a list of others, a page of them, or one signal.
    fn take(&mut self, value: Json, place: SignalPlace, context: &SourceContext<'_>) {
        match recognise::page(value) {
            PageKind::One(value) => self.one(value, place, context),
            PageKind::Many(items, end) => {
                self.end = end.unwrap_or(self.end);
                for (index, ListedItem { value, shape }) in items.into_iter().enumerate() {
                    let place = SignalPlace { item: Some(index), ..place.clone() };
                    match shape {
                        Some(shape) => self.shaped(value, shape, place, context),
                        None => self.one(value, place, context),
                    }
                }
            }
        }
    }

    fn one(&mut self, value: Json, place: SignalPlace, context: &SourceContext<'_>) {
        match recognise::shape(&value) {
            Ok(shape) => self.shaped(value, shape, place, context),
            Err(reason) => self.refuse(place, reason, &value.to_string()),
        }
    }

    fn shaped(&mut self, value: Json, shape: SignalShape, place: SignalPlace, context: &SourceContext<'_>) {
        let fields = match value {
            Json::Object(fields) if shape.fault(&fields).is_none() => fields,
            other => {
                let reason = other.as_object().and_then(|fields| shape.fault(fields));
                self.refuse(place, reason.unwrap_or("no object; a signal is one"), &other.to_string());
                return;
            }
        };
        let via = (shape == SignalShape::Plain).then(|| Label::from_source(Source::named("plain/line")));
        let draft = match shape {
            SignalShape::JiraWebhook => jira::webhook(fields),
            SignalShape::JiraIssue => jira::issue(fields),
            SignalShape::GraphMessage => graph::message(fields, context),
            SignalShape::GraphNotification => graph::notification(fields, context),
            SignalShape::AsanaEvent => asana::event(fields),
            SignalShape::AsanaTask => asana::task(fields),
            SignalShape::AsanaStory => asana::story(fields),
            SignalShape::Plain => plain::line(fields),
        };
        self.signals.push(draft.finish(context.now, via.as_ref()));
    }

    fn refuse(&mut self, place: SignalPlace, reason: impl Into<String>, text: &str) {
        let label = Label::from_source(Source::named("signal/malformed"));
        self.malformed.push(MalformedSignal {
            place,
            reason: reason.into(),
            text: Untrusted::new(text.to_owned(), label),
        });
    }
}

/// What is wrong with JSON, without a word of it.
fn fault(error: &serde_json::Error) -> &'static str {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => "it ends too early",
        _ if error.to_string().starts_with("recursion limit") => "more than 127 values in one another",
        _ if error.to_string().starts_with("trailing characters") => "something follows its end",
        _ => "a sign that can't stand there",
    }
}
