//! Cases of the investigation's prompts, for `proem book test`: what the rules offer, and what a model
//! would be asked.

use std::collections::BTreeMap;

use proem_engine::{Error, ErrorKind};
use proem_risk::assess::{Assessment, ChangeScore, FileAssessment, Investigate};
use proem_risk::change::FileStatus;
use proem_risk::level::{Level, LevelRules};
use proem_risk::metric::{Metric, MetricName, Sentence, Signal};
use proem_risk::path::{FileRole, Language, PathClass};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::offer::offer_hops;
use super::{
    Aliases, Hop, HopAction, HopChooser, InvestigationLimits, InvestigationPhase, InvestigationState, Subject, Time,
    requests,
};
use crate::risk::evidence::{Yardsticks, came_of};

/// The result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CasePrompt {
    /// The rules' answers, by name: `level`, `offered`, `asked`, and for a decision that nobody is asked for, `action`
    /// and `because`.
    pub rules: BTreeMap<String, Json>,
    /// The inputs of the prompt. `None` if nobody is asked.
    pub inputs: Option<Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseScene {
    files: Vec<CaseFile>,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    hops: Vec<Taken>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    path: String,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    lines: Option<u32>,
    #[serde(default)]
    metrics: BTreeMap<MetricName, CaseMetric>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseMetric {
    value: Option<f64>,
    signal: Signal,
}

/// A hop that was taken before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    metric: MetricName,
    path: String,
    value: Option<f64>,
    signal: Signal,
    reasoning: String,
}

/// Poses a case of `risk/decision` or `risk/synthesis`.
///
/// `given` has `files`, each with `path`, `language`, `lines` and `metrics` by name (`value`, null if
/// unknown, and `signal`), the commit's `subject`, and `hops` that were taken before, each with `metric`,
/// `path`, `value`, `signal` and `reasoning`.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] if `given` has another form, or `prompt` is none of the two.
pub fn pose_case(prompt: &str, given: &Json) -> Result<CasePrompt, Error> {
    let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, problem);
    let scene =
        CaseScene::deserialize(given).map_err(|e| invalid(format!("`given` of the test case can't be read: {e}")))?;
    let mut state = state_of_scene(scene).map_err(invalid)?;
    let assessment = &state.subject.assessment;
    let mut rules = BTreeMap::from([("level".to_owned(), json!(assessment.level.as_str()))]);
    let is_closed = assessment.investigate != Investigate::Yes;
    match prompt {
        super::SYNTHESIS => {
            rules.insert("asked".to_owned(), json!(!is_closed));
            let inputs = (!is_closed).then(|| requests::synthesis_inputs(&mut state).0);
            Ok(CasePrompt { rules, inputs })
        }
        super::DECISION => {
            let limits = InvestigationLimits::default();
            let offer = offer_hops(&state, limits);
            let closed = if is_closed { Some("no measured signal is HIGH") } else { offer.closed };
            let offered = if closed.is_some() { vec![HopAction::Finalize] } else { offer.actions() };
            rules.insert("asked".to_owned(), json!(closed.is_none()));
            rules.insert("offered".to_owned(), json!(offered));
            if let Some(why) = closed {
                rules.insert("action".to_owned(), json!(HopAction::Finalize));
                rules.insert("because".to_owned(), json!(why));
            }
            let inputs = closed.is_none().then(|| requests::decision_inputs(&mut state, &offer, limits.hops).0);
            Ok(CasePrompt { rules, inputs })
        }
        other => Err(invalid(format!("`{other}` is not a prompt of an investigation"))),
    }
}

fn state_of_scene(scene: CaseScene) -> Result<InvestigationState, String> {
    let yardsticks = Yardsticks::shipped().map_err(|error| error.to_string())?;
    let paths: Vec<String> = scene.files.iter().map(|file| file.path.clone()).collect();
    let mut assessment = Assessment {
        level: Level::Low,
        rules: LevelRules::Rank,
        reasons: Vec::new(),
        confidence: None,
        score: ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Unknown },
        metrics: Vec::new(),
        files: Vec::new(),
        partners: Vec::new(),
        more_partners: 0,
        found: proem_risk::finding::Found::default(),
        investigate: Investigate::NothingHigh,
        gaps: Vec::new(),
        calibration_error: 0.0,
    };
    let mut metrics = Vec::new();
    for (index, file) in (0_u32..).zip(scene.files) {
        let class =
            PathClass { language: file.language.map(Language), role: FileRole::Code, sensitive: None, framework: None };
        metrics.extend(
            file.metrics.into_iter().map(|(name, value)| (index, scene_metric(name, value.value, value.signal))),
        );
        assessment.files.push(FileAssessment {
            index,
            path: file.path,
            class,
            lines: file.lines,
            status: FileStatus::Modified,
            level: Level::Low,
            reasons: Vec::new(),
            metrics: Vec::new(),
        });
    }
    for (index, metric) in metrics {
        assessment = assessment.with(index, metric);
    }
    let mut hops = Vec::new();
    for (number, taken) in (1_u8..).zip(scene.hops) {
        let index = paths.iter().position(|path| *path == taken.path);
        let index = index.and_then(|index| u32::try_from(index).ok());
        let index =
            index.ok_or_else(|| format!("hop {number} names `{}`, which is not a file of the case", taken.path))?;
        let metric = scene_metric(taken.metric, taken.value, taken.signal);
        let came = came_of(&metric);
        assessment = assessment.with(index, metric);
        let hop = Hop {
            hop: number,
            offered: vec![HopAction::CalculateMetric, HopAction::Finalize],
            action: HopAction::CalculateMetric,
            by: HopChooser::Model,
            metric: Some(taken.metric.as_str().to_owned()),
            file: Some(index),
            result: String::new(),
            reasoning: taken.reasoning,
        };
        hops.push((hop, came));
    }
    Ok(InvestigationState {
        aliases: Aliases::new(&paths),
        subject: Subject { assessment, subject: scene.subject, paths, yardsticks: Some(yardsticks), diff: None },
        phase: InvestigationPhase::New,
        now: Time(0),
        spent_ms: 0,
        effects: 0,
        hops,
        neighbours: Vec::new(),
        exchanges: Vec::new(),
        notes: Vec::new(),
        account: None,
    })
}

fn scene_metric(name: MetricName, value: Option<f64>, signal: Signal) -> Metric {
    match value {
        Some(value) => Metric { signal, evidence: Sentence::ours(name.in_words()), ..Metric::of(name, value) },
        None => Metric::unknown(name, Sentence::ours("it could not be measured")),
    }
}
