//! How triage does: what share of calls each stage has, how often models' tool calls are taken, how often signals are
//! suspected and persons asked.
//!
//! Invariant: each figure says how many values it is of, and one of no value is unknown.

use std::collections::BTreeMap;

use proem_store::query::{CountedFigure, CycleRow, Statistics};
use proem_triage::pipeline::PipelineStage;
use serde::Serialize;
use serde_json::Value as Json;

/// The share of calls that each stage was planned to have.
const PLANNED: [(PipelineStage, f64); 4] = [
    (PipelineStage::Sanitise, 0.35),
    (PipelineStage::Classify, 0.35),
    (PipelineStage::Reasoning, 0.15),
    (PipelineStage::ArtefactUpdate, 0.15),
];

/// The figures of triage beside those of its prompts.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriageMonitoring {
    /// The stages, in their order.
    pub stages: Vec<StageShare>,
    /// The tools that models called in answers that met their contract, by name.
    pub tools: Vec<ToolSuccess>,
    /// The cost of a hundred calls in the planned shares, in dollars, by the actual cost of each stage's calls. Unknown
    /// while a stage has none of known cost. Its number of attempts is that of the stage with the fewest.
    pub planned_cost: CountedFigure,
    /// Cycles whose counts are kept.
    pub cycles: u64,
    /// Signals that rules or a model suspect, over the signals of these cycles.
    pub threat_rate: CountedFigure,
    /// Questions that were asked, over the same.
    pub escalation_rate: CountedFigure,
}

/// A stage's share of calls.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageShare {
    /// The name of a stage of the pipeline.
    pub stage: &'static str,
    /// Its calls, whatever the version of its prompt.
    pub calls: u64,
    /// Its calls over those of all stages.
    pub share: CountedFigure,
    /// The share that it was planned to have.
    pub planned: f64,
    /// Signals that its model suspects, over those that it was answered about. Unknown of a stage that looks for no
    /// attacks.
    pub threat_rate: CountedFigure,
    /// Signals that a person is to decide about by its answers, over the same. Unknown of a stage that asks no person.
    pub escalation_rate: CountedFigure,
}

/// How often what a tool was called with was taken.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSuccess {
    /// As the stage's contract names it.
    pub tool: String,
    /// Calls whose content was taken, over all calls of it.
    pub taken: CountedFigure,
}

impl TriageMonitoring {
    /// The figures of the agent's runs and of its cycles.
    #[must_use]
    pub fn new(runs: &Statistics, cycles: &[CycleRow]) -> Self {
        let calls = |stage: PipelineStage| {
            let own = runs.prompts.iter().filter(|group| group.name.split('@').next() == Some(stage.prompt()));
            own.map(|group| group.calls).sum::<u64>()
        };
        let all: u64 = PLANNED.iter().map(|(stage, _)| calls(*stage)).sum();
        let number = |counts: &Json, name: &str| counts.get(name).and_then(Json::as_u64);
        // A cycle of a version that did not count this says nothing about it.
        let rate = |place: &str, name: &str| {
            let counts = cycles.iter().filter_map(|cycle| cycle.counts.pointer(place));
            let known = counts.filter_map(|counts| number(counts, name).zip(number(counts, "signals")));
            let (part, whole) = known.fold((0_u64, 0_u64), |(part, whole), (some, signals)| {
                (part.saturating_add(some), whole.saturating_add(signals))
            });
            counted_share(part, whole)
        };
        let stages = PLANNED.iter().map(|(stage, planned)| {
            let place = format!("/stages/{}", stage.as_str());
            StageShare {
                stage: stage.as_str(),
                calls: calls(*stage),
                share: counted_share(calls(*stage), all),
                planned: *planned,
                threat_rate: rate(&place, "suspected"),
                escalation_rate: rate(&place, "escalated"),
            }
        });
        let mut tools: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (tool, counts) in cycles.iter().filter_map(|cycle| cycle.counts.get("tools")?.as_object()).flatten() {
            let known = tools.entry(tool.clone()).or_default();
            known.0 = known.0.saturating_add(number(counts, "taken").unwrap_or(0));
            known.1 = known.1.saturating_add(number(counts, "calls").unwrap_or(0));
        }
        let mean = |stage: PipelineStage| {
            let own = runs.prompts.iter().filter(|group| group.name.split('@').next() == Some(stage.prompt()));
            let (sum, n) = own.fold((0.0, 0_u64), |(sum, n), group| {
                (sum + group.cost.value.unwrap_or(0.0), n.saturating_add(group.cost.n))
            });
            Some((per(sum, n)?, n))
        };
        let costs: Option<Vec<(f64, u64)>> =
            PLANNED.iter().map(|(stage, planned)| mean(*stage).map(|(cost, n)| (cost * planned * 100.0, n))).collect();
        let planned_cost = costs.map_or_else(CountedFigure::default, |costs| CountedFigure {
            value: Some(costs.iter().map(|(cost, _)| cost).sum()),
            n: costs.iter().map(|(_, n)| *n).min().unwrap_or(0),
        });
        let counted = cycles.iter().filter(|cycle| cycle.counts.is_object()).count();
        Self {
            stages: stages.collect(),
            tools: tools
                .into_iter()
                .map(|(tool, (taken, calls))| ToolSuccess { tool, taken: counted_share(taken, calls) })
                .collect(),
            planned_cost,
            cycles: u64::try_from(counted).unwrap_or(u64::MAX),
            threat_rate: rate("", "suspected"),
            escalation_rate: rate("", "questions"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people; sixteen digits are enough")]
fn per(sum: f64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum / n as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people; sixteen digits are enough")]
fn counted_share(part: u64, whole: u64) -> CountedFigure {
    CountedFigure { value: (whole > 0).then(|| part as f64 / whole as f64), n: whole }
}

#[cfg(test)]
mod tests {
    use proem_engine::run::Time;
    use proem_store::query::RunGroup;
    use serde_json::json;

    use super::*;

    fn cycle(counts: Json) -> CycleRow {
        CycleRow { cycle: 1, began: Time(0), at: Time(0), counts }
    }

    #[test]
    fn shares_are_of_all_versions_and_what_nobody_counted_is_unknown() {
        let group = |name: &str, calls| RunGroup { name: name.to_owned(), calls, ..RunGroup::default() };
        let prompts = vec![
            group("triage/classify@1.0.0", 3),
            group("triage/classify@1.1.0", 1),
            group("triage/sanitise@1.0.0", 4),
            group("other/classify@1.0.0", 9),
        ];
        let cycles = [
            cycle(json!({ "signals": 4, "questions": 1, "suspected": 2,
                "tools": { "classify_signal": { "calls": 4, "taken": 3 } },
                "stages": { "sanitise": { "signals": 4, "suspected": 1 }, "classify": { "signals": 4, "escalated": 2 } } })),
            cycle(json!({ "signals": 6, "questions": 1 })),
            cycle(Json::Null),
        ];
        let found = TriageMonitoring::new(&Statistics { prompts, ..Statistics::default() }, &cycles);
        let shares: Vec<_> = found.stages.iter().map(|stage| (stage.calls, stage.share.value, stage.share.n)).collect();
        assert_eq!(shares, [(4, Some(0.5), 8), (4, Some(0.5), 8), (0, Some(0.0), 8), (0, Some(0.0), 8)]);
        let of = |figure: CountedFigure| (figure.value, figure.n);
        assert_eq!((of(found.threat_rate), of(found.escalation_rate)), ((Some(0.5), 4), (Some(0.2), 10)));
        let rates = found.stages.iter().map(|stage| (of(stage.threat_rate), of(stage.escalation_rate)));
        let unknown = (None, 0);
        assert_eq!(
            rates.take(3).collect::<Vec<_>>(),
            [((Some(0.25), 4), unknown), (unknown, (Some(0.5), 4)), (unknown, unknown)]
        );
        assert_eq!((found.cycles, found.planned_cost.value), (2, None));
        assert_eq!(of(found.tools[0].taken), (Some(0.75), 4));
        let dear = |stage: PipelineStage, cost, n| RunGroup {
            cost: CountedFigure { value: Some(cost), n },
            ..group(&format!("{}@1.0.0", stage.prompt()), n)
        };
        let [sanitise, classify, reasoning, update] = PipelineStage::ALL;
        let prompts =
            vec![dear(sanitise, 4.0, 4), dear(classify, 6.0, 3), dear(reasoning, 20.0, 2), dear(update, 3.0, 3)];
        let found = TriageMonitoring::new(&Statistics { prompts, ..Statistics::default() }, &[]);
        // 35 at 1, 35 at 2, 15 at 10 and 15 at 1.
        assert_eq!(found.planned_cost.value.map(f64::round), Some(270.0));
        assert_eq!(found.planned_cost.n, 2);
        let none = TriageMonitoring::new(&Statistics::default(), &[]);
        assert!(none.stages.iter().all(|stage| stage.share.value.is_none()) && none.threat_rate.value.is_none());
    }
}
