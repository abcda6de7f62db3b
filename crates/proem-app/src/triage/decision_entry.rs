//! The entry of a decision in the decision log: what could be chosen with all that spoke for and against it, what was
//! chosen, and what came of it.
//!
//! Invariant: words of somebody else's stay so in the entry, whoever decided.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_guard::LabelTree;
use proem_store::query::EscalationRow;
use proem_triage::artefact::{
    AppliedChange, ArtefactField, ArtefactItemId, ArtefactItemKind, ArtefactOperation, ArtefactStatement,
    ArtefactValue, DecisionOption, FieldForm, SignalReferences,
};
use proem_triage::plan::ArtefactSet;

use crate::effects::escalations::{self, EscalationCase};

/// A person's choice, and the consequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecidedOption<'d> {
    /// The option's id.
    pub(crate) option: &'d str,
    /// The person's own words.
    pub(crate) words: &'d str,
    /// The consequence, in words of ours.
    pub(crate) outcome: Option<&'d str>,
    /// The versions of artefacts that the option makes.
    pub(crate) made: &'d [AppliedChange],
}

/// A decision as it was made.
pub(super) struct Decided<'d> {
    pub(super) escalation: &'d EscalationRow,
    pub(super) chosen: &'d DecidedOption<'d>,
    pub(super) person: &'d str,
    pub(super) causes: &'d [SignalRevision],
    pub(super) related: Vec<ArtefactItemId>,
}

impl Decided<'_> {
    /// A text of ours that the person saw, or the person's own.
    fn own_words(&self, text: &str, most: usize) -> ArtefactStatement {
        let text: String = text.chars().take(most).collect();
        ArtefactStatement::by_person(&text, self.person)
    }

    /// A text of the question: ours is the person's from here on, and somebody else's stays so. `None` for what is no text, or
    /// is somebody else's without a signal that it comes from.
    fn statement(&self, tree: &LabelTree, most: usize) -> Option<ArtefactStatement> {
        let is_blank = |text: &str| text.trim().is_empty();
        match tree {
            LabelTree::Text(text) if !is_blank(text) => Some(self.own_words(text, most)),
            LabelTree::Outside(text) | LabelTree::Flagged(text)
                if !self.causes.is_empty() && !text.measure(|text| is_blank(text)) =>
            {
                let cut = text.clone().map(|text| text.chars().take(most).collect());
                let said = ArtefactStatement::inference(cut, self.causes.to_vec());
                Some(if matches!(tree, LabelTree::Flagged(_)) { said.flagged() } else { said })
            }
            _ => None,
        }
    }

    pub(super) fn operation(&self) -> ArtefactOperation {
        let case = escalations::escalation_case(self.escalation);
        let because = case.as_ref().and_then(|case| our_text(&case.because));
        let because = because.unwrap_or_else(|| "A question whose words are somebody else's was decided.".to_owned());
        let title = || self.own_words(because.split(" (").next().unwrap_or(&because), FieldForm::LINE);
        let options = self.options(case.as_ref());
        // Its subject stays somebody else's words, whoever decided.
        let title = case.and_then(heading_statement).unwrap_or_else(title);
        let DecidedOption { option, words, outcome, .. } = *self.chosen;
        let (decision, context) = match (self.label(option, FieldForm::PARAGRAPH), outcome) {
            (OptionLabel::Own(label), Some(outcome)) => {
                (self.own_words(&format!("{label}. {outcome}"), FieldForm::PARAGRAPH), because)
            }
            (OptionLabel::Own(label), None) => (self.own_words(&label, FieldForm::PARAGRAPH), because),
            (OptionLabel::Foreign(label), outcome) => {
                let context = outcome.map_or_else(|| because.clone(), |outcome| format!("{because} {outcome}"));
                (label, context)
            }
        };
        let rationale = if words.trim().is_empty() { "No reason was given." } else { words };
        let text = |statement| ArtefactValue::Text(statement);
        let mut fields = BTreeMap::from([
            (ArtefactField::Title, text(title)),
            (ArtefactField::Context, text(self.own_words(&context, FieldForm::PARAGRAPH))),
            (ArtefactField::OptionsConsidered, ArtefactValue::Options(options)),
            (ArtefactField::Decision, text(decision)),
            (ArtefactField::Rationale, text(self.own_words(rationale, FieldForm::PARAGRAPH))),
            (ArtefactField::MadeBy, ArtefactValue::Word("user")),
        ]);
        if !self.related.is_empty() {
            fields.insert(ArtefactField::RelatedRaidItems, ArtefactValue::RaidItems(self.related.clone()));
        }
        ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Decision, status: None, fields }
    }

    /// The options, each with its reasons.
    fn options(&self, case: Option<&EscalationCase>) -> Vec<DecisionOption> {
        let about = case.and_then(|case| case.about.as_ref());
        let option = |id: &str| DecisionOption {
            option: match self.label(id, FieldForm::LINE) {
                OptionLabel::Own(label) => self.own_words(&label, FieldForm::LINE),
                OptionLabel::Foreign(label) => label,
            },
            pros: self.reasons(about, id, "for"),
            cons: self.reasons(about, id, "against"),
        };
        self.escalation.options.iter().map(|known| option(&known.id)).collect()
    }

    fn label(&self, id: &str, most: usize) -> OptionLabel {
        let option = self.escalation.options.iter().find(|option| option.id == id);
        let Some(label) = option.and_then(|option| LabelTree::read(&option.label).ok()) else {
            return OptionLabel::Own(id.to_owned());
        };
        match our_text(&label) {
            Some(label) => OptionLabel::Own(label),
            None => self.statement(&label, most).map_or_else(|| OptionLabel::Own(id.to_owned()), OptionLabel::Foreign),
        }
    }

    /// A question's reasons for or against an option.
    fn reasons(&self, about: Option<&LabelTree>, id: &str, side: &str) -> Vec<ArtefactStatement> {
        let Some(LabelTree::List(options)) = about.and_then(options_of) else { return Vec::new() };
        let is_it = |tree: &&LabelTree| {
            let LabelTree::Map(option) = tree else { return false };
            matches!(option.get("option"), Some(LabelTree::Text(named)) if named == id)
        };
        let Some(LabelTree::Map(option)) = options.iter().find(is_it) else { return Vec::new() };
        let Some(LabelTree::List(reasons)) = option.get(side) else { return Vec::new() };
        let reasons = reasons.iter().filter_map(|reason| self.statement(reason, FieldForm::LINE));
        reasons.take(FieldForm::REASONS).collect()
    }
}

enum OptionLabel {
    /// In words of ours.
    Own(String),
    /// In somebody else's.
    Foreign(ArtefactStatement),
}

/// The options of a question as it explains them: a model's, else those of the rules.
fn options_of(about: &LabelTree) -> Option<&LabelTree> {
    let LabelTree::Map(about) = about else { return None };
    match about.get("a model says") {
        Some(LabelTree::Map(model)) => model.get("options"),
        _ => about.get("options"),
    }
}

/// The items of the RAID log that a decision is about: those that it changes, and those that come from its signals or are
/// about the same tickets.
pub(super) fn related_raid_items(
    artefacts: &ArtefactSet,
    made: &[AppliedChange],
    known: &SignalReferences,
) -> Vec<ArtefactItemId> {
    let changed = made.iter().flat_map(|change| &change.entry.changes).map(|change| change.item);
    let mut related: BTreeSet<ArtefactItemId> = changed.filter(|id| id.kind.is_raid()).collect();
    for (id, item) in artefacts.iter().flat_map(|artefact| artefact.items()).filter(|(id, _)| id.kind.is_raid()) {
        let mut statements = item.statements();
        let is_about = item.text(ArtefactField::SourceReference).is_some_and(|ticket| known.has_ticket(ticket));
        let comes_from = statements.any(|(_, text)| {
            text.origins().iter().filter_map(|origin| origin.signal()).any(|signal| known.has_signal(signal))
        });
        if is_about || comes_from {
            related.insert(id);
        }
    }
    related.into_iter().take(FieldForm::RELATED).collect()
}

/// A signal's heading, in the signal's words.
fn heading_statement(case: EscalationCase) -> Option<ArtefactStatement> {
    let cause = case.causes.into_iter().next()?;
    match case.heading? {
        LabelTree::Outside(text) => Some(ArtefactStatement::fact(text, cause)),
        LabelTree::Flagged(text) => Some(ArtefactStatement::fact(text, cause).flagged()),
        _ => None,
    }
}

/// A text of ours; what is from outside is nobody's approval.
fn our_text(tree: &LabelTree) -> Option<String> {
    match tree {
        LabelTree::Text(text) => Some(text.clone()),
        _ => None,
    }
}
