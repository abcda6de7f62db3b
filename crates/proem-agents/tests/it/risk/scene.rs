//! A change under investigation, and a model that says what a script says.

use std::sync::LazyLock;

use proem_agents::book::embedded_book;
use proem_agents::risk::evidence::Yardsticks;
use proem_agents::risk::investigation::{
    DECISION, Investigation, InvestigationEnd, InvestigationLimits, InvestigationPrompt, InvestigationTerms, SYNTHESIS,
    Subject,
};
use proem_agents::screen::Screening;
use proem_engine::assembly::Assembly;
use proem_engine::call::{CallFailure, FinishReason, Request, Response, ResponsePart, Usage};
use proem_engine::contract::AnswerContract;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{Model, Provider, Providers, SchemaEnforcement};
use proem_engine::run::{CancelReason, Effect, EffectId, EffectResult, Event, EventKind, Machine, Step, Time};
use proem_engine::section::Trust;
use proem_engine::tokens::OpenAi;
use proem_guard::{Guard, InstallationKey, Policy, Untrusted};
use proem_risk::assess::{Assessment, ChangeScore, FileAssessment, Investigate};
use proem_risk::change::FileStatus;
use proem_risk::level::{Level, LevelRules};
use proem_risk::metric::{Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal};
use proem_risk::path::{FileRole, Language, PathClass};
use serde_json::{Value as Json, json};

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
pub(crate) static BENCH: LazyLock<Bench> = LazyLock::new(Bench::new);

/// The terms of every investigation.
pub(crate) struct Bench {
    decision: (Prompt, AnswerContract),
    synthesis: (Prompt, AnswerContract),
    model: Model,
    key: InstallationKey,
}

impl Bench {
    fn new() -> Self {
        let book = Book::new(vec![embedded_book()]).unwrap();
        let load = |name: &str| {
            let prompt = book.prompt(name, None).unwrap();
            let contract = prompt.contract().unwrap();
            (prompt, contract)
        };
        let mut model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
        model.answers = SchemaEnforcement::Tool;
        Self { decision: load(DECISION), synthesis: load(SYNTHESIS), model, key: InstallationKey::new([7; 32]) }
    }

    pub(crate) fn terms(&self, limits: InvestigationLimits) -> InvestigationTerms<'_> {
        InvestigationTerms {
            decision: InvestigationPrompt { prompt: &self.decision.0, contract: &self.decision.1, profile: None },
            synthesis: InvestigationPrompt { prompt: &self.synthesis.0, contract: &self.synthesis.1, profile: None },
            model: &self.model,
            key: &self.key,
            screening: Screening { guard: &GUARD, policy: &POLICY },
            counter: &OpenAi::O200k,
            limits,
        }
    }
}

/// A metric with its signal.
pub(crate) fn metric(name: MetricName, value: f64, signal: Signal) -> Metric {
    Metric { signal, evidence: Sentence::ours(name.in_words()), ..Metric::of(name, value) }
}

/// A metric that could not be measured.
pub(crate) fn unknown(name: MetricName) -> Metric {
    Metric::unknown(name, Sentence::ours("no parser reads it"))
}

/// A change of files of code, each with its metrics. The score is LOW, and the higher of it and of the HIGH signals
/// decides, as in records of before.
pub(crate) fn subject(message: &str, files: &[(&str, Vec<Metric>)]) -> Subject {
    let score = ChangeScore {
        scored: None,
        rank: Some(PercentileRank { percentile: 40.0, among: 200 }),
        recent: None,
        between: None,
        signal: Signal::Low,
    };
    let mut assessment = Assessment {
        level: Level::Low,
        rules: LevelRules::RankOrSeed,
        reasons: Vec::new(),
        confidence: None,
        score,
        metrics: vec![
            metric(MetricName::LinesAdded, 40.0, Signal::None),
            metric(MetricName::LinesDeleted, 3.0, Signal::None),
        ],
        files: Vec::new(),
        partners: Vec::new(),
        more_partners: 0,
        found: proem_risk::finding::Found::default(),
        investigate: Investigate::NothingThatRuns,
        gaps: Vec::new(),
        calibration_error: 0.05,
    };
    for (index, (path, _)) in (0_u32..).zip(files) {
        assessment.files.push(FileAssessment {
            index,
            path: (*path).to_owned(),
            class: PathClass {
                language: Some(Language("Python".to_owned())),
                role: FileRole::Code,
                sensitive: None,
                framework: None,
            },
            lines: Some(250),
            status: FileStatus::Modified,
            level: Level::Low,
            reasons: Vec::new(),
            metrics: Vec::new(),
        });
    }
    for (index, (_, metrics)) in (0_u32..).zip(files) {
        for metric in metrics {
            assessment = assessment.with(index, metric.clone());
        }
    }
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let yardsticks = Some(Yardsticks::shipped().unwrap());
    Subject { assessment, subject: message.to_owned(), paths, yardsticks, diff: None }
}

/// The same where the rank decides, as in every assessment of today.
pub(crate) fn ranked(message: &str, files: &[(&str, Vec<Metric>)]) -> Subject {
    let of_before = subject(message, files);
    let (place, first) = files.first().map(|(_, metrics)| (0, metrics[0].clone())).unwrap();
    let assessment = Assessment { rules: LevelRules::Rank, ..of_before.assessment };
    Subject { assessment: assessment.with(place, first), ..of_before }
}

/// Tier 1 with one HIGH signal: a change that is investigated, and MEDIUM so far.
pub(crate) fn wide(importers: f64) -> Vec<Metric> {
    let mut coupling = metric(MetricName::Coupling, importers, Signal::High);
    coupling.evidence =
        Sentence::default().then(SentencePart::Path("src/session.py".to_owned())).and(" and others import it");
    coupling.details = vec![Sentence::default().then(SentencePart::Path("src/session.py".to_owned()))];
    vec![coupling, metric(MetricName::CoChange, 0.4, Signal::Medium), metric(MetricName::TestRatio, 0.9, Signal::Low)]
}

pub(crate) fn medium() -> Subject {
    subject("Refresh the session before it expires", &[("src/auth.py", wide(15.0))])
}

/// The course of an investigation.
pub(crate) struct Ran {
    pub(crate) end: InvestigationEnd,
    /// The requests, in order.
    pub(crate) asked: Vec<Request>,
    /// The requested measurements, in order.
    pub(crate) measured: Vec<Json>,
    /// The numbers of all effects, in order.
    pub(crate) effects: Vec<u32>,
}

/// Runs an investigation. Each line of the script answers one effect: a JSON value for a model's answer or a
/// measurement, `! KIND` for a failure, `cancel` or `deadline`. `@MS` before it says when.
pub(crate) fn run(subject: Subject, script: &[&str]) -> Ran {
    run_within(subject, script, InvestigationLimits::default())
}

/// The same within limits.
pub(crate) fn run_within(subject: Subject, script: &[&str], limits: InvestigationLimits) -> Ran {
    let mut script = script.iter();
    let ran = drive(subject, limits, &mut |effect| {
        script.next().map_or_else(|| panic!("nothing answers {effect:?}"), |line| (*line).to_owned())
    });
    assert_eq!(script.next(), None, "all answers were wanted");
    ran
}

/// Runs an investigation whose effects `answer` answers. The state is written down and read back at every step.
pub(crate) fn drive(subject: Subject, limits: InvestigationLimits, answer: &mut dyn FnMut(&Effect) -> String) -> Ran {
    let terms = BENCH.terms(limits);
    let mut machine = Investigation::new(terms, subject);
    let mut what = EventKind::Started;
    let mut now = Time(1_000);
    let (mut asked, mut measured, mut effects) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let text = serde_json::to_string(&machine.state().unwrap()).unwrap();
        let mut twin = Investigation::restore(terms, &serde_json::from_str(&text).unwrap()).unwrap();
        let event = Event { now, what };
        let step = machine.step(event.clone()).unwrap();
        assert_eq!(twin.step(event).unwrap(), step, "the same state and event make the same step");
        assert_eq!(twin.state().unwrap(), machine.state().unwrap());
        let (id, effect) = match step {
            Step::Done(end) => {
                assert!(machine.step(Event { now, what: EventKind::Started }).is_err(), "it is over");
                return Ran { end, asked, measured, effects };
            }
            Step::Do(mut effects) => {
                assert_eq!(effects.len(), 1);
                effects.remove(0)
            }
            other => panic!("{other:?}"),
        };
        effects.push(id.0);
        let line = answer(&effect);
        let (at, line) = match line.strip_prefix('@').and_then(|line| line.split_once(' ')) {
            Some((at, line)) => (Some(at.parse::<i64>().unwrap()), line),
            None => (None, line.as_str()),
        };
        now = at.map_or(now, |at| Time(1_000 + at));
        what = match line {
            "cancel" => EventKind::Cancelled { why: CancelReason::Asked },
            "deadline" => EventKind::Cancelled { why: CancelReason::Deadline },
            line => EventKind::Performed { results: vec![(id, performed(line, &effect))] },
        };
        match effect {
            Effect::Call { request } => asked.push(*request),
            Effect::Measure { what, of } => measured.push(json!([what, of])),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn performed(line: &str, effect: &Effect) -> EffectResult {
    if let Some(kind) = line.strip_prefix("! ") {
        let kind = serde_json::from_value(json!(kind)).unwrap();
        return EffectResult::Failed { failure: CallFailure::new(kind, "it went wrong; look at it") };
    }
    match effect {
        Effect::Call { request } => {
            let text = Untrusted::new(line.to_owned(), request.label());
            let usage = Usage {
                input: Some(50),
                cache_read: Some(0),
                cache_writes: Vec::new(),
                output: Some(5),
                ..Usage::default()
            };
            let content = vec![ResponsePart::Text { text }];
            let response = Response { model: None, id: None, content, finish: FinishReason::Stop, usage };
            EffectResult::Response { response: Box::new(response) }
        }
        _ => EffectResult::Measured { value: serde_json::from_str(line).unwrap() },
    }
}

/// A metric as what is measured comes back.
pub(crate) fn comes_back(metric: &Metric) -> String {
    serde_json::to_string(metric).unwrap()
}

/// An answer of the decision prompt.
pub(crate) fn decides(action: &str, metric: Option<&str>, file: Option<&str>) -> String {
    let target = (action != "FINALIZE").then(|| json!({ "metric_name": metric, "file_path": file }));
    json!({ "action": action, "reasoning": "It would make the risk clearer.", "target": target }).to_string()
}

/// An answer of the synthesis prompt.
pub(crate) fn says(level: &str, cites: &[&str]) -> String {
    let evidence: Vec<Json> = cites.iter().map(|n| json!({ "evidence": n, "text": "It is used widely" })).collect();
    json!({
        "risk_level": level,
        "confidence": 0.7,
        "key_evidence": evidence,
        "recommendations": ["Test the renewal in the last second"],
        "reasoning": "Wide use makes a mistake travel far.",
    })
    .to_string()
}

/// The text of a section.
pub(crate) fn section<'a>(assembly: &'a Assembly, name: &str) -> &'a str {
    assembly.sections.iter().find(|section| section.name == name).map_or("", |section| section.text.as_str())
}

/// Everything that is outside of contained sections.
pub(crate) fn trusted(assembly: &Assembly) -> String {
    let sections = assembly.sections.iter().filter(|section| section.trust != Trust::Untrusted);
    sections.map(|section| section.text.as_str()).collect()
}

/// Each hop as `FINALIZE by rules`, `CALCULATE_METRIC ownership_churn 0 by model`.
pub(crate) fn hops(end: &InvestigationEnd) -> Vec<String> {
    let hop = |hop: &proem_agents::risk::investigation::Hop| {
        let metric = hop.metric.as_ref().map_or(String::new(), |metric| format!(" {metric}"));
        let file = hop.file.map_or(String::new(), |file| format!(" {file}"));
        let by = serde_json::to_value(hop.by).unwrap();
        format!("{}{metric}{file} by {}", hop.action.as_str(), by.as_str().unwrap())
    };
    end.hops.iter().map(hop).collect()
}

/// An effect's number, for results that nobody waits for.
pub(crate) const NOBODY: EffectId = EffectId(99);
