//! Spending as a document for programs.

use proem_engine::ledger::{Cap, CapPeriod};
use schemars::JsonSchema;
use serde::Serialize;

use super::sums::{SpendSum, by, total_spend};
use super::{ShownCap, Spending};

/// The spending since a day, and the caps on it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CostOutput<'s> {
    #[serde(flatten)]
    extent: CostExtent<'s>,
    #[serde(flatten)]
    groups: CostGroups,
    /// All of it.
    total: SpendSum,
    /// Attempts that have not ended.
    open: OpenAttempts,
    /// The caps on days and months.
    caps: Vec<CapOutput<'s>>,
}

/// The extent of the spending.
#[derive(Debug, Serialize, JsonSchema)]
struct CostExtent<'s> {
    /// The first day.
    since: &'s str,
    /// The time zone of the days.
    zone: &'s str,
    /// The project. Null for all.
    project: Option<&'s str>,
}

/// The spending by different groups.
#[derive(Debug, Serialize, JsonSchema)]
struct CostGroups {
    days: Vec<DaySpending>,
    prompts: Vec<PromptSpending>,
    models: Vec<ModelSpending>,
    projects: Vec<ProjectSpending>,
}

/// The sums of one day, in the zone of the budget.
#[derive(Debug, Serialize, JsonSchema)]
struct DaySpending {
    day: String,
    #[serde(flatten)]
    sum: SpendSum,
}

/// The sums of all versions of one prompt.
#[derive(Debug, Serialize, JsonSchema)]
struct PromptSpending {
    prompt: String,
    #[serde(flatten)]
    sum: SpendSum,
}

/// The sums of one model at one endpoint.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelSpending {
    model: String,
    /// The endpoint that answered. Null if it is not known.
    endpoint: Option<String>,
    #[serde(flatten)]
    sum: SpendSum,
}

/// The sums of everything below one project's folder.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectSpending {
    project: String,
    #[serde(flatten)]
    sum: SpendSum,
}

/// Attempts that have not ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OpenAttempts {
    attempts: u64,
    /// The amount that they reserve, in billionths of a dollar.
    nano_dollars: u64,
}

/// A cap with the amounts that count against it, in the cap's unit.
#[derive(Debug, Serialize, JsonSchema)]
struct CapOutput<'s> {
    #[serde(flatten)]
    cap: Cap,
    /// The settled amount.
    settled: u64,
    /// The amount that open attempts reserve.
    open: u64,
    /// The agent whose cap it is. Absent for a cap of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'s str>,
}

impl<'s> CostOutput<'s> {
    pub(super) fn new(spending: &'s Spending) -> Self {
        let lines = &spending.costs.lines;
        let models = by(lines, |line| (line.model.clone(), line.endpoint.clone())).into_iter();
        let cap = |shown: &'s ShownCap| CapOutput {
            cap: shown.now.cap,
            settled: shown.now.spent.settled,
            open: shown.now.spent.open,
            agent: shown.agent.as_deref(),
        };
        let days = by(lines, |line| line.day.clone()).into_iter();
        let prompts = by(lines, |line| line.prompt.clone()).into_iter();
        let projects = by(lines, |line| line.project.0.clone()).into_iter();
        Self {
            extent: CostExtent { since: &spending.since, zone: &spending.zone, project: spending.project.as_deref() },
            groups: CostGroups {
                days: days.map(|(day, sum)| DaySpending { day, sum }).collect(),
                prompts: prompts.map(|(prompt, sum)| PromptSpending { prompt, sum }).collect(),
                models: models.map(|((model, endpoint), sum)| ModelSpending { model, endpoint, sum }).collect(),
                projects: projects.map(|(project, sum)| ProjectSpending { project, sum }).collect(),
            },
            total: total_spend(lines),
            open: OpenAttempts { attempts: spending.costs.open, nano_dollars: spending.costs.reserved.0 },
            caps: spending.caps.iter().filter(|shown| shown.now.cap.period != CapPeriod::Run).map(cap).collect(),
        }
    }
}
