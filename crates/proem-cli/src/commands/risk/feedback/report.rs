//! The feedback, as a page and as JSON.

use proem_agents::risk::feedback::{
    FEWEST, FeedbackAnalysis, FeedbackTally, LevelTally, Meter, ReasonTally, Suggestion,
};
use proem_app::risk::feedback::{FeedbackSummary, PromptVersionTally};
use proem_app::words::two_decimals;
use proem_risk::level::{Level, Thresholds};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::commands::risk::output::metric_words;
use crate::failure::CommandFailure;
use crate::ui::{BOLD, CYAN, DIM, UNKNOWN, count_with_noun, cut_to_width, style_text};

/// Cells of a version or a model.
const NAME: usize = 40;

/// Cells of a reason.
const REASON: usize = 72;

/// The answer of `proem risk feedback --report --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedbackOutput<'p> {
    /// The first day of the period.
    since: &'p str,
    /// The feedback.
    #[serde(flatten)]
    tally: &'p FeedbackTally,
    /// The same by the level of an assessment, the highest first.
    levels: &'p [LevelTally],
    /// Thresholds that follow. None is in force before `--apply`.
    suggestions: &'p [Suggestion],
    /// How each version of the summarising prompt did, with each model.
    versions: &'p [PromptVersionTally],
    /// A model's reading of it. Null without one.
    model: Option<&'p FeedbackAnalysis>,
}

pub(super) fn feedback_json(
    judged: &FeedbackSummary,
    heard: Option<&FeedbackAnalysis>,
) -> Result<Json, CommandFailure> {
    let FeedbackSummary { since, tally, levels, suggestions, versions, .. } = judged;
    serde_json::to_value(FeedbackOutput { since, tally, levels, suggestions, versions, model: heard })
        .map_err(|error| CommandFailure::bug("the feedback as JSON", error))
}

pub(super) fn feedback_page(judged: &FeedbackSummary, heard: Option<&FeedbackAnalysis>) -> String {
    let FeedbackSummary { since, tally, suggestions, versions, .. } = judged;
    if tally.runs == 0 {
        return format!("no feedback since {since}; give some with `proem risk feedback last --caught`\n");
    }
    let mut out = format!(
        "{} since {since}: false positives: {}, caught: {}\n\n",
        style_text(BOLD, &count_with_noun(tally.runs, "judged assessment")),
        tally.false_positives,
        tally.caught
    );
    push_level_tally(&judged.levels, &mut out);
    push_metric_tally(tally, &mut out);
    push_reasons(tally, &mut out);
    push_suggestions(tally, suggestions, &mut out);
    push_versions(versions, &mut out);
    if let Some(heard) = heard {
        push_model_words(heard, &mut out);
    }
    out
}

fn push_level_tally(levels: &[LevelTally], out: &mut String) {
    let head = format!("{:20}  {:>5}  {:>6}  {:>6}", "level", "n", "false", "caught");
    out.push_str(&format!("{}\n", style_text(DIM, &head)));
    for LevelTally { level, n, false_positives, caught } in levels {
        let level = level.map_or("not recorded", Level::as_str);
        out.push_str(&format!("{level:20}  {n:>5}  {false_positives:>6}  {caught:>6}\n"));
    }
    out.push('\n');
}

/// A line for each version of the prompt and model.
fn push_versions(versions: &[PromptVersionTally], out: &mut String) {
    if versions.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style_text(BOLD, "prompt versions")));
    for one in versions {
        let tokens = |tokens: Option<u64>| tokens.map_or_else(|| UNKNOWN.to_owned(), |tokens| tokens.to_string());
        out.push_str(&format!(
            "  {} with {}: {}, {} without a summary; tokens {} in, {} out on average; false positives {} of {}\n",
            cut_to_width(&one.version, NAME),
            cut_to_width(&one.model, NAME),
            count_with_noun(one.runs, "assessment"),
            one.degraded,
            tokens(one.input_tokens),
            tokens(one.output_tokens),
            one.false_positives.count,
            one.false_positives.n
        ));
    }
}

fn push_metric_tally(tally: &FeedbackTally, out: &mut String) {
    let head = format!("{:20}  {:>5}  {:>6}  {:>6}  95 % interval", "metric", "HIGH", "false", "share");
    out.push_str(&format!("{}\n", style_text(DIM, &head)));
    for metric in &tally.metrics {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let share = metric.rate.map_or_else(|| UNKNOWN.to_owned(), percent);
        let interval = metric.interval.map_or_else(
            || UNKNOWN.to_owned(),
            |interval| format!("{} to {}", percent(interval.low), percent(interval.high)),
        );
        out.push_str(&format!(
            "{:20}  {:>5}  {:>6}  {share:>6}  {interval}\n",
            metric_words(metric.metric.as_str()),
            metric.n,
            metric.false_positives
        ));
        for reason in &metric.reasons {
            out.push_str(&format!("    {}\n", quoted_reason(reason)));
        }
    }
}

/// A reason in quotes: it is somebody's words.
fn quoted_reason(reason: &ReasonTally) -> String {
    format!("{} × \"{}\"", reason.count, cut_to_width(&reason.reason, REASON))
}

fn push_reasons(tally: &FeedbackTally, out: &mut String) {
    if tally.reasons.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style_text(BOLD, "reasons for false positives")));
    for reason in &tally.reasons {
        out.push_str(&format!("  {}\n", quoted_reason(reason)));
    }
    if tally.other_reasons > 0 {
        out.push_str(&format!("  {} others\n", tally.other_reasons));
    }
}

fn push_suggestions(tally: &FeedbackTally, suggestions: &[Suggestion], out: &mut String) {
    out.push_str(&format!("\n{}\n", style_text(BOLD, "suggested thresholds")));
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
    out.push_str(&suggestion_lines(suggestions));
    out.push_str(&style_text(DIM, "  `proem risk feedback --apply` applies them\n"));
}

/// A line for each suggestion.
pub(super) fn suggestion_lines(suggestions: &[Suggestion]) -> String {
    let line = |one: &Suggestion| {
        let name = style_text(CYAN, &metric_words(one.metric.as_str()));
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
pub(super) fn threshold_changes(before: &Thresholds, after: &Thresholds) -> String {
    let changed = Meter::ALL.into_iter().filter(|meter| meter.steps(before) != meter.steps(after));
    let line = |meter: Meter| {
        let (from, to) = (meter.steps(before), meter.steps(after));
        let name = style_text(CYAN, &metric_words(meter.as_str()));
        format!("  {name}: HIGH from {} to {}\n", two_decimals(from.second), two_decimals(to.second))
    };
    changed.map(line).collect()
}

/// A model's words, each in quotes.
fn push_model_words(heard: &FeedbackAnalysis, out: &mut String) {
    out.push_str(&format!("\n{}\n", style_text(BOLD, "a model's view")));
    for pattern in &heard.patterns {
        let about = pattern.metric.map(|meter| format!("{}: ", metric_words(meter.as_str()))).unwrap_or_default();
        out.push_str(&format!("  {about}\"{}\"\n", cut_to_width(&pattern.text, 200)));
    }
    for chosen in &heard.chosen {
        let name = metric_words(chosen.metric.as_str());
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
