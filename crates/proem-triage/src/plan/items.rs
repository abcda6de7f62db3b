//! Items of artefacts from signals: what is in them, and what changes of them.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};
use proem_text::{Label, Source, shorten_text};

use super::context::CycleMember;
use super::group::{GroupedSignals, ticket_of};
use crate::{
    artefact::{
        Artefact, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactOperation, ArtefactStatement,
        ArtefactValue, FieldForm, ItemStatus,
    },
    contract::{SignalCategory, SignalImportance},
    date::parse_timestamp,
    sanitise::{SPRINT, SanitisedField, SanitisedSignal},
    signal::{ProjectSignal, SignalSource},
};

pub(super) type ItemFields = BTreeMap<ArtefactField, ArtefactValue>;

/// The kind of item of the RAID log that a category makes, if it makes one.
pub(super) fn raid_kind(category: SignalCategory, importance: SignalImportance) -> Option<ArtefactItemKind> {
    match category {
        SignalCategory::Blocker => Some(ArtefactItemKind::Issue),
        SignalCategory::Risk => Some(ArtefactItemKind::Risk),
        SignalCategory::Dependency => Some(ArtefactItemKind::Dependency),
        // A bug is the backlog's own, until it threatens more than itself.
        SignalCategory::Quality if importance.is_at_least(SignalImportance::High) => Some(ArtefactItemKind::Issue),
        _ => None,
    }
}

/// The item's severity.
pub(super) const fn severity_word(importance: SignalImportance) -> &'static str {
    match importance {
        SignalImportance::Critical => "critical",
        SignalImportance::High => "high",
        SignalImportance::Medium => "medium",
        SignalImportance::Low => "low",
    }
}

/// Words of ours about signals, as a rule concludes them.
pub(super) fn inferred_statement(words: impl Into<String>, causes: &[SignalRevision]) -> ArtefactStatement {
    let label = Label::from_source(Source::named("triage/rule"));
    ArtefactStatement::inference(Untrusted::new(words.into(), label), causes.to_vec())
}

/// Words of ours around a ticket's key.
pub(super) fn about_ticket(
    ticket: Option<&Untrusted<String>>,
    words: impl Fn(&str) -> String,
    causes: &[SignalRevision],
) -> ArtefactStatement {
    match ticket {
        Some(ticket) => ArtefactStatement::inference(
            ticket.clone().map(|key| words(&shorten_text(&key, FieldForm::TICKET))),
            causes.to_vec(),
        ),
        None => inferred_statement(words("it"), causes),
    }
}

/// A signal's own text in that field, unless the guard suspects it: no artefact repeats a flagged text.
fn passed_statement(
    sanitised: &SanitisedSignal,
    signal: &ProjectSignal,
    is_wanted: impl Fn(&str) -> bool,
    most: usize,
) -> Option<ArtefactStatement> {
    let is_clean = |field: &&SanitisedField| field.text.is_some() && !sanitised.suspects(field);
    let field = sanitised.fields.iter().filter(is_clean).find(|field| is_wanted(field.name))?;
    let text = field.text.clone()?.map(|text| shorten_text(text.trim(), most).into_owned());
    if text.measure(|text| text.trim().is_empty()) {
        return None;
    }
    Some(ArtefactStatement::fact(text, SignalRevision::from(signal)))
}

/// The title of an item: the summary, else what it is about.
pub(super) fn group_title(group: &GroupedSignals<'_>) -> ArtefactStatement {
    let leader = group.leader();
    passed_statement(leader.sanitised, leader.signal, |name| name == "summary", FieldForm::LINE).unwrap_or_else(|| {
        let category = leader.classification.answer.category.as_str();
        match group.ticket() {
            None => {
                inferred_statement(format!("{category}: a message without a subject that may be read"), &group.causes())
            }
            ticket => about_ticket(ticket, |ticket| format!("{category}: {ticket}"), &group.causes()),
        }
    })
}

/// An item's text: the news in the signal's words, else a note that its texts were kept out.
pub(super) fn description(group: &GroupedSignals<'_>) -> ArtefactStatement {
    let leader = group.leader();
    let news = passed_statement(leader.sanitised, leader.signal, |name| name != "summary", FieldForm::PARAGRAPH);
    let summary = || passed_statement(leader.sanitised, leader.signal, |name| name == "summary", FieldForm::PARAGRAPH);
    news.or_else(summary).unwrap_or_else(|| inferred_statement(group.rationale(), &group.causes()))
}

/// Its owner: the ticket's assignee, else the project's owner until somebody takes it.
pub(super) fn group_owner(group: &GroupedSignals<'_>, owner: &str) -> ArtefactStatement {
    let assignee = group.members().find_map(|member| {
        let name = member.sanitised.name("assignee").filter(|name| !member.sanitised.suspects(name))?.text.clone()?;
        // A name in which nobody can read anything names nobody.
        let is_read = name.measure(|name| name.chars().any(char::is_alphanumeric));
        let name = name.map(|name| shorten_text(name.trim(), FieldForm::LINE).into_owned());
        is_read.then(|| ArtefactStatement::fact(name, SignalRevision::from(member.signal)))
    });
    assignee.unwrap_or_else(|| {
        inferred_statement(shorten_text(&format!("{owner} (owner of the project)"), FieldForm::LINE), &group.causes())
    })
}

/// The next step about it.
fn next_step(kind: ArtefactItemKind, is_blocker: bool) -> fn(&str) -> String {
    match kind {
        ArtefactItemKind::Issue if is_blocker => |ticket| format!("Agree who unblocks {ticket}, and by when."),
        ArtefactItemKind::Issue => |ticket| format!("Agree who mends {ticket}, and whether the release waits for it."),
        ArtefactItemKind::Dependency => |ticket| format!("Ask whoever {ticket} waits for to confirm a date."),
        _ => |ticket| format!("Agree what is done about {ticket}, and who does it."),
    }
}

/// A new item of the RAID log.
pub(super) fn raid_item(kind: ArtefactItemKind, group: &GroupedSignals<'_>, project_owner: &str) -> ArtefactOperation {
    let answer = &group.leader().classification.answer;
    let causes = group.causes();
    let mut fields: ItemFields = BTreeMap::from([
        (ArtefactField::Title, ArtefactValue::Text(group_title(group))),
        (ArtefactField::Description, ArtefactValue::Text(description(group))),
        (ArtefactField::Severity, ArtefactValue::Word(severity_word(answer.importance))),
        (ArtefactField::Owner, ArtefactValue::Text(group_owner(group, project_owner))),
        (ArtefactField::Source, ArtefactValue::Word("integration_signal")),
    ]);
    let is_blocker = answer.category == SignalCategory::Blocker;
    let step = about_ticket(group.ticket(), next_step(kind, is_blocker), &causes);
    fields.insert(ArtefactField::Mitigation, ArtefactValue::Text(step));
    if let Some(reference) = ticket_text(group).or_else(|| subject_text(group)) {
        fields.insert(ArtefactField::SourceReference, ArtefactValue::Text(reference));
    }
    ArtefactOperation::Add { id: None, kind, status: None, fields }
}

/// The subject of a group's mail as a fact. One word alone could be the key of a ticket, by which items are found, so it
/// says that it is a mail's.
fn subject_text(group: &GroupedSignals<'_>) -> Option<ArtefactStatement> {
    let is_mail =
        |member: &&CycleMember<'_>| matches!(member.signal.source, SignalSource::Mail | SignalSource::Outlook);
    let member = Some(group.leader()).filter(is_mail).or_else(|| group.members().find(is_mail))?;
    let field = member.sanitised.fields.iter().find(|field| field.name == "summary")?;
    let text = field.text.clone().filter(|_| !member.sanitised.suspects(field))?;
    let text = text.map(|text| {
        let text = text.trim();
        let named = if text.contains(char::is_whitespace) { text.to_owned() } else { format!("Mail: {text}") };
        shorten_text(&named, FieldForm::LINE).into_owned()
    });
    let says_something = text.measure(|text| text.trim_start_matches("Mail: ").chars().any(char::is_alphanumeric));
    says_something.then(|| ArtefactStatement::fact(text, SignalRevision::from(member.signal)))
}

/// An issue about a ticket that its tracker calls blocked, whatever else its signals are about.
pub(super) fn blocked_issue(group: &GroupedSignals<'_>, project_owner: &str) -> ArtefactOperation {
    let mut issue = raid_item(ArtefactItemKind::Issue, group, project_owner);
    let step = about_ticket(group.ticket(), next_step(ArtefactItemKind::Issue, true), &group.causes());
    set_field(&mut issue, ArtefactField::Mitigation, ArtefactValue::Text(step));
    issue
}

/// The same of high severity, for a ticket that its tracker only lists as blocked.
pub(super) fn listed_issue(group: &GroupedSignals<'_>, project_owner: &str) -> ArtefactOperation {
    let mut issue = blocked_issue(group, project_owner);
    set_field(&mut issue, ArtefactField::Severity, ArtefactValue::Word("high"));
    issue
}

/// Gives a field of an item that is added another value.
pub(super) fn set_field(operation: &mut ArtefactOperation, field: ArtefactField, value: ArtefactValue) {
    if let ArtefactOperation::Add { fields, .. } = operation {
        fields.insert(field, value);
    }
}

/// The ticket of a group as a fact.
pub(super) fn ticket_text(group: &GroupedSignals<'_>) -> Option<ArtefactStatement> {
    let member = group.members().find(|member| ticket_of(member).is_some())?;
    let ticket = ticket_of(member)?.clone();
    let fits = ticket.measure(|key| !key.trim().is_empty() && key.chars().count() <= FieldForm::TICKET);
    fits.then(|| ArtefactStatement::fact(ticket, SignalRevision::from(member.signal)))
}

/// A blocker behind an item of the RAID log.
pub(super) fn blocker_operation(
    group: &GroupedSignals<'_>,
    raid: ArtefactItemId,
    project_owner: &str,
) -> ArtefactOperation {
    let answer = &group.leader().classification.answer;
    let mut fields: ItemFields = BTreeMap::from([
        (ArtefactField::Description, ArtefactValue::Text(group_title(group))),
        (ArtefactField::Severity, ArtefactValue::Word(severity_word(answer.importance))),
        (ArtefactField::Owner, ArtefactValue::Text(group_owner(group, project_owner))),
        (ArtefactField::RaidItem, ArtefactValue::RaidItems(vec![raid])),
    ]);
    if let Some(ticket) = ticket_text(group) {
        fields.insert(ArtefactField::SourceTicket, ArtefactValue::Text(ticket));
    }
    ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Blocker, status: None, fields }
}

/// A ticket of the backlog that deserves attention, for a reason in words of ours. `None` without a ticket.
pub(super) fn highlight(group: &GroupedSignals<'_>, flag: &'static str, detail: &str) -> Option<ArtefactOperation> {
    let ticket = ticket_text(group)?;
    let causes = group.causes();
    let step: fn(&str) -> String = match flag {
        "scope_creep" => |ticket| format!("Decide whether {ticket} stays in the sprint, and what leaves it."),
        "missing_criteria" => |ticket| format!("Say in {ticket} when it is done."),
        "stale" => |ticket| format!("Ask whether {ticket} goes on, or put it back."),
        "blocked" => |ticket| format!("Agree who unblocks {ticket}, and by when."),
        _ => |ticket| format!("Look at {ticket} in the next refinement."),
    };
    let step = about_ticket(group.ticket(), step, &causes);
    let fields = BTreeMap::from([
        (ArtefactField::TicketId, ArtefactValue::Text(ticket)),
        (ArtefactField::Title, ArtefactValue::Text(group_title(group))),
        (ArtefactField::Flag, ArtefactValue::Word(flag)),
        (ArtefactField::Detail, ArtefactValue::Text(inferred_statement(detail, &causes))),
        (ArtefactField::SuggestedAction, ArtefactValue::Text(step)),
    ]);
    Some(ArtefactOperation::Add { id: None, kind: ArtefactItemKind::Highlight, status: None, fields })
}

/// The open item of those kinds that is about the group's ticket; without a ticket the one of the same title.
pub(super) fn about_same(
    artefact: &Artefact,
    kinds: &[ArtefactItemKind],
    group: &GroupedSignals<'_>,
) -> Option<ArtefactItemId> {
    let ticket = ticket_text(group);
    let title = group_title(group);
    let is_same = |fields: &BTreeMap<ArtefactField, ArtefactValue>| {
        let says = |field: ArtefactField, wanted: &ArtefactStatement| matches!(fields.get(&field), Some(ArtefactValue::Text(text)) if text.says_what(wanted));
        let places = [ArtefactField::SourceReference, ArtefactField::SourceTicket, ArtefactField::TicketId];
        match &ticket {
            Some(ticket) => places.into_iter().any(|place| says(place, ticket)),
            None => says(ArtefactField::Title, &title),
        }
    };
    let mut open = artefact.items().filter(|(id, item)| kinds.contains(&id.kind) && item.status.is_open());
    open.find(|(_, item)| is_same(&item.fields)).map(|(id, _)| id)
}

/// The latest item of these kinds that is over and about the group's ticket.
pub(super) fn over_about_ticket<'a>(
    artefact: &'a Artefact,
    kinds: &[ArtefactItemKind],
    group: &GroupedSignals<'_>,
) -> Option<(ArtefactItemKind, &'a ArtefactItem)> {
    let ticket = ticket_text(group)?;
    let is_over = |(id, item): &(ArtefactItemId, &ArtefactItem)| kinds.contains(&id.kind) && item.status.is_over();
    let names = |item: &ArtefactItem| {
        item.text(ArtefactField::SourceReference).is_some_and(|reference| reference.says_what(&ticket))
    };
    let over = artefact.items().filter(is_over).filter(|(_, item)| names(item));
    over.last().map(|(id, item)| (id.kind, item))
}

/// The statuses that lead an item of the RAID log to its end, from how it is.
pub(super) const fn way_to(status: ItemStatus, is_over: bool) -> &'static [ItemStatus] {
    match (status, is_over) {
        (ItemStatus::Open, false) => &[ItemStatus::Mitigating],
        (ItemStatus::Open, true) => &[ItemStatus::Mitigating, ItemStatus::Resolved],
        (ItemStatus::Mitigating, true) => &[ItemStatus::Resolved],
        _ => &[],
    }
}

/// The name (0) or the goal (1) of the sprint that a ticket's own fields call active, as far as the guard lets it pass.
pub(super) fn sprint_text(member: &CycleMember<'_>, index: usize) -> Option<ArtefactStatement> {
    let mut names = member.sanitised.names.iter().filter(|name| name.name == SPRINT && name.index == index);
    let text = names.next().filter(|name| !member.sanitised.suspects(name))?.text.clone()?;
    let most = if index == 0 { FieldForm::LINE } else { FieldForm::PARAGRAPH };
    let text = text.map(|text| shorten_text(text.trim(), most).into_owned());
    let says_something = text.measure(|text| text.chars().any(char::is_alphanumeric));
    says_something.then(|| ArtefactStatement::fact(text, SignalRevision::from(member.signal)))
}

/// A sprint as a signal names it. `None` unless it says everything that a sprint has.
pub(super) fn sprint_fields(sanitised: &SanitisedSignal, signal: &ProjectSignal) -> Option<ItemFields> {
    let LabelTree::Map(fields) = &signal.fields else { return None };
    let LabelTree::Map(other) = fields.get("other")? else { return None };
    let LabelTree::Map(sprint) = other.get("sprint")? else { return None };
    let text = |name: &str| match sprint.get(name) {
        Some(LabelTree::Outside(text)) => Some(text),
        _ => None,
    };
    let date =
        |name: &str| text(name)?.measure(|text| parse_timestamp(text).ok()).map(|at| ArtefactValue::Date(Time(at)));
    let cause = SignalRevision::from(signal);
    let name = passed_statement(sanitised, signal, |name| name == "summary", FieldForm::LINE)?;
    let goal = passed_statement(sanitised, signal, |name| name == "goal", FieldForm::PARAGRAPH)
        .unwrap_or_else(|| inferred_statement("The sprint has no goal that may be shown.", &[cause]));
    Some(BTreeMap::from([
        (ArtefactField::Name, ArtefactValue::Text(name)),
        (ArtefactField::StartDate, date("startDate")?),
        (ArtefactField::EndDate, date("endDate")?),
        (ArtefactField::Goal, ArtefactValue::Text(goal)),
    ]))
}
