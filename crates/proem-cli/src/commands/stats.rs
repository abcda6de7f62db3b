//! `proem stats`: how prompts, tools and roles do, each figure with how many values it is of.

use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

use proem_app::triage::monitoring::{StageShare, ToolSuccess, TriageMonitoring};
use proem_guard::show;
use proem_store::query::{CountedFigure, RunGroup, Statistics, StatisticsWanted, ToolTally};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::place::RecordsPlace;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, CYAN, DIM, bar, column_bars, count_with_noun, cut_to_width, style_text};
use proem_app::project::{BookReading, OpenProject};
use proem_app::{records, when};

pub(crate) const STATS_EXAMPLES: &str = "\
Examples:
  proem stats
  proem stats --since 7d --json
  proem stats --agent triage";

#[derive(Debug, Parser)]
pub(crate) struct Stats {
    /// Start of the period: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    /// An agent, such as `risk`; of `triage` its stages, tools, threats and escalations are shown as well
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
}

/// Cells of a figure's name, and of it with how many it is of.
const NAME: usize = 11;
const CELL: usize = 32;
/// The most figures on a line.
const ACROSS: usize = 3;
/// The cells before the bar of a latency.
const LATENCY: usize = 46;
/// Cells of the longest bar.
const BAR: usize = 40;
/// The most days that are drawn, the last ones.
const DAYS: usize = 90;

/// The figures of recorded runs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatsOutput<'s> {
    #[serde(flatten)]
    statistics: &'s Statistics,
    /// The tools that programs called.
    program_tools: &'s [ToolTally],
    /// The figures of triage. Absent for any other agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    triage: Option<&'s TriageMonitoring>,
}

pub(super) fn run_stats(args: &Stats) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let root: &Path = &args.place.root;
    let project = OpenProject::open(root, &places, BookReading::Trusted)?;
    records::blocking(show_stats(&project, args))
}

async fn show_stats(project: &OpenProject, args: &Stats) -> Result<ExitCode, CommandFailure> {
    let (zone, now) = (records::booking_zone(&project.config.budget)?, when::time_now());
    let since = when::since(&args.since, now, &zone)?;
    let owner = args.place.whose().owner(project);
    let store = crate::ui::print_notes_of(records::look_at_records(project).await?);
    let working = ui::working("reading the records");
    let cycles = match args.agent.as_deref() {
        Some(records::BUDGETED) => Some(store.cycles_since(owner.as_ref(), since).await),
        _ => None,
    };
    let wanted = StatisticsWanted { project: owner, since: Some(since), agent: args.agent.clone() };
    let tallies = store.tool_tallies(wanted.project.as_ref().map(|owner| owner.0.as_str()), Some(since)).await;
    let found = store.statistics(&wanted).await;
    working.finish_and_clear();
    let (found, tallies) = (found?, tallies?);
    let triage = cycles.transpose()?.map(|cycles| TriageMonitoring::new(&found, &cycles));
    if args.place.json {
        let output = StatsOutput { statistics: &found, program_tools: &tallies, triage: triage.as_ref() };
        let value = serde_json::to_value(output).map_err(|error| CommandFailure::bug("stats", error))?;
        ui::print_json_document(&json::pretty(&value))?;
    } else if found.all.runs == 0 && triage.as_ref().is_none_or(|triage| triage.cycles == 0) {
        let whose = if args.place.all { "" } else { " of this project" };
        let of = args.agent.as_ref().map(|agent| format!(" of the agent `{}`", show::terminal_str(agent)));
        let of = of.unwrap_or_default();
        ui::aside(&format!(
            "no run{of}{whose} since then is recorded; `proem run` and `proem assemble` record what they do\n"
        ));
    } else {
        let whose = if args.place.all { "all runs" } else { "runs of this project" };
        let mut page = stats_page(&found, whose, &when::iso_date(since, &zone), &when::iso_date(now, &zone));
        page.push_str(&triage.as_ref().map(monitoring).unwrap_or_default());
        page.push_str(&tool_calls(&tallies));
        ui::print_listing(&page)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn stats_page(found: &Statistics, whose: &str, since: &str, today: &str) -> String {
    let mut out = format!("{} since {since}; n is the number of values per figure\n", style_text(BOLD, whose));
    out.push_str(&group_figures(&found.all));
    out.push_str(&calls_by_day(&found.days, since, today));
    for (name, groups) in [("by prompt", &found.prompts), ("by tool", &found.tools), ("by role", &found.roles)] {
        if groups.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", style_text(BOLD, name)));
        for one in groups {
            // A run that asked nobody has no role.
            let name = if one.name.is_empty() {
                "(no model was asked)".to_owned()
            } else {
                cut_to_width(&one.name, ui::output_width().min(90))
            };
            out.push_str(&format!("{}\n", style_text(CYAN, &name)));
            out.push_str(&group_figures(one));
        }
    }
    out.push_str(&latency(&found.prompts));
    out
}

/// How often programs called each tool.
fn tool_calls(tallies: &[ToolTally]) -> String {
    let mut out = String::new();
    for ToolTally { tool, calls, failed, took_ms } in tallies {
        let mean = took_ms.checked_div(*calls).unwrap_or(0);
        let name = cut_to_width(tool, 24);
        out.push_str(&format!("  {name:24}{:>10}  {failed} failed  {mean} ms each\n", count_with_noun(*calls, "call")));
    }
    if out.is_empty() { out } else { format!("\n{}\n{out}", style_text(BOLD, "tools that programs called")) }
}

/// The figures of triage alone.
fn monitoring(triage: &TriageMonitoring) -> String {
    let n = |figure: CountedFigure| style_text(DIM, &format!("n={}", ui::short_number(figure.n)));
    let mut out = format!("\n{}, each beside the share it was planned to have\n", style_text(BOLD, "calls by stage"));
    for StageShare { stage, calls, share, planned, threat_rate, escalation_rate } in &triage.stages {
        let planned = planned * 100.0;
        out.push_str(&format!(
            "  {stage:16}{calls:>8}{:>10}  planned {planned:.0}% {}",
            percent_figure(*share),
            n(*share)
        ));
        for (words, rate) in [("suspected", threat_rate), ("for a person", escalation_rate)] {
            // A stage that can't say so has no such figure.
            if rate.n > 0 {
                out.push_str(&format!("  {words} {} {}", percent_figure(*rate), n(*rate)));
            }
        }
        out.push('\n');
    }
    let cost = triage.planned_cost;
    out.push_str(&format!("  {:16}{:>18} {}\n", "100 as planned", dollar_figure(cost), n(cost)));
    let (threats, asked) = (triage.threat_rate, triage.escalation_rate);
    out.push_str(&format!("\n{} of {}\n", style_text(BOLD, "signals"), count_with_noun(triage.cycles, "cycle")));
    out.push_str(&format!("  {:16}{:>18} {}\n", "suspected", percent_figure(threats), n(threats)));
    out.push_str(&format!("  {:16}{:>18} {}\n", "asked a person", percent_figure(asked), n(asked)));
    if !triage.tools.is_empty() {
        out.push_str(&format!("\n{}, and what of them was taken\n", style_text(BOLD, "tool calls in answers")));
    }
    for ToolSuccess { tool, taken } in &triage.tools {
        out.push_str(&format!("  {tool:24}{:>10} {}\n", percent_figure(*taken), n(*taken)));
    }
    out
}

/// The figures of a group, a few on a line.
fn group_figures(group: &RunGroup) -> String {
    let (calls, share) = (count_with_noun(group.calls, "call"), percent_figure(group.share));
    // A prompt that only runs of other prompts called.
    let mut out = match group.runs {
        0 => format!("  {calls} in runs of other prompts, {share} of all calls\n"),
        runs => format!("  {}, {calls}, {share} of all calls\n", count_with_noun(runs, "run")),
    };
    let figures = [
        ("tokens in", whole_figure(group.input_tokens), group.input_tokens.n),
        ("tokens out", whole_figure(group.output_tokens), group.output_tokens.n),
        ("cost", dollar_figure(group.cost), group.cost.n),
        ("cache hits", percent_figure(group.cache_hit_rate), group.cache_hit_rate.n),
        ("saved", percent_figure(group.saved_rate), group.saved_rate.n),
        ("embeddings", decimal_figure(group.embedding_calls), group.embedding_calls.n),
        ("right away", percent_figure(group.success_rate), group.success_rate.n),
        ("broken", whole_figure(group.schema_failures), group.schema_failures.n),
        ("repairs", whole_figure(group.repairs), group.repairs.n),
        ("fell back", percent_figure(group.fallback_rate), group.fallback_rate.n),
        ("escalated", percent_figure(group.escalation_rate), group.escalation_rate.n),
        ("good", percent_figure(group.approval_rate), group.approval_rate.n),
        ("p50", millis_figure(group.latency_p50_ms), group.latency_p50_ms.n),
        ("p95", millis_figure(group.latency_p95_ms), group.latency_p95_ms.n),
        ("assembling", millis_figure(group.assembly_p50_ms), group.assembly_p50_ms.n),
        ("threats", percent_figure(group.threat_rate), group.threat_rate.n),
        ("kept out", whole_figure(group.filtered), group.filtered.n),
    ];
    // As many as the terminal has room for.
    let across = ui::output_width().saturating_sub(1).div_euclid(CELL).clamp(1, ACROSS);
    for row in figures.chunks(across).filter(|row| row.iter().any(|(_, _, n)| *n > 0)) {
        let mut line = String::from(" ");
        for (name, figure, n) in row {
            // A figure without counts leaves its place empty, so that the others keep their columns.
            if *n == 0 {
                line.push_str(&" ".repeat(CELL));
                continue;
            }
            let n = format!("n={}", ui::short_number(*n));
            let gap = " ".repeat(CELL.saturating_sub(NAME + 10 + 2 + n.len()));
            line.push_str(&format!(" {name:NAME$}{figure:>10} {}{gap}", style_text(DIM, &n)));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn figure(summary: CountedFigure, words: impl Fn(f64) -> String) -> String {
    summary.value.map_or_else(|| ui::UNKNOWN.to_owned(), words)
}

fn percent_figure(summary: CountedFigure) -> String {
    figure(summary, |share| format!("{:.1}%", share * 100.0))
}

fn whole_figure(summary: CountedFigure) -> String {
    figure(summary, |value| {
        let digits = format!("{value:.0}");
        digits.parse().map_or(digits, ui::group_thousands)
    })
}

fn decimal_figure(summary: CountedFigure) -> String {
    figure(summary, |value| format!("{value:.2}"))
}

fn millis_figure(summary: CountedFigure) -> String {
    figure(summary, |value| if value < 10.0 { format!("{value:.1} ms") } else { format!("{value:.0} ms") })
}

fn dollar_figure(summary: CountedFigure) -> String {
    figure(summary, |value| format!("${value:.6}"))
}

/// Calls on each day, with the days on which there were none.
fn calls_by_day(calls: &[(String, u64)], since: &str, today: &str) -> String {
    let (Ok(first), Ok(last)) = (since.parse::<jiff::civil::Date>(), today.parse::<jiff::civil::Date>()) else {
        return String::new();
    };
    let most = DAYS.min(ui::output_width().saturating_sub(4));
    let mut days = Vec::new();
    let mut day = last;
    while day >= first && days.len() < most {
        let name = day.to_string();
        days.push(calls.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count));
        let Ok(before) = day.yesterday() else { break };
        day = before;
    }
    days.reverse();
    let most = days.iter().copied().max().unwrap_or(0);
    let chart = style_text(CYAN, &column_bars(&days));
    format!("  calls a day, {} days to {today}, at most {}\n  {chart}│\n", days.len(), count_with_noun(most, "call"))
}

/// The time of an answered attempt by prompt, drawn.
fn latency(prompts: &[RunGroup]) -> String {
    let known: Vec<(&str, u64, u64)> = prompts
        .iter()
        .filter_map(|group| {
            let millis = |value: f64| format!("{value:.0}").parse::<u64>().ok();
            Some((group.name.as_str(), millis(group.latency_p50_ms.value?)?, millis(group.latency_p95_ms.value?)?))
        })
        .collect();
    let most = known.iter().map(|(_, _, p95)| *p95).max().unwrap_or(0);
    if known.is_empty() {
        return String::new();
    }
    let widest = BAR.min(ui::output_width().saturating_sub(LATENCY));
    let cells = |millis: u64| {
        bar(usize::try_from(millis).unwrap_or(usize::MAX), usize::try_from(most).unwrap_or(usize::MAX), widest)
    };
    let mut out = format!("\n{}, median and 95th percentile\n", style_text(BOLD, "latency"));
    for (name, p50, p95) in known {
        out.push_str(&format!("{} {p50:>7} ms {}\n", ui::table_cell(name, 34), style_text(CYAN, &cells(p50))));
        out.push_str(&format!("{:34} {p95:>7} ms {}\n", "", style_text(DIM, &cells(p95))));
    }
    out
}
