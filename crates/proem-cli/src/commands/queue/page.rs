//! One action on one screen: what it says between bars, and our words before and behind it.
//!
//! Invariants: no line begins with text from outside. An action that waits for a yes is shown as a whole. Whom it
//! reaches, its subject, what is attached and what happens on yes come after everything that it says.

use jiff::tz::TimeZone;
use proem_app::effects::drafting::{ActionDraft, DraftWay};
use proem_app::effects::queue::{QueuedAction, action_fields};
use proem_app::operator::{ApprovalPage, NOTE};
use proem_app::when;
use proem_engine::effect::{ActionEventKind, ActionState};
use proem_engine::policy::{Decision, EffectRoute, Policy, ProposedAction, Ruling};
use proem_guard::LabelTree;
use proem_guard::check::Reach;
use proem_guard::show::{self, TreeCap};
use proem_store::query::{QueueLine, TransitionRow};

use super::list::next_action_step;
use super::opening::short_effect_key;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, RED, YELLOW, cut_to_width, style_text};

/// The most characters of the name of a signal.
const MAX_SIGNAL: usize = 80;

/// How much of a signal is shown beside what came of it.
const CAUSE: TreeCap = TreeCap { characters: 300, lines: 12 };

/// How much of an edit is shown above what came of it, which follows as a whole.
const EDIT: TreeCap = TreeCap { characters: 600, lines: 24 };

/// The most characters of a target or subject beside the question. They are above as a whole.
const MAX_AIM: usize = 200;

/// The most characters of what somebody or something said to it.
const MAX_WORDS: usize = 240;

/// The name of an action.
pub(crate) fn action_name(action: &ProposedAction) -> String {
    action.name().map_or_else(|| "an action that no list has".to_owned(), |name| style_text(BOLD, name))
}

/// The content of an action, between bars.
pub(crate) fn action_text(action: &ProposedAction) -> String {
    format!("{}\n{}\n", action_name(action), show::tree(action.tree(), TreeCap::default()))
}

/// The decision about it, with every reason and condition.
pub(crate) fn decision_text(decision: &Decision) -> String {
    let ruling = match &decision.ruling {
        Ruling::Refusal(_) => style_text(RED, "refused"),
        Ruling::Approval => style_text(YELLOW, "needs an approval"),
        Ruling::Escalation => style_text(YELLOW, "a person has to decide"),
        Ruling::Hold(minutes) if minutes.0 == 0 => style_text(GREEN, "goes by itself"),
        Ruling::Hold(minutes) => format!("{} for {} min", style_text(GREEN, "held"), minutes.0),
        Ruling::Standstill => style_text(YELLOW, "stays as it is"),
        Ruling::Permit(_) => style_text(GREEN, "may go now"),
    };
    let otherwise = match (&decision.ruling, decision.hold) {
        (Ruling::Standstill, Some(minutes)) if minutes.0 > 0 => {
            format!(", and would be held for {} min", minutes.0)
        }
        _ => String::new(),
    };
    let mut out = format!("{}  {ruling}{otherwise}\n", style_text(DIM, "policy    "));
    for (index, reason) in decision.reasons.iter().enumerate() {
        let head = if index == 0 { "because" } else { "" };
        out.push_str(&format!(
            "{}  {}\n",
            style_text(DIM, &format!("{head:10}")),
            one_terminal_line(&reason.to_string())
        ));
    }
    for (index, result) in decision.conditions.iter().enumerate() {
        let head = if index == 0 { "conditions" } else { "" };
        let against = match result.against.first() {
            None => style_text(GREEN, "met"),
            Some(why) => format!("{}: {}", style_text(YELLOW, "not met"), one_terminal_line(why)),
        };
        let name = format!("{:16}", result.condition.as_str());
        out.push_str(&format!("{}  {name} {against}\n", style_text(DIM, &format!("{head:10}"))));
    }
    let confidence = &decision.confidence;
    out.push_str(&format!(
        "{}  {} of 1,000 (sources {}, boundary {}, schema {}, precedent {})\n",
        style_text(DIM, "confidence"),
        ui::short_number(u64::from(confidence.mean())),
        confidence.sources,
        confidence.boundary,
        confidence.schema,
        confidence.precedent
    ));
    out
}

/// One line of our words, whatever a problem quotes.
fn one_terminal_line(text: &str) -> String {
    show::terminal_str(text).into_string()
}

/// Everything that a person decides by, to look at it, with as much of what the action says as `cap` has.
pub(super) fn action_page(item: &QueuedAction, policy: &Policy, zone: &TimeZone, cap: TreeCap) -> String {
    let says = item.action.as_ref().map(|action| {
        let says = action_fields(action).unwrap_or_else(|| action.tree());
        let note = action.note().map(|note| {
            let note = LabelTree::map([(NOTE, note.clone())]);
            format!("{}\n", show::tree(&note, cap))
        });
        format!("\nWhat it says:\n{}\n{}\n", show::tree(says, cap), note.unwrap_or_default())
    });
    let happened = transition_history(&item.detail.transitions, zone);
    format!("{}{}{happened}{}", action_opening(item, policy, zone), says.unwrap_or_default(), consequence(item, policy))
}

/// The same, to decide by it.
pub(super) fn action_approval_page(
    item: &QueuedAction,
    policy: &Policy,
    zone: &TimeZone,
) -> Result<ApprovalPage, CommandFailure> {
    let mut page = ApprovalPage::new();
    page.words(&action_opening(item, policy, zone));
    if let Some(action) = &item.action {
        page.words("\nWhat it says:\n");
        page.action(action)?;
        page.words("\n");
    }
    page.words(&transition_history(&item.detail.transitions, zone));
    page.beside(&format!("{}\n", consequence(item, policy)));
    Ok(page)
}

/// The text before an action's content: its state, the policy's ruling, and its sources.
fn action_opening(item: &QueuedAction, policy: &Policy, zone: &TimeZone) -> String {
    let row = &item.detail.row;
    let mut out = format!(
        "{}  {}  {}, {}\n",
        style_text(BOLD, &short_effect_key(&row.key)),
        style_text(BOLD, &cut_to_width(&row.scope.name, 64)),
        row.state.as_str(),
        next_action_step(&QueueLine::from(row), zone)
    );
    out.push_str(&format!(
        "{}  {} by {}\n",
        style_text(DIM, "proposed  "),
        when::date_and_clock(row.created, zone),
        cut_to_width(&row.actor, 60)
    ));
    if let Some(why) = why_waiting(row.state, &item.detail.transitions) {
        out.push_str(&format!("{}  {why}\n", style_text(DIM, "waits for ")));
    }
    if let Some(decision) = &item.decision {
        out.push_str(&decision_text(decision));
    }
    let Some(action) = &item.action else {
        out.push_str("its texts are gone; what is left of it is above\n");
        return out;
    };
    for (index, cause) in action.causes().iter().enumerate() {
        let head = if index == 0 { "came from" } else { "" };
        let id = show::terminal_capped(&cause.id, MAX_SIGNAL);
        let revision = show::terminal_capped(&cause.revision, MAX_SIGNAL);
        out.push_str(&format!("{}  signal {id}, revision {revision}\n", style_text(DIM, &format!("{head:10}"))));
        if let Some(said) = item.causes.get(index).and_then(Option::as_ref) {
            for line in show::tree(said, CAUSE).as_str().lines() {
                out.push_str(&format!("            {line}\n"));
            }
        }
    }
    if let Some(before) = item.before_edit(policy) {
        out.push_str(&format!("\nChanges by the last edit:\n{}\n", action_changes(&before, action)));
    }
    out
}

/// Why a person has to look, if it was not the policy at the door that said so.
fn why_waiting(state: ActionState, transitions: &[TransitionRow]) -> Option<String> {
    let last = transitions.last().filter(|_| state == ActionState::Waiting)?;
    let problem = last.details.get("problem").and_then(|problem| problem.as_str()).map(one_terminal_line);
    match last.event {
        ActionEventKind::Edit => Some("your yes, since a person changed it".to_owned()),
        ActionEventKind::NotSent => Some(format!("your yes, since nothing was sent: {}", problem.unwrap_or_default())),
        ActionEventKind::LapseApproval => Some("your yes, since the approval is good for nothing any more".to_owned()),
        _ => problem.map(|problem| format!("your yes, since it can't be performed: {problem}")),
    }
}

/// The differences between two versions of an action.
fn action_changes(before: &ProposedAction, after: &ProposedAction) -> String {
    show::terminal_differences(&before.differences(after), EDIT).into_string()
}

fn transition_history(transitions: &[TransitionRow], zone: &TimeZone) -> String {
    let mut out = String::new();
    for row in transitions {
        // A person's words, or the reason for its end: a check of whether it happened starts there.
        let said = ["words", "problem"].iter().find_map(|name| row.details.get(*name)?.as_str());
        let words = said.map(|words| format!(": {}", cut_to_width(words, MAX_WORDS)));
        out.push_str(&format!(
            "{}  {} → {} by {}{}\n",
            style_text(DIM, &when::date_and_clock(row.at, zone)),
            row.event.as_str(),
            row.to.as_str(),
            cut_to_width(&row.actor, 40),
            words.unwrap_or_default()
        ));
    }
    if out.is_empty() { out } else { format!("{out}\n") }
}

/// Whom an action is aimed at and under which subject, as it names them.
pub(crate) fn aim(action: &ProposedAction) -> String {
    let LabelTree::Map(root) = action.tree() else { return String::new() };
    let subject = action_fields(action).and_then(|fields| match fields {
        LabelTree::Map(fields) => fields.get("subject"),
        _ => None,
    });
    let line = |(name, tree): (&str, Option<&LabelTree>)| {
        Some(format!("{}\n    │ {}\n", style_text(DIM, name), ui::on_line(tree?, MAX_AIM)))
    };
    [("target", root.get("target")), ("subject", subject)].into_iter().filter_map(line).collect()
}

/// Whom it reaches with which subject and files, and what happens, in our words.
pub(crate) fn consequence(item: &QueuedAction, policy: &Policy) -> String {
    let row = &item.detail.row;
    let Some(action) = &item.action else { return String::new() };
    let mut attached = String::new();
    let what = match &item.draft {
        None => return String::new(),
        Some(Err(problem)) => {
            let what = style_text(YELLOW, "It can't be performed as it is:");
            return format!("{what} {}\n", one_terminal_line(&problem.to_string()));
        }
        Some(Ok(ActionDraft { way: DraftWay::Mail { to, files }, bytes })) => {
            let people: Vec<String> = to.iter().map(|address| known_recipient(policy, address)).collect();
            for (name, bytes) in files {
                let head = style_text(DIM, &format!("{:10}", "attached"));
                attached.push_str(&format!(
                    "{head}  `{}`, {} bytes\n",
                    cut_to_width(name, 100),
                    ui::group_thousands(*bytes)
                ));
            }
            let files: Vec<String> = files.iter().map(|(name, _)| format!("`{}`", cut_to_width(name, 100))).collect();
            let files = if files.is_empty() { String::new() } else { format!(" with {}", files.join(" and ")) };
            format!("a mail of {} bytes{files} goes to {}", ui::group_thousands(bytes.len()), people.join(" and to "))
        }
        Some(Ok(ActionDraft { way: DraftWay::Request { server, .. }, bytes })) => {
            format!(
                "a request of {} bytes goes to the server `{}`",
                ui::group_thousands(bytes.len()),
                cut_to_width(server, 60)
            )
        }
        Some(Ok(ActionDraft { way: DraftWay::Inside, .. })) => {
            match action.name().and_then(|name| policy.action(name)).map(|terms| &terms.route) {
                Some(EffectRoute::Nowhere) => "it counts as done; whatever it says is yours to do".to_owned(),
                _ => "it is done inside Proem, and nothing leaves this machine".to_owned(),
            }
        }
    };
    let outside = match item.decision.as_ref().map(|decision| decision.reach) {
        Some(Reach::External) => format!(" {}", style_text(RED, "Somebody outside receives it.")),
        _ => String::new(),
    };
    let on_yes = match row.state {
        ActionState::Unknown => "If you say `resend`",
        ActionState::Held => "By itself when its hold is over, or at once if you release it",
        ActionState::Approved | ActionState::Resend => "With the next sweep",
        ActionState::Waiting => "If you approve it",
        ActionState::Proposed => "Once effects are on and the policy lets it go",
        // An action that has ended, or is being performed, has no consequence left to decide about.
        _ => return String::new(),
    };
    format!("{}{attached}{} {what}.{outside}\n", aim(action), style_text(BOLD, &format!("{on_yes},")))
}

/// A recipient as the policy knows it.
fn known_recipient(policy: &Policy, address: &str) -> String {
    let known = policy.recipients().find(|known| known.address == address);
    let words = known.map(|known| [known.name.as_str(), known.role.as_str()]).unwrap_or_default();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let address = cut_to_width(address, 120);
    if words.is_empty() { address } else { format!("{address} ({})", cut_to_width(&words.join(", "), 80)) }
}
