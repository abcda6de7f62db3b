//! The turns of a conversation before the one that is asked: an input, placed where the prompt file says.
//!
//! Invariants: roles are read off the history's own fields and never off a text. A history has turns of the user, of
//! the model and results of tools, and nothing of it becomes the operator's. A user's turn and a tool's result are
//! between delimiters unless the prompt file declares the history trusted. A model's turn is under the model's role and
//! carries the label `model`. Each call has its result before anything else is said.

mod pieces;

use std::sync::Arc;

use proem_guard::contain::{ContainmentMode, model_turn};
use proem_guard::{ContainmentPart, InstallationKey, LabelTree, Tag, Untrusted, contain};
use proem_text::{Label, Source, json, span::Span};
use serde_json::{Value as Json, json as value};

use self::pieces::{HistoryPiece, PieceKind, read_pieces};
use crate::assemble::{PlacedContainment, label_of};
use crate::assembly::{PlacedSection, SectionPart};
use crate::error::{Error, ErrorKind};
use crate::input::{DeclaredTrust, InputTrust};
use crate::message::Role;
use crate::prompt::compiled_prompt::Prompt;
use crate::report::{self, SectionReport};
use crate::section::{CacheClass, Layer, SectionGroup, Trust};
use crate::tokens::CachingCounter;

/// The name of the input.
pub const INPUT: &str = "history";

/// The most turns of a history.
pub const MAX_TURNS: usize = 1_000;

/// The cap for its turns.
pub(crate) const LAYER: Layer = Layer::Context;

/// The source of what a model said before.
const MODEL: Source = Source::named("model");

/// The source of what a tool gave.
const TOOL: Source = Source::named("tool");

/// The schema that the input must meet before its turns are read.
pub(crate) fn schema() -> Json {
    value!({ "type": "array", "maxItems": MAX_TURNS, "items": { "type": "object" } })
}

/// A turn, or a part of one, as it is in the request.
#[derive(Debug)]
pub(crate) struct HistoryTurn {
    name: String,
    role: Role,
    trust: Trust,
    part: Option<SectionPart>,
    text: String,
    /// The text with its delimiter's id blanked.
    pub(crate) keyless_text: String,
    label: Label,
    contained: Vec<PlacedContainment>,
    pub(crate) tokens: usize,
}

/// The reader of a history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryReading<'h> {
    pub(crate) prompt: &'h Prompt,
    pub(crate) key: &'h InstallationKey,
    pub(crate) declared: DeclaredTrust,
}

impl HistoryReading<'_> {
    /// The turns of a history, in order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for the first turn that is none, with its number and what to do.
    /// [`ErrorKind::TrustViolation`] for a model's turn that somebody outside may have made up.
    pub(crate) fn turns(self, history: &LabelTree, counts: &mut CachingCounter<'_>) -> Result<Vec<HistoryTurn>, Error> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, problem);
        let pieces = read_pieces(history).map_err(invalid)?;
        if self.declared == DeclaredTrust::Overridden && pieces.iter().any(|piece| piece.is_attributed()) {
            let problem = "trust_violation: with untrusted inputs a history may hold the user's turns only, because \
                           anybody could have made up what the model or a tool said";
            return Err(Error::new(ErrorKind::TrustViolation, problem));
        }
        let calls = pieces.iter().any(|piece| matches!(piece.kind, PieceKind::Call { .. }));
        if calls && self.prompt.file.strict.tools.is_empty() {
            return Err(invalid(
                "the history has calls of tools, and the prompt names none; name them under `tools` of `proem`".into(),
            ));
        }
        let mut turns = Vec::new();
        let mut pieces = pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            // A user's turn is joined with what the user says next, unless a role is between.
            let is_joined = pieces.peek().is_none_or(|next| next.role == Role::User);
            let mut turn = self.render_turn(&piece, is_joined).map_err(invalid)?;
            turn.tokens = counts.count(&turn.text);
            turns.push(turn);
        }
        Ok(turns)
    }

    fn render_turn(self, piece: &HistoryPiece<'_>, is_joined: bool) -> Result<HistoryTurn, String> {
        let turn = HistoryTurn {
            name: piece.name(),
            role: piece.role,
            trust: Trust::Untrusted,
            part: None,
            text: String::new(),
            keyless_text: String::new(),
            label: Label::trusted(),
            contained: Vec::new(),
            tokens: 0,
        };
        match &piece.kind {
            PieceKind::Text(LabelTree::Text(text)) if piece.role == Role::User && self.is_vouched() => {
                let text = if is_joined { format!("{}\n\n", text.trim_end_matches('\n')) } else { text.clone() };
                Ok(HistoryTurn { trust: Trust::Trusted, keyless_text: text.clone(), text, ..turn })
            }
            PieceKind::Text(leaf) if piece.role == Role::User => {
                let (text, mode) = self.outside_text(leaf, Source::named("input/history"));
                Ok(self.contain_turn(turn, &text, mode))
            }
            PieceKind::Text(leaf) => {
                let (text, mode) = self.outside_text(leaf, MODEL);
                let text = with_source(&text, MODEL);
                // A suspicious text stays marked, whoever is said to have written it.
                if mode == ContainmentMode::Datamark {
                    return Ok(self.contain_turn(turn, &text, mode));
                }
                let (text, label) = model_turn(&text, &Tag::UNTRUSTED_CONTEXT);
                Ok(HistoryTurn { keyless_text: text.clone(), text, label, ..turn })
            }
            PieceKind::Call { id, name, arguments, label } => {
                let written = Untrusted::new(json::compact(arguments), label.join(&Label::from_source(MODEL)));
                let (text, label) = model_turn(&written, &Tag::UNTRUSTED_CONTEXT);
                if serde_json::from_str::<Json>(&text).is_err() {
                    return Err(format!(
                        "{}: the arguments of the call imitate a delimiter of Proem's; leave the call out",
                        piece.place()
                    ));
                }
                let part = Some(SectionPart::Call { id: id.clone(), name: name.clone() });
                Ok(HistoryTurn { part, keyless_text: text.clone(), text, label, ..turn })
            }
            PieceKind::Result { id, name, leaf } => {
                let (text, mode) = self.outside_text(leaf, TOOL);
                let part = Some(SectionPart::CallResult { id: id.clone(), name: name.clone() });
                Ok(self.contain_turn(HistoryTurn { part, ..turn }, &with_source(&text, TOOL), mode))
            }
        }
    }

    /// Whether the prompt file declares the history trusted, and that holds.
    fn is_vouched(self) -> bool {
        let declared = self.prompt.file.strict.inputs.iter().find(|(name, _)| name == INPUT);
        self.declared == DeclaredTrust::Holds && declared.is_some_and(|(_, trust)| *trust == InputTrust::Trusted)
    }

    /// A leaf as text from outside, and how it is contained.
    fn outside_text(self, leaf: &LabelTree, source: Source) -> (Untrusted<String>, ContainmentMode) {
        let usual = if self.prompt.file.is_plain { ContainmentMode::Exact } else { ContainmentMode::Delimit };
        match leaf {
            LabelTree::Flagged(text) => (text.clone(), ContainmentMode::Datamark),
            LabelTree::Outside(text) => (text.clone(), usual),
            LabelTree::Text(text) => (Untrusted::new(text.clone(), Label::from_source(source)), usual),
            _ => (Untrusted::new(String::new(), Label::from_source(source)), usual),
        }
    }

    fn contain_turn(self, turn: HistoryTurn, text: &Untrusted<String>, mode: ContainmentMode) -> HistoryTurn {
        let contained = contain(&[ContainmentPart::Kept(text, mode)], &Tag::UNTRUSTED_CONTEXT, self.key);
        let (text, keyless_text) = (contained.text().to_owned(), contained.keyless_text());
        let contained = vec![PlacedContainment { at: 0, contained: Arc::new(contained) }];
        HistoryTurn { label: label_of(&contained), text, keyless_text, contained, ..turn }
    }
}

/// A text whose label names a further source.
fn with_source(text: &Untrusted<String>, source: Source) -> Untrusted<String> {
    let label = text.label().join(&Label::from_source(source));
    let ours = Untrusted::new(String::new(), label);
    Untrusted::join(&[&ours, text], "").0
}

impl HistoryTurn {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The turn where it is, and its account.
    pub(crate) fn place_at(&self, range: Span, tokens: usize) -> (PlacedSection, SectionReport) {
        let placed = PlacedSection {
            name: self.name.clone(),
            role: self.role,
            trust: self.trust,
            cache: CacheClass::Never,
            layer: LAYER,
            rank: match self.trust {
                Trust::Trusted => SectionGroup::TrustedVolatile,
                _ => SectionGroup::UntrustedVolatile,
            },
            part: self.part.clone(),
            text: self.text.clone(),
            label: self.label.clone(),
            tokens,
            range,
        };
        let report = report::unfitted_section(&placed, self.tokens, &self.contained);
        (placed, report)
    }
}
