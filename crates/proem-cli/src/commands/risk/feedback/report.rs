//! What was said, as a page and as JSON.

use proem_agents::risk::feedback::{FEWEST, FeedbackAnalysis, FeedbackTally, Meter, ReasonTally, Suggestion};
use proem_app::risk::feedback::FeedbackSummary;
use proem_app::words::two_decimals;
use proem_risk::level::Thresholds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::commands::risk::output::named;
use crate::failure::CommandFailure;
use crate::ui::{BOLD, CYAN, DIM, UNKNOWN, count_with_noun, cut_to_width, styled};

/// Cells of a reason.
const REASON: usize = 72;

/// The answer of `proem risk feedback --report --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FeedbackOutput<'p> {
    /// The first day of the period.
    since: &'p str,
    /// What was said.
    #[serde(flatten)]
    tally: &'p FeedbackTally,
    /// Thresholds that follow; none is in force before `--apply`.
    suggestions: &'p [Suggestion],
    /// What a model makes of it; null without one.
    model: Option<&'p FeedbackAnalysis>,
}

pub(super) fn as_json(judged: &FeedbackSummary, heard: Option<&FeedbackAnalysis>) -> Result<Json, CommandFailure> {
    let FeedbackSummary { since, tally, suggestions } = judged;
    serde_json::to_value(FeedbackOutput { since, tally, suggestions, model: heard })
        .map_err(|error| CommandFailure::bug("the feedback as JSON", error))
}

pub(super) fn page(judged: &FeedbackSummary, heard: Option<&FeedbackAnalysis>) -> String {
    let FeedbackSummary { since, tally, suggestions } = judged;
    if tally.runs == 0 {
        return format!("no feedback since {since}; give some with `proem risk feedback last --caught`\n");
    }
    let mut out = format!(
        "{} since {since}: false positives: {}, caught: {}\n\n",
        styled(BOLD, &count_with_noun(tally.runs, "judged assessment")),
        tally.false_positives,
        tally.caught
    );
    metrics(tally, &mut out);
    reasons(tally, &mut out);
    suggested(tally, suggestions, &mut out);
    if let Some(heard) = heard {
        model(heard, &mut out);
    }
    out
}

fn metrics(tally: &FeedbackTally, out: &mut String) {
    let head = format!("{:20}  {:>5}  {:>6}  {:>6}  95 % interval", "metric", "HIGH", "false", "share");
    out.push_str(&format!("{}\n", styled(DIM, &head)));
    for metric in &tally.metrics {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let share = metric.rate.map_or_else(|| UNKNOWN.to_owned(), percent);
        let interval = metric.interval.map_or_else(
            || UNKNOWN.to_owned(),
            |interval| format!("{} to {}", percent(interval.low), percent(interval.high)),
        );
        out.push_str(&format!(
            "{:20}  {:>5}  {:>6}  {share:>6}  {interval}\n",
            named(metric.metric.as_str()),
            metric.n,
            metric.false_positives
        ));
        for reason in &metric.reasons {
            out.push_str(&format!("    {}\n", said(reason)));
        }
    }
}

/// A reason in quotes: it is somebody's words.
fn said(reason: &ReasonTally) -> String {
    format!("{} × \"{}\"", reason.count, cut_to_width(&reason.reason, REASON))
}

fn reasons(tally: &FeedbackTally, out: &mut String) {
    if tally.reasons.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", styled(BOLD, "reasons for false positives")));
    for reason in &tally.reasons {
        out.push_str(&format!("  {}\n", said(reason)));
    }
    if tally.other_reasons > 0 {
        out.push_str(&format!("  {} others\n", tally.other_reasons));
    }
}

fn suggested(tally: &FeedbackTally, suggestions: &[Suggestion], out: &mut String) {
    out.push_str(&format!("\n{}\n", styled(BOLD, "suggested thresholds")));
    if suggestions.is_empty() {
        let most = tally.metrics.iter().map(|metric| metric.n).max().unwrap_or(0);
        let why = if most < FEWEST {
            format!("none: a suggestion needs {FEWEST} verdicts on one metric, and no metric has more than {most}")
        } else {
            "none: no threshold would remove a fifth of the false alarms and keep 95 % of the true ones".to_owned()
        };
        out.push_str(&format!("  {why}\n"));
        return;
    }
    out.push_str(&changes(suggestions));
    out.push_str(&styled(DIM, "  `proem risk feedback --apply` applies them\n"));
}

/// A line for each suggestion.
pub(super) fn changes(suggestions: &[Suggestion]) -> String {
    let line = |one: &Suggestion| {
        let name = styled(CYAN, &named(one.metric.as_str()));
        format!(
            "  {name}: HIGH from {} to {}: {}\n",
            two_decimals(one.from.second),
            two_decimals(one.to.second),
            one.because
        )
    };
    suggestions.iter().map(line).collect()
}

/// A line for each threshold that differs.
pub(super) fn difference(before: &Thresholds, after: &Thresholds) -> String {
    let changed = Meter::ALL.into_iter().filter(|meter| meter.steps(before) != meter.steps(after));
    let line = |meter: Meter| {
        let (from, to) = (meter.steps(before), meter.steps(after));
        let name = styled(CYAN, &named(meter.as_str()));
        format!("  {name}: HIGH from {} to {}\n", two_decimals(from.second), two_decimals(to.second))
    };
    changed.map(line).collect()
}

/// A model's words, each in quotes.
fn model(heard: &FeedbackAnalysis, out: &mut String) {
    out.push_str(&format!("\n{}\n", styled(BOLD, "a model's view")));
    for pattern in &heard.patterns {
        let about = pattern.metric.map(|meter| format!("{}: ", named(meter.as_str()))).unwrap_or_default();
        out.push_str(&format!("  {about}\"{}\"\n", cut_to_width(&pattern.text, 200)));
    }
    for chosen in &heard.chosen {
        let name = named(chosen.metric.as_str());
        out.push_str(&format!(
            "  the model would accept the suggestion for {name}: \"{}\"\n",
            cut_to_width(&chosen.because, 200)
        ));
    }
    if !heard.reasoning.is_empty() {
        out.push_str(&format!("  \"{}\"\n", cut_to_width(&heard.reasoning, 300)));
    }
    for note in &heard.notes {
        out.push_str(&format!("  note: {note}\n"));
    }
}
