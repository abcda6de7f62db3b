//! Reads what other systems write about a project.
//!
//! A text is one JSON value or one on each line. A value is one signal, or a list or page of them. The content of each
//! value decides its source.
//!
//! Invariants: each value becomes signals or is malformed with its place, never neither. One that is malformed stops no
//! other. Nothing panics on any input.

mod asana;
mod audience;
mod authentication;
mod fields;
mod graph;
mod jira;
pub mod mail;
mod plain;
mod recognise;

use std::fmt;

use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_text::{Audience, Label, Source};
use serde_json::Value as Json;

pub use self::audience::SourceAudience;
pub(crate) use self::fields::text_at;
use super::signal::ProjectSignal;
use recognise::{ListedItem, PageKind, PageRun, SignalShape};

/// The context for an adapter, beside the text.
#[derive(Debug, Clone, Copy)]
pub struct SourceContext<'a> {
    /// The time of the clock.
    pub now: Time,
    /// The mail servers, by the names that they give themselves in `Authentication-Results`, that are believed.
    pub mail_servers: &'a [String],
    /// The circles of readers of sources, where that is not the organisation.
    pub audiences: &'a [SourceAudience],
}

/// The result for a text.
#[derive(Debug, Default)]
pub struct NormalisedSignals {
    /// The signals, in the order of the text.
    pub signals: Vec<ProjectSignal>,
    /// The unreadable parts.
    pub malformed: Vec<MalformedSignal>,
    /// Whether the last page of an answer that was read is the last one there is, and the text is whole.
    pub end: AnswerEnd,
    /// How much of a search its pages are. `None` without a page.
    pub search: Option<SearchExtent>,
}

/// How much of a search was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchExtent {
    /// All of it: its first page says that it is the first, and nothing follows the last one.
    Whole,
    /// Some pages of it, as far as they say.
    Part,
}

/// The end after the last page of an answer, or after a text.
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
    /// The line or page of its file.
    pub place: SignalPlace,
    /// The reason why it could not be read, in words of ours: lower case, without a full stop.
    pub reason: String,
    /// The text there.
    pub text: Untrusted<String>,
}

/// The place of a signal in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalPlace {
    /// The line, from 1. `None` if the text is one value.
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
pub fn normalise_signals(text: &str, context: &SourceContext<'_>) -> NormalisedSignals {
    let mut all = NormalisedSignals::default();
    for part in normalise_parts(text, *context) {
        all.signals.extend(part.signals);
        all.malformed.extend(part.malformed);
        (all.end, all.search) = (part.end, part.search);
    }
    all
}

/// Reads a text as [`normalise_signals`] does, a part at a time, so that a long one takes no more memory than a part of it:
/// some lines, or one value.
#[must_use]
pub fn normalise_parts<'t>(text: &'t str, context: SourceContext<'t>) -> SignalParts<'t> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A rest without space at its end is over when it is empty, so no part of it is searched for more.
    let rest =
        if is_lines(text) { UnreadText::Lines { text: text.trim_end(), next: 1 } } else { UnreadText::Value(text) };
    SignalParts { rest, context, end: AnswerEnd::Whole, search: None }
}

/// The parts of a text, one after the other. `end` and `search` of each are of all until there.
#[derive(Debug)]
pub struct SignalParts<'t> {
    rest: UnreadText<'t>,
    context: SourceContext<'t>,
    end: AnswerEnd,
    search: Option<SearchExtent>,
}

/// The unread part of a text.
#[derive(Debug)]
enum UnreadText<'t> {
    /// Lines, of which the first has a number.
    Lines {
        text: &'t str,
        next: usize,
    },
    Value(&'t str),
    Nothing,
}

/// How many lines are one part.
pub const LINES_TOGETHER: usize = 500;

impl Iterator for SignalParts<'_> {
    type Item = NormalisedSignals;

    fn next(&mut self) -> Option<NormalisedSignals> {
        let mut part = NormalisedSignals { end: self.end, search: self.search, ..NormalisedSignals::default() };
        match self.rest {
            UnreadText::Nothing => return None,
            UnreadText::Value(text) => {
                self.rest = UnreadText::Nothing;
                if text.trim().is_empty() {
                    let why = "nothing but spaces; give signals as JSON, or one on each line";
                    part.refuse(SignalPlace::default(), why, text);
                } else if part.read(text, SignalPlace::default(), &self.context) == AnswerEnd::Rest {
                    part.end = AnswerEnd::Rest;
                }
            }
            UnreadText::Lines { text, next } => {
                let mut left = text;
                let mut last = AnswerEnd::Whole;
                for number in next..next.saturating_add(LINES_TOGETHER) {
                    let (line, after) = left.split_once('\n').unwrap_or((left, ""));
                    let line = line.strip_suffix('\r').unwrap_or(line);
                    if !line.trim().is_empty() {
                        last = part.read(line, SignalPlace { line: Some(number), item: None }, &self.context);
                    }
                    left = after;
                }
                (self.end, self.search) = (part.end, part.search);
                if left.is_empty() {
                    self.rest = UnreadText::Nothing;
                    part.end = if last == AnswerEnd::Rest { last } else { part.end };
                } else {
                    self.rest = UnreadText::Lines { text: left, next: next.saturating_add(LINES_TOGETHER) };
                }
            }
        }
        Some(part)
    }
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
                    Some(_) => format!("no JSON: {} at column {}", json_fault(&error), error.column()),
                    None => {
                        format!("no JSON: {} at line {}, column {}", json_fault(&error), error.line(), error.column())
                    }
                };
                self.refuse(place, reason, text);
                if error.is_eof() { AnswerEnd::Rest } else { AnswerEnd::Whole }
            }
        }
    }

    /// A value: a list of others, a page of them, or one signal.
    fn take(&mut self, value: Json, place: SignalPlace, context: &SourceContext<'_>) {
        match recognise::page_kind(value) {
            PageKind::One(value) => self.one(value, place, context),
            PageKind::Many(items, run) => {
                if let Some(PageRun { begins, end }) = run {
                    let is_whole = begins && end == AnswerEnd::Whole && self.search.is_none();
                    self.search = Some(if is_whole { SearchExtent::Whole } else { SearchExtent::Part });
                    self.end = end;
                }
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
        match recognise::signal_shape(&value) {
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
        let draft = match shape {
            SignalShape::JiraWebhook => jira::webhook(fields),
            SignalShape::JiraIssue => jira::jira_issue_draft(fields),
            SignalShape::JiraSprint => jira::jira_sprint_draft(fields),
            SignalShape::GraphMessage => graph::graph_message_draft(fields, context),
            SignalShape::GraphNotification => graph::notification(fields, context),
            SignalShape::AsanaEvent => asana::asana_event_draft(fields),
            SignalShape::AsanaTask => asana::asana_task_draft(fields),
            SignalShape::AsanaStory => asana::story(fields),
            SignalShape::Plain => plain::line_draft(fields),
        };
        let mut label = audience::audience_label(&draft, context.audiences);
        if shape == SignalShape::Plain {
            label = label.join(&Label::from_source(Source::named("plain/line")));
        }
        self.signals.push(draft.finish(context.now, &label));
    }

    fn refuse(&mut self, place: SignalPlace, reason: impl Into<String>, text: &str) {
        let label = Label::from_source(Source::named("signal/malformed")).narrowed_to(Audience::Internal);
        self.malformed.push(MalformedSignal {
            place,
            reason: reason.into(),
            text: Untrusted::new(text.to_owned(), label),
        });
    }
}

/// The fault of JSON, without a word of it.
fn json_fault(error: &serde_json::Error) -> &'static str {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => "it ends too early",
        _ if error.to_string().starts_with("recursion limit") => "more than 127 values in one another",
        _ if error.to_string().starts_with("trailing characters") => "something follows its end",
        _ => "a sign that is not allowed there",
    }
}
