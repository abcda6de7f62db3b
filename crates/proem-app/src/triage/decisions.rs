//! What a person decided, in the decision log of a project that is triaged.
//!
//! Its entry is written with the decision, in one transaction.

use std::collections::BTreeMap;

use proem_agents::triage::artefact::{
    Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactItemId, ArtefactItemKind, ArtefactKind,
    ArtefactOperation, ArtefactStatement, ArtefactValue, DecisionOption, FieldForm, SignalReferences, apply,
};
use proem_guard::LabelTree;
use proem_store::query::EscalationRow;
use proem_store::record::{ArtefactEdit, HashedContent, NewArtefactVersion};

use super::charter;
use crate::effects::ActionDesk;
use crate::effects::escalations::{self, EscalationCase};
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

impl ActionDesk<'_> {
    /// The version of the decision log that has what a person decided, with the options that there were, and the item
    /// that is new in it; `None` in a project that is not triaged.
    ///
    /// # Errors
    ///
    /// If the records can't be read, or the log can't have it.
    pub(crate) async fn decision_log_entry(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        option: &str,
        words: &str,
    ) -> Result<Option<(ArtefactItemId, ArtefactEdit)>, Error> {
        // A project without a file that somebody vouched for has no artefacts.
        let Ok(charter) = charter::read(self.project) else { return Ok(None) };
        let kind = ArtefactKind::DecisionLog;
        let person = operator.actor().id.clone();
        let actor = ArtefactActor::Person(person.clone());
        let decision = Decided { escalation, option, words, person: &person };
        let causes = escalations::case(escalation).map(|case| case.causes).unwrap_or_default();
        let known = SignalReferences::of_revisions(causes);
        let row = self.store.artefact(&self.owner, kind.as_str(), None).await?;
        let artefact = match row.and_then(|row| row.content) {
            None => Artefact::new(kind, &charter.id),
            Some(content) => Artefact::read(&content)
                .map_err(|error| Error::outside(format!("the decision log can't be read: {error}")))?,
        };
        let context = ArtefactContext {
            now: when::now().max(self.status.last_seen),
            project: &charter.id,
            actor: &actor,
            causes: &[],
            known: &known,
            others: &[],
        };
        let id = artefact.next_id(ArtefactItemKind::Decision);
        let change = apply(&artefact, &[decision.operation()], &context).map_err(|violations| {
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Error::invalid(format!("nothing was decided: the decision log can't have it: {}", said.join("; ")))
        })?;
        let unwritten = |error| Error::bug("a decision can't be written down", error);
        let version = NewArtefactVersion {
            kind: kind.as_str().to_owned(),
            version: change.artefact.version(),
            content: HashedContent::new(change.artefact.write().map_err(unwritten)?),
            entry: HashedContent::new(change.entry.write().map_err(unwritten)?),
            causes: Vec::new(),
        };
        let project = self.owner.clone();
        let edit = ArtefactEdit { project, actor: operator.actor().clone(), at: when::now(), version };
        Ok(Some((id, edit)))
    }
}

/// A decision as it was made.
struct Decided<'d> {
    escalation: &'d EscalationRow,
    option: &'d str,
    words: &'d str,
    person: &'d str,
}

impl Decided<'_> {
    /// What the person saw and said is the person's own from here on.
    fn said(&self, text: &str, most: usize) -> ArtefactStatement {
        let text: String = text.chars().take(most).collect();
        ArtefactStatement::by_person(&text, self.person)
    }

    fn operation(&self) -> ArtefactOperation {
        let case = escalations::case(self.escalation);
        let because = case.as_ref().and_then(|case| own(&case.because));
        let because = because.unwrap_or_else(|| "A question whose words are somebody else's was decided.".to_owned());
        let title = || self.said(because.split(" (").next().unwrap_or(&because), FieldForm::LINE);
        // What it was about stays somebody else's words, whoever decided.
        let title = case.and_then(called).unwrap_or_else(title);
        let label = |written: &str| LabelTree::read(written).ok().and_then(|tree| own(&tree));
        let options = self.escalation.options.iter().map(|option| DecisionOption {
            option: self.said(&label(&option.label).unwrap_or_else(|| option.id.clone()), FieldForm::LINE),
            pros: Vec::new(),
            cons: Vec::new(),
        });
        let chosen = self.escalation.options.iter().find(|option| option.id == self.option);
        let chosen = chosen.and_then(|option| label(&option.label)).unwrap_or_else(|| self.option.to_owned());
        let rationale = if self.words.trim().is_empty() { "No reason was given." } else { self.words };
        let text = |statement| ArtefactValue::Text(statement);
        ArtefactOperation::Add {
            id: None,
            kind: ArtefactItemKind::Decision,
            status: None,
            fields: BTreeMap::from([
                (ArtefactField::Title, text(title)),
                (ArtefactField::Context, text(self.said(&because, FieldForm::PARAGRAPH))),
                (ArtefactField::OptionsConsidered, ArtefactValue::Options(options.collect())),
                (ArtefactField::Decision, text(self.said(&chosen, FieldForm::PARAGRAPH))),
                (ArtefactField::Rationale, text(self.said(rationale, FieldForm::PARAGRAPH))),
                (ArtefactField::MadeBy, ArtefactValue::Word("user")),
            ]),
        }
    }
}

/// What a signal calls it, in the signal's words.
fn called(case: EscalationCase) -> Option<ArtefactStatement> {
    let cause = case.causes.into_iter().next()?;
    match case.heading? {
        LabelTree::Outside(text) => Some(ArtefactStatement::fact(text, cause)),
        LabelTree::Flagged(text) => Some(ArtefactStatement::fact(text, cause).flagged()),
        _ => None,
    }
}

/// A text of ours; what is from outside is nobody's approval.
fn own(tree: &LabelTree) -> Option<String> {
    match tree {
        LabelTree::Text(text) => Some(text.clone()),
        _ => None,
    }
}
