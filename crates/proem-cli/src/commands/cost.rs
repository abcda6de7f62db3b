//! `proem cost`: what was spent, and how full the caps are.

mod correct;
mod fit;
mod sums;

use std::path::Path;
use std::process::ExitCode;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Period, Scope, Unit};
use proem_store::query::{CapNow, Costs, CostsWanted};
use proem_store::record::Project as Owner;
use proem_text::json;
use serde_json::{Value as Json, json};

use self::sums::{Sum, by, total};
use crate::args::records::{Cost, CostCommand};
use crate::failure::Failure;
use crate::places::Places;
use crate::project::{Project, Reading};
use crate::ui::{self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, bar, cell, counted, styled};
use crate::{records, when};

/// Cells of the longest bar.
const BAR: usize = 28;

pub(super) fn run(args: &Cost) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    let open = |root: &Path| Project::open(root, &places, Reading::Trusted);
    match &args.command {
        None => records::blocking(spending(&places, &open(&args.place.root)?, args)),
        Some(CostCommand::Correct { attempt, cost, why, root }) => {
            records::blocking(correct::run(&places, &open(root)?, (*attempt, *cost), why))
        }
        Some(CostCommand::Fit { apply, revert, json }) => {
            let way = match (*apply, *revert) {
                (true, _) => fit::Way::Apply,
                (_, true) => fit::Way::Revert,
                _ => fit::Way::Show,
            };
            records::blocking(fit::run(&places, &open(&args.place.root)?, way, *json))
        }
    }
}

/// Everything that is shown.
struct Spending {
    since: String,
    zone: String,
    project: Option<String>,
    costs: Costs,
    caps: Vec<CapNow>,
}

async fn spending(places: &Places, project: &Project, args: &Cost) -> Result<ExitCode, Failure> {
    let (zone, now, owner) = (records::zone(&project.config.budget)?, when::now(), records::owner(project));
    let since = when::date(when::since(&args.since, now, &zone)?, &zone);
    let store = records::look(places, project).await?;
    let wanted = CostsWanted { project: (!args.place.all).then(|| owner.clone()), since: Some(since.clone()) };
    let costs = store.costs(&wanted).await?;
    let caps = store.caps(&owner, &records::caps(&project.config.budget), now).await?;
    let zone = zone.iana_name().unwrap_or("UTC").to_owned();
    let spending = Spending { since, zone, project: wanted.project.map(|project| project.0), costs, caps };
    if args.place.json {
        ui::data(&format!("{}\n", json::pretty(&spending.output())))?;
    } else {
        ui::listing(&spending.page())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Spending {
    fn page(&self) -> String {
        let whose = if self.project.is_some() { "this project" } else { "all projects" };
        let mut out = format!("{} by {whose} since {}, days in {}\n", styled(BOLD, "spent"), self.since, self.zone);
        let lines = &self.costs.lines;
        if lines.is_empty() {
            out.push_str("nothing; `proem run` books what it asks\n");
        }
        out.push_str(&table("day", &by(lines, |line| line.day.clone())));
        if self.project.is_none() {
            let projects = by(lines, |line| line.project.0.clone()).into_iter();
            let projects = projects.map(|(key, sum)| (records::folder(&Owner(key)).to_owned(), sum));
            out.push_str(&table("project", &projects.collect::<Vec<_>>()));
        }
        if !lines.is_empty() {
            out.push_str(&table("prompt", &by(lines, |line| line.prompt.clone())));
            out.push_str(&table("model", &by(lines, |line| line.model.clone())));
            out.push_str(&self.sum(&total(lines)));
        }
        if self.costs.open > 0 {
            let open = counted(self.costs.open, "attempt");
            let text = format!("open: {open}, {} reserved", self.costs.reserved);
            out.push_str(&format!("{}\n", styled(CYAN, &text)));
        }
        out.push_str(&self.caps());
        out
    }

    fn sum(&self, sum: &Sum) -> String {
        let mut out = format!(
            "\n{} {} for {}, {} tokens\n",
            styled(BOLD, "in all"),
            sum.cost,
            counted(sum.attempts, "attempt"),
            ui::grouped(usize::try_from(sum.tokens).unwrap_or(usize::MAX))
        );
        if sum.unknown > 0 {
            let text = format!("{} booked in full, since nobody said what was used", counted(sum.unknown, "attempt"));
            out.push_str(&format!("{}\n", styled(YELLOW, &text)));
        }
        if sum.unpriced > 0 {
            let text = format!(
                "{} without a known price: what was spent is more than these sums",
                counted(sum.unpriced, "attempt")
            );
            out.push_str(&format!("{}\n", styled(YELLOW, &text)));
        }
        out
    }

    fn caps(&self) -> String {
        let caps: Vec<&CapNow> = self.caps.iter().filter(|now| now.cap.period != Period::Run).collect();
        if caps.is_empty() {
            return styled(DIM, "\nno day or month is capped; `budget` in the configuration does that") + "\n";
        }
        let mut out = format!("\n{}\n", styled(BOLD, "caps"));
        for now in caps {
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
            let name = format!("{} {}", scope(now.cap.scope), period(now.cap.period));
            let (cap, spent) = (amount(now.cap.unit, most), amount(now.cap.unit, used));
            let open = match now.spent.open {
                0 => String::new(),
                open => format!(", {} of it reserved", amount(now.cap.unit, open)),
            };
            let filled = if most == 0 { bar(1, 1, 20) } else { bar(whole(used.min(most)), whole(most), 20) };
            let filled = cell(&filled, 20);
            out.push_str(&format!("{name:14} {}▏{shown}%  {spent} of {cap}{open}\n", styled(style, &filled)));
        }
        out
    }

    fn output(&self) -> Json {
        let lines = &self.costs.lines;
        let list = |sums: Vec<(String, Sum)>, name: &str| -> Vec<Json> {
            sums.into_iter().map(|(group, sum)| sum.output(Some((name, &group)))).collect()
        };
        let caps: Vec<Json> = self
            .caps
            .iter()
            .filter(|now| now.cap.period != Period::Run)
            .map(|now| {
                json!({
                    "scope": now.cap.scope, "period": now.cap.period, "unit": now.cap.unit, "most": now.cap.most,
                    "settled": now.spent.settled, "open": now.spent.open,
                })
            })
            .collect();
        json!({
            "since": self.since,
            "zone": self.zone,
            "project": self.project,
            "days": list(by(lines, |line| line.day.clone()), "day"),
            "prompts": list(by(lines, |line| line.prompt.clone()), "prompt"),
            "models": list(by(lines, |line| line.model.clone()), "model"),
            "projects": list(by(lines, |line| line.project.0.clone()), "project"),
            "total": total(lines).output(None),
            "open": { "attempts": self.costs.open, "nanoDollars": self.costs.reserved.0 },
            "caps": caps,
        })
    }
}

fn table(name: &str, sums: &[(String, Sum)]) -> String {
    if sums.is_empty() {
        return String::new();
    }
    let longest = sums.iter().map(|(name, _)| ui::cut(name, 32).chars().count()).max().unwrap_or(0).max(10);
    let most = sums.iter().map(|(_, sum)| sum.cost.0).max().unwrap_or(0);
    let head = format!("{name:longest$}  {:>12}  {:>8}  {:>7}", "cost", "attempts", "tokens");
    let mut out = format!("\n{}\n", styled(DIM, &head));
    for (name, sum) in sums {
        let cost = if sum.unpriced == sum.attempts { ui::UNKNOWN.to_owned() } else { sum.cost.to_string() };
        let marks = [(sum.unknown, "unknown"), (sum.unpriced, "unpriced")];
        let marks = marks.iter().filter(|(count, _)| *count > 0);
        let marks = marks.map(|(count, what)| format!("  {} {what}", ui::grouped(whole(*count))));
        out.push_str(&format!(
            "{}  {cost:>12}  {:>8}  {:>7}  {}{}\n",
            cell(name, longest),
            ui::grouped(usize::try_from(sum.attempts).unwrap_or(usize::MAX)),
            ui::short(sum.tokens),
            styled(CYAN, &bar(scaled(sum.cost.0), scaled(most), BAR)),
            styled(YELLOW, &marks.collect::<String>()),
        ));
    }
    out
}

/// A count as bars and tables take it.
fn whole(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A value on the scale of a bar: what is not zero stays so.
fn scaled(value: u64) -> usize {
    usize::try_from(value.div_ceil(1_000)).unwrap_or(usize::MAX)
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "you,",
        Scope::Project => "project,",
    }
}

const fn period(period: Period) -> &'static str {
    match period {
        Period::Run => "run",
        Period::Day => "today",
        Period::Month => "month",
    }
}

fn amount(unit: Unit, amount: u64) -> String {
    match unit {
        Unit::NanoDollars => NanoDollars(amount).to_string(),
        Unit::Tokens => format!("{} tokens", ui::grouped(usize::try_from(amount).unwrap_or(usize::MAX))),
    }
}
