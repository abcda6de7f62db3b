//! Figures of the repeated answers of a suite: how often a case passes, which cases flicker, and whether graders agree.

use proem_score::interval::Interval;
use proem_score::repeat::{CaseCount, CaseMean, grader_agreement, mean_over_cases};
use schemars::JsonSchema;
use serde::Serialize;

use super::judging::Grader;
use super::test::BookCaseResult;

/// The repeats of one prompt's cases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteRepeats {
    /// `agent/name@version`.
    pub prompt: String,
    /// How often each case was to be asked: the N of pass@N.
    pub times: u32,
    /// The estimates. `None` for those that no case has enough answers for.
    pub passing: PassEstimates,
    /// The cases that some answers pass and others don't.
    pub flickering: Vec<FlickeringCase>,
    /// Answers that a cache gave, and which no estimate counts.
    pub cached: u32,
    /// The prompts that judged.
    pub graders: Vec<Grader>,
    /// How far two graders agree. `None` without a second one.
    pub agreement: Option<GraderAgreement>,
}

/// How often cases pass, each as a mean over cases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PassEstimates {
    /// One answer passes.
    pub one: Option<ShareOfCases>,
    /// At least one of N answers passes: pass@N.
    pub any: Option<ShareOfCases>,
    /// All of N answers pass: pass^N.
    pub all: Option<ShareOfCases>,
}

/// A mean over cases, from 0 to 1, with its interval for 95 in 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ShareOfCases {
    /// The cases that had enough answers.
    pub cases: u64,
    /// Their mean, from 0 to 1.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A case whose verdict differs between answers.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlickeringCase {
    /// Its name.
    pub case: String,
    /// The answers that pass.
    pub passed: u32,
    /// How many were given.
    pub answers: u32,
}

/// How far two graders agree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraderAgreement {
    /// The share of answers with the same verdict.
    pub share: ShareOfCases,
    /// Cohen's κ. `None` where chance alone explains full agreement.
    pub kappa: Option<f64>,
}

impl From<CaseMean> for ShareOfCases {
    fn from(CaseMean { cases, mean, interval: Interval { low, high } }: CaseMean) -> Self {
        Self { cases, mean, low, high }
    }
}

impl SuiteRepeats {
    /// The repeats of one prompt's cases, each asked so many times. `None` if nothing was asked.
    #[must_use]
    pub fn of(tested: &[BookCaseResult], times: u32, graders: &[Grader]) -> Option<Self> {
        let live: Vec<_> = tested.iter().filter_map(|case| Some((case, case.live.as_ref()?))).collect();
        let prompt = live.first()?.0.prompt.clone();
        let counts = || live.iter().map(|(_, live)| CaseCount { answers: live.times, passed: live.expected });
        let answers = live.iter().map(|(_, live)| u64::from(live.times)).sum();
        let mean = |estimate: &dyn Fn(CaseCount) -> Option<f64>| {
            let values: Vec<f64> = counts().filter_map(estimate).collect();
            mean_over_cases(&values, answers).map(ShareOfCases::from)
        };
        let passing = PassEstimates {
            one: mean(&|case| case.pass_at(1)),
            any: mean(&|case| case.pass_at(times)),
            all: mean(&|case| case.pass_all(times)),
        };
        let flickering = live.iter().zip(counts()).filter(|(_, count)| count.flickers());
        let flickering = flickering
            .map(|((case, _), CaseCount { answers, passed })| FlickeringCase {
                case: case.case.clone(),
                passed,
                answers,
            })
            .collect();
        let cached = live.iter().map(|(_, live)| live.repeats.cached).fold(0, u32::saturating_add);
        let verdicts: Vec<Vec<(&str, &str)>> = live
            .iter()
            .map(|(_, live)| live.repeats.verdicts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect())
            .collect();
        let verdicts: Vec<&[(&str, &str)]> = verdicts.iter().map(Vec::as_slice).collect();
        let agreement =
            grader_agreement(&verdicts).map(|found| GraderAgreement { share: found.share.into(), kappa: found.kappa });
        Some(Self { prompt, times, passing, flickering, cached, graders: graders.to_vec(), agreement })
    }

    /// The estimates by their names, such as `pass@3`.
    #[must_use]
    pub fn estimates(&self) -> Vec<(String, Option<ShareOfCases>)> {
        let Self { times, passing, .. } = self;
        let mut named = vec![("pass@1".to_owned(), passing.one)];
        if *times > 1 {
            named.push((format!("pass@{times}"), passing.any));
            named.push((format!("pass^{times}"), passing.all));
        }
        named
    }

    /// The findings, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let named = self.estimates();
        for (name, share) in &named {
            let share = share.map_or_else(|| format!("unknown: no case has {} answers", self.times), share_in_words);
            lines.push(format!("{name} {share}"));
        }
        if !self.flickering.is_empty() {
            let one = |case: &FlickeringCase| format!("`{}` ({} of {} pass)", case.case, case.passed, case.answers);
            lines.push(format!("flickering: {}", self.flickering.iter().map(one).collect::<Vec<_>>().join(", ")));
        }
        if self.cached > 0 {
            lines.push(format!("not counted: {} with the id of an earlier answer, from a cache", answers(self.cached)));
        }
        if let (Some(GraderAgreement { share, kappa }), [first, second, ..]) =
            (&self.agreement, self.graders.as_slice())
        {
            let kappa = kappa.map_or("κ is not defined".to_owned(), |kappa| format!("κ {kappa:.2}"));
            let graders = format!("`{}` and `{}`", first.prompt, second.prompt);
            lines.push(format!("{graders} agree on {}, {kappa}", share_in_words(*share)));
        }
        lines
    }
}

fn answers(count: u32) -> String {
    format!("{count} answer{}", if count == 1 { "" } else { "s" })
}

/// A share in whole percent, with its interval and its cases.
fn share_in_words(share: ShareOfCases) -> String {
    let percent = |share: f64| share * 100.0;
    let cases = format!("{} case{}", share.cases, if share.cases == 1 { "" } else { "s" });
    let ShareOfCases { mean, low, high, .. } = share;
    format!("{:.0} % ({:.0} to {:.0} % over {cases})", percent(mean), percent(low), percent(high))
}
