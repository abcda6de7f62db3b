//! Why each line of a profile is there.

use serde::{Deserialize, Serialize};

use super::ProfileRule;

/// A list of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    /// Orders for the model.
    Instructions,
    /// Prohibitions for the model.
    Constraints,
    /// How something looks.
    Examples,
}

/// The ground for one line of a profile. It holds no text except names that the line shows, which are members of closed
/// registries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineGround {
    /// The list that the line is in.
    pub list: List,
    /// Which line of it, from 0.
    pub line: u32,
    /// The rule that wrote it.
    pub rule: ProfileRule,
    /// How many failures counted, where they are the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// The names that it shows: of agents for failures, of risks, or of a format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// How many more names were only counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference on")]
const fn is_none(others: &u64) -> bool {
    *others == 0
}

/// Names that a line shows, with how many more there were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NameSlot {
    pub(super) names: Vec<String>,
    pub(super) others: u64,
}

impl NameSlot {
    /// The names as a list. Empty without any.
    pub(super) fn in_words(&self) -> String {
        list_with_others(&self.names, self.others)
    }
}

fn list_with_others(names: &[String], others: u64) -> String {
    let rest = match others {
        0 => None,
        1 => Some(String::from("1 other")),
        count => Some(format!("{count} others")),
    };
    match (names.is_empty(), rest) {
        (true, rest) => rest.unwrap_or_default(),
        (false, None) => names.join(", "),
        (false, Some(rest)) => format!("{} and {rest}", names.join(", ")),
    }
}

impl LineGround {
    /// The rule and the signals behind the line, in our words, without a full stop.
    #[must_use]
    pub fn in_words(&self) -> String {
        let listed = list_with_others(&self.names, self.others);
        match self.rule {
            ProfileRule::Baseline => "baseline: applies to every task".to_owned(),
            ProfileRule::Failures => {
                let of = if listed.is_empty() { String::new() } else { format!(" of {listed}") };
                match self.failures {
                    Some(1) => format!("failures: 1 recent failure{of}"),
                    Some(count @ 1..) => format!("failures: {count} recent failures{of}"),
                    Some(0) | None => format!("failures: recent failures{of}"),
                }
            }
            ProfileRule::Risks => format!("risks: {listed}"),
            ProfileRule::Retry => "retry: the last result was not good enough".to_owned(),
            ProfileRule::Time => "time: a short answer is asked for".to_owned(),
            ProfileRule::Compliance => "compliance: it is asked for".to_owned(),
            ProfileRule::Format => format!("format: {listed} is asked for"),
        }
    }
}
