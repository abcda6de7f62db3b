//! The guidance of prompts on closed lists: words, tables and flows, made from the lists that code decides by.
//!
//! Each text is a partial of the book. A word that a list gets has no meaning here until somebody writes one, and a
//! test compares the book's files with what is made here. So no prompt lists another word than its schema.

use proem_engine::policy::AutonomyLevel;

use super::{
    artefact::{ArtefactField, ArtefactItemKind, FieldForm, ItemStatus},
    contract::{RecommendedAction, SignalCategory, SignalImportance},
    plan::RecommendationFate,
};

/// The partials that are made of lists: the file in the book, and its text.
#[must_use]
pub fn partials() -> Vec<(&'static str, String)> {
    vec![
        ("triage/classify/_importance.prompt", importance()),
        ("triage/classify/_categories.prompt", categories()),
        ("triage/classify/_recommended-actions.prompt", recommended_actions()),
        ("triage/classify/_autonomy.prompt", autonomy()),
        ("triage/reasoning/_autonomy.prompt", autonomy()),
        ("triage/artefact-update/_item-ids.prompt", item_ids()),
        (
            "triage/artefact-update/_colours.prompt",
            field_word_lines(ArtefactItemKind::Health, ArtefactField::OverallStatus, colour_meaning),
        ),
        (
            "triage/artefact-update/_severities.prompt",
            field_word_lines(ArtefactItemKind::Risk, ArtefactField::Severity, severity_meaning),
        ),
        ("triage/artefact-update/_raid-flow.prompt", flow(ArtefactItemKind::Risk)),
        ("triage/artefact-update/_raid-sources.prompt", field_word_row(ArtefactItemKind::Risk, ArtefactField::Source)),
        ("triage/artefact-update/_flags.prompt", field_word_row(ArtefactItemKind::Highlight, ArtefactField::Flag)),
    ]
}

/// One line for each word.
fn guidance_lines<'w>(words: impl IntoIterator<Item = (&'w str, &'w str)>) -> String {
    words.into_iter().map(|(word, meaning)| format!("- `{word}`: {meaning}\n")).collect()
}

fn importance() -> String {
    let meaning = |importance| match importance {
        SignalImportance::Critical => {
            "needs somebody at once: work is blocked, security is touched, a stakeholder escalates."
        }
        SignalImportance::High => "weighs on delivery: the sprint's goal or a key dependency is in danger.",
        SignalImportance::Medium => {
            "worth knowing, not pressing: a status that changed, a new ticket, news of the work."
        }
        SignalImportance::Low => "for information: a remark, a small correction, a change of metadata.",
    };
    guidance_lines(SignalImportance::ALL.iter().map(|importance| (importance.as_str(), meaning(*importance))))
}

fn categories() -> String {
    let meaning = |category| match category {
        SignalCategory::Blocker => "something can't go on, or keeps others from going on.",
        SignalCategory::Risk => "something may go wrong, or a known risk changed.",
        SignalCategory::Dependency => "news of something that others have to deliver.",
        SignalCategory::Progress => "how the sprint or the delivery gets on.",
        SignalCategory::Stakeholder => "a stakeholder writes or wants something.",
        SignalCategory::Scope => "work was added, taken out or changed.",
        SignalCategory::Quality => "a defect, a quality problem or technical debt.",
        SignalCategory::Administrative => "process, access and the like.",
    };
    guidance_lines(SignalCategory::ALL.iter().map(|category| (category.as_str(), meaning(*category))))
}

fn recommended_actions() -> String {
    let meaning = |action| match action {
        RecommendedAction::UpdateArtefact => "one or more artefacts should change.",
        RecommendedAction::Escalate => "the user should decide.",
        RecommendedAction::DraftCommunication => "a stakeholder should get a message; it is held or approved first.",
        RecommendedAction::AddJiraComment => "a comment should make something clear on the ticket.",
        RecommendedAction::NoAction => "it is written down, and that is all.",
        RecommendedAction::DeferToSonnet => {
            "it is too involved for a classification; the larger model should weigh it."
        }
    };
    guidance_lines(RecommendedAction::ALL.iter().map(|action| (action.as_str(), meaning(*action))))
}

/// The table of fates, and what holds at every level.
fn autonomy() -> String {
    let fate = |action, level| match RecommendationFate::of(action, level) {
        // The row of the larger model's recommendation says what becomes of its answer.
        _ if action == RecommendedAction::DeferToSonnet => "as it says",
        RecommendationFate::Logged => "logged",
        RecommendationFate::Escalated => "escalated",
        RecommendationFate::Onward => "goes on",
    };
    let levels = AutonomyLevel::ALL;
    let mut table = format!("| | {} |\n|---|---|---|---|\n", levels.map(AutonomyLevel::as_str).join(" | "));
    for action in RecommendedAction::ALL {
        let fates = levels.map(|level| fate(*action, level)).join(" | ");
        table.push_str(&format!("| `{}` | {fates} |\n", action.as_str()));
    }
    table.push_str("Messages to the outside and changes of scope are the user's to approve at every level.\n");
    table
}

fn item_ids() -> String {
    let named = [
        ArtefactItemKind::Risk,
        ArtefactItemKind::Assumption,
        ArtefactItemKind::Issue,
        ArtefactItemKind::Dependency,
        ArtefactItemKind::Blocker,
        ArtefactItemKind::Decision,
    ];
    let id = |kind: ArtefactItemKind| format!("{}001 ({})", kind.prefix(), kind.as_str());
    format!("  {}.\n", named.map(id).join(", "))
}

/// The words of a field, each with its meaning.
fn field_word_lines(kind: ArtefactItemKind, field: ArtefactField, meaning: fn(&str) -> &'static str) -> String {
    guidance_lines(permitted_field_words(kind, field).iter().map(|word| (*word, meaning(word))))
}

fn colour_meaning(word: &str) -> &'static str {
    match word {
        "green" => "on track.",
        "amber" => "smaller problems.",
        "red" => "a serious risk for the delivery.",
        _ => "",
    }
}

fn severity_meaning(word: &str) -> &'static str {
    match word {
        "critical" => "threatens the project.",
        "high" => "puts a milestone at risk.",
        "medium" => "touches the scope.",
        "low" => "a small inconvenience.",
        _ => "",
    }
}

fn permitted_field_words(kind: ArtefactItemKind, field: ArtefactField) -> &'static [&'static str] {
    match kind.rule(field).map(|rule| rule.form) {
        Some(FieldForm::Word(words)) => words,
        _ => &[],
    }
}

fn field_word_row(kind: ArtefactItemKind, field: ArtefactField) -> String {
    permitted_field_words(kind, field).iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// How a status goes on, from the first to the last.
fn flow(kind: ArtefactItemKind) -> String {
    let (mut steps, mut next) = (Vec::new(), vec![kind.first_status()]);
    while !next.is_empty() {
        steps.push(next.iter().map(|status| format!("`{status}`")).collect::<Vec<_>>().join(" or "));
        // The RAID log goes one way, so that this ends.
        let mut after: Vec<ItemStatus> = next.iter().flat_map(|status| kind.after(*status)).copied().collect();
        after.dedup();
        next = after;
    }
    steps.join(", then ")
}
