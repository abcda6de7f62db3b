//! Several models' answers, as a table and as JSON.

use proem_app::book::compare::{LiveEstimate, ModelStanding, ModelVerdict, answers_needed};
use proem_guard::show;
use serde_json::{Value as Json, json};

use crate::ui::{self, BOLD, DIM, GREEN, LEAD, RED, YELLOW, cut_to_width, style_text};

/// The cells of a line below which a model takes several.
const NARROW: usize = 76;
/// The most cells of a model's name.
const NAME: usize = 28;

/// A share in whole percent, rounded down; 0 of nothing.
pub(super) fn whole_percent(expected: u64, times: u64) -> u64 {
    expected.saturating_mul(100).checked_div(times).unwrap_or(0)
}

/// A number between 0 and 1 in whole percent.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the ends of an interval are between 0 and 1"
)]
pub(super) fn interval_percent(end: f64) -> u64 {
    (end.clamp(0.0, 1.0) * 100.0).round() as u64
}

/// The estimated cost of asking, on a line.
pub(super) fn estimate(estimate: &LiveEstimate, models: usize) -> String {
    let most = estimate
        .most
        .map_or_else(|| "an unknown price".to_owned(), |most| format!("at most {}", ui::short_price(most)));
    let models = u64::try_from(models).unwrap_or(u64::MAX);
    format!(
        "estimate: {} of {}, {} in their first requests, {most} with every retry and the longest answers\n",
        ui::count_with_noun(estimate.runs, "run"),
        ui::count_with_noun(models, "model"),
        ui::count_with_noun(estimate.tokens, "token"),
    )
}

/// The table.
pub(super) fn comparison_table(standings: &[ModelStanding], least: u32, room: usize) -> String {
    let mut out = String::new();
    let mut prompt = "";
    for standing in standings {
        if standing.prompt != prompt {
            prompt = &standing.prompt;
            out.push_str(&format!("{LEAD}{}\n", style_text(BOLD, show::terminal_str(prompt).as_str())));
            if room >= NARROW {
                let head = format!(
                    "{:NAME$} {:>11}  {:>5}  {:>12}  {:>9}  ",
                    "model", "as expected", "share", "95 in 100", "cost"
                );
                out.push_str(&format!("  {}\n", style_text(DIM, head.trim_end())));
            }
        }
        out.push_str(&standing_line(standing, least, room));
    }
    out.push_str(&format!("{}\n", comparison_summary(standings, least)));
    out
}

fn standing_line(standing: &ModelStanding, least: u32, room: usize) -> String {
    let (times, expected) = standing.counts();
    let verdict = standing.verdict(least);
    let style = match verdict {
        ModelVerdict::Holds => GREEN,
        ModelVerdict::Fails => RED,
        ModelVerdict::Undecided | ModelVerdict::Unknown => YELLOW,
    };
    let interval = standing.interval().filter(|_| times > 0);
    let range = interval.map_or_else(
        || ui::UNKNOWN.to_owned(),
        |ends| format!("{} to {} %", interval_percent(ends.low), interval_percent(ends.high)),
    );
    let counts = format!("{expected} of {times}");
    let point = if times == 0 { ui::UNKNOWN.to_owned() } else { format!("{} %", whole_percent(expected, times)) };
    let (role, cost, word) =
        (cut_to_width(&standing.role, NAME), standing.purse.in_words(), style_text(style, verdict.as_str()));
    let mut out = if room < NARROW {
        format!("  {role}\n    {counts}, {point}\n    {range}\n    {cost}\n    {word}\n")
    } else {
        format!("  {role:NAME$} {counts:>11}  {point:>5}  {range:>12}  {cost:>9}  {word}\n")
    };
    if standing.unmade > 0 {
        let unmade = ui::count_with_noun(standing.unmade, "run");
        out.push_str(&format!(
            "    {}\n",
            style_text(YELLOW, &format!("{unmade} not made: they could have passed --max-cost"))
        ));
    }
    out
}

fn comparison_summary(standings: &[ModelStanding], least: u32) -> String {
    let of = |wanted: ModelVerdict| standings.iter().filter(|standing| standing.verdict(least) == wanted).count();
    let (holds, fails) = (of(ModelVerdict::Holds), of(ModelVerdict::Fails));
    let undecided = standings.len().saturating_sub(holds).saturating_sub(fails);
    let needed = match (undecided, answers_needed(least)) {
        (1.., Some(needed)) => {
            format!("; {needed} answers of a prompt, all as expected, would show at least {least} %")
        }
        _ => String::new(),
    };
    format!("at least {least} % as expected: {holds} hold, {fails} fail, {undecided} undecided{needed}")
}

/// The same for programs.
pub(super) fn comparison_json(standings: &[ModelStanding], least: u32, estimate: &LiveEstimate) -> Json {
    let one = |standing: &ModelStanding| {
        let (times, expected) = standing.counts();
        let ends = standing.interval().filter(|_| times > 0);
        json!({
            "prompt": standing.prompt,
            "role": standing.role,
            "model": standing.model,
            "endpoint": standing.endpoint,
            "answers": times,
            "expected": expected,
            "low": ends.map(|ends| ends.low),
            "high": ends.map(|ends| ends.high),
            "verdict": standing.verdict(least).as_str(),
            "nanoDollars": standing.purse.known().map(|spent| spent.0),
            "unmade": standing.unmade,
            "cases": standing.cases,
        })
    };
    json!({
        "least": least,
        "estimate": {
            "runs": estimate.runs,
            "tokens": estimate.tokens,
            "mostNanoDollars": estimate.most.map(|most| most.0),
        },
        "models": standings.iter().map(one).collect::<Vec<_>>(),
        "holds": standings.iter().all(|standing| standing.verdict(least) == ModelVerdict::Holds),
    })
}
