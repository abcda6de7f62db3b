//! The fourteen change metrics.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// One of the fourteen change metrics of Kamei et al. (2013), table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// Subsystems touched: distinct first folders.
    Ns,
    /// Folders touched.
    Nd,
    /// Files touched.
    Nf,
    /// How evenly the changed lines spread over the files, 0 to 1.
    Entropy,
    /// Lines added.
    La,
    /// Lines deleted.
    Ld,
    /// Lines in the files before the change, summed over the files, as the training sets do.
    Lt,
    /// Whether the change says that it fixes something.
    Fix,
    /// Developers who changed the files before.
    Ndev,
    /// Days since the files last changed, the mean over the files.
    Age,
    /// Changes of the files up to this one, summed over the files. The paper counts distinct ones. The training sets
    /// count so, and the commit itself with them.
    Nuc,
    /// The author's earlier changes.
    Exp,
    /// The author's earlier changes, each divided by its age in years plus one.
    Rexp,
    /// The author's earlier changes in the subsystems touched.
    Sexp,
}

proem_text::word_table! {
    /// The paper's name, in lower case.
    pub Feature {
        // In the order of the paper.
        Ns = "ns",
        Nd = "nd",
        Nf = "nf",
        Entropy = "entropy",
        La = "la",
        Ld = "ld",
        Lt = "lt",
        Fix = "fix",
        Ndev = "ndev",
        Age = "age",
        Nuc = "nuc",
        Exp = "exp",
        Rexp = "rexp",
        Sexp = "sexp",
    }
}

impl Feature {
    /// Its meaning, for a reader who doesn't know the paper.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Ns => "subsystems touched",
            Self::Nd => "folders touched",
            Self::Nf => "files touched",
            Self::Entropy => "spread over the files",
            Self::La => "lines added",
            Self::Ld => "lines deleted",
            Self::Lt => "size of the files before",
            Self::Fix => "being a fix",
            Self::Ndev => "developers who changed the files before",
            Self::Age => "days since the files last changed",
            Self::Nuc => "earlier changes of the files",
            Self::Exp => "the author's experience",
            Self::Rexp => "the author's recent experience",
            Self::Sexp => "the author's experience in these subsystems",
        }
    }
}

/// The metrics of one change, each `None` where it is unknown.
///
/// The numbers are counts or days, finite and 0 or more. Any other number counts as unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeFeatures {
    /// See [`Feature::Ns`].
    pub ns: Option<f64>,
    /// See [`Feature::Nd`].
    pub nd: Option<f64>,
    /// See [`Feature::Nf`].
    pub nf: Option<f64>,
    /// The entropy in bits of the shares of changed lines, divided by log2 of the number of files;
    /// 0 for one file.
    pub entropy: Option<f64>,
    /// See [`Feature::La`].
    pub la: Option<f64>,
    /// See [`Feature::Ld`].
    pub ld: Option<f64>,
    /// See [`Feature::Lt`]: the sum over the files.
    pub lt: Option<f64>,
    /// See [`Feature::Fix`].
    pub fix: Option<bool>,
    /// See [`Feature::Ndev`].
    pub ndev: Option<f64>,
    /// See [`Feature::Age`].
    pub age: Option<f64>,
    /// See [`Feature::Nuc`].
    pub nuc: Option<f64>,
    /// See [`Feature::Exp`].
    pub exp: Option<f64>,
    /// See [`Feature::Rexp`].
    pub rexp: Option<f64>,
    /// See [`Feature::Sexp`].
    pub sexp: Option<f64>,
}

impl ChangeFeatures {
    /// One metric. `None` if it is unknown or isn't a finite number of 0 or more. Being a fix is 1, not being one 0.
    #[must_use]
    pub fn get(&self, feature: Feature) -> Option<f64> {
        let value = match feature {
            Feature::Ns => self.ns,
            Feature::Nd => self.nd,
            Feature::Nf => self.nf,
            Feature::Entropy => self.entropy,
            Feature::La => self.la,
            Feature::Ld => self.ld,
            Feature::Lt => self.lt,
            Feature::Fix => self.fix.map(|fix| f64::from(u8::from(fix))),
            Feature::Ndev => self.ndev,
            Feature::Age => self.age,
            Feature::Nuc => self.nuc,
            Feature::Exp => self.exp,
            Feature::Rexp => self.rexp,
            Feature::Sexp => self.sexp,
        };
        value.filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// The metrics that are unknown, in the order of [`Feature::ALL`].
    #[must_use]
    pub fn unknown(&self) -> Vec<Feature> {
        Feature::ALL.into_iter().filter(|feature| self.get(*feature).is_none()).collect()
    }
}
