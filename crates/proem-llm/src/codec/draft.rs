//! An answer while it is read.
//!
//! Invariants: the pieces are in the order in which the model began them. No call is taken whose tool was not offered,
//! and no two with the same id.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::call::{
    AnswerForm, CacheDiagnosis, CallFailure, FailureKind, FinishReason, Request, Response, ResponsePart, ToolCall,
};
use proem_guard::{Untrusted, credential};
use proem_text::Label;
use serde_json::Value;

use crate::codec::complete::Watch;
use crate::codec::usage::UsageReport;

/// The most bytes of a name that a provider gives an answer or a model.
const MAX_NAME_BYTES: usize = 200;

/// The most bytes of a cut answer that are kept.
const MAX_CUT_BYTES: usize = 2_000;

/// The most bytes that are kept of an answer that nobody waited for any longer: more than any model writes.
const MAX_STOPPED_BYTES: usize = 1024 * 1024;

/// The most bytes of a provider's message, or of a name that a model made up, that are kept.
const MAX_SAID_BYTES: usize = 500;

/// The most tools that a message names.
const MAX_NAMED_TOOLS: usize = 10;

/// Whether an event was an answer's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamContinuation {
    More,
    Done,
}

/// The part of an answer that has been read.
#[derive(Debug)]
pub(crate) struct AnswerDraft {
    label: Label,
    /// Whether anything was asked: then a prompt without tokens is a count that nobody made.
    has_prompt: bool,
    offered: Vec<String>,
    watch: Watch,
    pieces: Vec<DraftPiece>,
    /// The bytes of everything that the model wrote, kept or not.
    content_bytes: usize,
    /// The piece up to which a listener was told, and its bytes of that.
    told: (usize, usize),
    /// The first text and the first refusal.
    text: Option<usize>,
    refusal: Option<usize>,
    /// The pieces by the number that the provider gives them.
    numbered: BTreeMap<u64, usize>,
    noted: BTreeSet<&'static str>,
    ids: BTreeSet<String>,
    /// Calls whose name and id were looked at.
    checked: BTreeSet<usize>,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) counts: UsageReport,
    /// The provider's account of its cache.
    pub(crate) diagnosis: Option<CacheDiagnosis>,
}

/// A piece of an answer in the making.
#[derive(Debug)]
pub(crate) enum DraftPiece {
    Text(String),
    Refusal(String),
    Call(DraftCall),
    Other(String),
}

/// A call in the making.
#[derive(Debug, Default)]
pub(crate) struct DraftCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// Arguments that came with the call's beginning; what comes after it counts more.
    pub(crate) given: String,
}

impl AnswerDraft {
    pub(crate) fn new(request: &Request) -> Self {
        let watch = match request.answer {
            AnswerForm::Value { .. } if request.way.is_some_and(|way| !way.is_by_prompt()) => Watch::on_value(),
            AnswerForm::Value { .. } => Watch::on(),
            AnswerForm::Text | AnswerForm::Tools { .. } => Watch::off(),
        };
        Self {
            label: request.label(),
            has_prompt: request.assembly.sections.iter().any(|section| !section.text.is_empty()),
            offered: request.answer.tools().iter().map(|tool| tool.name.clone()).collect(),
            watch,
            pieces: Vec::new(),
            content_bytes: 0,
            told: (0, 0),
            text: None,
            refusal: None,
            numbered: BTreeMap::new(),
            noted: BTreeSet::new(),
            ids: BTreeSet::new(),
            checked: BTreeSet::new(),
            model: None,
            id: None,
            finish: None,
            counts: UsageReport::default(),
            diagnosis: None,
        }
    }

    /// The answer comes in one piece: there is nothing to be stopped.
    pub(crate) const fn comes_whole(&mut self) {
        self.watch = Watch::off();
    }

    /// Notes the first model and id that the provider names.
    pub(crate) fn named(&mut self, message: &Value) {
        let name = |key: &str| {
            let name = message.get(key).and_then(Value::as_str)?;
            let is_name =
                (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(|b| (b' '..=b'~').contains(&b));
            is_name.then(|| name.to_owned())
        };
        self.model = self.model.take().or_else(|| name("model"));
        self.id = self.id.take().or_else(|| name("id"));
    }

    /// The piece that the provider calls `number`.
    pub(crate) fn numbered(&self, number: u64) -> Option<usize> {
        self.numbered.get(&number).copied()
    }

    /// The number of the last piece.
    pub(crate) fn last(&self) -> Option<usize> {
        self.pieces.len().checked_sub(1)
    }

    /// Begins a piece.
    pub(crate) fn begin(&mut self, number: Option<u64>, piece: DraftPiece) -> usize {
        self.count(match &piece {
            DraftPiece::Text(text) | DraftPiece::Refusal(text) => text,
            DraftPiece::Call(call) => &call.given,
            DraftPiece::Other(_) => "",
        });
        let place = self.pieces.len();
        match piece {
            DraftPiece::Text(_) if self.text.is_none() => self.text = Some(place),
            DraftPiece::Refusal(_) => self.refusal = self.refusal.or(Some(place)),
            DraftPiece::Text(_) | DraftPiece::Call(_) => self.watch = Watch::off(),
            DraftPiece::Other(_) => {}
        }
        self.pieces.push(piece);
        if let Some(number) = number {
            self.numbered.insert(number, place);
        }
        place
    }

    /// The first text, for providers whose answers have one.
    pub(crate) const fn text_place(&self) -> Option<usize> {
        self.text
    }

    /// The first refusal, for providers whose answers have one.
    pub(crate) const fn refusal_place(&self) -> Option<usize> {
        self.refusal
    }

    /// The bytes of everything that the model wrote, kept or not, without what frames it on the wire.
    pub(crate) const fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    /// Counts what the model wrote.
    pub(crate) const fn count(&mut self, written: &str) {
        self.content_bytes = self.content_bytes.saturating_add(written.len());
    }

    /// Begins a piece of something that is not kept, once for each word.
    pub(crate) fn note_other(&mut self, word: &'static str, written: &str) {
        self.count(written);
        if self.noted.insert(word) {
            self.begin(None, DraftPiece::Other(word.to_owned()));
        }
    }

    /// Adds text to the piece at `place`; what is no text stays as it is.
    pub(crate) fn add_text(&mut self, place: usize, more: &str) -> StreamContinuation {
        self.count(more);
        match self.pieces.get_mut(place) {
            Some(DraftPiece::Text(text)) => {
                let start = text.len();
                text.push_str(more);
                if self.watch.is_complete(text, start) {
                    self.finish = Some(FinishReason::Complete);
                    return StreamContinuation::Done;
                }
            }
            Some(DraftPiece::Refusal(text)) => text.push_str(more),
            Some(DraftPiece::Call(_) | DraftPiece::Other(_)) | None => {}
        }
        StreamContinuation::More
    }

    /// The call at `place`.
    pub(crate) fn call(&mut self, place: usize) -> Option<&mut DraftCall> {
        match self.pieces.get_mut(place) {
            Some(DraftPiece::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Adds arguments to the call at `place`, after a look at its name and id.
    pub(crate) fn add_arguments(&mut self, place: usize, more: &str) -> Result<(), CallFailure> {
        if more.is_empty() {
            return Ok(());
        }
        self.check_call(place)?;
        self.count(more);
        if let Some(call) = self.call(place) {
            call.arguments.push_str(more);
        }
        Ok(())
    }

    /// Looks at the name and id of the call at `place`, once.
    pub(crate) fn check_call(&mut self, place: usize) -> Result<(), CallFailure> {
        let Some(DraftPiece::Call(call)) = self.pieces.get(place) else { return Ok(()) };
        if !self.checked.insert(place) {
            return Ok(());
        }
        if !self.offered.contains(&call.name) {
            return Err(self.unknown_tool(&call.name));
        }
        if !call.id.is_empty() && !self.ids.insert(call.id.clone()) {
            let message = "the answer has two tool calls with the same id; try again, or ask for one call";
            let said = self.said(&call.id, MAX_SAID_BYTES);
            return Err(CallFailure { said, ..CallFailure::new(FailureKind::Malformed, message) });
        }
        Ok(())
    }

    fn unknown_tool(&self, name: &str) -> CallFailure {
        let offered = match self.offered.len() {
            0 => "none was".to_owned(),
            all => {
                let names: Vec<String> =
                    self.offered.iter().take(MAX_NAMED_TOOLS).map(|name| format!("`{name}`")).collect();
                let more = match all.saturating_sub(names.len()) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("offered: {}{more}", names.join(", "))
            }
        };
        let message = format!("the model called a tool that was not offered; {offered}; try again, or offer that tool");
        CallFailure { said: self.said(name, MAX_SAID_BYTES), ..CallFailure::new(FailureKind::UnknownTool, message) }
    }

    /// Text from outside for a failure. None if it is empty.
    pub(crate) fn said(&self, text: &str, most_bytes: usize) -> Option<Untrusted<String>> {
        capped_outside_text(text, most_bytes, &self.label)
    }

    /// The provider's words about a failure of its own.
    pub(crate) fn provider_said(&self, text: &str) -> Option<Untrusted<String>> {
        self.said(text, MAX_SAID_BYTES)
    }

    /// The text after the last given one, in the order of the pieces. An addition to a piece behind which another one
    /// has begun is not given: the listener compares with the whole at the end.
    pub(crate) fn more_text(&mut self) -> Option<Untrusted<String>> {
        let mut more = String::new();
        let (mut place, mut bytes) = self.told;
        while let Some(piece) = self.pieces.get(place) {
            if let DraftPiece::Text(text) = piece {
                more.push_str(text.get(bytes..).unwrap_or_default());
                bytes = text.len();
            }
            if place.saturating_add(1) >= self.pieces.len() {
                break;
            }
            (place, bytes) = (place.saturating_add(1), 0);
        }
        self.told = (place, bytes);
        (!more.is_empty()).then(|| Untrusted::new(more, self.label.clone()))
    }

    /// The part of an answer that nobody waits for any longer.
    pub(crate) fn said_so_far(&self) -> Option<Untrusted<String>> {
        self.said(&self.come(), MAX_STOPPED_BYTES)
    }

    /// The failure of an answer of which more came than is read, with what is read.
    pub(crate) fn too_large(&self, message: String) -> CallFailure {
        CallFailure { said: self.said(&self.come(), usize::MAX), ..CallFailure::new(FailureKind::TooLarge, message) }
    }

    /// The failure of an answer that ended too early, with what had come of it.
    pub(crate) fn cut(&self) -> CallFailure {
        let message = "the answer is incomplete; try again";
        CallFailure { said: self.said(&self.come(), MAX_CUT_BYTES), ..CallFailure::new(FailureKind::Cut, message) }
    }

    /// Everything that has come, one piece behind the other.
    fn come(&self) -> String {
        let mut come = String::new();
        for piece in &self.pieces {
            if let DraftPiece::Text(text)
            | DraftPiece::Refusal(text)
            | DraftPiece::Call(DraftCall { arguments: text, .. }) = piece
            {
                come.push_str(text);
            }
        }
        come
    }

    /// The answer, with all calls looked at.
    pub(crate) fn response(mut self) -> Result<Response, CallFailure> {
        for place in 0..self.pieces.len() {
            self.check_call(place)?;
        }
        let outside = |text: String| Untrusted::new(text, self.label.clone());
        let mut content = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            match piece {
                DraftPiece::Text(text) if text.is_empty() => {}
                DraftPiece::Refusal(text) if text.is_empty() => {}
                DraftPiece::Text(text) => content.push(ResponsePart::Text { text: outside(text) }),
                DraftPiece::Refusal(text) => content.push(ResponsePart::Refusal { text: outside(text) }),
                DraftPiece::Other(word) => content.push(ResponsePart::Other { word: outside(word) }),
                DraftPiece::Call(call) => content.push(ResponsePart::Call(ToolCall {
                    id: outside(call.id),
                    name: outside(call.name),
                    arguments: outside(call_arguments(call.arguments, call.given)),
                })),
            }
        }
        let has_refusal = content.iter().any(|piece| matches!(piece, ResponsePart::Refusal { .. }));
        let has_call = content.iter().any(|piece| matches!(piece, ResponsePart::Call(_)));
        let finish = match self.finish.unwrap_or(FinishReason::Unknown) {
            FinishReason::Stop if has_refusal => FinishReason::Refusal,
            // OpenAI stops where one function is forced.
            FinishReason::Stop if has_call => FinishReason::Calls,
            finish => finish,
        };
        // Servers that don't count write zero.
        let mut usage = self.counts.usage();
        usage.input = usage.input.filter(|tokens| *tokens > 0 || !self.has_prompt);
        usage.output = usage.output.filter(|tokens| *tokens > 0 || content.is_empty());
        usage.diagnosis = self.diagnosis.map(|found| CacheDiagnosis { answer: self.id.clone(), ..found });
        Ok(Response { model: self.model, id: self.id, content, finish, usage })
    }
}

/// A call without arguments is written as an empty object by some, and as nothing by others.
fn call_arguments(arguments: String, given: String) -> String {
    [arguments, given].into_iter().find(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}".to_owned())
}

/// The first bytes of a text from outside, up to a character's end. None if there is no text.
pub(crate) fn capped_outside_text(text: &str, most_bytes: usize, label: &Label) -> Option<Untrusted<String>> {
    let kept = credential::uncut_prefix(text, most_bytes);
    (!kept.is_empty()).then(|| Untrusted::new(kept.to_owned(), label.clone()))
}
