//! A person's decision, with its options.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted};
use proem_text::{Label, Source};
use serde_json::json;

use super::context::CycleMember;
use super::group::{GroupedSignals, is_kept_out, ticket_of};
use super::{OptionReasons, PlannedOption, PlannedQuestion, items};
use crate::{
    charter::ProjectCharter,
    contract::{EscalationReason, RecommendedAction, SignalCategory, TimeSensitivity},
    signal::SignalSource,
};
use proem_guard::show;

/// The most signals that one question shows.
const MAX_SHOWN: usize = 10;
/// The most texts of a signal that a question shows.
const MAX_TEXTS: usize = 3;

/// A group as a question shows it: its tickets, senders and texts, as far as they may be read.
pub(super) fn group_subject<'g>(members: impl Iterator<Item = &'g CycleMember<'g>>) -> LabelTree {
    let mut shown: Vec<LabelTree> = Vec::new();
    let mut beyond = 0_usize;
    for member in members {
        if shown.len() >= MAX_SHOWN {
            beyond = beyond.saturating_add(1);
            continue;
        }
        let outside = |text: Option<&Untrusted<String>>| text.map_or(LabelTree::Null, |text| text.clone().into());
        let texts = member.sanitised.fields.iter().filter_map(|field| {
            let text = field.text.clone()?;
            Some(if member.sanitised.suspects(field) { LabelTree::Flagged(text) } else { text.into() })
        });
        let out = member.sanitised.fields.iter().filter(|field| field.is_out()).count();
        let mut parts = vec![
            ("source", LabelTree::from(member.signal.source.as_str())),
            ("ticket", outside(ticket_of(member))),
            ("sender", outside(member.sanitised.sender.as_ref())),
            ("says", LabelTree::list(texts.take(MAX_TEXTS))),
        ];
        if out > 0 {
            parts.push(("kept out", LabelTree::from(format!("{out} of its texts, see the quarantine").as_str())));
        }
        parts.retain(|(_, part)| *part != LabelTree::Null);
        shown.push(LabelTree::map(parts));
    }
    if beyond > 0 {
        shown.push(format!("and {beyond} more").as_str().into());
    }
    LabelTree::list(shown)
}

/// A group's heading: its title as somebody else wrote it.
pub(super) fn group_heading(group: &GroupedSignals<'_>) -> LabelTree {
    items::group_title(group).words().clone()
}

/// A signal's heading: its subject, if that may be shown.
pub(super) fn heading_of(member: &CycleMember<'_>) -> LabelTree {
    let field = member.sanitised.fields.iter().find(|field| field.name == "summary");
    let text = field.filter(|field| !member.sanitised.suspects(field)).and_then(|field| field.text.clone());
    text.map_or(LabelTree::Null, LabelTree::from)
}

/// An option of the rules, with the reason for it and the one against it.
pub(super) fn rule_option(id: &'static str, label: &'static str, [pro, con]: [&'static str; 2]) -> PlannedOption {
    PlannedOption { id, label: label.into(), reasons: Some(OptionReasons { pro, con }), action: None }
}

/// The identity of a question: the ticket, else the signal.
pub(super) fn question_subject(group: &GroupedSignals<'_>, what: &str) -> String {
    let ticket = group.ticket().map(show::exact_json);
    let about = ticket.as_ref().and_then(|ticket| ticket.as_str()).unwrap_or(&group.leader().signal.id).to_owned();
    format!("{what}\n{about}")
}

/// A question about one group, by what its signals recommend.
pub(super) fn of_group(group: &GroupedSignals<'_>, charter: &ProjectCharter) -> PlannedQuestion {
    let answer = &group.leader().classification.answer;
    let category = answer.category;
    let (reason, title, mut options, recommended) = match category {
        _ if answer.recommended_action == RecommendedAction::DraftCommunication => message_question(group, charter),
        SignalCategory::Scope => scope_parts(group),
        SignalCategory::Blocker => standstill_parts(),
        _ if is_kept_out(group.leader()) => (
            EscalationReason::LowConfidence,
            format!("A text that was kept out may matter ({}). Who looks at it?", category.as_str()),
            vec![
                rule_option(
                    "A",
                    "taken: whoever decides looks at it in the quarantine",
                    [
                        "what it is about beside the attack becomes known",
                        "its words may be meant to mislead whoever reads them",
                    ],
                ),
                rule_option(
                    "B",
                    "it is an attack and nothing else: nothing more is needed",
                    ["nobody reads an attack", "a real matter in the same text is lost"],
                ),
            ],
            ("A", "what it is about beside the attack is not known"),
        ),
        _ => (
            EscalationReason::StrategicImpact,
            format!("Something critical came in ({}). Who takes it?", category.as_str()),
            vec![
                rule_option(
                    "A",
                    "taken: whoever decides sees to it",
                    ["somebody has it from now on", "it takes time from other work"],
                ),
                rule_option(
                    "B",
                    "not as critical as it looks: nothing more is needed",
                    ["nobody is called away from other work", "if it is critical after all, time is lost"],
                ),
            ],
            ("A", "it says of itself that it is critical"),
        ),
    };
    options.extend(ticket_change(group, category));
    PlannedQuestion {
        subject: question_subject(group, &format!("{}\n{}", reason.as_str(), category.as_str())),
        reason,
        title,
        heading: group_heading(group),
        background: Vec::new(),
        about: group_subject(group.members()),
        options,
        recommended,
        time: answer.time_sensitivity,
        causes: group.causes(),
    }
}

type QuestionParts = (EscalationReason, String, Vec<PlannedOption>, (&'static str, &'static str));

/// The question about a change of scope.
fn scope_parts(group: &GroupedSignals<'_>) -> QuestionParts {
    let title = match group.ticket() {
        Some(_) => "The scope changed after the sprint was agreed. Does the change stand?",
        None => "A message changes what was agreed. Does the change stand?",
    };
    (
        EscalationReason::ScopeChange,
        title.to_owned(),
        vec![
            rule_option(
                "A",
                "it stands: the sprint is larger, and what may slip is said",
                ["whoever wants it gets it in this sprint", "what was agreed may not be finished"],
            ),
            rule_option(
                "B",
                "it stands, and something of the same size leaves the sprint",
                ["the sprint stays about as large as it was", "whoever waits for what leaves has to be told"],
            ),
            rule_option(
                "C",
                "it does not: it goes back to the backlog",
                ["the team finishes what was agreed", "whoever asked for it waits for the next sprint"],
            ),
        ],
        ("B", "what was agreed stays about as large as it was"),
    )
}

/// The question about blocked work.
fn standstill_parts() -> QuestionParts {
    (
        EscalationReason::StrategicImpact,
        "Work stands still, and it is critical. Who takes it?".to_owned(),
        vec![
            rule_option(
                "A",
                "taken: whoever decides sees to it that it is unblocked",
                ["somebody has it from now on", "it takes time from other work"],
            ),
            rule_option(
                "B",
                "known already: nothing more is needed",
                ["nobody does the same twice", "if nobody has it after all, work stands still longer"],
            ),
        ],
        ("A", "it is critical, and nothing shows that somebody has it"),
    )
}

/// A message that somebody may expect an answer to, and for which no model drafted one.
fn message_question(group: &GroupedSignals<'_>, charter: &ProjectCharter) -> QuestionParts {
    let reason = if group.members().any(|member| is_outside_sender(member, charter)) {
        EscalationReason::ExternalCommunication
    } else {
        EscalationReason::LowConfidence
    };
    (
        reason,
        "Somebody may expect an answer, and none is drafted.".to_owned(),
        vec![
            rule_option("A", "whoever decides answers", ["whoever wrote knows where it stands", "it takes time"]),
            rule_option("B", "no answer is needed", ["nothing has to be done", "somebody may wait in vain"]),
        ],
        ("A", "a message of a stakeholder is better answered than forgotten"),
    )
}

/// Whether a sender is outside, or nobody knows.
pub(super) fn is_outside_sender(member: &CycleMember<'_>, charter: &ProjectCharter) -> bool {
    let address = member.signal.sender.as_ref().and_then(|sender| sender.address.as_ref()).map(show::exact_json);
    let Some(address) = address.as_ref().and_then(|address| address.as_str()) else { return true };
    charter.is_outside(address)
}

/// An option that changes the ticket, where a ticket system could do it: only a person's choice makes such an action.
fn ticket_change(group: &GroupedSignals<'_>, category: SignalCategory) -> Option<PlannedOption> {
    let leader = group.leader();
    let cause = json!([{ "id": leader.signal.id, "revision": leader.signal.revision }]);
    let label = |sources: &Label| sources.join(&Label::from_source(Source::named("triage/rule")));
    match (leader.signal.source, ticket_of(leader), category) {
        (SignalSource::Jira, Some(ticket), SignalCategory::Blocker) => {
            let action = ticket.clone().map(|key| {
                json!({ "action": "jira_status_change", "target": key, "fields": { "status": "blocked" }, "causes": cause })
            });
            let reasons =
                ["everybody who looks at the ticket sees it", "the ticket changes before somebody has looked at it"];
            let option = rule_option("D", "taken, and the ticket is moved to blocked", reasons);
            Some(PlannedOption { action: Some(action), ..option })
        }
        (SignalSource::Mail | SignalSource::Outlook, None, SignalCategory::Blocker | SignalCategory::Quality) => {
            let summary = leader.sanitised.fields.iter().find(|field| field.name == "summary")?.text.clone()?;
            let joined = label(summary.label());
            let exact = show::exact_json(&summary).as_str().unwrap_or_default().chars().take(150).collect::<String>();
            let action = json!({
                "action": "jira_create_ticket", "target": group.key(), "fields": { "summary": exact }, "causes": cause,
            });
            let action = Some(Untrusted::new(action, joined));
            let reasons = ["the team sees it where it works", "the ticket repeats the words of whoever wrote the mail"];
            let option = rule_option("D", "taken, and a ticket is created for it", reasons);
            Some(PlannedOption { action, ..option })
        }
        _ => None,
    }
}

/// Questions about many subjects at once: those that would change the artefacts, those of which nothing is understood,
/// and those that a comment would have gone to. A subject that is asked about already is in none of them.
pub(super) fn of_many(
    asked: &[PlannedQuestion],
    withheld: &[&GroupedSignals<'_>],
    unread: &[&GroupedSignals<'_>],
    uncommented: &[&GroupedSignals<'_>],
) -> Vec<PlannedQuestion> {
    let asked: BTreeSet<&SignalRevision> = asked.iter().flat_map(|question| &question.causes).collect();
    let is_open = |group: &GroupedSignals<'_>| !group.causes().iter().any(|cause| asked.contains(cause));
    let of = |groups: &[&GroupedSignals<'_>], question: fn(&[&GroupedSignals<'_>]) -> PlannedQuestion| {
        let open: Vec<_> = groups.iter().copied().filter(|group| is_open(group)).collect();
        (!open.is_empty()).then(|| question(&open))
    };
    [of(withheld, of_withheld), of(unread, unread_question), of(uncommented, of_comments)]
        .into_iter()
        .flatten()
        .collect()
}

/// One question for all changes of artefacts that the level of autonomy does not allow.
fn of_withheld(groups: &[&GroupedSignals<'_>]) -> PlannedQuestion {
    let title = match groups.len() {
        1 => "A signal would change the artefacts, which nobody let rules do at this level.".to_owned(),
        more => format!("{more} subjects would change the artefacts, which nobody let rules do at this level."),
    };
    let causes: Vec<_> = groups.iter().flat_map(|group| group.causes()).collect();
    let first = groups.first().map_or_else(String::new, |group| question_subject(group, "withheld"));
    PlannedQuestion {
        subject: first,
        reason: EscalationReason::OutsideAutonomyLevel,
        title,
        heading: groups.first().map_or(LabelTree::Null, |group| group_heading(group)),
        background: Vec::new(),
        about: group_subject(groups.iter().flat_map(|group| group.members())),
        options: vec![
            rule_option(
                "A",
                "whoever decides brings the artefacts up to date",
                ["reports say what the signals say", "it is done by hand, with `proem artefacts edit`"],
            ),
            rule_option("B", "leave it", ["nothing has to be done", "the artefacts say less than what is known"]),
        ],
        recommended: ("A", "the signals would change what the artefacts say"),
        time: TimeSensitivity::ThisWeek,
        causes,
    }
}

/// One question for all tickets that changed the scope.
pub(super) fn of_scope(groups: &[&GroupedSignals<'_>], charter: &ProjectCharter) -> Option<PlannedQuestion> {
    let mut question = of_group(groups.first()?, charter);
    if groups.len() > 1 {
        question.title =
            format!("{} tickets changed the scope after the sprint was agreed. Do the changes stand?", groups.len());
        question.about = group_subject(groups.iter().flat_map(|group| group.members()));
        question.causes = groups.iter().flat_map(|group| group.causes()).collect();
    }
    Some(question)
}

/// One question for all messages of which nothing is understood.
fn unread_question(groups: &[&GroupedSignals<'_>]) -> PlannedQuestion {
    let causes: Vec<_> = groups.iter().flat_map(|group| group.causes()).collect();
    let title = match groups.len() {
        1 => "Rules understand nothing of this message. Who reads it?".to_owned(),
        more => format!("Rules understand nothing of {more} messages. Who reads them?"),
    };
    PlannedQuestion {
        subject: groups.first().map_or_else(String::new, |group| question_subject(group, "unread")),
        reason: EscalationReason::LowConfidence,
        title,
        heading: groups.first().map_or(LabelTree::Null, |group| group_heading(group)),
        background: Vec::new(),
        about: group_subject(groups.iter().flat_map(|group| group.members())),
        options: vec![
            rule_option(
                "A",
                "whoever decides reads and answers",
                ["nothing that matters is overlooked", "it takes time, and most such messages matter little"],
            ),
            rule_option("B", "leave it", ["nothing has to be done", "somebody may wait for an answer in vain"]),
        ],
        recommended: ("A", "somebody may expect an answer"),
        time: TimeSensitivity::NoDeadline,
        causes,
    }
}

/// One question for all tickets that a comment would have gone to.
fn of_comments(groups: &[&GroupedSignals<'_>]) -> PlannedQuestion {
    let causes: Vec<_> = groups.iter().flat_map(|group| group.causes()).collect();
    let first = groups.first().map_or_else(String::new, |group| question_subject(group, "comment"));
    let tickets =
        if groups.len() == 1 { "A new ticket has".to_owned() } else { format!("{} new tickets have", groups.len()) };
    PlannedQuestion {
        subject: first,
        reason: EscalationReason::OutsideAutonomyLevel,
        title: format!("{tickets} no description. Who asks for one?"),
        heading: groups.first().map_or(LabelTree::Null, |group| group_heading(group)),
        background: Vec::new(),
        about: group_subject(groups.iter().flat_map(|group| group.members())),
        options: vec![
            rule_option(
                "A",
                "whoever decides asks on the tickets",
                ["work on them can start", "whoever wrote them is asked for more work"],
            ),
            rule_option("B", "leave it", ["nobody is disturbed", "nobody can start on a ticket that says nothing"]),
        ],
        recommended: ("A", "nobody can start on a ticket that says nothing"),
        time: TimeSensitivity::NoDeadline,
        causes,
    }
}

/// One question for all subjects of which an artefact takes no item more.
pub(super) fn of_unwritten(groups: &[&GroupedSignals<'_>]) -> PlannedQuestion {
    let title = match groups.len() {
        1 => "An item could not be written into the artefacts. Who notes it?".to_owned(),
        more => {
            format!("Items about {more} subjects could not be written into the artefacts. Who makes room for them?")
        }
    };
    PlannedQuestion {
        subject: groups.first().map_or_else(String::new, |group| question_subject(group, "unwritten")),
        reason: EscalationReason::OutsideAutonomyLevel,
        title,
        heading: groups.first().map_or(LabelTree::Null, |group| group_heading(group)),
        background: Vec::new(),
        about: group_subject(groups.iter().flat_map(|group| group.members())),
        options: vec![
            rule_option(
                "A",
                "whoever decides closes what is over and notes them",
                ["the artefacts tell what these signals tell", "somebody has to look through what is open"],
            ),
            rule_option("B", "leave it", ["nothing has to be done", "the artefacts go on without it"]),
        ],
        recommended: ("A", "the artefacts lack what these signals tell"),
        time: TimeSensitivity::Today,
        causes: groups.iter().flat_map(|group| group.causes()).collect(),
    }
}
