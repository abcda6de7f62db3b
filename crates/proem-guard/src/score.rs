//! From what was found to one number.
//!
//! The best learned window, the similarity to known attacks and the rules each give a few features. A logistic
//! regression weighs them, and its log-odds are moved so that the score 0.5 is the point that one benign text in a
//! hundred is above. A rule's finding lifts the score over a floor, because a rule's verdict doesn't depend on the
//! learned part.

use crate::finding::{Finding, FindingKind, Severity};
use alloc::{string::String, vec::Vec};
use core::fmt;
use proem_score::linear::{Logistic, logistic};
use serde_json::Value;

/// How many features there are.
pub const COUNT: usize = 11;

/// Their names, in order.
pub const NAMES: [&str; COUNT] = [
    "best window",
    "likeness",
    "override",
    "persona",
    "extraction",
    "exfiltration",
    "tool request",
    "social engineering",
    "forgery",
    "encoded",
    "hidden",
];

/// The bound of a window's log-odds, so that one window can't outweigh everything.
const MAX_WINDOW: f32 = 8.0;

/// How much higher the best of many windows has to be than that of a few to mean as much.
///
/// The best of `n` windows is high by chance. If the share of windows above a log-odds `x` falls as `exp(-x / slope)`,
/// the best of `n` is higher by `slope * ln(n)` (extreme values of the Gumbel kind; Coles, An Introduction to
/// Statistical Modeling of Extreme Values, 2001, chapter 3), so the rate of false alarms for each text stays the same
/// when that is taken off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    /// The log-odds that `e` times as many windows raise the best by.
    slope: f32,
    /// How many windows raise nothing.
    from: f32,
}

/// Of mails, tickets and pages, whose longest were calibrated on up to 24 windows.
pub(crate) const MESSAGE: Growth = Growth { slope: 1.0, from: 24.0 };

/// Of files of source and documentation. Fitted by `cargo lab eval guard-files`, see `evals/guard/files.md`.
pub(crate) const FILE: Growth = Growth { slope: 0.5, from: 7.0 };

impl Growth {
    /// The amount taken off the best of this many windows.
    fn of(self, windows: usize) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a count whose logarithm is taken")]
        let windows = windows as f32;
        self.slope * libm::logf((windows / self.from).max(1.0))
    }
}

/// The features of the score, in the order of [`NAMES`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InjectionFeatures(pub [f32; COUNT]);

/// The evidence, before it is weighed.
#[derive(Debug)]
pub(crate) struct ScoreEvidence<'a> {
    pub(crate) findings: &'a [Finding],
    /// The highest log-odds of windows, highest first.
    pub(crate) windows: &'a [f32],
    pub(crate) window_count: usize,
    /// The highest likeness to a known attack, 0 to 1.
    pub(crate) likeness: f32,
    pub(crate) growth: Growth,
}

impl ScoreEvidence<'_> {
    pub(crate) fn features(&self) -> InjectionFeatures {
        let best = self.windows.first().map_or(-MAX_WINDOW, |score| clip_score(*score));
        let mut rules = [0.0f32; 9];
        for finding in self.findings {
            let Some(group) = feature_group(finding.kind) else { continue };
            let found = severity_weight(finding.severity) * finding.score;
            if let Some(most) = rules.get_mut(group) {
                *most = most.max(found);
            }
            if let Some(hidden) = rules.last_mut().filter(|_| finding.hidden) {
                *hidden = hidden.max(found);
            }
        }
        let [override_, persona, extraction, exfiltration, tools, social, forgery, encoded, hidden] = rules;
        InjectionFeatures([
            clip_score(best - self.growth.of(self.window_count)),
            self.likeness,
            override_,
            persona,
            extraction,
            exfiltration,
            tools,
            social,
            forgery,
            encoded,
            hidden,
        ])
    }
}

const fn clip_score(score: f32) -> f32 {
    if score.is_nan() { MAX_WINDOW } else { score.clamp(-MAX_WINDOW, MAX_WINDOW) }
}

/// The feature that a rule's kind counts in. `None` for kinds that have one of their own.
const fn feature_group(kind: FindingKind) -> Option<usize> {
    match kind {
        FindingKind::Override => Some(0),
        FindingKind::Persona => Some(1),
        FindingKind::Extraction => Some(2),
        FindingKind::Exfiltration => Some(3),
        FindingKind::ToolRequest => Some(4),
        FindingKind::SocialEngineering => Some(5),
        FindingKind::Delimiter
        | FindingKind::ClosingTag
        | FindingKind::RoleMarker
        | FindingKind::SystemLine
        | FindingKind::Heading => Some(6),
        FindingKind::Encoded
        | FindingKind::Tag
        | FindingKind::Invisible
        | FindingKind::BidiControl
        | FindingKind::Control => Some(7),
        // An order says something only where nobody gives any, which the table of verdicts knows.
        FindingKind::Order | FindingKind::StandingOrder | FindingKind::Similar | FindingKind::Learned => None,
        // No text, but settings and commands, which no scanner reads.
        FindingKind::AutoRun
        | FindingKind::Download
        | FindingKind::Permission
        | FindingKind::Redirect
        | FindingKind::Offer
        | FindingKind::Shadowing
        | FindingKind::Unclear => None,
    }
}

const fn severity_weight(severity: Severity) -> f32 {
    match severity {
        // A mild finding is common in some benign genre that nobody measured.
        Severity::Low => 0.0,
        Severity::Medium => 0.5,
        Severity::High => 0.75,
        Severity::Critical => 1.0,
    }
}

/// The probability that log-odds mean, 0 to 1.
#[must_use]
pub fn probability_of_log_odds(log_odds: f32) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    let probability = logistic(f64::from(log_odds)) as f32;
    probability
}

/// How features become a score.
#[derive(Debug, Clone, PartialEq)]
pub struct TextScorer {
    weights: Logistic,
    /// The log-odds that one benign text in a hundred is above.
    flag: f32,
    /// The log-odds of a single window from which it is shown beside the highest.
    window: f32,
}

impl TextScorer {
    /// The stage that ships.
    ///
    /// # Errors
    ///
    /// [`TextScorerError`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, TextScorerError> {
        Self::read(include_str!("../data/score.json"))
    }

    /// A stage from its file.
    ///
    /// # Errors
    ///
    /// [`TextScorerError`] if a feature is missing or unknown, or something isn't a finite number.
    pub fn read(text: &str) -> Result<Self, TextScorerError> {
        let file: Value = serde_json::from_str(text).map_err(|_| TextScorerError::new("the file", "is not JSON"))?;
        let number = |value: Option<&Value>, name: &str| {
            #[expect(clippy::cast_possible_truncation, reason = "weights are single precision; infinity is refused")]
            let found = value.and_then(Value::as_f64).map(|number| number as f32);
            found
                .filter(|number| number.is_finite())
                .ok_or_else(|| TextScorerError::new(name, "is not a finite number"))
        };
        let features = file.get("weights").and_then(Value::as_object);
        let features = features.ok_or_else(|| TextScorerError::new("weights", "is missing"))?;
        if let Some(unknown) = features.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(TextScorerError::new(unknown, "is no feature"));
        }
        let weights = NAMES
            .iter()
            .map(|name| number(features.get(*name), name))
            .collect::<Result<Vec<f32>, TextScorerError>>()?;
        Ok(Self {
            weights: Logistic { weights, bias: number(file.get("bias"), "bias")? },
            flag: number(file.get("flag"), "flag")?,
            window: number(file.get("window"), "window")?,
        })
    }

    /// A stage with these weights and thresholds, as training and calibration make them.
    #[must_use]
    pub const fn new(weights: Logistic, flag: f32, window: f32) -> Self {
        Self { weights, flag, window }
    }

    /// The same with the threshold of another corpus: the log-odds that one benign text in a hundred is above.
    #[must_use]
    pub const fn with_flag(mut self, flag: f32) -> Self {
        self.flag = flag;
        self
    }

    /// The log-odds that one benign text in a hundred is above.
    #[must_use]
    pub const fn flag(&self) -> f32 {
        self.flag
    }

    /// The log-odds of a single window from which it is shown beside the highest.
    #[must_use]
    pub const fn window(&self) -> f32 {
        self.window
    }

    /// The log-odds of an attack.
    #[must_use]
    pub fn logit(&self, features: &InjectionFeatures) -> f32 {
        self.weights.score(&features.0)
    }

    /// Whether log-odds are at the flag point or above; what is not a number is.
    #[must_use]
    pub fn flags(&self, logit: f32) -> bool {
        logit.is_nan() || logit >= self.flag
    }

    /// The score from log-odds and the worst thing that a rule found, 0 to 1.
    #[must_use]
    pub fn score(&self, logit: f32, worst: Option<Severity>) -> f64 {
        let learned = if logit.is_nan() { 1.0 } else { logistic(f64::from(logit) - f64::from(self.flag)) };
        let floor = match worst {
            None | Some(Severity::Low) => 0.0,
            Some(Severity::Medium) => 0.5,
            Some(Severity::High) => 0.75,
            Some(Severity::Critical) => 0.9,
        };
        // Not a maximum, so that the order of what is above the floor is kept.
        floor + (1.0 - floor) * learned
    }
}

/// A stage's file is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextScorerError {
    place: String,
    problem: &'static str,
}

impl TextScorerError {
    fn new(place: &str, problem: &'static str) -> Self {
        Self { place: place.into(), problem }
    }
}

impl fmt::Display for TextScorerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.place, self.problem)
    }
}

impl core::error::Error for TextScorerError {}
