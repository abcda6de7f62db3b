//! What a run took, for people.

use proem_engine::call::{NanoDollars, Usage};
use proem_engine::decode::RepairKind;
use proem_engine::run::{Attempt, Broken, Ended};
use proem_guard::show;

use super::setting::{Ran, Setting};
use crate::ui::{self, BOLD, DIM, grouped, styled};

/// The most characters that are shown of what a provider said.
const MAX_SAID: usize = 300;

/// Shorter waits are not worth a word.
const SHOWN_MILLIS: u128 = 20;

/// Tells it on standard error.
pub(super) fn tell(setting: &Setting, ran: &Ran, explain: bool) {
    for noted in &ran.prepared.noted {
        ui::note(&format!("guard: {}", noted.in_words()));
    }
    for attempt in &ran.outcome.attempts {
        for problem in &attempt.problems {
            ui::note(&format!("attempt {}: {}", attempt.effect.0.saturating_add(1), in_words(problem)));
        }
        if !attempt.repairs.is_empty() {
            ui::note(&format!("repaired: {}", repairs(&attempt.repairs)));
        }
        if let Some(failure) = &attempt.failure {
            if matches!(ran.outcome.ended, Ended::FellBack { .. }) {
                ui::note(&failure.message);
            }
            if let Some(said) = &failure.said {
                ui::note(&format!("the provider said: {}", show::terminal_capped(said, MAX_SAID)));
            }
        }
    }
    if let Ended::FellBack { because, .. } = &ran.outcome.ended {
        ui::note(&format!("the value is the prompt's fallback, since {}", because.in_words()));
    }
    ui::aside(&format!("{}\n", line(setting, ran)));
    if explain {
        ui::aside(&wire(ran));
        ui::aside(&format!("cache: {}\n", ran.prepared.plan.sentence()));
    }
}

/// Each kind once, in the order met, with how often.
fn repairs(kinds: &[RepairKind]) -> String {
    let mut counts: Vec<(RepairKind, usize)> = Vec::new();
    for kind in kinds {
        match counts.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => counts.push((*kind, 1)),
        }
    }
    let words = counts.iter().map(|(kind, count)| match count {
        1 => kind.in_words().to_owned(),
        count => format!("{} ({} times)", kind.in_words(), grouped(*count)),
    });
    words.collect::<Vec<_>>().join("; ")
}

fn in_words(problem: &Broken) -> String {
    let place = if problem.path.is_empty() { "the answer".to_owned() } else { format!("`{}`", problem.path) };
    format!("{place} breaks `{}`; expected: {}", problem.rule, problem.expected)
}

/// The run in one line.
fn line(setting: &Setting, ran: &Ran) -> String {
    let id = &ran.prepared.request.assembly.prompt;
    let name = styled(BOLD, &format!("{}/{}", id.agent, id.name));
    let from = format!("{}/{}", setting.asked.endpoint.name, setting.asked.model.name);
    let unsent = |attempt: &Attempt| attempt.failure.as_ref().is_some_and(|failure| failure.kind.is_unsent());
    let spent = if ran.outcome.attempts.iter().all(unsent) {
        "nothing was used".to_owned()
    } else {
        let usage = ran.outcome.usage().map_or_else(|| "tokens unknown".to_owned(), |usage| tokens(&usage));
        format!("{usage}  {}", money(setting.cost(ran)))
    };
    format!("{name} {}  {}  {spent}", id.version, styled(DIM, &from))
}

/// The tokens of a usage: `1,140 in (900 from the cache), 32 out`.
fn tokens(usage: &Usage) -> String {
    let count = |tokens: Option<u64>| {
        tokens.and_then(|tokens| usize::try_from(tokens).ok()).map_or_else(|| "?".to_owned(), grouped)
    };
    let mut cached = Vec::new();
    if let Some(read) = usage.cache_read.filter(|read| *read > 0) {
        cached.push(format!("{} from the cache", count(Some(read))));
    }
    if usage.cache_written() > 0 {
        cached.push(format!("{} written to it", count(Some(usage.cache_written()))));
    }
    let cached = if cached.is_empty() { String::new() } else { format!(" ({})", cached.join(", ")) };
    format!("{} in{cached}, {} out", count(usage.input), count(usage.output))
}

pub(super) fn money(cost: Option<NanoDollars>) -> String {
    cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string())
}

/// Each attempt with what went over the wire.
fn wire(ran: &Ran) -> String {
    let mut out = String::new();
    for attempt in &ran.outcome.attempts {
        let number = attempt.effect.0.saturating_add(1);
        let finish = attempt.response.as_ref().map_or_else(
            || attempt.failure.as_ref().map_or_else(String::new, |failure| failure.kind.as_str().to_owned()),
            |response| format!("{:?}", response.finish).to_lowercase(),
        );
        let usage = attempt.usage.as_ref().map(tokens).unwrap_or_default();
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
            let bytes = grouped(sent.bytes);
            out.push_str(&format!("  sent{waited}: {status}{failed}, {bytes} bytes in {} ms\n", sent.took.as_millis()));
        }
        for dropped in made.into_iter().flat_map(|made| &made.dropped) {
            out.push_str(&format!("  the provider does not get {}: {}\n", dropped.path, dropped.why));
        }
    }
    out
}
