//! `proem cost`: what was spent, and how full the caps are.

pub(crate) mod args;
mod correct;
pub(super) mod fit;
pub(super) mod output;
mod sums;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::{CapPeriod, CapScope, CapUnit};
use proem_store::query::{CapNow, CostReport, CostsWanted, SpendLine, Spender};
use proem_store::record::Project as Owner;
use proem_text::json;
use serde_json::json;

use self::args::{Cost, CostCommand};
use self::output::CostOutput;
use self::sums::{SpendSum, by, total_spend};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, bar, count_with_noun, style_text, table_cell};
use proem_app::project::{BookReading, OpenProject};
use proem_app::{records, when};

/// Cells of a line's figures: cost, attempts and tokens.
const FIGURES: usize = 33;

/// Cells of the longest bar.
const BAR: usize = 28;

pub(super) fn run_cost(args: &Cost) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let open = |root: &Path| OpenProject::open(root, &places, BookReading::Trusted);
    match &args.command {
        None => records::blocking(spending(&open(&args.place.root)?, args)),
        Some(CostCommand::Correct { attempt, cost, why, root }) => {
            records::blocking(correct::run_cost_correct(&open(root)?, *attempt, *cost, why))
        }
        Some(CostCommand::Fit { apply, revert, json }) => {
            let way = match (*apply, *revert) {
                (true, _) => fit::FactorAction::Apply,
                (_, true) => fit::FactorAction::Revert,
                _ => fit::FactorAction::Show,
            };
            records::blocking(fit::run_cost_fit(&open(&args.place.root)?, way, *json))
        }
    }
}

/// Everything that is shown.
struct Spending {
    since: String,
    zone: String,
    project: Option<String>,
    costs: CostReport,
    caps: Vec<ShownCap>,
}

/// A cap with what counts against it, and of an agent's the agent.
struct ShownCap {
    agent: Option<String>,
    now: CapNow,
}

async fn spending(project: &OpenProject, args: &Cost) -> Result<ExitCode, CommandFailure> {
    let (zone, now, owner) =
        (records::booking_zone(&project.config.budget)?, when::time_now(), records::records_owner(project));
    let since = when::iso_date(when::since(&args.since, now, &zone)?, &zone);
    let store = crate::ui::print_notes_of(records::look_at_records(project).await?);
    let wanted = CostsWanted { project: (!args.place.all).then(|| owner.clone()), since: Some(since.clone()) };
    let costs = store.costs(&wanted).await?;
    let budget = &project.config.budget;
    let whose = Spender { project: owner, agent: None };
    let caps = store.caps(&whose, &records::budget_caps(budget), now).await?;
    let mut caps: Vec<ShownCap> = caps.into_iter().map(|now| ShownCap { agent: None, now }).collect();
    // A budget that ships says nothing to who doesn't use the agent.
    let is_used = costs.lines.iter().any(|line| line.prompt.starts_with(&format!("{}/", records::BUDGETED)));
    let agents: BTreeSet<&str> =
        budget.agent.keys().map(String::as_str).chain(is_used.then_some(records::BUDGETED)).collect();
    for agent in agents {
        let whose = Spender { agent: Some(agent.to_owned()), ..whose.clone() };
        let of_agent = store.caps(&whose, &records::agent_caps(budget, agent)?, now).await?;
        caps.extend(of_agent.into_iter().map(|now| ShownCap { agent: Some(agent.to_owned()), now }));
    }
    let zone = zone.iana_name().unwrap_or("UTC").to_owned();
    let spending = Spending { since, zone, project: wanted.project.map(|project| project.0), costs, caps };
    if args.place.json {
        ui::print_json_document(&json::pretty(&json!(CostOutput::new(&spending))))?;
    } else {
        ui::print_listing(&spending.page())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Spending {
    fn page(&self) -> String {
        let whose = if self.project.is_some() { "this project" } else { "all projects" };
        let mut out = format!("{} by {whose} since {}, days in {}\n", style_text(BOLD, "spent"), self.since, self.zone);
        let lines = &self.costs.lines;
        if lines.is_empty() {
            out.push_str("nothing was spent; `proem run` records the cost of what it sends\n");
        }
        out.push_str(&spend_table("day", &by(lines, |line| line.day.clone())));
        if self.project.is_none() {
            let projects = by(lines, |line| line.project.0.clone()).into_iter();
            let projects = projects.map(|(key, sum)| (records::records_folder_name(&Owner(key)).to_owned(), sum));
            out.push_str(&spend_table("project", &projects.collect::<Vec<_>>()));
        }
        if !lines.is_empty() {
            out.push_str(&spend_table("prompt", &by(lines, |line| line.prompt.clone())));
            out.push_str(&spend_table("model", &by(lines, spend_model)));
            out.push_str(&self.sum(&total_spend(lines)));
        }
        if self.costs.open > 0 {
            let open = count_with_noun(self.costs.open, "attempt");
            let text = format!("in progress: {open}, {} reserved", self.costs.reserved);
            out.push_str(&format!("{}\n", style_text(CYAN, &text)));
        }
        out.push_str(&self.caps());
        out
    }

    fn sum(&self, sum: &SpendSum) -> String {
        let mut out = format!(
            "\n{} {} for {}, {} tokens\n",
            style_text(BOLD, "in all"),
            sum.cost,
            count_with_noun(sum.attempts, "attempt"),
            ui::group_thousands(usize::try_from(sum.tokens).unwrap_or(usize::MAX))
        );
        if sum.unknown > 0 {
            let text = format!(
                "{} charged in full or by an estimate, because no usage was reported",
                count_with_noun(sum.unknown, "attempt")
            );
            out.push_str(&format!("{}\n", style_text(YELLOW, &text)));
        }
        if sum.unpriced > 0 {
            let text = format!(
                "{} without a known price: the true cost is higher than these sums",
                count_with_noun(sum.unpriced, "attempt")
            );
            out.push_str(&format!("{}\n", style_text(YELLOW, &text)));
        }
        out
    }

    fn caps(&self) -> String {
        let caps: Vec<&ShownCap> = self.caps.iter().filter(|shown| shown.now.cap.period != CapPeriod::Run).collect();
        if caps.is_empty() {
            return style_text(
                DIM,
                "\nthere is no limit for a day or a month; set one under `[budget]` in the configuration",
            ) + "\n";
        }
        let mut out = format!("\n{}\n", style_text(BOLD, "caps"));
        for ShownCap { agent, now } in caps {
            let used = now.spent.settled.saturating_add(now.spent.open);
            let most = now.cap.most;
            // Nothing fits below a cap of nothing, so that it is full.
            let percent = (u128::from(used) * 100).checked_div(u128::from(most)).unwrap_or(100);
            let shown = if percent > 999 { ">999".to_owned() } else { format!("{percent:>3}") };
            let style = match percent {
                0..=79 => GREEN,
                80..=99 => YELLOW,
                _ => RED,
            };
            let whose =
                agent.as_ref().map_or_else(|| scope_word(now.cap.scope).to_owned(), |agent| format!("{agent},"));
            let name = format!("{whose} {}", period_word(now.cap.period));
            let (cap, spent) = (cap_amount(now.cap.unit, most), cap_amount(now.cap.unit, used));
            let open = match now.spent.open {
                0 => String::new(),
                open => format!(", {} of it reserved", cap_amount(now.cap.unit, open)),
            };
            let filled = if most == 0 {
                bar(1, 1, 20)
            } else {
                bar(saturating_count(used.min(most)), saturating_count(most), 20)
            };
            let filled = table_cell(&filled, 20);
            out.push_str(&format!("{name:14} {}▏{shown}%  {spent} of {cap}{open}\n", style_text(style, &filled)));
        }
        out
    }
}

/// A model as it is named where its endpoint is known: two may have models of one name, at two prices.
fn spend_model(line: &SpendLine) -> String {
    match &line.endpoint {
        Some(endpoint) => format!("{endpoint}/{}", line.model),
        None => line.model.clone(),
    }
}

fn spend_table(name: &str, sums: &[(String, SpendSum)]) -> String {
    if sums.is_empty() {
        return String::new();
    }
    // The sign for an unknown value comes behind the bars, on the same line.
    let marked = sums.iter().map(|(_, sum)| unknown_parts(sum).len()).max().unwrap_or(0);
    let longest = sums.iter().map(|(name, _)| ui::cut_to_width(name, 32).chars().count()).max().unwrap_or(0);
    let longest = longest.min(ui::output_width().saturating_sub(FIGURES.saturating_add(marked))).max(10);
    let most = sums.iter().map(|(_, sum)| sum.cost.0).max().unwrap_or(0);
    let head = format!("{name:longest$}  {:>12}  {:>8}  {:>7}", "cost", "attempts", "tokens");
    let mut out = format!("\n{}\n", style_text(DIM, &head));
    let widest = BAR.min(ui::output_width().saturating_sub(head.len().saturating_add(marked).saturating_add(3)));
    for (name, sum) in sums {
        let bar = match widest {
            0 => String::new(),
            _ => format!("  {}", style_text(CYAN, &bar(bar_length(sum.cost.0), bar_length(most), widest))),
        };
        let cost = if sum.unpriced == sum.attempts { ui::UNKNOWN.to_owned() } else { sum.cost.to_string() };
        out.push_str(&format!(
            "{}  {cost:>12}  {:>8}  {:>7}{bar}{}\n",
            table_cell(name, longest),
            ui::group_thousands(usize::try_from(sum.attempts).unwrap_or(usize::MAX)),
            ui::short_number(sum.tokens),
            style_text(YELLOW, &unknown_parts(sum)),
        ));
    }
    out
}

/// How much of a sum is not known.
fn unknown_parts(sum: &SpendSum) -> String {
    let marks = [(sum.unknown, "unknown"), (sum.unpriced, "unpriced")];
    let marks = marks.iter().filter(|(count, _)| *count > 0);
    marks.map(|(count, what)| format!("  {} {what}", ui::group_thousands(saturating_count(*count)))).collect()
}

/// A count as bars and tables take it.
fn saturating_count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A value on the scale of a bar: what is not zero stays so.
fn bar_length(value: u64) -> usize {
    usize::try_from(value.div_ceil(1_000)).unwrap_or(usize::MAX)
}

const fn scope_word(scope: CapScope) -> &'static str {
    match scope {
        CapScope::User => "you,",
        CapScope::Project => "project,",
        CapScope::Agent => "agent,",
    }
}

const fn period_word(period: CapPeriod) -> &'static str {
    match period {
        CapPeriod::Run => "run",
        CapPeriod::Day => "today",
        CapPeriod::Month => "month",
    }
}

fn cap_amount(unit: CapUnit, amount: u64) -> String {
    match unit {
        CapUnit::NanoDollars => NanoDollars(amount).to_string(),
        CapUnit::Tokens => format!("{} tokens", ui::group_thousands(usize::try_from(amount).unwrap_or(usize::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_endpoints_with_a_model_of_one_name_are_two() {
        let line = |endpoint: Option<&str>, nanos: u64| SpendLine {
            day: "2026-11-22".to_owned(),
            project: Owner("/p".to_owned()),
            model: "m".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            prompt: "reviews/triage".to_owned(),
            attempts: 1,
            cost: NanoDollars(nanos),
            tokens: 10,
            unknown: 0,
            unpriced: 0,
        };
        let lines = vec![line(None, 1_000_000), line(Some("local"), 2_000_000), line(Some("other"), 4_000_000)];
        let spending = Spending {
            since: "2026-11-01".to_owned(),
            zone: "UTC".to_owned(),
            project: Some("/p".to_owned()),
            costs: CostReport { lines, ..CostReport::default() },
            caps: Vec::new(),
        };
        let page = spending.page();
        let (_, models) = page.split_once("model ").unwrap();
        let rows: Vec<Vec<&str>> =
            models.lines().skip(1).take(3).map(|row| row.split_whitespace().take(2).collect()).collect();
        assert_eq!(rows, [["local/m", "$0.002000"], ["m", "$0.001000"], ["other/m", "$0.004000"]], "{page}");
        let models = json!(CostOutput::new(&spending))["models"].take();
        let told = |index: usize| (&models[index]["model"], &models[index]["endpoint"], &models[index]["nanoDollars"]);
        assert_eq!(told(0), (&json!("m"), &json!(null), &json!(1_000_000)));
        assert_eq!(told(2), (&json!("m"), &json!("other"), &json!(4_000_000)));
    }
}
