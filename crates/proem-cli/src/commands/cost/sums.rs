//! Sums of spending by what lines have in common.

use std::collections::BTreeMap;

use proem_engine::call::NanoDollars;
use proem_store::query::SpendLine;
use schemars::JsonSchema;
use serde::Serialize;

/// The spending on something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct SpendSum {
    /// The cost as far as prices are known, in billionths of a dollar.
    #[serde(rename = "nanoDollars")]
    #[schemars(with = "u64")]
    pub(super) cost: NanoDollars,
    /// The attempts to ask a model.
    pub(super) attempts: u64,
    /// The tokens of prompts and answers.
    pub(super) tokens: u64,
    /// Attempts whose tokens are unknown.
    pub(super) unknown: u64,
    /// Attempts whose price is unknown.
    pub(super) unpriced: u64,
}

impl SpendSum {
    fn add(&mut self, line: &SpendLine) {
        self.cost = self.cost.and(line.cost);
        self.attempts = self.attempts.saturating_add(line.attempts);
        self.tokens = self.tokens.saturating_add(line.tokens);
        self.unknown = self.unknown.saturating_add(line.unknown);
        self.unpriced = self.unpriced.saturating_add(line.unpriced);
    }
}

/// A sum for each group, in their order.
pub(super) fn by<G: Ord>(lines: &[SpendLine], group: impl Fn(&SpendLine) -> G) -> Vec<(G, SpendSum)> {
    let mut sums: BTreeMap<G, SpendSum> = BTreeMap::new();
    for line in lines {
        sums.entry(group(line)).or_default().add(line);
    }
    sums.into_iter().collect()
}

/// The sum of all lines.
pub(super) fn total_spend(lines: &[SpendLine]) -> SpendSum {
    let mut sum = SpendSum::default();
    lines.iter().for_each(|line| sum.add(line));
    sum
}
