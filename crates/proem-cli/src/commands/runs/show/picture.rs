//! `proem runs show --svg`: one picture of a run, attempt by attempt, with time, tokens and cost.
//!
//! Invariants: the same record, the same bytes. An unknown cost is a dash and never a zero.

use proem_engine::call::NanoDollars;
use proem_store::query::{AttemptRow, CallRow, RunDetail};

use super::account::{group_tokens, or_unknown};
use crate::ui::drawing::{MARGIN, WIDTH, begin_picture, push_box, push_svg_text};
use crate::ui::{self, cut_to_width};

/// The top of the strip, and its height.
const STRIP: (usize, usize) = (86, 36);
/// The top of the first row, and the distance between rows.
const ROWS: (usize, usize) = (152, 27);
/// The most rows.
const MOST_ROWS: usize = 60;
/// The starts of a row's columns, or their ends for numbers: the call, its input, output and cost, and its time.
const COLUMNS: [usize; 5] = [46, 452, 532, 620, 644];
/// The longest bar of a row, without its label.
const BAR: usize = 140;

/// An attempt with its call's number.
struct Step<'r> {
    number: usize,
    call: &'r CallRow,
    attempt: &'r AttemptRow,
}

/// The picture. `None` if the run asked no model.
pub(super) fn run_picture(run: &RunDetail) -> Option<String> {
    let steps: Vec<Step<'_>> = run
        .calls
        .iter()
        .enumerate()
        .flat_map(|(number, call)| call.attempts.iter().map(move |attempt| Step { number, call, attempt }))
        .collect();
    if steps.is_empty() {
        return None;
    }
    let rows = steps.len().min(MOST_ROWS);
    let height = ROWS.0.saturating_add(rows.saturating_mul(ROWS.1)).saturating_add(40);
    let row = &run.row;
    let name = format!("{}/{} {}", row.prompt.agent, row.prompt.name, row.prompt.version);
    let mut out = begin_picture(&format!("Run {} of {name}: its calls with time and cost", row.id.short()), height);
    push_svg_text(&mut out, "title", (MARGIN, 38), &cut_to_width(&format!("run {}  {name}", row.id.short()), 80));
    push_svg_text(&mut out, "dim", (MARGIN, 62), &totals(run, steps.len()));
    push_strip(&steps, &mut out);
    let slowest = steps.iter().map(|step| step.attempt.took_ms).max().unwrap_or(0).max(1);
    for (index, step) in steps.iter().take(rows).enumerate() {
        push_step(step, slowest, ROWS.0.saturating_add(index.saturating_mul(ROWS.1)), &mut out);
    }
    let by = if is_free(&steps) { "time" } else { "cost" };
    let foot = match steps.len().saturating_sub(rows) {
        0 => format!("the strip is divided by {by}; a bar shows the time of an attempt"),
        more => format!("the strip is divided by {by}; {more} more attempts are left out below"),
    };
    push_svg_text(&mut out, "dim", (MARGIN, height.saturating_sub(18)), &foot);
    out.push_str("</svg>\n");
    Some(out)
}

fn totals(run: &RunDetail, attempts: usize) -> String {
    let row = &run.row;
    let count = |count: usize, noun: &str| ui::count_with_noun(u64::try_from(count).unwrap_or(u64::MAX), noun);
    let cost = row.cost.map_or_else(|| "cost unknown".to_owned(), ui::short_price);
    let took = row.numbers.took_ms.map_or_else(String::new, |took| format!(" · took {} ms", group_tokens(took)));
    format!(
        "{}, {} · {} tokens in ({} from the cache), {} out · {cost}{took}",
        count(run.calls.len(), "call"),
        count(attempts, "attempt"),
        or_unknown(row.input_tokens),
        or_unknown(row.cache_read_tokens),
        or_unknown(row.output_tokens)
    )
}

/// The known cost of an attempt, in billionths of a dollar.
fn known_cost(step: &Step<'_>) -> u64 {
    step.attempt.booked.map_or(0, |NanoDollars(nanos)| nanos)
}

/// Whether nothing is known to cost.
fn is_free(steps: &[Step<'_>]) -> bool {
    steps.iter().all(|step| known_cost(step) == 0)
}

/// All attempts side by side. Each is as wide as its share of the cost, or of the time if nothing is known to cost.
fn push_strip(steps: &[Step<'_>], out: &mut String) {
    let is_free = is_free(steps);
    let weight = |step: &Step<'_>| if is_free { step.attempt.took_ms.max(1) } else { known_cost(step) };
    let all = steps.iter().map(|step| u128::from(weight(step))).sum::<u128>().max(1);
    let room = WIDTH - 2 * MARGIN;
    let place = |before: u128| {
        let part = before.saturating_mul(u128::try_from(room).unwrap_or(0)) / all;
        MARGIN.saturating_add(usize::try_from(part).unwrap_or(room))
    };
    let mut before = 0_u128;
    for step in steps {
        let after = before.saturating_add(u128::from(weight(step)));
        let (from, to) = (place(before), place(after));
        let width = to.saturating_sub(from).saturating_sub(2).max(1);
        push_box(out, class(step.attempt), [from, STRIP.0, width, STRIP.1], Some(&step_words(step)));
        before = after;
    }
}

fn push_step(step: &Step<'_>, slowest: u64, top: usize, out: &mut String) {
    let y = top.saturating_add(15);
    let attempt = step.attempt;
    push_box(out, class(attempt), [MARGIN, top.saturating_add(4), 13, 13], None);
    let [name, input, output, cost, bar] = COLUMNS;
    push_svg_text(out, "", (name, y), &step_words(step));
    let known = attempt.usage.as_ref().filter(|usage| usage.doubt.is_none() && usage.estimate.is_none());
    let count = |count: Option<u64>| count.map_or_else(|| ui::UNKNOWN.to_owned(), group_tokens);
    let read = format!("{} in", count(known.and_then(|usage| usage.input)));
    push_svg_text(out, "number", (input, y), &read);
    push_svg_text(out, "number", (output, y), &format!("{} out", count(known.and_then(|usage| usage.output))));
    let price = attempt.booked.map_or_else(|| ui::UNKNOWN.to_owned(), ui::short_price);
    push_svg_text(out, "number dim", (cost, y), &price);
    let width = u128::from(attempt.took_ms).saturating_mul(u128::try_from(BAR).unwrap_or(0)) / u128::from(slowest);
    let width = usize::try_from(width).unwrap_or(BAR).max(1);
    push_box(out, class(attempt), [bar, top.saturating_add(4), width, 13], None);
    let label = bar.saturating_add(width).saturating_add(6);
    push_svg_text(out, "dim", (label, y), &format!("{} ms", group_tokens(attempt.took_ms)));
}

/// An attempt in words: its call, its prompt and how it failed.
fn step_words(step: &Step<'_>) -> String {
    let again = match step.attempt.attempt {
        0 => String::new(),
        number => format!(", attempt {}", number.saturating_add(1)),
    };
    let failed = step.attempt.failed.as_deref().map_or_else(String::new, |kind| format!(": {kind}"));
    let prompt = &step.call.prompt;
    cut_to_width(&format!("call {}{again}  {}/{}{failed}", step.number, prompt.agent, prompt.name), 48)
}

/// The colour of an attempt: answered, failed, or of unknown outcome.
fn class(attempt: &AttemptRow) -> &'static str {
    match (attempt.state.as_str(), attempt.failed.is_some()) {
        (_, true) => "bad",
        ("reported", false) => "trusted",
        _ => "empty",
    }
}
