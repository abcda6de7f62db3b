//! All there is to say of a change, for a person.

use proem_agents::risk::report::{FileOut, HopOut, MetricOut, RiskReport, ScoreOut, SignalOut};
use proem_risk::metric::Signal;

use super::lines::{
    LineStart, append_foreign, false_alarms, flowing, fraction_parts, metric_value, metric_words, screen_safe,
    wrap_sentence,
};
use super::terminal;
use crate::ui::{
    self, BOLD, DIM, GREEN, LEAD, RED, UNKNOWN, YELLOW, bar, count_with_noun, group_thousands, style_text, table_cell,
};
use proem_app::words::two_decimals;
use proem_risk::level::percent_words;

/// Cells of the longest bar of the score.
const BAR: usize = 24;
/// The most files that are shown with their metrics.
const FILES: usize = 50;

/// The one screen, and then everything.
pub(super) fn explained_report(report: &RiskReport, width: usize) -> String {
    let mut out = terminal::risk_screen(report, width);
    push_findings(report, width, &mut out);
    push_score(&report.score, &mut out);
    push_report_heading(&mut out, "the change");
    push_metrics(&report.metrics, width, &mut out);
    for file in report.files.iter().take(FILES) {
        self::push_file(file, width, &mut out);
    }
    let more = report.files.len().saturating_sub(FILES);
    if more > 0 {
        push_report_line(&mut out, &format!("\nand {more} less risky files (--json has all)"));
    }
    push_partners(report, width, &mut out);
    push_hops(&report.investigation_trace, width, &mut out);
    push_unknown(report, width, &mut out);
    push_history(report, width, &mut out);
    push_model_cost(report, &mut out);
    out
}

fn push_report_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn push_report_heading(out: &mut String, text: &str) {
    push_report_line(out, &format!("\n{}", style_text(BOLD, text)));
}

/// A text below a row, indented by four.
fn push_indented(out: &mut String, text: &str, width: usize) {
    for wrapped in wrap_sentence(text, width.saturating_sub(4), usize::MAX, LineStart::Bare) {
        push_report_line(out, &format!("    {wrapped}"));
    }
}

/// A text from outside behind words of ours, for [`push_indented`].
fn our_words_and_foreign(ours: &str, outside: &str) -> String {
    let mut text = ours.to_owned();
    append_foreign(&mut text, &screen_safe(outside));
    text
}

fn outside_of(path: &str) -> String {
    our_words_and_foreign(" of ", path)
}

/// All findings, each with what such have been worth.
fn push_findings(report: &RiskReport, width: usize, out: &mut String) {
    if report.findings.is_empty() {
        return;
    }
    push_report_heading(out, "findings");
    for finding in &report.findings {
        push_indented(out, &flowing(&finding.evidence), width);
        push_indented(out, &format!("  {}: {}", finding.signal, signal_worth(&finding.worth)), width);
    }
}

/// The worth of a signal, in a line.
pub(in crate::commands::risk) fn signal_worth(worth: &SignalOut) -> String {
    let of = format!("{} of {}", worth.needed_a_fix.numerator, worth.needed_a_fix.denominator);
    let ratio = worth.ratio.map(|ratio| format!(", {ratio:.1} times the base rate")).unwrap_or_default();
    match (worth.source.as_str(), worth.needed_a_fix.denominator) {
        ("unmeasured", _) => "not measured: past changes would have to be read beyond their changed lines".to_owned(),
        (_, 0) => "no past commit had it".to_owned(),
        ("clones", _) => format!("{of} such commits of other projects needed a fix{ratio}"),
        _ => format!("{of} such commits needed a fix here{ratio}"),
    }
}

/// The score with what each metric adds to it.
fn push_score(score: &ScoreOut, out: &mut String) {
    push_report_heading(out, "score");
    let Some(probability) = score.probability else {
        push_report_line(out, "  unknown: too little is known to score the change");
        return;
    };
    let place = match (score.rank, score.interval) {
        (Some(rank), Some(interval)) => format!(
            "above {} % of {} past commits ({} to {})",
            percent_words(rank.percentile),
            rank.among,
            two_decimals(interval.low),
            two_decimals(interval.high)
        ),
        (Some(rank), None) => format!("above {} % of {} past commits", percent_words(rank.percentile), rank.among),
        (None, _) => "its percentile among past commits is unknown".to_owned(),
    };
    let alarms = false_alarms(score.false_positives);
    push_report_line(out, &format!("  {place}: {}; false alarms {alarms}", signal_word(score.signal)));
    let given = score.given_size.map_or_else(|| UNKNOWN.to_owned(), |given| format!("{given:+.2}"));
    push_report_line(
        out,
        &format!(
            "  probability {probability:.3} according to the projects used for training; {given} log-odds beyond what \
             its size alone gives"
        ),
    );
    let most = score.contributions.iter().map(|one| log_odds_thousandths(one.log_odds)).max().unwrap_or(0);
    let longest = score.contributions.iter().map(|one| one.meaning.chars().count()).max().unwrap_or(0);
    for one in &score.contributions {
        let style = if one.log_odds > 0.0 { RED } else { GREEN };
        let bar = style_text(style, &bar(log_odds_thousandths(one.log_odds), most, BAR));
        push_report_line(out, &format!("  {:longest$}  {:+6.2}  {bar}", screen_safe(&one.meaning), one.log_odds));
    }
    if !score.unknown.is_empty() {
        push_report_line(out, &style_text(DIM, &format!("  without: {}", score.unknown.join(", "))));
    }
}

/// How long a bar is for what a metric adds.
fn log_odds_thousandths(log_odds: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and a float beyond the range gives its end"
    )]
    let thousandths = (log_odds.abs() * 1_000.0).round() as usize;
    thousandths
}

fn signal_word(signal: Signal) -> String {
    let style = match signal {
        Signal::High => RED,
        Signal::Medium | Signal::Unknown => YELLOW,
        Signal::Low => GREEN,
        Signal::None => DIM,
    };
    let word = if signal == Signal::None { UNKNOWN } else { signal.as_str() };
    style_text(style, word)
}

/// A row for each metric, with its evidence and what was not counted below it.
fn push_metrics(metrics: &[MetricOut], width: usize, out: &mut String) {
    if metrics.is_empty() {
        push_report_line(out, "  no metric was measured");
        return;
    }
    let head =
        format!("  {:22} {:14} {:13} {:>10}  {:8} false alarms", "metric", "value", "interval", "percentile", "signal");
    push_report_line(out, &style_text(DIM, &head));
    for metric in metrics {
        push_metric_row(metric, out);
        push_indented(out, &flowing(&metric.evidence), width);
        let of = fraction_parts(metric.of);
        let excluded: Vec<String> = metric
            .excluded
            .iter()
            .map(|excluded| format!("{} {}", grouped_u64(excluded.count), screen_safe(&excluded.what)))
            .collect();
        if !excluded.is_empty() {
            push_indented(out, &format!("not counted: {}", excluded.join(", ")), width);
        }
        if !of.is_empty() {
            push_indented(out, &format!("counts: {of}"), width);
        }
        if !metric.details.is_empty() {
            let mut details: Vec<String> = metric.details.iter().map(flowing).collect();
            let others = metric.details_total.map_or(0, |total| (total as usize).saturating_sub(details.len()));
            if others > 0 {
                details.push(format!("and {others} others"));
            }
            push_indented(out, &format!("more: {}", details.join("; ")), width);
        }
    }
}

fn push_metric_row(metric: &MetricOut, out: &mut String) {
    let interval = metric.interval.map_or_else(
        || UNKNOWN.to_owned(),
        |interval| format!("{} to {}", two_decimals(interval.low), two_decimals(interval.high)),
    );
    let percentile = metric.rank.map_or_else(
        || UNKNOWN.to_owned(),
        |rank| format!("{} % of {}", two_decimals(rank.percentile.floor()), rank.among),
    );
    let tier = metric.tier.map(|tier| format!(" T{tier}")).unwrap_or_default();
    let name = table_cell(&format!("{}{tier}", metric_words(metric.name.as_str())), 22);
    let gap = " ".repeat(8_usize.saturating_sub(if metric.signal == Signal::None {
        1
    } else {
        metric.signal.as_str().len()
    }));
    let alarms = if metric.tier.is_some() { false_alarms(metric.false_positives) } else { String::new() };
    let row = format!(
        "  {name} {} {} {percentile:>10}  {}{gap} {alarms}",
        table_cell(&metric_value(metric), 14),
        table_cell(&interval, 13),
        signal_word(metric.signal)
    );
    push_report_line(out, row.trim_end());
}

/// A file with all of its metrics.
fn push_file(file: &FileOut, width: usize, out: &mut String) {
    push_report_heading(out, &format!("{LEAD}{}", screen_safe(&file.path)));
    let mut about = vec![
        style_text(terminal::level_colour(file.risk_level), file.risk_level.as_str()),
        file.status.clone(),
        file.role.clone(),
    ];
    about.extend(file.language.as_deref().map(screen_safe));
    about.extend(file.lines.map(|lines| count_with_noun(lines.into(), "line")));
    about.extend(file.sensitive.as_deref().map(|sensitive| format!("sensitive: {sensitive}")));
    about.extend(file.framework.as_deref().map(|framework| format!("coupled by design: {}", screen_safe(framework))));
    about.extend(file.confidence.map(|confidence| format!("confidence {}", two_decimals(confidence))));
    push_report_line(out, &format!("  {}", about.join(" · ")));
    for reason in &file.reasons {
        push_indented(out, &format!("because {}", flowing(reason)), width);
    }
    push_metrics(&file.metrics, width, out);
}

fn push_partners(report: &RiskReport, width: usize, out: &mut String) {
    if report.missing_partners.is_empty() {
        return;
    }
    push_report_heading(out, "files that usually change too, but did not");
    for partner in &report.missing_partners {
        push_indented(
            out,
            &format!("{}; lower bound of the share: {}", terminal::partner_words(partner), two_decimals(partner.low)),
            width,
        );
    }
    let others = report.missing_partners_total.saturating_sub(report.missing_partners.len() as u64);
    if others > 0 {
        push_indented(out, &format!("and {others} others"), width);
    }
}

/// The model's steps.
fn push_hops(hops: &[HopOut], width: usize, out: &mut String) {
    if hops.is_empty() {
        return;
    }
    push_report_heading(out, "investigation");
    for HopOut { hop, path } in hops {
        let action = serialised_word(&hop.action);
        let by = serialised_word(&hop.by);
        let metric = hop.metric.as_deref().map(|metric| format!(" {}", screen_safe(metric))).unwrap_or_default();
        let path = path.as_deref().map(|path| format!(" of {}", screen_safe(path))).unwrap_or_default();
        push_report_line(out, &format!("  hop {}: {action}{metric}{path}, chosen by the {by}", hop.hop));
        push_indented(out, &our_words_and_foreign("", &hop.result), width);
        if !hop.reasoning.is_empty() {
            push_indented(out, &our_words_and_foreign("it says: ", &hop.reasoning), width);
        }
    }
}

/// The serialised word of a choice.
fn serialised_word<T: serde::Serialize>(choice: &T) -> String {
    serde_json::to_value(choice).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn push_unknown(report: &RiskReport, width: usize, out: &mut String) {
    if report.unknown.is_empty() && report.gaps.is_empty() && report.notes.is_empty() {
        return;
    }
    push_report_heading(out, "unknown and notes");
    for unknown in &report.unknown {
        let of = unknown.path.as_deref().map(outside_of).unwrap_or_default();
        push_indented(out, &format!("{}{of}: {}", metric_words(unknown.metric.as_str()), flowing(&unknown.why)), width);
    }
    for gap in &report.gaps {
        push_indented(out, &our_words_and_foreign("gap: ", gap), width);
    }
    for note in &report.notes {
        push_indented(out, &our_words_and_foreign("note: ", note), width);
    }
}

/// The commits that the change was compared with.
fn push_history(report: &RiskReport, width: usize, out: &mut String) {
    let history = &report.history;
    push_report_heading(out, "history");
    let cached =
        if history.cached > 0 { format!(" ({} from the cache)", grouped_u64(history.cached)) } else { String::new() };
    let first = if history.first_parent { ", first parents only" } else { "" };
    let mut text = format!(
        "{}{cached}{first}; not counted: {} merges, {} by bots, {} ignored; {} of {} sampled for the score; co-changes \
         over {} months",
        count_with_noun(history.commits, "commit"),
        grouped_u64(history.merges),
        grouped_u64(history.bots),
        grouped_u64(history.ignored),
        history.sampled,
        grouped_u64(history.sampled_of.into()),
        history.window_months
    );
    for (is_so, words) in [
        (history.shallow, "a shallow clone: older commits are missing; fetch the rest of the history"),
        (history.partial, "a partial clone: contents are missing"),
        (history.capped, "older commits exist but are not read"),
    ] {
        if is_so {
            text.push_str(&format!("; {words}"));
        }
    }
    if history.misdated > 0 {
        text.push_str(&format!("; {} with an impossible date", count_with_noun(history.misdated.into(), "commit")));
    }
    push_indented(out, &text, width);
}

/// The model's cost.
fn push_model_cost(report: &RiskReport, out: &mut String) {
    let prompts: Vec<String> = report
        .prompts
        .iter()
        .map(|prompt| format!("{} {}", screen_safe(&prompt.name), screen_safe(&prompt.version)))
        .collect();
    if !prompts.is_empty() {
        push_report_line(out, &format!("    prompts: {}", prompts.join(", ")));
    }
    for lessons in &report.learned {
        let (prompt, runs) =
            (screen_safe(&lessons.prompt), lessons.results.iter().filter_map(|one| one.run.as_deref()));
        let runs: Vec<&str> = runs.map(|run| run.get(..8).unwrap_or(run)).collect();
        let (lines, runs) = (count_with_noun(lessons.lines as u64, "line"), screen_safe(&runs.join(", ")));
        push_report_line(
            out,
            &format!("    learned: {lines} of {prompt} from run {runs}; `proem adapt {prompt}` shows them"),
        );
    }
    let Some(spent) = &report.spent else { return };
    let cost = spent
        .cost_nano_dollars
        .map_or_else(|| "unknown cost".to_owned(), |nanos| ui::short_price(proem_engine::call::NanoDollars(nanos)));
    push_report_line(
        out,
        &format!(
            "    {}: {}, {} tokens in ({} cached), {} out, {cost}",
            screen_safe(&spent.model),
            count_with_noun(spent.calls.into(), "call"),
            ui::short_or_unknown(spent.input_tokens),
            ui::short_or_unknown(spent.cached_tokens),
            ui::short_or_unknown(spent.output_tokens)
        ),
    );
}

fn grouped_u64(number: u64) -> String {
    group_thousands(usize::try_from(number).unwrap_or(usize::MAX))
}
