//! How risky something is, and the thresholds and rules that say so.
//!
//! Thresholds turn a value into a [`Signal`]. The rules of [`crate::assess`] turn signals into a [`Level`].

mod thresholds;

pub use self::thresholds::{Steps, Thresholds};

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::finding::QuietPart;
use crate::metric::{MetricName, Signal};
use crate::path::FileRole;
use crate::signal::SignalName;

/// How risky a change or a file is. Unknown is above LOW, so that nothing takes one for the other, and below MEDIUM,
/// since it raises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Nothing speaks against it.
    Low,
    /// Nothing is known of it, its score included.
    Unknown,
    /// Somebody should look.
    Medium,
    /// Somebody should look who knows the place.
    High,
}

proem_text::word_table! {
    pub Level {
        Low = "LOW",
        Unknown = "UNKNOWN",
        Medium = "MEDIUM",
        High = "HIGH",
    }
}

impl Level {
    /// The level that a signal represents. `None` if it represents none.
    #[must_use]
    pub const fn of(signal: Signal) -> Option<Self> {
        match signal {
            Signal::Low => Some(Self::Low),
            Signal::Medium => Some(Self::Medium),
            Signal::High => Some(Self::High),
            Signal::Unknown | Signal::None => None,
        }
    }
}

/// The thresholds by which scores, rules and gaps become levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelRules {
    /// The place of the score among the repository's past commits. Signals are evidence. They decide where there is no
    /// such place.
    Rank,
    /// The worst file's HIGH signals: two make HIGH, one MEDIUM, and nothing known MEDIUM.
    Seed,
    /// The higher of both. Nobody can choose it: it is what decided before the rank did, and recorded
    /// assessments that don't say otherwise go on under it.
    #[default]
    RankOrSeed,
}

impl LevelRules {
    /// Whether they are those of records that name none.
    #[must_use]
    pub fn are_of_before(&self) -> bool {
        *self == Self::default()
    }
}

/// Why something has its level, in the order of weight. Each has words of ours through [`LevelReason::in_words`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LevelReason {
    /// The score's percentile.
    Score {
        /// In percent.
        percentile: f64,
    },
    /// Two or more HIGH signals make HIGH, one MEDIUM.
    Tier {
        /// How many are HIGH.
        high: u32,
        /// The metrics that agree.
        names: Vec<MetricName>,
    },
    /// A sensitive file is at least MEDIUM.
    Sensitive {
        /// The file's place in the change.
        file: u32,
    },
    /// The worst file's level.
    WorstFile {
        /// The file's place in the change.
        file: u32,
    },
    /// Nothing could be measured: MEDIUM at least by [`LevelRules::Seed`].
    AllUnknown,
    /// Nothing could be measured, so nothing is known.
    NothingKnown,
    /// There is no place among past commits, so the signals decide.
    Unranked,
    /// Signals that have earned it in this repository, or in the clones of the shipped figures.
    Earned {
        /// Which.
        signals: Vec<SignalName>,
    },
    /// It deletes or renames a file that others import.
    BreaksImporters {
        /// The file's place in the change.
        file: u32,
    },
    /// It takes code from elsewhere than before.
    OtherSource {
        /// The file's place in the change.
        file: u32,
    },
    /// Its rank would raise it, and nothing is known that says where to look.
    RankAlone {
        /// In percent.
        percentile: f64,
    },
    /// Its rank would raise it, and as many of the newest changes have such a score.
    RankOfMany {
        /// Its percentile among the newest changes.
        recent: f64,
    },
    /// Nothing in it runs differently.
    Quiet {
        /// The kinds of files in it.
        parts: Vec<QuietPart>,
    },
    /// Only files changed that don't run, such as documentation and lock files.
    NothingRuns {
        /// The roles of the other changes, each once.
        roles: Vec<FileRole>,
    },
    /// A model raised it, with cited evidence.
    Raised {
        /// The level before.
        from: Level,
    },
}

impl LevelReason {
    /// It in our words, without a full stop and without names from outside.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Score { percentile } => {
                format!(
                    "its score is above that of {} % of the repository's latest commits",
                    percent_words(*percentile)
                )
            }
            Self::Tier { high: 0, .. } => "no signal is HIGH".to_string(),
            Self::Tier { high: 1, names } => format!("one signal is HIGH: {}", list_metric_names(names)),
            Self::Tier { high, names } => format!("{high} signals are HIGH: {}", list_metric_names(names)),
            Self::Sensitive { .. } => "a sensitive file is at least MEDIUM".to_string(),
            Self::WorstFile { .. } => "its most risky file has this level".to_string(),
            Self::AllUnknown => "none of its signals could be measured, so it is at least MEDIUM".to_string(),
            Self::NothingKnown => "nothing about it could be measured".to_string(),
            Self::Unranked => {
                "its percentile among past commits is unknown, so its signals decide the level".to_string()
            }
            Self::Earned { signals } => {
                let words: Vec<&str> = signals.iter().map(|signal| signal.in_words()).collect();
                format!("it {}, which has meant a fix more often than usual", join_with_and(&words))
            }
            Self::BreaksImporters { .. } => "others import a file that it deletes or renames".to_string(),
            Self::OtherSource { .. } => "it takes code from elsewhere than before".to_string(),
            Self::RankAlone { .. } => {
                "nothing beside its rank says where to look, and a rank alone is no alarm".to_string()
            }
            Self::RankOfMany { recent } => format!(
                "many of the latest changes have such a score: it is above that of {} % of the last 100",
                percent_words(*recent)
            ),
            Self::Quiet { parts } => {
                let words: Vec<&str> = parts.iter().map(|part| part.in_words()).collect();
                let verb = if matches!(parts.as_slice(), [QuietPart::Documentation]) { "changes" } else { "change" };
                format!("only {} {verb}", join_with_and(&words))
            }
            Self::NothingRuns { roles } => {
                let words: Vec<&str> = roles.iter().map(|role| changing(*role)).collect();
                format!("only {} {}", join_with_and(&words), verb(roles))
            }
            Self::Raised { from } => format!("a model raised it from {} and cited evidence", from.as_str()),
        }
    }
}

/// A percentile as it decides: rounded down to hundredths, so that 94.996 is not 95.
#[must_use]
pub fn percent_words(percentile: f64) -> String {
    let words = format!("{:.2}", libm::floor(percentile * 100.0) / 100.0);
    words.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn list_metric_names(names: &[MetricName]) -> String {
    let words: Vec<&str> = names.iter().map(|name| name.in_words()).collect();
    join_with_and(&words)
}

/// The name of a change, by its role.
const fn changing(role: FileRole) -> &'static str {
    match role {
        FileRole::Code => "code",
        FileRole::Test => "tests",
        FileRole::Documentation => "documentation",
        FileRole::Configuration => "configuration",
        FileRole::Generated => "generated files",
        FileRole::Vendored => "vendored files",
        FileRole::Lock => "lock files",
        FileRole::Asset => "files without lines",
    }
}

/// The verb for several things, or for one.
const fn verb(roles: &[FileRole]) -> &'static str {
    if matches!(roles, [FileRole::Code | FileRole::Documentation | FileRole::Configuration]) {
        "changes"
    } else {
        "change"
    }
}

fn join_with_and(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_our_words() {
        let check = |reason: LevelReason, words: &str| assert_eq!(reason.in_words(), words);
        check(
            LevelReason::Score { percentile: 96.4 },
            "its score is above that of 96.4 % of the repository's latest commits",
        );
        check(LevelReason::Tier { high: 0, names: Vec::new() }, "no signal is HIGH");
        check(LevelReason::Tier { high: 1, names: vec![MetricName::CoChange] }, "one signal is HIGH: co-change");
        let names = vec![MetricName::Coupling, MetricName::CoChange, MetricName::TestRatio];
        check(LevelReason::Tier { high: 3, names }, "3 signals are HIGH: coupling, co-change and test ratio");
        check(LevelReason::Raised { from: Level::Medium }, "a model raised it from MEDIUM and cited evidence");
        check(LevelReason::NothingKnown, "nothing about it could be measured");
        check(LevelReason::NothingRuns { roles: vec![FileRole::Documentation] }, "only documentation changes");
        check(LevelReason::NothingRuns { roles: vec![FileRole::Lock] }, "only lock files change");
        let roles = vec![FileRole::Documentation, FileRole::Generated, FileRole::Lock];
        check(LevelReason::NothingRuns { roles }, "only documentation, generated files and lock files change");
    }

    #[test]
    fn a_percentile_is_printed_as_it_decides() {
        for (percentile, words) in
            [(94.57, "94.57"), (94.996, "94.99"), (95.0, "95"), (79.999_999, "79.99"), (0.0, "0")]
        {
            assert_eq!(percent_words(percentile), words, "{percentile}");
        }
    }

    #[test]
    fn unknown_is_neither_low_nor_worth_an_alarm() {
        assert!(Level::Low < Level::Unknown && Level::Unknown < Level::Medium);
        assert_eq!(serde_json::to_string(&Level::Unknown).unwrap(), "\"UNKNOWN\"");
    }
}
