//! Experiments: versions of one prompt that share its work, as `book.toml` declares them.
//!
//! Invariants: an experiment changes words alone. Versions with other inputs, trust, contract, budgets or model are
//! refused, as is a version whose files were edited after its lock. The version for a subject follows from names alone.

mod assignment;
mod difference;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::assignment::{AssignmentUnit, VersionAssignment};
use self::difference::first_json_difference;
use super::{Book, LockState};
use crate::contract::AnswerContract;
use crate::error::{Error, ErrorKind};
use crate::prompt::compiled_prompt::Prompt;
use crate::prompt::origin::Origin;

/// How far the sum of shares may be from 1, for shares such as thirds.
const ROUNDING: f64 = 1e-6;

/// An experiment as it is declared under `[experiments.NAME]` of `book.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentDeclaration {
    /// `agent/name`.
    pub prompt: String,
    /// Each version's share of the subjects, above 0, together 1. One of them is the version in use.
    pub versions: BTreeMap<String, f64>,
    /// The measure that decides.
    pub outcome: ExperimentOutcome,
    /// The direction of the outcome that is an improvement.
    pub better: BetterDirection,
    /// The smallest improvement worth having: a difference of shares, or a fraction of what the version in use takes.
    pub smallest_difference: f64,
    /// Limits that a version must not break, whatever the outcome.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
    /// The last day on which versions are assigned, as 2026-12-31.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An outcome that must not get worse by more than a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guardrail {
    /// The measure.
    pub outcome: ExperimentOutcome,
    /// The tolerated loss: a difference of shares, or a fraction of what the version in use takes.
    pub worse_by: f64,
}

/// A measure of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ExperimentOutcome {
    /// The share of answers that met their contract at the first attempt.
    FirstAttempt,
    /// The share of persons' verdicts that are good.
    Feedback,
    /// The share of answers without a problem of this rule of the contract.
    Check(String),
    /// Tokens of a run, in and out.
    Tokens,
    /// Dollars of a run.
    Cost,
    /// Milliseconds that a run's answers took.
    Latency,
}

impl ExperimentOutcome {
    /// Whether it is a share of 1. The others are amounts without a bound of their own.
    #[must_use]
    pub const fn is_share(&self) -> bool {
        matches!(self, Self::FirstAttempt | Self::Feedback | Self::Check(_))
    }

    /// The direction that is an improvement wherever this is only a guardrail.
    #[must_use]
    pub const fn usual_direction(&self) -> BetterDirection {
        if self.is_share() { BetterDirection::Higher } else { BetterDirection::Lower }
    }
}

impl fmt::Display for ExperimentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstAttempt => f.write_str("first-attempt"),
            Self::Feedback => f.write_str("feedback"),
            Self::Check(name) => write!(f, "check:{name}"),
            Self::Tokens => f.write_str("tokens"),
            Self::Cost => f.write_str("cost"),
            Self::Latency => f.write_str("latency"),
        }
    }
}

impl From<ExperimentOutcome> for String {
    fn from(outcome: ExperimentOutcome) -> Self {
        outcome.to_string()
    }
}

impl TryFrom<String> for ExperimentOutcome {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Ok(match word.as_str() {
            "first-attempt" => Self::FirstAttempt,
            "feedback" => Self::Feedback,
            "tokens" => Self::Tokens,
            "cost" => Self::Cost,
            "latency" => Self::Latency,
            _ => match word.strip_prefix("check:").filter(|name| !name.is_empty()) {
                Some(name) => Self::Check(name.to_owned()),
                None => {
                    return Err(format!(
                        "unknown outcome `{word}`; use first-attempt, feedback, check:NAME, tokens, cost or latency"
                    ));
                }
            },
        })
    }
}

/// The direction of a measure that is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BetterDirection {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// An experiment that may run: its versions differ in words alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name in `book.toml`.
    pub name: String,
    /// Its declaration.
    pub declared: ExperimentDeclaration,
    /// The version in use, which the others are compared with.
    pub base: String,
    /// The author of the layer that declares it.
    pub origin: Origin,
}

impl Experiment {
    /// The version for a subject. `project` separates projects that share the book; see [`AssignmentUnit`].
    #[must_use]
    pub fn version_for(&self, unit: &AssignmentUnit<'_>) -> &str {
        unit.version(&self.name, &self.declared.versions).unwrap_or(&self.base)
    }
}

impl Book {
    /// The names of all declared experiments.
    #[must_use]
    pub fn experiments(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.manifests.iter().flat_map(|manifest| manifest.experiments.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The declaration of an experiment in the uppermost layer that has it, with that layer's author and its text.
    fn declaration(&self, name: &str) -> Option<(&ExperimentDeclaration, Origin, &str)> {
        self.manifests.iter().zip(&self.layers).rev().find_map(|(manifest, layer)| {
            let declared = manifest.experiments.get(name)?;
            let text = layer.files.get("book.toml").map_or("", |text| text.as_str());
            Some((declared, layer.origin, text))
        })
    }

    /// An experiment, if it may run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] with the names there are, [`ErrorKind::Edited`] for a version that is not what was locked,
    /// or [`ErrorKind::InvalidFile`] with everything else that is wrong, each with its line in `book.toml`.
    pub fn experiment(&self, name: &str) -> Result<Experiment, Error> {
        let Some((declared, origin, text)) = self.declaration(name) else {
            let known = self.experiments();
            let known =
                if known.is_empty() { "it declares none".to_owned() } else { format!("it has {}", known.join(", ")) };
            let problem = format!("no experiment `{name}` in book.toml; {known}");
            return Err(Error::new(ErrorKind::NotFound, problem));
        };
        let at = |key: &str, problem: &str| {
            let line = experiment_key_line(text, name, key).map(|line| format!(":{line}")).unwrap_or_default();
            format!("{} book, book.toml{line}: experiments.{name}.{key}: {problem}", origin.as_str())
        };
        let mut problems: Vec<String> = number_problems(declared).iter().map(|(key, why)| at(key, why)).collect();
        let base = match self.current(&declared.prompt) {
            Ok(base) => base,
            Err(error) => {
                problems.push(at("prompt", &error.to_string()));
                return Err(Error::all(ErrorKind::InvalidFile, problems));
            }
        };
        if !declared.versions.contains_key(&base) {
            let why =
                format!("the version in use, {base}, has no share; give it one, for the others are compared with it");
            problems.push(at("versions", &why));
        }
        let in_use = match self.prompt(&declared.prompt, Some(&base)) {
            Ok(in_use) => in_use,
            Err(error) if error.kind() == ErrorKind::Edited => return Err(error),
            Err(error) => {
                problems.push(at("versions", &error.to_string()));
                return Err(Error::all(ErrorKind::InvalidFile, problems));
            }
        };
        for version in declared.versions.keys().filter(|version| **version != base) {
            match self.prompt(&declared.prompt, Some(version)) {
                Err(error) if error.kind() == ErrorKind::Edited => return Err(error),
                Err(error) => problems.push(at("versions", &error.to_string())),
                Ok(other) => {
                    let found = fixed_parts(&in_use).into_iter().zip(fixed_parts(&other));
                    let found = found.filter_map(|((part, mine), (_, theirs))| {
                        let difference = first_json_difference(&mine, &theirs)?;
                        Some(format!("{version} has other {part} than {base}: {difference}; only words may differ"))
                    });
                    problems.extend(found.map(|why| at("versions", &why)));
                }
            }
        }
        if problems.is_empty() {
            return Ok(Experiment { name: name.to_owned(), declared: declared.clone(), base, origin });
        }
        Err(Error::all(ErrorKind::InvalidFile, problems))
    }

    /// Whether every version of an experiment is locked, so that no edit can change one while it runs.
    ///
    /// # Errors
    ///
    /// As [`Book::versions`].
    pub fn unlocked_versions(&self, experiment: &Experiment) -> Result<Vec<String>, Error> {
        let mut unlocked = Vec::new();
        for version in experiment.declared.versions.keys() {
            let closure = self.closure(&experiment.declared.prompt, version)?;
            if self.state(&experiment.declared.prompt, version, &closure) != LockState::Locked {
                unlocked.push(version.clone());
            }
        }
        Ok(unlocked)
    }

    /// The same book, where prompts without a named version are these versions.
    #[must_use]
    pub fn with_assignments(mut self, assignments: Vec<VersionAssignment>) -> Self {
        self.assigned = assignments.into_iter().map(|assigned| (assigned.prompt.clone(), assigned)).collect();
        self
    }

    /// The assignments of these prompts.
    #[must_use]
    pub fn assignments_of(&self, prompts: &[&Prompt]) -> Vec<VersionAssignment> {
        let of = |prompt: &&Prompt| {
            let assigned = self.assigned.get(&format!("{}/{}", prompt.id.agent, prompt.id.name))?;
            // A version that its caller named is no part of the experiment.
            let version = prompt.id.version.split('+').next().unwrap_or_default();
            (assigned.version == version).then(|| assigned.clone())
        };
        prompts.iter().filter_map(of).collect()
    }
}

/// The keys whose numbers or dates are out of range, each with why.
fn number_problems(declared: &ExperimentDeclaration) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    let shares = &declared.versions;
    if shares.len() < 2 {
        problems.push(("versions", format!("an experiment has two versions or more, and this has {}", shares.len())));
    }
    for (version, share) in shares {
        if !(*share > 0.0 && *share < 1.0) {
            problems.push(("versions", format!("the share of {version} is {share}; a share is above 0 and below 1")));
        }
    }
    let sum: f64 = shares.values().sum();
    if sum.is_nan() || (sum - 1.0).abs() > ROUNDING {
        problems.push(("versions", format!("the shares add up to {sum:.3}; they must add up to 1")));
    }
    let smallest = declared.smallest_difference;
    if !(smallest > 0.0 && smallest < 1.0) {
        let why = format!("{smallest} is out of range; use a number above 0 and below 1, such as 0.02 for two points");
        problems.push(("smallest_difference", why));
    }
    for guardrail in &declared.guardrails {
        if !(guardrail.worse_by >= 0.0 && guardrail.worse_by.is_finite()) {
            let why =
                format!("worse_by = {} of `{}` is out of range; use 0 or more", guardrail.worse_by, guardrail.outcome);
            problems.push(("guardrails", why));
        }
    }
    if let Some(until) = declared.until.as_deref().filter(|until| !is_day(until)) {
        problems.push(("until", format!("`{until}` is no day; write one such as 2026-12-31")));
    }
    problems
}

/// Whether a text is a day as 2026-12-31, so that days compare as texts do.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, digits: usize| {
        let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_plain)
    };
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// The parts of a prompt in which no version may differ.
fn fixed_parts(prompt: &Prompt) -> [(&'static str, serde_json::Value); 3] {
    [("inputs", inputs_of(prompt)), ("contract", contract_value(prompt)), ("limits", limits_of(prompt))]
}

/// The inputs of a prompt: their schema, and how far each is trusted.
fn inputs_of(prompt: &Prompt) -> serde_json::Value {
    let trust: BTreeMap<&str, String> =
        prompt.file.strict.inputs.iter().map(|(name, trust)| (name.as_str(), format!("{trust:?}"))).collect();
    serde_json::json!({ "schema": prompt.file.input_schema(), "trust": trust, "history": prompt.file.history })
}

/// The contract of a prompt's answer, to compare it with another's: contracts that can't be read are never the same.
#[must_use]
pub fn contract_value(prompt: &Prompt) -> serde_json::Value {
    let answer = match prompt.contract() {
        Ok(AnswerContract::Text) => serde_json::json!("text"),
        Ok(AnswerContract::Value(contract)) => contract.schema().clone(),
        Ok(AnswerContract::Calls(tools)) => {
            tools.contracts().iter().map(|contract| (contract.tool().name.clone(), contract.schema().clone())).collect()
        }
        // Each version's own check says why.
        Err(error) => serde_json::json!(format!("{}: {error}", prompt.id.version)),
    };
    serde_json::json!({ "answer": answer, "fallback": prompt.file.strict.fallback })
}

/// The bounds of a prompt's requests.
fn limits_of(prompt: &Prompt) -> serde_json::Value {
    let strict = &prompt.file.strict;
    serde_json::json!({
        "model": prompt.file.header.model,
        "input_budget": strict.input_budget,
        "output_budget": strict.output_budget,
        "stable_percent": strict.stable_percent,
    })
}

/// The line of a key of an experiment, counted from 1, or of its table where the key is missing.
fn experiment_key_line(text: &str, name: &str, key: &str) -> Option<usize> {
    let header = format!("[experiments.{name}]");
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim() != header);
    let (table, _) = lines.next()?;
    let own = lines.take_while(|(_, line)| !line.trim_start().starts_with("[experiments"));
    let named = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let line = own.into_iter().find(|(_, line)| named(line)).map_or(table, |(line, _)| line);
    Some(line + 1)
}
