//! Artefacts: what is in them, how they change, what is counted and how they are shown.

mod endings;
pub(super) mod figures;
mod laws;
mod prompts;
mod proposals;
mod render;
mod rules;
mod schema;
mod versions;

use std::collections::BTreeMap;

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::Untrusted;
use proem_text::{Label, Source};
use proem_triage::{
    ProjectSignal,
    artefact::{
        AppliedChange, Artefact, ArtefactActor, ArtefactContext, ArtefactField, ArtefactItemId, ArtefactItemKind,
        ArtefactKind, ArtefactOperation, ArtefactStatement, ArtefactValue, RuleViolation, SignalReferences,
        apply_operations,
    },
};
use serde_json::json;

use super::{NOW, one};

const PROJECT: &str = "0b9c2a4e-0000-4000-8000-000000000001";

/// A comment on a ticket.
fn signal(ticket: &str, comment: &str) -> ProjectSignal {
    one(&json!({
        "webhookEvent": "comment_created",
        "timestamp": 1_795_300_000_000_i64,
        "issue": { "id": ticket.trim_start_matches("PAY-"), "key": ticket, "self": "https://one.example/a",
            "fields": { "summary": format!("Ticket {ticket}") } },
        "comment": { "id": ticket.trim_start_matches("PAY-"), "body": comment,
            "author": { "accountId": "a", "displayName": "Ann" } },
    }))
}

/// The project of most tests: what is known, and its artefacts.
struct Project {
    known: SignalReferences,
    causes: Vec<SignalRevision>,
    actor: ArtefactActor,
    artefacts: Vec<Artefact>,
}

impl Project {
    /// Four empty artefacts and two tickets.
    fn empty() -> Self {
        let signals = [signal("PAY-7", "No sandbox"), signal("PAY-8", "Refunds")];
        Self {
            known: SignalReferences::of(&signals),
            causes: vec![SignalRevision::from(&signals[0])],
            actor: ArtefactActor::Person("sam".to_owned()),
            artefacts: ArtefactKind::ALL.map(|kind| Artefact::new(kind, PROJECT)).to_vec(),
        }
    }

    /// With `R001` and `I001`, a green health and the blocker `B001` behind `I001`.
    fn running() -> Self {
        let mut project = Self::empty();
        let risk = project.raid(ArtefactItemKind::Risk, "The provider may be late");
        let issue = project.raid(ArtefactItemKind::Issue, "There is no sandbox");
        project.take(ArtefactKind::RaidLog, &[risk, issue]);
        let health = project.health("green");
        let blocker = project.blocker("I001");
        project.take(ArtefactKind::DeliveryState, &[health, blocker]);
        project
    }

    fn artefact(&self, kind: ArtefactKind) -> &Artefact {
        self.artefacts.iter().find(|artefact| artefact.kind() == kind).unwrap()
    }

    fn try_apply(
        &self,
        kind: ArtefactKind,
        operations: &[ArtefactOperation],
    ) -> Result<AppliedChange, Vec<RuleViolation>> {
        let others: Vec<&Artefact> = self.artefacts.iter().filter(|artefact| artefact.kind() != kind).collect();
        let context = ArtefactContext {
            now: NOW,
            project: PROJECT,
            actor: &self.actor,
            causes: &self.causes,
            known: &self.known,
            others: &others,
        };
        apply_operations(self.artefact(kind), operations, &context)
    }

    /// Applies what has to be accepted.
    #[track_caller]
    fn take(&mut self, kind: ArtefactKind, operations: &[ArtefactOperation]) -> AppliedChange {
        let applied = self.try_apply(kind, operations).map_err(|all| words(&all)).unwrap();
        *self.artefacts.iter_mut().find(|artefact| artefact.kind() == kind).unwrap() = applied.artefact.clone();
        applied
    }

    /// Why operations are refused, a line for each rule.
    #[track_caller]
    fn refusal(&self, kind: ArtefactKind, operations: &[ArtefactOperation]) -> Vec<String> {
        words(&self.try_apply(kind, operations).unwrap_err())
    }

    fn says(&self, text: &str) -> ArtefactStatement {
        ArtefactStatement::inference(outside(text), self.causes.clone())
    }

    fn text(&self, text: &str) -> ArtefactValue {
        ArtefactValue::Text(self.says(text))
    }

    fn add<const N: usize>(
        &self,
        kind: ArtefactItemKind,
        fields: [(ArtefactField, ArtefactValue); N],
    ) -> ArtefactOperation {
        ArtefactOperation::Add { id: None, kind, status: None, fields: BTreeMap::from(fields) }
    }

    fn raid(&self, kind: ArtefactItemKind, title: &str) -> ArtefactOperation {
        let fields = [
            (ArtefactField::Title, self.text(title)),
            (ArtefactField::Description, self.text("It was said in a comment.")),
            (ArtefactField::Severity, ArtefactValue::Word("high")),
            (ArtefactField::Owner, self.text("Ann")),
            (ArtefactField::Mitigation, self.text("Ask the provider.")),
            (ArtefactField::Source, ArtefactValue::Word("integration_signal")),
        ];
        self.add(kind, fields)
    }

    fn health(&self, colour: &'static str) -> ArtefactOperation {
        let fields = [
            (ArtefactField::OverallStatus, ArtefactValue::Word(colour)),
            (ArtefactField::StatusSummary, self.text("As planned.")),
        ];
        self.add(ArtefactItemKind::Health, fields)
    }

    fn blocker(&self, raid_item: &str) -> ArtefactOperation {
        let fields = [
            (ArtefactField::Description, self.text("No sandbox of the provider")),
            (ArtefactField::Severity, ArtefactValue::Word("critical")),
            (ArtefactField::SourceTicket, self.text("PAY-7")),
            (ArtefactField::RaidItem, ArtefactValue::RaidItems(vec![id(raid_item)])),
        ];
        self.add(ArtefactItemKind::Blocker, fields)
    }

    fn modify<const N: usize>(&self, item: &str, changes: [(ArtefactField, ArtefactValue); N]) -> ArtefactOperation {
        ArtefactOperation::Modify {
            id: id(item),
            changes: BTreeMap::from(changes),
            reason: self.says("The ticket says so."),
        }
    }

    fn status(&self, item: &str, word: &str) -> ArtefactOperation {
        let to = proem_triage::artefact::ItemStatus::parse(word).unwrap();
        ArtefactOperation::ChangeStatus { id: id(item), to, reason: self.says("The ticket says so.") }
    }

    fn close(&self, item: &str) -> ArtefactOperation {
        ArtefactOperation::Close { id: id(item), reason: self.says("It is done.") }
    }
}

fn id(text: &str) -> ArtefactItemId {
    ArtefactItemId::parse(text).unwrap()
}

fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("jira/comment")))
}

fn words(violations: &[RuleViolation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

/// A changed operation: one field of an added item is another one, or there is none.
fn with(mut operation: ArtefactOperation, field: ArtefactField, value: Option<ArtefactValue>) -> ArtefactOperation {
    if let ArtefactOperation::Add { fields, .. } = &mut operation {
        match value {
            Some(value) => _ = fields.insert(field, value),
            None => _ = fields.remove(&field),
        }
    }
    operation
}

const fn day(days: i64) -> ArtefactValue {
    ArtefactValue::Date(Time(NOW.0 + days * 86_400_000))
}
