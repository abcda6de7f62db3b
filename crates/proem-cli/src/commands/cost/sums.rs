//! Sums of spending by what lines have in common.

use std::collections::BTreeMap;

use proem_engine::call::NanoDollars;
use proem_store::query::SpendLine;
use serde_json::{Value as Json, json};

/// The spending on something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpendSum {
    pub(super) cost: NanoDollars,
    pub(super) attempts: u64,
    pub(super) tokens: u64,
    pub(super) unknown: u64,
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

    /// For programs, beside what it is a sum of, each by its name.
    pub(super) fn output(self, groups: &[(&str, Option<&str>)]) -> Json {
        let mut out = json!({
            "nanoDollars": self.cost.0,
            "attempts": self.attempts,
            "tokens": self.tokens,
            "unknown": self.unknown,
            "unpriced": self.unpriced,
        });
        if let Some(fields) = out.as_object_mut() {
            fields.extend(groups.iter().map(|(name, group)| ((*name).to_owned(), Json::from(*group))));
        }
        out
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
