//! How sure a classification by rules is.

/// The basis of the category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassificationBasis {
    /// The system's own word: a transition, a flag, a type.
    System,
    /// Words, and no other category comes near.
    Clear,
    /// Words, and another category comes near.
    Close,
    /// Nothing: it is what signals of that kind mostly are.
    Nothing,
}

proem_text::word_table! {
    pub ClassificationBasis {
        // The surest first.
        System = "system",
        Clear = "clear",
        Close = "close",
        Nothing = "none",
    }
}

/// How often a category was right, by what decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfidenceTable {
    /// The name of the calibration, which reports show beside a confidence.
    pub name: String,
    /// The command that made it.
    pub made_by: String,
    /// In the order of [`ClassificationBasis::ALL`], 0 to 1.
    pub(super) right: [f64; 4],
}

impl ConfidenceTable {
    /// How often a category on this basis was right.
    #[must_use]
    pub fn of(&self, basis: ClassificationBasis) -> f64 {
        let of = ClassificationBasis::ALL.iter().zip(self.right).find(|(found, _)| **found == basis);
        of.map_or(0.0, |(_, right)| right)
    }

    /// The share for `right` of `all` cases, by Laplace's rule of succession: `(right + 1) / (all + 2)`, so that few
    /// cases are never certain. Rounded to two digits.
    #[must_use]
    pub fn share(right: u64, all: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of cases")]
        let share = right.saturating_add(1) as f64 / all.saturating_add(2) as f64;
        (share * 100.0).round() / 100.0
    }
}
