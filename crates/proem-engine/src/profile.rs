//! The lessons that prompts take from failures: a profile of instructions, constraints and examples.
//!
//! Seven rules, each a template with typed slots. Only answers that came back are learned from, and only by the prompt
//! that they are answers to. Invariants: a slot is a member of a closed registry or counts as "1 other", so nothing
//! that was recorded can write an instruction. The same history, signals and time make the same profile. A failure
//! stops counting after [`Ageing::days`], behind [`Ageing::records`] newer ones, or after a success of its kind.

mod evaluate;
mod format;
mod grounds;
mod lines;
mod parts;
mod registry;
mod signals;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::evaluate::{evaluate_result, of_judgement, of_outcome};
pub use self::format::Format;
pub use self::grounds::{LineGround, List};
pub use self::lines::{adapt, adapt_with_grounds};
pub use self::parts::{contract_parts, is_contract_part};
pub use self::registry::{Registry, is_registry_identifier, is_registry_path, known_risks};
pub use self::signals::{SignalDerivation, derive, history_signals};
use crate::run::Time;

/// The version of profiles. It is raised with every change that gives the same history and wishes another profile,
/// or the same profile another text, so that a record can name the one that it was made with.
pub const VERSION: u32 = 3;

/// How good a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// As asked.
    High,
    /// Not as asked.
    Low,
}

/// How much of a result is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Completeness {
    /// The whole result is there.
    Complete,
    /// Part of it is missing.
    Partial,
}

/// The finding of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Issue {
    /// How good.
    pub quality: Quality,
    /// How much.
    pub completeness: Completeness,
    /// The risks, by tags such as `execution_failed`. Sorted.
    pub risks: BTreeSet<String>,
}

impl Issue {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.quality == Quality::High && self.completeness == Completeness::Complete && self.risks.is_empty()
    }
}

/// A result, as far as it is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultExcerpt<'r> {
    /// As planned, or in any other way.
    pub status: ResultStatus,
    /// The output. Empty counts as missing.
    pub output: &'r str,
    /// The warnings reported with it; "no warnings" and the like count as none.
    pub warnings: &'r [String],
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultStatus {
    /// As planned.
    Success,
    /// Any other way.
    Other,
}

/// A person's verdict on a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It is as it should be.
    Good,
    /// It is not.
    Bad,
}

/// A result that was recorded. A success ends the failures of its kind before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// The run that it is of, where that is known: two runs may have the same result at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When the result was known.
    pub at: Time,
    /// The kind of result: the seed's `result_key`.
    pub kind: String,
    /// The agent that made it: the seed's `subagent`.
    pub agent: String,
    /// Its problem.
    pub issue: Issue,
}

/// How failures age, and how often something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ageing {
    /// The days for which a failure counts.
    pub days: u32,
    /// The most failures that count, the newest first.
    pub records: u32,
    /// How often a failed result is asked for again with recovery steps.
    pub retries: u32,
}

/// Seven days, 50 records, two retries.
impl Default for Ageing {
    fn default() -> Self {
        Self { days: 7, records: 50, retries: 2 }
    }
}

/// The signals that shape a profile, in the seed's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Signals {
    /// Whether this round has to be repaired.
    pub needs_retry: bool,
    /// The risks of this round, distinct.
    pub risk_tags: Vec<String>,
    /// The failures within the window.
    pub recent_failure_count: u64,
    /// The agents involved in the latest failures: at most three, distinct, newest first.
    pub last_failure_subagents: Vec<String>,
    /// Whether answers should be short.
    pub time_sensitive: bool,
    /// Whether compliance has to be considered.
    pub compliance_required: bool,
    /// The format that is wanted.
    pub preferred_format: Option<Format>,
}

/// The caller's wishes, independent of earlier results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wishes {
    /// Short answers.
    pub time_sensitive: bool,
    /// Compliance considered.
    pub compliance_required: bool,
    /// The wanted form of the output. `None` if any will do.
    pub preferred_format: Option<Format>,
}

/// Whether a prompt shows the lines that hold for every task: its file asks for them (`proem.profile`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// It does.
    Wanted,
    /// It shows what was learned about it and what its caller wishes, and nothing else.
    Unwanted,
}

/// The profile that a prompt shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Profile {
    /// Instructions.
    pub instructions: Vec<String>,
    /// Constraints.
    pub constraints: Vec<String>,
    /// How something looks.
    pub examples: Vec<String>,
    /// Why each line is there. Only in records, and not in those of older forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub grounds: Vec<LineGround>,
}

/// The profiles that the prompts of a run show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Profiles {
    /// Each prompt its own, by its name such as `risk/decision`.
    Each {
        /// The profiles by the names of their prompts.
        prompts: BTreeMap<String, Profile>,
    },
    /// All the same: a run of one prompt has one, and so have records of several prompts from before each had its own.
    Same(Profile),
}

impl Profiles {
    /// That of a prompt.
    #[must_use]
    pub fn of(&self, prompt: &str) -> Option<&Profile> {
        match self {
            Self::Each { prompts } => prompts.get(prompt),
            Self::Same(profile) => Some(profile),
        }
    }

    /// All of them, each with the prompt that it is of. `None` represents all prompts of the run.
    pub fn all(&self) -> impl Iterator<Item = (Option<&str>, &Profile)> {
        let (each, same) = match self {
            Self::Each { prompts } => (Some(prompts), None),
            Self::Same(profile) => (None, Some((None, profile))),
        };
        each.into_iter().flatten().map(|(prompt, profile)| (Some(prompt.as_str()), profile)).chain(same)
    }
}

/// A profile with what it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adaptation {
    /// The profile that the prompt shows from here on.
    pub profile: Profile,
    /// The signals that shaped it.
    pub signals: Signals,
    /// The rules that added something, in order.
    pub rules: Vec<ProfileRule>,
    /// Inputs that were changed or ignored, in our words: names outside the registry, failures that are too old,
    /// retries beyond the cap.
    pub notes: Vec<String>,
}

/// A rule of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Rule")]
pub enum ProfileRule {
    /// Always, where the prompt asks for it.
    Baseline,
    /// There were failures.
    Failures,
    /// There are risks.
    Risks,
    /// Something has to be repaired.
    Retry,
    /// There is little time.
    Time,
    /// There are rules to comply with.
    Compliance,
    /// A format is wanted.
    Format,
}

impl Profile {
    /// Whether it says nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.constraints.is_empty() && self.examples.is_empty()
    }

    /// Why a line is there. `None` where that was not kept.
    #[must_use]
    pub fn ground(&self, list: List, line: usize) -> Option<&LineGround> {
        let line = u32::try_from(line).ok()?;
        self.grounds.iter().find(|ground| ground.list == list && ground.line == line)
    }

    /// How many of its lines were learned: from results, as opposed to what always holds and what is wished for.
    /// None where it was not kept why they are there.
    #[must_use]
    pub fn learned(&self) -> usize {
        self.grounds.iter().filter(|ground| ground.rule.is_learned()).count()
    }

    /// The rules that wrote lines, in order. None where that was not kept.
    #[must_use]
    pub fn rules(&self) -> Vec<ProfileRule> {
        let mut rules: Vec<ProfileRule> = self.grounds.iter().map(|ground| ground.rule).collect();
        rules.dedup();
        rules
    }

    /// The text of the section that a prompt shows. Empty for an empty profile.
    #[must_use]
    pub fn text(&self) -> String {
        let lists =
            [("Instructions", &self.instructions), ("Constraints", &self.constraints), ("Examples", &self.examples)];
        let mut out = String::new();
        for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            out.push_str(if out.is_empty() { "How to answer:\n\n" } else { "\n" });
            out.push_str(title);
            out.push_str(":\n");
            for line in lines {
                out.push_str("- ");
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }
}

proem_text::word_table! {
    pub ProfileRule {
        Baseline = "baseline",
        Failures = "failures",
        Risks = "risks",
        Retry = "retry",
        Time = "time",
        Compliance = "compliance",
        Format = "format",
    }
}

impl ProfileRule {
    /// Whether its lines come from results.
    #[must_use]
    pub const fn is_learned(self) -> bool {
        matches!(self, Self::Failures | Self::Risks | Self::Retry)
    }
}

/// The example on the concepts page runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/adaptation.md")]
struct Page;

#[cfg(test)]
mod tests;
