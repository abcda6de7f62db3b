//! Questions about the life of items: dates that have passed, items that say the same, and items without an owner.
//!
//! They follow from the artefacts and the time alone, so they come in every cycle until a person has decided, also in
//! one without a signal. Nothing ends, moves or merges without that person.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::{effect::key::SignalRevision, run::Time};
use proem_guard::LabelTree;
use proem_text::{Label, Source};

use super::{
    PlannedOption, PlannedQuestion, items,
    milestones::{follows_file, is_named_milestone},
    questions,
    withheld::Questioner,
};
use crate::{
    artefact::{
        Artefact, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ArtefactOperation,
        ArtefactValue, ItemStatus,
    },
    contract::{EscalationReason, TimeSensitivity},
    date::{utc_day, utc_timestamp},
};

/// The fewest words of a title that say enough to call two items the same.
const TELLING_WORDS: usize = 3;

/// How the subjects of questions about items begin.
pub(super) const ABOUT_ITEMS: [&str; 4] = ["passed", "date", "double", "owner"];

impl Questioner<'_, '_> {
    /// Asks what the items of the artefacts make necessary.
    pub(super) fn ask_about_life(&mut self) {
        let artefacts = self.artefacts();
        let kinds = [ArtefactKind::DeliveryState, ArtefactKind::RaidLog];
        let all: Vec<_> = kinds.iter().filter_map(|kind| artefacts.get(*kind)).collect();
        let open: Vec<_> =
            all.into_iter().flat_map(Artefact::items).filter(|(_, item)| item.status.is_open()).collect();
        for (id, item) in open.iter().copied().filter(|(_, item)| item.is_overdue(self.context.wall_clock())) {
            let question = self.question_of_passed_date(id, item);
            self.plan.questions.push(question);
        }
        let raid: Vec<_> = open.iter().copied().filter(|(id, _)| id.kind.is_raid()).collect();
        for (at, (later, item)) in raid.iter().copied().enumerate() {
            let before = raid.iter().copied().take(at);
            let same = before.filter(|(id, _)| id.kind == later.kind).find(|(_, other)| are_same(other, item));
            if let Some((first, _)) = same {
                let question = self.question_of_double(first, later, item);
                self.plan.questions.push(question);
            }
        }
        for milestone in &self.context.charter.milestones {
            let mut known = open.iter().copied().filter(|(id, _)| id.kind == ArtefactItemKind::Milestone);
            let disputed = known.find(|(_, item)| is_named_milestone(item, &milestone.name) && !follows_file(item));
            let due = Time(milestone.due);
            let disputed = disputed.filter(|(_, item)| item.date(ArtefactField::DueDate) != Some(due));
            let question = disputed.map(|(id, item)| self.question_of_date(id, item, due));
            self.plan.questions.extend(question);
        }
        let is_owned = |kind: ArtefactItemKind| kind.rule(ArtefactField::Owner).is_some();
        let unowned =
            open.iter().copied().filter(|(id, item)| is_owned(id.kind) && item.text(ArtefactField::Owner).is_none());
        self.plan.questions.extend(unowned.map(|(id, item)| question_of_owner(id, item)));
    }

    fn question_of_passed_date(&self, id: ArtefactItemId, item: &ArtefactItem) -> PlannedQuestion {
        let due = item.date(ArtefactField::DueDate).map(utc_timestamp).unwrap_or_default();
        let day = due.get(..10).unwrap_or_default();
        let (to, words) = if id.kind == ArtefactItemKind::Milestone {
            (ItemStatus::Completed, "it was met: it is completed")
        } else {
            (ItemStatus::Resolved, "it is over: it is resolved")
        };
        let end = ProposedEnd { id, item, to, because: "It is over after its date." };
        let (option, about) = self.option(
            &end,
            words,
            ["the list shows what is still to be done", "no event of the tracker shows that it is over"],
        );
        PlannedQuestion {
            subject: format!("passed\n{id}\n{day}"),
            reason: EscalationReason::StrategicImpact,
            title: format!("{id} was due on {day} and is open. How does it stand?"),
            heading: item_heading(item),
            background: Vec::new(),
            about,
            options: vec![
                option,
                questions::rule_option(
                    "B",
                    "it is late: it stays overdue until it is done",
                    [
                        "the report stays honest while nothing shows that it was done",
                        "the project is not green meanwhile",
                    ],
                ),
                questions::rule_option(
                    "C",
                    "it has another date: whoever decides writes that down",
                    ["the plan shows what is expected now", "whoever was promised the old date has to be told"],
                ),
            ],
            recommended: ("B", "nothing shows that it was done"),
            time: TimeSensitivity::ThisWeek,
            causes: signals_of(item),
        }
    }

    fn question_of_date(&self, id: ArtefactItemId, item: &ArtefactItem, promised: Time) -> PlannedQuestion {
        let (causes, label) = (signals_of(item), Label::from_source(Source::named("triage/rule")));
        let reason = items::inferred_statement("The project's file has this date.", &causes);
        let changes = BTreeMap::from([(ArtefactField::DueDate, ArtefactValue::Date(promised))]);
        let offered = self.offer(&causes, &[ArtefactOperation::Modify { id, changes, reason }], &label);
        let (action, shown) = match offered.filter(|_| !causes.is_empty()) {
            Some((option, shown)) => (option.action, shown),
            None => (None, LabelTree::Null),
        };
        let known = item.date(ArtefactField::DueDate).map(utc_day).unwrap_or_default();
        let promised = utc_day(promised);
        PlannedQuestion {
            subject: format!("date\n{id}\n{known}\n{promised}"),
            reason: EscalationReason::ConflictingSignals,
            title: format!("{id} is due on {known}, and the project's file has {promised}. Which date holds?"),
            heading: item_heading(item),
            background: Vec::new(),
            about: LabelTree::map([("would change", shown)]),
            options: vec![
                PlannedOption {
                    action,
                    ..questions::rule_option(
                        "A",
                        "the date of the project's file",
                        ["a person vouched for the file", "whoever moved the date may know something newer"],
                    )
                },
                questions::rule_option(
                    "B",
                    "the date of the delivery state: whoever decides corrects the file",
                    ["it is the later word", "the file has to be corrected and vouched for by hand"],
                ),
            ],
            recommended: ("A", "a person vouched for the file"),
            time: TimeSensitivity::ThisWeek,
            causes,
        }
    }

    fn question_of_double(&self, first: ArtefactItemId, later: ArtefactItemId, item: &ArtefactItem) -> PlannedQuestion {
        let because = "It says the same as an older item.";
        let end = ProposedEnd { id: later, item, to: ItemStatus::Closed, because };
        let words = "they are one: the later one is closed";
        let reasons = ["one matter is counted and asked about once", "closing one of two different items loses it"];
        let (option, about) = self.option(&end, words, reasons);
        PlannedQuestion {
            subject: format!("double\n{first}\n{later}"),
            reason: EscalationReason::LowConfidence,
            title: format!("{first} and {later} say the same. Are they one?"),
            heading: item_heading(item),
            background: Vec::new(),
            about,
            options: vec![
                option,
                questions::rule_option(
                    "B",
                    "they are two: both stay open",
                    ["nothing is lost if they differ after all", "one matter may be counted twice"],
                ),
            ],
            recommended: ("B", "closing one of two different items loses it"),
            time: TimeSensitivity::NoDeadline,
            causes: signals_of(item),
        }
    }

    /// The first option, which ends an item, and what it would change. A person's own item has no signal that an action
    /// could be justified with, so whoever decides ends it.
    fn option(
        &self,
        end: &ProposedEnd<'_>,
        words: &'static str,
        reasons: [&'static str; 2],
    ) -> (PlannedOption, LabelTree) {
        let label = Label::from_source(Source::named("triage/rule"));
        let causes = signals_of(end.item);
        let offered = self.offer(&causes, &end.operations(&causes), &label).filter(|_| !causes.is_empty());
        let (action, shown) = match offered {
            Some((option, shown)) => (option.action, shown),
            None => (None, LabelTree::Null),
        };
        (
            PlannedOption { action, ..questions::rule_option("A", words, reasons) },
            LabelTree::map([("would change", shown)]),
        )
    }
}

/// The end of an item that a person may choose.
struct ProposedEnd<'a> {
    id: ArtefactItemId,
    item: &'a ArtefactItem,
    to: ItemStatus,
    because: &'static str,
}

impl ProposedEnd<'_> {
    fn operations(&self, causes: &[SignalRevision]) -> Vec<ArtefactOperation> {
        let reason = items::inferred_statement(self.because, causes);
        let is_open = self.id.kind.is_raid() && self.item.status == ItemStatus::Open;
        let steps = is_open.then_some(ItemStatus::Mitigating).into_iter().chain([self.to]);
        steps.map(|to| ArtefactOperation::ChangeStatus { id: self.id, to, reason: reason.clone() }).collect()
    }
}

fn question_of_owner(id: ArtefactItemId, item: &ArtefactItem) -> PlannedQuestion {
    PlannedQuestion {
        subject: format!("owner\n{id}"),
        reason: EscalationReason::LowConfidence,
        title: format!("{id} has no owner. Who takes it?"),
        heading: item_heading(item),
        background: Vec::new(),
        about: LabelTree::Null,
        options: vec![
            questions::rule_option(
                "A",
                "whoever decides names an owner with `proem artefacts edit`",
                ["somebody answers for it from then on", "the person named has to agree"],
            ),
            questions::rule_option(
                "B",
                "nobody has to own it",
                ["nobody is asked again", "nobody works on what nobody owns"],
            ),
        ],
        recommended: ("A", "nobody works on what nobody owns"),
        time: TimeSensitivity::ThisWeek,
        causes: signals_of(item),
    }
}

/// The signals that an item's name came from.
fn signals_of(item: &ArtefactItem) -> Vec<SignalRevision> {
    let origins = item.heading().map(|heading| heading.origins()).unwrap_or_default();
    origins.iter().filter_map(|origin| origin.signal().cloned()).collect()
}

fn item_heading(item: &ArtefactItem) -> LabelTree {
    item.heading().map_or(LabelTree::Null, |heading| heading.words().clone())
}

/// Whether two items say the same: their titles have the same words, whatever is between them.
fn are_same(item: &ArtefactItem, other: &ArtefactItem) -> bool {
    fn lower_case_words(text: &str) -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    }
    let ticket = |item: &ArtefactItem| item.text(ArtefactField::SourceReference).map(|ticket| ticket.words().clone());
    // Two tickets of the same name are two: their trackers count them as two.
    if let (Some(one), Some(two)) = (ticket(item), ticket(other))
        && one != two
    {
        return false;
    }
    let (Some(title), Some(other)) = (item.text(ArtefactField::Title), other.text(ArtefactField::Title)) else {
        return false;
    };
    let same = title.ask(|title| {
        let title = lower_case_words(title);
        title.len() >= TELLING_WORDS && other.ask(|other| lower_case_words(other) == title) == Some(true)
    });
    same == Some(true)
}
