//! Counted figures, and the reason for each unknown one.
//!
//! A figure is no part of an artefact: it is counted from signals and artefacts whenever it is shown or kept, so that
//! nothing that somebody wrote can be one.

use std::{collections::BTreeMap, fmt};

use proem_engine::run::Time;
use serde_json::{Map, Value as Json, json};

/// Something that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Story points of the sprint.
    TotalPoints,
    /// Those of what is done.
    CompletedPoints,
    /// Those of what is being worked on.
    InProgressPoints,
    /// Those of what is blocked.
    BlockedPoints,
    /// The completed share of the points, in per cent.
    CompletedPercent,
    /// Tickets of the sprint without points, which are in none of the above.
    UnestimatedItems,
    /// Tickets that are not done.
    TotalItems,
    /// Those on which nobody works.
    ToDo,
    /// Those on which somebody works.
    InProgress,
    /// Those that are blocked.
    Blocked,
    /// Tickets that were done since the sprint began.
    DoneThisSprint,
    /// Tickets of critical priority that are not done.
    PriorityCritical,
    /// Tickets of high priority that are not done.
    PriorityHigh,
    /// Tickets of medium priority that are not done.
    PriorityMedium,
    /// Tickets of low priority that are not done.
    PriorityLow,
    /// Tickets that are not done and did not change for more than seven days.
    Stale,
    /// Tickets that are not done and whose description has no acceptance criteria.
    MissingCriteria,
    /// From the first change of status to the resolution, in days: the mean over what was done in 28 days.
    AverageCycleTimeDays,
    /// Points done in a sprint: the mean over the last three that are closed.
    Velocity,
    /// How the last closed sprint compares with the mean of up to two before it.
    VelocityTrend,
    /// Blockers of the delivery state that are open.
    OpenBlockers,
    /// Risks of the RAID log that are open or mitigated.
    ActiveRisks,
}

proem_text::word_table! {
    pub Figure {
        // In the order in which artefacts show them.
        TotalPoints = "total_points",
        CompletedPoints = "completed_points",
        InProgressPoints = "in_progress_points",
        BlockedPoints = "blocked_points",
        CompletedPercent = "completed_percent",
        UnestimatedItems = "unestimated_items",
        TotalItems = "total_items",
        ToDo = "to_do",
        InProgress = "in_progress",
        Blocked = "blocked",
        DoneThisSprint = "done_this_sprint",
        PriorityCritical = "critical",
        PriorityHigh = "high",
        PriorityMedium = "medium",
        PriorityLow = "low",
        Stale = "stale",
        MissingCriteria = "missing_criteria",
        AverageCycleTimeDays = "avg_cycle_time_days",
        Velocity = "velocity",
        VelocityTrend = "velocity_trend",
        OpenBlockers = "open_blockers",
        ActiveRisks = "active_risks",
    }
}

/// A figure as it was counted, or that it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureValue {
    /// In hundredths: 350 is 3.5.
    Hundredths(i64),
    /// Which way something goes.
    Trend(FigureTrend),
    /// It can't be counted.
    Unknown(UnknownFigure),
}

impl FigureValue {
    /// So many.
    #[must_use]
    pub fn count(number: usize) -> Self {
        Self::Hundredths(i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(100))
    }

    /// The number or the word. Null if it is not known.
    #[must_use]
    pub fn to_json(self) -> Json {
        match self {
            Self::Hundredths(hundredths) if hundredths % 100 == 0 => json!(hundredths.div_euclid(100)),
            Self::Hundredths(_) => self.to_string().parse::<f64>().map_or(Json::Null, |number| json!(number)),
            Self::Trend(trend) => trend.as_str().into(),
            Self::Unknown(_) => Json::Null,
        }
    }
}

impl fmt::Display for FigureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hundredths(hundredths) => {
                let sign = if *hundredths < 0 { "-" } else { "" };
                let size = hundredths.unsigned_abs();
                let (whole, rest) = (size.div_euclid(100), size.rem_euclid(100));
                let rest = if rest == 0 { String::new() } else { format!(".{rest:02}") };
                f.pad(&format!("{sign}{whole}{}", if rest.len() == 3 { rest.trim_end_matches('0') } else { &rest }))
            }
            Self::Trend(trend) => f.pad(trend.as_str()),
            Self::Unknown(reason) => f.pad(&format!("unknown ({reason})")),
        }
    }
}

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureTrend {
    /// More than a tenth up.
    Increasing,
    /// Neither better nor worse.
    Stable,
    /// More than a tenth down.
    Decreasing,
}

proem_text::word_table! {
    pub FigureTrend {
        Increasing = "increasing",
        Stable = "stable",
        Decreasing = "decreasing",
    }
}

/// Why a figure is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownFigure {
    /// No search result of the backlog came.
    NoBacklog,
    /// Only a part of the backlog came.
    PartOfBacklog,
    /// No sprint is open.
    NoSprint,
    /// The field for points or sprints is not configured.
    NotConfigured,
    /// A ticket doesn't say its status in a way that is known.
    StatusMissing,
    /// A ticket has no priority, or one that is not known.
    PriorityMissing,
    /// A ticket has no time that is needed, or none that is believed.
    TimeMissing,
    /// No ticket came with a description, so that none was asked for.
    DescriptionMissing,
    /// No ticket that was done came with its history.
    HistoryMissing,
    /// Too few closed sprints are known.
    TooFewSprints,
    /// There is nothing of which it could be counted.
    NothingToCount,
    /// The artefact was never written.
    NoArtefact,
}

impl fmt::Display for UnknownFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoBacklog => "no search result of the backlog",
            Self::PartOfBacklog => "only a part of the backlog",
            Self::NoSprint => "no sprint is open",
            Self::NotConfigured => "the ticket's field is not configured",
            Self::StatusMissing => "a ticket without a known status",
            Self::PriorityMissing => "a ticket without a known priority",
            Self::TimeMissing => "a ticket without a believable time",
            Self::DescriptionMissing => "no descriptions in the search result",
            Self::HistoryMissing => "no histories in the search result",
            Self::TooFewSprints => "too few closed sprints",
            Self::NothingToCount => "nothing to count",
            Self::NoArtefact => "never written",
        })
    }
}

/// All figures at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFigures {
    /// When they were counted.
    pub as_of: Time,
    pub(super) values: BTreeMap<Figure, FigureValue>,
}

impl ProjectFigures {
    /// A figure.
    #[must_use]
    pub fn get(&self, figure: Figure) -> FigureValue {
        self.values.get(&figure).copied().unwrap_or(FigureValue::Unknown(UnknownFigure::NothingToCount))
    }

    /// All of them by name, with `unknown` for the reasons of those that are null.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut all: Map<String, Json> =
            Figure::ALL.into_iter().map(|figure| (figure.as_str().to_owned(), self.get(figure).to_json())).collect();
        let reasons = Figure::ALL.into_iter().filter_map(|figure| match self.get(figure) {
            FigureValue::Unknown(reason) => Some((figure.as_str().to_owned(), Json::from(reason.to_string()))),
            FigureValue::Hundredths(_) | FigureValue::Trend(_) => None,
        });
        all.insert("unknown".to_owned(), Json::Object(reasons.collect()));
        Json::Object(all)
    }
}
