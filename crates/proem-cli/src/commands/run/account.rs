//! The account of a run's use, for people.

use proem_agents::prompt_call::PreparedRequest;
use proem_engine::call::{Arrival, FailureSpeaker, NanoDollars, ResponsePart, Usage, UsageEstimate};
use proem_engine::decode::{PlacedRepair, RepairKind};
use proem_engine::profile::{Adaptation, ProfileRule, Signals};
use proem_engine::run::{Attempt, BrokenRule, ExchangeEnd, FallbackReason};
use proem_guard::{Untrusted, show};

use crate::commands::explain::push_sections;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, group_thousands, style_text};
use proem_app::records::writing::BookedCost;
use proem_app::run::course::FinishedRun;
use proem_app::run::setting::{OpenRun, RunSetting, setting_notes};
use proem_app::{Note, NoteKind};

/// The most characters that are shown of what a provider said.
const MAX_SAID: usize = 300;

/// Shorter waits are not worth a word.
const SHOWN_MILLIS: u128 = 20;

/// Tells it on standard error.
pub(super) fn print_run_account(setting: &RunSetting, ran: &FinishedRun) {
    for noted in &ran.prepared.noted {
        ui::print_notes(&[Note::new(NoteKind::Guard, format!("guard: {}", noted.in_words()))]);
    }
    if let Some(first) = ran.made.first() {
        ui::print_notes(&setting_notes(&first.dropped).collect::<Vec<_>>());
    }
    for attempt in &ran.outcome.attempts {
        for problem in &attempt.problems {
            ui::print_note(&format!("attempt {}: {}", attempt.effect.0.saturating_add(1), broken_rule_words(problem)));
        }
        if !attempt.repairs.is_empty() {
            ui::print_note(&format!("repaired: {}", repairs(&attempt.repairs)));
        }
        if let Some(usage) = attempt.usage.as_ref()
            && let Some(gap) = usage.gap_in_words()
        {
            let booked =
                usage.estimate.map_or_else(|| "charged in full".to_owned(), |most| estimated_usage(setting, most));
            ui::print_note(&format!("attempt {}: {gap}; {booked}", attempt.effect.0.saturating_add(1)));
        }
        if let Some(failure) = &attempt.failure {
            if let Some(said) = &failure.said {
                let speaker = match failure.speaker() {
                    FailureSpeaker::Provider => "the provider said",
                    FailureSpeaker::Model => "the model had written",
                };
                ui::print_note(&format!("{speaker}: {}", show::terminal_capped(said, MAX_SAID)));
            }
            if matches!(ran.outcome.ended, ExchangeEnd::FellBack { .. }) {
                ui::print_note(&failure.message);
            }
        }
    }
    if let Some(cut) = cut_off_text(ran) {
        ui::print_note(&format!("the model had written: {}", show::terminal_capped(cut, MAX_SAID)));
    }
    if let ExchangeEnd::FellBack { because, .. } = &ran.outcome.ended {
        ui::print_note(&format!("the value is the prompt's fallback, because {}", because.in_words()));
    }
    ui::aside(&format!("{}\n", run_line(setting, ran)));
}

/// The part of a text that reached its maximum number of tokens.
fn cut_off_text(ran: &FinishedRun) -> Option<&Untrusted<String>> {
    let ExchangeEnd::Failed { because: FallbackReason::CutOff } = ran.outcome.ended else { return None };
    let response = ran.outcome.attempts.last()?.response.as_ref()?;
    response.content.iter().find_map(|part| match part {
        ResponsePart::Text { text } => Some(text),
        _ => None,
    })
}

/// The booking of an answer whose usage is not reported, and the way to get it reported.
fn estimated_usage(setting: &RunSetting, most: UsageEstimate) -> String {
    let asked = &setting.access.asked;
    let UsageEstimate { input, output } = most;
    let booked = format!("estimated from bytes: at most {} in, {} out", grouped_tokens(input), grouped_tokens(output));
    match asked.arrival {
        Arrival::Streamed => {
            format!("{booked}; it may report them with `stream = false` under `[providers.{}]`", asked.endpoint.name)
        }
        Arrival::Whole => booked,
    }
}

/// A count of tokens with its digits in groups.
fn grouped_tokens(tokens: u64) -> String {
    usize::try_from(tokens).map_or_else(|_| tokens.to_string(), group_thousands)
}

/// Tells before a call what it will take: tokens by section, the most that it can cost, what the cache is expected to do.
pub(super) fn forecast(setting: &RunSetting, prepared: &PreparedRequest) -> Result<(), CommandFailure> {
    let mut out = String::new();
    push_sections(&prepared.report, &prepared.request.assembly, &prepared.plan, &mut out);
    let (total, most) = (group_thousands(prepared.plan.total_tokens), cost_words(setting.most_cost(prepared)?));
    let answer = group_thousands(prepared.request.assembly.output_tokens);
    out.push_str(&format!(
        "{total} tokens in, schema and tools included; at most {answer} out; at most {most} an attempt\n"
    ));
    out.push_str(&format!("cache: {}\n", prepared.plan.sentence()));
    ui::aside(&out);
    Ok(())
}

/// Tells more of it: what went over the wire, what is booked, what the prompt learned.
pub(super) async fn explain_run(open: &OpenRun, ran: &FinishedRun) {
    ui::aside(&wire_lines(ran));
    for attempt in &ran.outcome.attempts {
        for repair in &attempt.repairs {
            ui::aside(&format!("attempt {}: {}\n", attempt.effect.0.saturating_add(1), repair.in_words()));
        }
    }
    ui::aside(&format!("cache: {}\n", ran.prepared.plan.sentence()));
    if let (Some(records), Some(run)) = (open.records(), &ran.run) {
        let booked = match records.booking(run).await {
            Ok(BookedCost { reserved, settled }) => {
                format!("charged {} of {} reserved", cost_words(settled), cost_words(reserved))
            }
            Err(failure) => format!("the recorded cost can't be read: {failure}"),
        };
        ui::aside(&format!("run {run}: {booked}\n"));
    } else {
        ui::aside("this run is not recorded\n");
    }
    if let Some(taught) = &open.setting().taught {
        ui::aside(&profile(&taught.adapted));
    }
}

/// The lessons and wishes that the prompt shows, with their reasons.
pub(in crate::commands) fn profile(adapted: &Adaptation) -> String {
    let rules: Vec<&str> = adapted.rules.iter().map(|rule| in_a_word(*rule)).collect();
    let rules = match rules.as_slice() {
        [] if adapted.profile.is_empty() => "nothing was learned, and no preference is set".to_owned(),
        [] => "as recorded".to_owned(),
        rules => rules.join(", "),
    };
    let signals = signal_sentences(&adapted.signals);
    let signals = if signals.is_empty() { String::new() } else { format!("  ({})", signals.join("; ")) };
    let mut out = format!("{}  {rules}{signals}\n", style_text(BOLD, "profile"));
    let profile = &adapted.profile;
    for (what, lines) in
        [("do", &profile.instructions), ("don't", &profile.constraints), ("such as", &profile.examples)]
    {
        for line in lines {
            out.push_str(&format!("  {}  {line}\n", style_text(DIM, &format!("{what:7}"))));
        }
    }
    for note in &adapted.notes {
        out.push_str(&format!("  {}\n", style_text(DIM, &show::terminal_str(note).into_string())));
    }
    out
}

const fn in_a_word(rule: ProfileRule) -> &'static str {
    match rule {
        ProfileRule::Baseline => "baseline",
        ProfileRule::Failures => "failures",
        ProfileRule::Risks => "risks",
        ProfileRule::Retry => "retry",
        ProfileRule::Time => "time",
        ProfileRule::Compliance => "compliance",
        ProfileRule::Format => "format",
    }
}

/// The signals that say something, in words.
fn signal_sentences(signals: &Signals) -> Vec<String> {
    let mut words = Vec::new();
    if signals.recent_failure_count > 0 {
        let of = show::terminal_str(&signals.last_failure_subagents.join(", "));
        let failures = if signals.recent_failure_count == 1 { "failure" } else { "failures" };
        words.push(format!("{} recent {failures} of {of}", signals.recent_failure_count));
    }
    if !signals.risk_tags.is_empty() {
        words.push(format!("risks {}", show::terminal_str(&signals.risk_tags.join(", "))));
    }
    if signals.needs_retry {
        words.push("the last result was not good enough".to_owned());
    }
    if signals.time_sensitive {
        words.push("a short answer is requested".to_owned());
    }
    if signals.compliance_required {
        words.push("compliance counts".to_owned());
    }
    words.extend(signals.preferred_format.map(|format| format!("{} is preferred", format.as_str())));
    words
}

/// Each kind once, in the order met, with how often.
fn repairs(repairs: &[PlacedRepair]) -> String {
    let mut counts: Vec<(RepairKind, usize)> = Vec::new();
    for PlacedRepair { kind, .. } in repairs {
        match counts.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => counts.push((*kind, 1)),
        }
    }
    let words = counts.iter().map(|(kind, count)| match count {
        1 => kind.in_words().to_owned(),
        count => format!("{} ({} times)", kind.in_words(), group_thousands(*count)),
    });
    words.collect::<Vec<_>>().join("; ")
}

fn broken_rule_words(problem: &BrokenRule) -> String {
    let place = if problem.path.is_empty() { "the answer".to_owned() } else { format!("`{}`", problem.path) };
    format!("{place} violates `{}`; expected: {}", problem.rule, problem.expected)
}

/// The run in one line.
fn run_line(setting: &RunSetting, ran: &FinishedRun) -> String {
    let id = &ran.prepared.request.assembly.prompt;
    let name = style_text(BOLD, &format!("{}/{}", id.agent, id.name));
    let from = format!("{}/{}", setting.access.asked.endpoint.name, setting.access.asked.model.name);
    let unsent = |attempt: &Attempt| attempt.failure.as_ref().is_some_and(|failure| failure.kind.is_unsent());
    let spent = if ran.outcome.attempts.iter().all(unsent) && !ran.is_unreported() {
        "no tokens were used".to_owned()
    } else {
        let usage = ran.outcome.usage().map_or_else(|| "tokens unknown".to_owned(), |usage| usage_words(&usage));
        format!("{usage}  {}", cost_words(setting.cost(ran)))
    };
    let run = ran
        .run
        .as_ref()
        .map_or_else(String::new, |run| format!("  {}", style_text(DIM, &format!("run {}", run.short()))));
    format!("{name} {}  {}  {spent}{run}", id.version, style_text(DIM, &from))
}

/// The tokens of a usage: `1,140 in (900 from the cache), 32 out`.
fn usage_words(usage: &Usage) -> String {
    let count = |tokens: Option<u64>| {
        tokens.and_then(|tokens| usize::try_from(tokens).ok()).map_or_else(|| "?".to_owned(), group_thousands)
    };
    if let Some(UsageEstimate { input, output }) = usage.estimate {
        return format!("at most {} in, {} out (estimated)", grouped_tokens(input), grouped_tokens(output));
    }
    let mut cached = Vec::new();
    if let Some(read) = usage.cache_read.filter(|read| *read > 0) {
        cached.push(format!("{} from the cache", count(Some(read))));
    }
    if usage.cache_written() > 0 {
        cached.push(format!("{} written to the cache", count(Some(usage.cache_written()))));
    }
    let cached = if cached.is_empty() { String::new() } else { format!(" ({})", cached.join(", ")) };
    format!("{} in{cached}, {} out", count(usage.input), count(usage.output))
}

pub(super) fn cost_words(cost: Option<NanoDollars>) -> String {
    cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string())
}

/// Each attempt with what went over the wire.
fn wire_lines(ran: &FinishedRun) -> String {
    let mut out = String::new();
    for attempt in &ran.outcome.attempts {
        let number = attempt.effect.0.saturating_add(1);
        let finish = attempt.response.as_ref().map_or_else(
            || attempt.failure.as_ref().map_or_else(String::new, |failure| failure.kind.as_str().to_owned()),
            |response| format!("{:?}", response.finish).to_lowercase(),
        );
        let usage = attempt.usage.as_ref().map(usage_words).unwrap_or_default();
        out.push_str(&format!("attempt {number}: {finish}  {usage}\n"));
        let made = ran.made.iter().find(|made| made.effect == attempt.effect);
        for sent in made.into_iter().flat_map(|made| &made.attempts) {
            let status = sent.status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            let failed = sent.failed.map_or_else(String::new, |kind| format!(", {}", kind.as_str()));
            let waited = if sent.waited.as_millis() < SHOWN_MILLIS {
                String::new()
            } else {
                format!(" after {} ms", sent.waited.as_millis())
            };
            let bytes = group_thousands(sent.bytes);
            out.push_str(&format!("  sent{waited}: {status}{failed}, {bytes} bytes in {} ms\n", sent.took.as_millis()));
        }
        for dropped in made.into_iter().flat_map(|made| &made.dropped) {
            out.push_str(&format!("  not sent to the provider: {} ({})\n", dropped.path, dropped.why));
        }
    }
    out
}
