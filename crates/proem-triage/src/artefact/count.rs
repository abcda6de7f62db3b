//! Counts figures from signals and artefacts.
//!
//! A ticket counts as its latest signal has it. Figures of the backlog need a search result: events alone tell of the
//! tickets that changed, and a count of those is none of the backlog.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use proem_guard::{LabelScalar, LabelTree, TreePlace, show};

use super::{
    field::ArtefactField,
    figure::{Figure, FigureTrend, FigureValue, ProjectFigures, UnknownFigure},
    item::Artefact,
    kind::{ArtefactItemKind, ArtefactKind},
    state_words::SectionStates,
    statement::ArtefactStatement,
    ticket::{TicketPriority, TicketProgress, TicketState},
};
use crate::{
    date::SignalTime,
    signal::{ProjectSignal, SignalKind},
};

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// For how long a ticket may stay as it is before it is stale.
const STALE_AFTER: i64 = 7 * DAY;
/// How far back the mean cycle time looks.
const CYCLE_WINDOW: i64 = 28 * DAY;
/// Over how many closed sprints the velocity is.
const SPRINTS: usize = 3;

/// How much of the backlog the signals hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogExtent {
    /// All of it: a search that was answered to its end.
    Whole,
    /// Some pages of it.
    Part,
}

/// The fields of a ticket for figures without a field of their own, below a signal's fields.
#[derive(Debug, Clone, Default)]
pub struct FigurePlaces {
    /// Its story points, a number.
    pub points: Option<TreePlace>,
    /// Its sprints, a list of objects with `name`, `state` and `endDate`.
    pub sprints: Option<TreePlace>,
    /// The names of its sections and states, beside those that ship.
    pub words: SectionStates,
}

/// The artefacts and signals that figures are counted from.
#[derive(Debug, Clone, Copy)]
pub struct FigureSources<'s> {
    /// The time of the count.
    pub now: Time,
    /// The signals that count, as [`crate::SignalLog::current`] gives them, in any order.
    pub signals: &'s [&'s ProjectSignal],
    /// How much of the backlog is among them.
    pub coverage: BacklogExtent,
    /// The fields of tickets for the figures.
    pub places: &'s FigurePlaces,
    /// The artefacts as they are.
    pub artefacts: &'s [&'s Artefact],
}

/// Counts what can be counted of a project. Anything else is unknown.
#[must_use]
pub fn count_figures(sources: &FigureSources<'_>) -> ProjectFigures {
    let delivery = sources.artefacts.iter().find(|artefact| artefact.kind() == ArtefactKind::DeliveryState);
    let sprint = delivery.and_then(|delivery| delivery.open(ArtefactItemKind::Sprint).next()).map(|(_, sprint)| sprint);
    let count = FigureCount {
        now: sources.now.0,
        tickets: tickets(sources),
        sprint: sprint.and_then(|sprint| sprint.text(ArtefactField::Name)),
        sprint_start: sprint.and_then(|sprint| sprint.date(ArtefactField::StartDate)),
        has_points: sources.places.points.is_some(),
        has_sprints: sources.places.sprints.is_some(),
    };
    let mut values = BTreeMap::new();
    count.backlog(&mut values);
    count.points(&mut values);
    count.history(&mut values);
    if let Some(reason) = backlog_fault(sources) {
        values.values_mut().for_each(|value| *value = FigureValue::Unknown(reason));
    }
    for (figure, artefact, kind) in [
        (Figure::OpenBlockers, ArtefactKind::DeliveryState, ArtefactItemKind::Blocker),
        (Figure::ActiveRisks, ArtefactKind::RaidLog, ArtefactItemKind::Risk),
    ] {
        let artefact = sources.artefacts.iter().find(|other| other.kind() == artefact && other.version() > 0);
        let number = artefact.map(|artefact| FigureValue::count(artefact.open(kind).count()));
        values.insert(figure, number.unwrap_or(FigureValue::Unknown(UnknownFigure::NoArtefact)));
    }
    ProjectFigures { as_of: sources.now, values }
}

fn backlog_fault(sources: &FigureSources<'_>) -> Option<UnknownFigure> {
    if !sources.signals.iter().any(|signal| signal.kind == SignalKind::TicketListed) {
        return Some(UnknownFigure::NoBacklog);
    }
    (sources.coverage == BacklogExtent::Part).then_some(UnknownFigure::PartOfBacklog)
}

/// Each ticket as its latest signal has it; what was deleted is none.
fn tickets(sources: &FigureSources<'_>) -> Vec<TicketState> {
    let mut latest: BTreeMap<String, &ProjectSignal> = BTreeMap::new();
    for signal in sources.signals {
        let is_ticket = matches!(
            signal.kind,
            SignalKind::TicketListed
                | SignalKind::TicketCreated
                | SignalKind::TicketUpdated
                | SignalKind::TicketDeleted
        );
        let key = signal.ticket.as_ref().map(show::exact_json);
        let Some(key) = key.as_ref().and_then(|key| key.as_str()).filter(|_| is_ticket) else { continue };
        let known = latest.entry(key.to_owned()).or_insert(signal);
        if signal_recency(signal) > signal_recency(known) {
            *known = signal;
        }
    }
    let states = latest.into_values().filter(|signal| signal.kind != SignalKind::TicketDeleted);
    states.map(|signal| TicketState::read(signal, sources.places)).collect()
}

/// Which of two signals says the state of a ticket.
fn signal_recency(signal: &ProjectSignal) -> (Option<i64>, bool, &str, &str) {
    let time = if let SignalTime::Known(time) = signal.time { Some(time.0) } else { None };
    (time, signal.kind == SignalKind::TicketListed, &signal.id, &signal.revision)
}

struct FigureCount<'s> {
    now: i64,
    tickets: Vec<TicketState>,
    sprint: Option<&'s ArtefactStatement>,
    sprint_start: Option<Time>,
    has_points: bool,
    has_sprints: bool,
}

type Values = BTreeMap<Figure, FigureValue>;

const fn unknown_figure(reason: UnknownFigure) -> FigureValue {
    FigureValue::Unknown(reason)
}

/// A figure of something, or why there is none.
fn figure_or_reason<T>(of: Option<T>, reason: UnknownFigure, figure: impl FnOnce(T) -> FigureValue) -> FigureValue {
    of.map_or(FigureValue::Unknown(reason), figure)
}

impl FigureCount<'_> {
    fn backlog(&self, values: &mut Values) {
        let progress: Option<Vec<TicketProgress>> = self.tickets.iter().map(|ticket| ticket.progress).collect();
        let with = |wanted: TicketProgress| {
            figure_or_reason(progress.as_ref(), UnknownFigure::StatusMissing, |all| {
                FigureValue::count(all.iter().filter(|progress| **progress == wanted).count())
            })
        };
        values.insert(Figure::ToDo, with(TicketProgress::ToDo));
        values.insert(Figure::InProgress, with(TicketProgress::InProgress));
        values.insert(Figure::Blocked, with(TicketProgress::Blocked));
        // The counts below cover unfinished tickets. A ticket without a status leaves them unknown.
        let open: Option<Vec<&TicketState>> = progress
            .is_some()
            .then(|| self.tickets.iter().filter(|ticket| ticket.progress != Some(TicketProgress::Done)).collect());
        values.insert(
            Figure::TotalItems,
            figure_or_reason(open.as_ref(), UnknownFigure::StatusMissing, |open| FigureValue::count(open.len())),
        );
        let Some(open) = open else {
            for figure in [Figure::PriorityCritical, Figure::PriorityHigh, Figure::PriorityMedium, Figure::PriorityLow]
                .into_iter()
                .chain([Figure::Stale, Figure::MissingCriteria, Figure::DoneThisSprint])
            {
                values.insert(figure, unknown_figure(UnknownFigure::StatusMissing));
            }
            return;
        };
        let priorities: Option<Vec<TicketPriority>> = open.iter().map(|ticket| ticket.priority).collect();
        for (figure, wanted) in [
            (Figure::PriorityCritical, TicketPriority::Critical),
            (Figure::PriorityHigh, TicketPriority::High),
            (Figure::PriorityMedium, TicketPriority::Medium),
            (Figure::PriorityLow, TicketPriority::Low),
        ] {
            let number = figure_or_reason(priorities.as_ref(), UnknownFigure::PriorityMissing, |all| {
                FigureValue::count(all.iter().filter(|priority| **priority == wanted).count())
            });
            values.insert(figure, number);
        }
        let updated: Option<Vec<i64>> = open.iter().map(|ticket| ticket.updated).collect();
        let stale = figure_or_reason(updated, UnknownFigure::TimeMissing, |all| {
            FigureValue::count(all.iter().filter(|updated| self.now.saturating_sub(**updated) > STALE_AFTER).count())
        });
        values.insert(Figure::Stale, stale);
        // Tickets without a word and a search that asked for no descriptions look the same one by one.
        let criteria = if open.iter().all(|ticket| ticket.has_criteria.is_none()) && !open.is_empty() {
            unknown_figure(UnknownFigure::DescriptionMissing)
        } else {
            FigureValue::count(open.iter().filter(|ticket| ticket.has_criteria != Some(true)).count())
        };
        values.insert(Figure::MissingCriteria, criteria);
        values.insert(Figure::DoneThisSprint, self.done_this_sprint());
    }

    fn done(&self) -> impl Iterator<Item = &TicketState> {
        self.tickets.iter().filter(|ticket| ticket.progress == Some(TicketProgress::Done))
    }

    fn done_this_sprint(&self) -> FigureValue {
        let Some(start) = self.sprint_start else { return unknown_figure(UnknownFigure::NoSprint) };
        let resolved: Option<Vec<i64>> = self.done().map(|ticket| ticket.resolved).collect();
        figure_or_reason(resolved, UnknownFigure::TimeMissing, |all| {
            FigureValue::count(all.iter().filter(|resolved| **resolved >= start.0).count())
        })
    }

    fn points(&self, values: &mut Values) {
        let reason = match self.sprint {
            None => Some(UnknownFigure::NoSprint),
            Some(_) if !self.has_points || !self.has_sprints => Some(UnknownFigure::NotConfigured),
            Some(_) => None,
        };
        let is_in_sprint = |ticket: &&TicketState| {
            let names = ticket.sprints.iter().map(|sprint| &sprint.name);
            self.sprint.is_some_and(|own| names.into_iter().any(|name| name.says_what(own)))
        };
        let tickets: Vec<&TicketState> = self.tickets.iter().filter(is_in_sprint).collect();
        let unestimated = tickets.iter().filter(|ticket| ticket.points.is_none()).count();
        let sum = |wanted: Option<TicketProgress>| {
            let counted = tickets.iter().filter(|ticket| wanted.is_none() || ticket.progress == wanted);
            counted.filter_map(|ticket| ticket.points).fold(0_i64, i64::saturating_add)
        };
        let total = sum(None);
        let done = sum(Some(TicketProgress::Done));
        let is_empty = tickets.len() == unestimated;
        let is_doubtful = tickets.iter().any(|ticket| ticket.progress.is_none());
        let value = |needs_progress: bool, number: FigureValue| match reason {
            Some(reason) => unknown_figure(reason),
            None if is_empty => unknown_figure(UnknownFigure::NothingToCount),
            None if needs_progress && is_doubtful => unknown_figure(UnknownFigure::StatusMissing),
            None => number,
        };
        let percent = done.saturating_mul(10_000).checked_div(total);
        let percent = figure_or_reason(percent, UnknownFigure::NothingToCount, FigureValue::Hundredths);
        let of = |progress| FigureValue::Hundredths(sum(Some(progress)));
        values.insert(Figure::TotalPoints, value(false, FigureValue::Hundredths(total)));
        values.insert(Figure::CompletedPoints, value(true, FigureValue::Hundredths(done)));
        values.insert(Figure::InProgressPoints, value(true, of(TicketProgress::InProgress)));
        values.insert(Figure::BlockedPoints, value(true, of(TicketProgress::Blocked)));
        values.insert(Figure::CompletedPercent, value(true, percent));
        let unestimated = reason.map_or_else(|| FigureValue::count(unestimated), unknown_figure);
        values.insert(Figure::UnestimatedItems, unestimated);
    }

    fn history(&self, values: &mut Values) {
        let recent = self.done().filter_map(|ticket| Some((ticket.started?, ticket.resolved?)));
        let recent = recent
            .filter(|(started, resolved)| resolved >= started && self.now.saturating_sub(*resolved) <= CYCLE_WINDOW);
        let times: Vec<i64> = recent.map(|(started, resolved)| resolved.saturating_sub(started)).collect();
        let mean = mean_of(&times).map(|mean| mean.saturating_mul(100).div_euclid(DAY));
        values.insert(
            Figure::AverageCycleTimeDays,
            figure_or_reason(mean, UnknownFigure::HistoryMissing, FigureValue::Hundredths),
        );
        let sprints = self.closed_sprints();
        let is_doubtful = self.tickets.iter().any(|ticket| ticket.progress.is_none());
        let reason = match (self.has_points && self.has_sprints, is_doubtful) {
            (false, _) => UnknownFigure::NotConfigured,
            (true, true) => UnknownFigure::StatusMissing,
            (true, false) => UnknownFigure::TooFewSprints,
        };
        let counted = if is_doubtful { 0 } else { sprints.len().min(SPRINTS) };
        let last = sprints.get(..counted).unwrap_or_default();
        values.insert(Figure::Velocity, figure_or_reason(self::mean_of(last), reason, FigureValue::Hundredths));
        let trend = last.split_first().and_then(|(last, before)| Some(trend(*last, self::mean_of(before)?)));
        values.insert(Figure::VelocityTrend, figure_or_reason(trend, reason, FigureValue::Trend));
    }

    /// The points done in each closed sprint, the latest first. A finished ticket counts for the last sprint it was in.
    fn closed_sprints(&self) -> Vec<i64> {
        let mut sprints: BTreeMap<(i64, String), i64> = BTreeMap::new();
        for ticket in self.tickets.iter().filter(|_| self.has_points) {
            for sprint in ticket.sprints.iter().filter_map(|sprint| sprint.closed.clone()) {
                sprints.entry(sprint).or_default();
            }
            let last = ticket.sprints.iter().map(|sprint| sprint.closed.clone());
            // A sprint that isn't closed comes after those that are.
            let last = last.max_by_key(|closed| (closed.is_none(), closed.clone())).flatten();
            let is_done = ticket.progress == Some(TicketProgress::Done);
            if let (true, Some(last), Some(points)) = (is_done, last, ticket.points) {
                let sum = sprints.entry(last).or_default();
                *sum = sum.saturating_add(points);
            }
        }
        sprints.into_values().rev().collect()
    }
}

fn mean_of(all: &[i64]) -> Option<i64> {
    let sum = all.iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
    sum.checked_div(i64::try_from(all.len()).ok()?)
}

fn trend(last: i64, before: i64) -> FigureTrend {
    let (last, before) = (last.saturating_mul(10), before);
    if last > before.saturating_mul(11) {
        FigureTrend::Increasing
    } else if last < before.saturating_mul(9) {
        FigureTrend::Decreasing
    } else {
        FigureTrend::Stable
    }
}

/// A number of a signal in hundredths.
pub(super) fn hundredths(tree: &LabelTree) -> Option<i64> {
    let LabelTree::Scalar(scalar) = tree else { return None };
    scalar.measure(|scalar| match scalar {
        LabelScalar::Number(number) => {
            // Points beyond a million are nobody's estimate.
            let number = number.as_f64().filter(|number| (0.0..=1e6).contains(number))?;
            format!("{:.0}", number * 100.0).parse().ok()
        }
        LabelScalar::Null | LabelScalar::Bool(_) => None,
    })
}
