//! A metric: a value with its unit, its uncertainty, its place in the repository, and a sentence of evidence.

use alloc::string::String;
use alloc::vec::Vec;

use proem_score::interval::{Z95, wilson};
use serde::{Deserialize, Serialize};

/// Which metric. The names are those of the field. `ownership_churn` and `incident_similarity` are what an
/// investigation asks for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricName {
    /// Tier 1: distinct files that import a file (fan-in).
    Coupling,
    /// Tier 1: the greatest confidence with which another file changes when this one does.
    CoChange,
    /// Tier 1: test lines to code lines.
    TestRatio,
    /// Tier 2: days since the owner changed.
    OwnershipChurn,
    /// Tier 2: how like a past incident the change is.
    IncidentSimilarity,
    /// Files that reach a file over imports.
    TransitiveCoupling,
    /// Calls of a file's names in the files that import it.
    CallSites,
    /// Usual partners that are missing from the change.
    CoChangeGap,
    /// Commits that fixed something in a file.
    PriorFixes,
    /// Commits that reverted something in a file.
    PriorReverts,
    /// Authors with less than 5 % of a file's commits.
    MinorContributors,
    /// The share of the author who has most commits of a file.
    OwnerShare,
    /// Commits that touched a file in 90 days.
    RecentCommits,
    /// NS: subsystems that are touched.
    Subsystems,
    /// ND: folders that are touched.
    Directories,
    /// NF: files that are touched.
    Files,
    /// Entropy of the changed lines over the files, normalised by log2 NF.
    Entropy,
    /// LA: lines added.
    LinesAdded,
    /// LD: lines removed.
    LinesDeleted,
    /// LT: lines of the touched files before the change, together.
    LinesBefore,
    /// FIX: whether the change fixes something.
    Fix,
    /// NDEV: developers who touched the files before, and the author.
    Developers,
    /// AGE: days since the files were last touched, on average.
    Age,
    /// NUC: earlier changes of each file and this one, together.
    UniqueChanges,
    /// EXP: changes of files by the author so far.
    Experience,
    /// REXP: the same, each divided by its age in days plus one.
    RecentExperience,
    /// SEXP: files in the touched subsystems that the author changed so far.
    SubsystemExperience,
}

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricUnit {
    /// A number of files.
    Files,
    /// A share from 0 to 1.
    Share,
    /// A ratio without an upper bound.
    Ratio,
    /// A number of days.
    Days,
    /// A number of lines.
    Lines,
    /// A number of commits.
    Commits,
    /// A number of calls in source code.
    Calls,
    /// A number of people, by mail address.
    Persons,
    /// Folders, subsystems and the like.
    Count,
    /// A percentile of an empirical null, from 0 to 100.
    Percentile,
    /// 0 or 1.
    Flag,
}

/// The rules' signal for a value. Unknown is a level of its own: it never passes as low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// It could not be measured.
    Unknown,
    /// At most the first threshold.
    Low,
    /// Between the thresholds.
    Medium,
    /// Beyond the second threshold.
    High,
    /// No rule speaks of this metric.
    None,
}

/// A part of a whole, with its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fraction {
    /// How many.
    pub numerator: u64,
    /// Out of how many.
    pub denominator: u64,
}

/// The range of a value in 95 of 100 repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A place among others of the same repository.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PercentileRank {
    /// The share of them that are below, in percent.
    pub percentile: f64,
    /// How many there are.
    pub among: u32,
}

/// Something that was not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// The exclusion, in our words: `merges`, `commits of more than 30 files`.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// A piece of a sentence. Words that are not ours are from outside: they reach a prompt contained and a screen made
/// safe, and never as a part of our words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "text", rename_all = "kebab-case")]
pub enum SentencePart {
    /// Our words.
    Ours(String),
    /// A path in the repository, shown as code.
    Path(String),
    /// A person: a mail address.
    Person(String),
    /// The first line of a message, or the title of an incident.
    Message(String),
}

/// A sentence about a metric, without a full stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sentence(pub Vec<SentencePart>);

impl Sentence {
    /// A sentence of our words only.
    #[must_use]
    pub fn ours(text: impl Into<String>) -> Self {
        Self(alloc::vec![SentencePart::Ours(text.into())])
    }

    /// It with a further piece.
    #[must_use]
    pub fn then(mut self, piece: SentencePart) -> Self {
        self.0.push(piece);
        self
    }

    /// It with further words of ours.
    #[must_use]
    pub fn and(self, text: impl Into<String>) -> Self {
        self.then(SentencePart::Ours(text.into()))
    }
}

/// A measured metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The metric that was measured.
    pub name: MetricName,
    /// The value. `None` if it is unknown, and then [`Self::evidence`] says why.
    pub value: Option<f64>,
    /// Lines, days, a share or another unit of its value.
    pub unit: MetricUnit,
    /// The counts that it was made from, where it is a share.
    pub of: Option<Fraction>,
    /// How far it may be from the true one.
    pub between: Option<ConfidenceInterval>,
    /// Its place among the others of the repository.
    pub rank: Option<PercentileRank>,
    /// The rules' signal.
    pub signal: Signal,
    /// The exclusions.
    pub excluded: Vec<Exclusion>,
    /// One sentence that a reviewer believes.
    pub evidence: Sentence,
    /// Further names for whoever wants to look: importers, partners, incidents. At most 20.
    pub details: Vec<Sentence>,
    /// How many such names there are, where the details are counted and may be only some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

impl Metric {
    /// A metric that could not be measured, and why. One that has thresholds is [`Signal::Unknown`].
    #[must_use]
    pub fn unknown(name: MetricName, because: Sentence) -> Self {
        let signal = if name.tier().is_some() { Signal::Unknown } else { Signal::None };
        Self { value: None, signal, evidence: because, ..Self::of(name, 0.0) }
    }

    /// A measured value. No rule speaks of it until it gets a signal.
    #[must_use]
    pub const fn of(name: MetricName, value: f64) -> Self {
        Self {
            name,
            value: Some(value),
            unit: name.unit(),
            of: None,
            between: None,
            rank: None,
            signal: Signal::None,
            excluded: Vec::new(),
            evidence: Sentence(Vec::new()),
            details: Vec::new(),
            total: None,
        }
    }

    /// How many names there are beside the first `shown` of the details.
    #[must_use]
    pub fn beside(&self, shown: usize) -> usize {
        let total = self.total.and_then(|total| usize::try_from(total).ok()).unwrap_or(0);
        total.max(self.details.len()).saturating_sub(shown)
    }
}

impl PercentileRank {
    /// The place of a value among those of others, given in ascending order. `None` if there are none.
    #[must_use]
    pub fn among<T: PartialOrd + Copy>(ascending: &[T], value: T) -> Option<Self> {
        let among = u32::try_from(ascending.len()).ok().filter(|among| *among > 0)?;
        let below = u32::try_from(ascending.partition_point(|other| *other < value)).ok()?;
        Some(Self { percentile: f64::from(below) / f64::from(among) * 100.0, among })
    }
}

impl Fraction {
    /// The share. `None` of nothing.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts of commits and lines are far below 2⁵³")]
        let share = self.numerator as f64 / self.denominator as f64;
        (self.denominator > 0).then_some(share)
    }

    /// Wilson's 95 % interval of the share. `None` of nothing, or of more than all.
    #[must_use]
    pub fn between(self) -> Option<ConfidenceInterval> {
        let interval = wilson(self.numerator, self.denominator, Z95).filter(|_| self.denominator > 0)?;
        Some(ConfidenceInterval { low: interval.low, high: interval.high })
    }
}

proem_text::word_table! {
    /// The word used in reports and by an investigation.
    pub MetricName {
        Coupling = "coupling",
        CoChange = "co_change",
        TestRatio = "test_ratio",
        OwnershipChurn = "ownership_churn",
        IncidentSimilarity = "incident_similarity",
        TransitiveCoupling = "transitive_coupling",
        CallSites = "call_sites",
        CoChangeGap = "co_change_gap",
        PriorFixes = "prior_fixes",
        PriorReverts = "prior_reverts",
        MinorContributors = "minor_contributors",
        OwnerShare = "owner_share",
        RecentCommits = "recent_commits",
        Subsystems = "subsystems",
        Directories = "directories",
        Files = "files",
        Entropy = "entropy",
        LinesAdded = "lines_added",
        LinesDeleted = "lines_deleted",
        LinesBefore = "lines_before",
        Fix = "fix",
        Developers = "developers",
        Age = "age",
        UniqueChanges = "unique_changes",
        Experience = "experience",
        RecentExperience = "recent_experience",
        SubsystemExperience = "subsystem_experience",
    }
}

impl MetricName {
    /// It in words, for sentences of ours.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Coupling => "coupling",
            Self::CoChange => "co-change",
            Self::TestRatio => "test ratio",
            Self::OwnershipChurn => "change of owner",
            Self::IncidentSimilarity => "similarity to incidents",
            Self::TransitiveCoupling => "transitive coupling",
            Self::CallSites => "call sites",
            Self::CoChangeGap => "missing partners",
            Self::PriorFixes => "earlier fixes",
            Self::PriorReverts => "earlier reverts",
            Self::MinorContributors => "minor contributors",
            Self::OwnerShare => "share of the owner",
            Self::RecentCommits => "recent commits",
            Self::Subsystems => "subsystems",
            Self::Directories => "folders",
            Self::Files => "files",
            Self::Entropy => "spread of the lines",
            Self::LinesAdded => "lines added",
            Self::LinesDeleted => "lines removed",
            Self::LinesBefore => "lines before",
            Self::Fix => "being a fix",
            Self::Developers => "earlier developers",
            Self::Age => "days since the last change",
            Self::UniqueChanges => "earlier changes",
            Self::Experience => "the author's changes",
            Self::RecentExperience => "the author's recent changes",
            Self::SubsystemExperience => "the author's files nearby",
        }
    }

    /// The unit of its values.
    #[must_use]
    pub const fn unit(self) -> MetricUnit {
        match self {
            Self::Coupling | Self::TransitiveCoupling | Self::CoChangeGap | Self::Files => MetricUnit::Files,
            Self::CoChange | Self::OwnerShare | Self::Entropy => MetricUnit::Share,
            Self::TestRatio => MetricUnit::Ratio,
            Self::OwnershipChurn | Self::Age => MetricUnit::Days,
            Self::IncidentSimilarity => MetricUnit::Percentile,
            Self::CallSites => MetricUnit::Calls,
            Self::PriorFixes | Self::PriorReverts | Self::RecentCommits => MetricUnit::Commits,
            Self::MinorContributors | Self::Developers => MetricUnit::Persons,
            Self::LinesAdded | Self::LinesDeleted | Self::LinesBefore => MetricUnit::Lines,
            Self::Fix => MetricUnit::Flag,
            Self::Subsystems
            | Self::Directories
            | Self::UniqueChanges
            | Self::Experience
            | Self::RecentExperience
            | Self::SubsystemExperience => MetricUnit::Count,
        }
    }

    /// Which tier it belongs to. `None` for what has no thresholds.
    #[must_use]
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Self::Coupling | Self::CoChange | Self::TestRatio => Some(Tier::One),
            Self::OwnershipChurn | Self::IncidentSimilarity => Some(Tier::Two),
            _ => None,
        }
    }
}

/// When a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// It is always measured.
    One,
    /// When it is asked for.
    Two,
}

proem_text::word_table! {
    pub Signal {
        Unknown = "UNKNOWN",
        Low = "LOW",
        Medium = "MEDIUM",
        High = "HIGH",
        None = "NONE",
    }
}
