//! The possible choices at a hop, worked out by rules before anybody is asked.

use proem_risk::level::Level;
use proem_risk::metric::MetricName;

use super::{HopAction, InvestigationLimits, InvestigationState};
use crate::risk::evidence::{count_high_evidence, is_judged};

/// The most hops of an investigation, whatever its limits say.
pub(super) const MOST_HOPS: u8 = 3;

/// The neighbours of a file are looked at only if more than this many files import it.
const EXPAND_ABOVE: f64 = 20.0;

/// From this many HIGH pieces of evidence on, more would change nothing.
const HIGH_ENOUGH: usize = 3;

/// The most files that are named per action.
const MAX_NAMED: usize = 10;

/// The metrics that may be asked for, in the order in which they are offered.
const REQUESTABLE: [MetricName; 2] = [MetricName::OwnershipChurn, MetricName::IncidentSimilarity];

/// The possible choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    /// Why nothing but the end may be chosen, in our words.
    pub(super) closed: Option<&'static str>,
    /// Metrics with the file that they may be measured of.
    pub(super) metrics: Vec<(MetricName, u32)>,
    /// Files whose neighbours may be looked at.
    pub(super) expand: Vec<u32>,
}

/// Works out what may be chosen at the next hop.
pub(super) fn offer_hops(state: &InvestigationState, limits: InvestigationLimits) -> Offer {
    let assessment = &state.subject.assessment;
    let closed = |why| Offer { closed: Some(why), metrics: Vec::new(), expand: Vec::new() };
    let last = usize::from(limits.hops.clamp(1, MOST_HOPS));
    if assessment.level == Level::High {
        return closed("the level is HIGH already");
    }
    if state.hops.len().saturating_add(1) >= last {
        return closed("this is the last hop");
    }
    if count_high_evidence(assessment) >= HIGH_ENOUGH {
        return closed("three pieces of evidence are HIGH");
    }
    let was_asked = |action: HopAction, metric: Option<MetricName>, file: u32| {
        let metric = metric.map(MetricName::as_str);
        let same = |hop: &super::Hop| hop.action == action && hop.metric.as_deref() == metric && hop.file == Some(file);
        state.hops.iter().any(|(hop, _)| same(hop))
    };
    let (mut metrics, mut expand) = (Vec::new(), Vec::new());
    for file in assessment.files.iter().filter(|file| is_judged(file)) {
        let value = |name: MetricName| file.metrics.iter().find(|metric| metric.name == name);
        for name in REQUESTABLE {
            let is_new = value(name).is_none() && !was_asked(HopAction::CalculateMetric, Some(name), file.index);
            if is_new && assessment.could_raise(file.index, name) {
                metrics.push((name, file.index));
            }
        }
        let coupling = value(MetricName::Coupling).and_then(|metric| metric.value);
        let is_wide = coupling.is_some_and(|coupling| coupling > EXPAND_ABOVE);
        if is_wide && !was_asked(HopAction::ExpandGraph, None, file.index) {
            expand.push(file.index);
        }
    }
    let nothing = metrics.is_empty() && expand.is_empty();
    Offer { closed: nothing.then_some("no measurement could raise the level or fill an unknown"), metrics, expand }
}

impl Offer {
    /// The actions, the end last.
    pub(super) fn actions(&self) -> Vec<HopAction> {
        let metric = (!self.metrics.is_empty()).then_some(HopAction::CalculateMetric);
        let expand = (!self.expand.is_empty()).then_some(HopAction::ExpandGraph);
        metric.into_iter().chain(expand).chain([HopAction::Finalize]).collect()
    }

    /// The actions with what they may be about, names as aliases.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for name in REQUESTABLE {
            let files: Vec<u32> =
                self.metrics.iter().filter(|(offered, _)| *offered == name).map(|(_, file)| *file).collect();
            if !files.is_empty() {
                lines.push(format!("CALCULATE_METRIC `{}` of {}", name.as_str(), numbered_files(&files)));
            }
        }
        if !self.expand.is_empty() {
            lines.push(format!("EXPAND_GRAPH of {}", numbered_files(&self.expand)));
        }
        lines.push("FINALIZE".to_owned());
        lines
    }

    /// The files that the lines name.
    pub(super) fn files(&self) -> Vec<u32> {
        let of =
            |name: MetricName| self.metrics.iter().filter(move |(offered, _)| *offered == name).map(|(_, file)| *file);
        let mut files: Vec<u32> = REQUESTABLE.into_iter().flat_map(|name| of(name).take(MAX_NAMED)).collect();
        files.extend(self.expand.iter().take(MAX_NAMED));
        files.sort_unstable();
        files.dedup();
        files
    }
}

fn numbered_files(files: &[u32]) -> String {
    let names: Vec<String> =
        files.iter().take(MAX_NAMED).map(|file| format!("file {}", u64::from(*file).saturating_add(1))).collect();
    let more = files.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" or one of {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
