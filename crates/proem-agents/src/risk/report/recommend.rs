//! The rules' recommendations for a change.
//!
//! The advice of findings comes first, each with its reason and the command that shows it. Signals advise only where they
//! set the level. Every advice names something: a file, a person, a partner, an incident. With nothing to name, there is
//! no advice.

use proem_risk::assess::{Assessment, FileAssessment};
use proem_risk::change::{Change, ChangedFile};
use proem_risk::level::{LevelReason, LevelRules};
use proem_risk::metric::{Metric, MetricName, Sentence, SentencePart, Signal};
use proem_risk::path::{FileRole, Sensitive};
use proem_risk::score::Feature;

use super::finding::advice_sentence;
use super::{ReportPhrase, ReportSentence};
use crate::words::number_of;

/// The most that is advised.
pub(super) const MOST: usize = 3;

/// From how many further importers on nobody runs the tests of each.
const SUITE: usize = 12;

/// The fewest added lines that are worth splitting: below it a reviewer reads the change at once.
const SPLIT_FROM: u64 = 200;

/// The metrics of the score that a split makes smaller.
const SIZE: [Feature; 6] = [Feature::La, Feature::Ld, Feature::Nf, Feature::Nd, Feature::Ns, Feature::Entropy];

#[derive(Debug, Clone, Copy)]
struct RuleSubject<'a> {
    change: &'a Change,
    assessment: &'a Assessment,
    file: &'a FileAssessment,
    metric: &'a Metric,
}

/// A rule: what a signal of a metric asks for.
type RecommendationRule = fn(&RuleSubject<'_>) -> Option<ReportSentence>;

/// The rules, most important first.
const RULES: [(MetricName, RecommendationRule); 5] = [
    (MetricName::IncidentSimilarity, incident_advice),
    (MetricName::CoChange, partner_advice),
    (MetricName::OwnershipChurn, owner_advice),
    (MetricName::Coupling, importers),
    (MetricName::TestRatio, test_advice),
];

/// The recommendations for a change, or for one of its files, most important first.
///
/// HIGH signals come before a sensitive file and the score, these before MEDIUM signals. Each rule speaks once for a
/// change.
pub(super) fn recommend(change: &Change, assessment: &Assessment, only: Option<u32>) -> Vec<ReportSentence> {
    let files = || assessment.files.iter().filter(|file| only.is_none_or(|index| file.index == index));
    let signals_decide = assessment.rules != LevelRules::Rank || assessment.score.signal == Signal::Unknown;
    let findings = assessment.found.findings.iter().filter(|one| only.is_none_or(|index| one.file == index));
    let of_findings = findings.filter_map(|one| one.advice.as_ref()).map(advice_sentence);
    let of_signal = |signal: Signal| {
        RULES.iter().filter(move |_| signals_decide).filter_map(move |(name, rule)| {
            files().find_map(|file| {
                let metric = file.metrics.iter().find(|metric| metric.name == *name && metric.signal == signal)?;
                rule(&RuleSubject { change, assessment, file, metric })
            })
        })
    };
    let own = [
        files().find_map(|file| sensitive_advice(change, file)),
        Some(()).filter(|()| only.is_none()).and_then(|()| split_advice(change, assessment)),
        Some(()).filter(|()| only.is_none()).and_then(|()| history_advice(assessment)),
    ];
    let mut advice: Vec<ReportSentence> = Vec::new();
    for words in
        of_findings.chain(of_signal(Signal::High)).chain(own.into_iter().flatten()).chain(of_signal(Signal::Medium))
    {
        if !advice.contains(&words) {
            advice.push(words);
        }
    }
    advice.truncate(MOST);
    advice
}

/// The first piece of a metric's evidence and details that `pick` takes.
fn first_evidence_part<'m>(metric: &'m Metric, pick: impl Fn(&'m SentencePart) -> Option<&'m str>) -> Option<&'m str> {
    let sentences = std::iter::once(&metric.evidence).chain(&metric.details);
    sentences.flat_map(|Sentence(pieces)| pieces).find_map(pick)
}

fn incident_advice(scene: &RuleSubject<'_>) -> Option<ReportSentence> {
    let title = first_evidence_part(scene.metric, |piece| match piece {
        SentencePart::Message(text) => Some(text.as_str()),
        _ => None,
    })?;
    let words = match scene.file.class.role {
        FileRole::Code => ReportSentence::ours("read how this was fixed, and add a test against a regression in "),
        _ => ReportSentence::ours("read how this was fixed before you change "),
    };
    let words = words.path(&scene.file.path);
    Some(words.and(": ").then(ReportPhrase::Message(title.to_owned())))
}

fn partner_advice(scene: &RuleSubject<'_>) -> Option<ReportSentence> {
    let partner = scene.assessment.partners.iter().find(|partner| partner.of == scene.file.index)?;
    let together = partner.together;
    Some(
        ReportSentence::ours("change ")
            .path(&partner.path)
            .and(" too, or say why not: it changed in ")
            .and(format!("{} of {} commits of ", together.numerator, together.denominator)),
    )
    .map(|words| words.path(&scene.file.path))
}

/// The last named is who led before. The author is asked for nobody's review of their own.
fn owner_advice(scene: &RuleSubject<'_>) -> Option<ReportSentence> {
    let author = scene.change.author.as_ref();
    let Sentence(pieces) = &scene.metric.evidence;
    let person = pieces.iter().rev().find_map(|piece| match piece {
        SentencePart::Person(person) if author.is_none_or(|author| author.mail != *person) => Some(person.clone()),
        _ => None,
    })?;
    let words =
        ReportSentence::ours("ask ").then(ReportPhrase::Person(person)).and(" to review ").path(&scene.file.path);
    Some(words.and(", whose owner changed"))
}

fn importers(scene: &RuleSubject<'_>) -> Option<ReportSentence> {
    let importer = first_evidence_part(scene.metric, |piece| match piece {
        SentencePart::Path(path) if *path != scene.file.path => Some(path.as_str()),
        _ => None,
    })?;
    let words = ReportSentence::ours("run the tests of ").path(importer);
    // Names are shown up to a cap. The others are counted from all of them.
    let words = match scene.metric.beside(1) {
        0 => words.and(", which imports "),
        1 => words.and(" and the other file that imports "),
        others @ ..SUITE => words.and(format!(" and the other {others} files that import ")),
        // So many are all of them.
        others => {
            let all = others.saturating_add(1);
            return Some(ReportSentence::ours(format!("run all tests: {all} files import ")).path(&scene.file.path));
        }
    };
    Some(words.path(&scene.file.path))
}

/// Nobody who adds tests is told to.
fn test_advice(scene: &RuleSubject<'_>) -> Option<ReportSentence> {
    let adds =
        |file: &ChangedFile| file.class.role == FileRole::Test && file.lines.is_some_and(|lines| lines.added > 0);
    if scene.change.files.iter().any(adds) {
        return None;
    }
    let words = ReportSentence::ours("add tests for ").path(&scene.file.path);
    let Some(of) = scene.metric.of else { return Some(words.and(" before it is merged")) };
    let (tests, code) = (number_of(of.numerator, "line"), of.denominator);
    Some(words.and(format!(": it has {tests} of tests for {code} of code")))
}

/// A sensitive file is reviewed by whoever answers for it.
fn sensitive_advice(change: &Change, file: &FileAssessment) -> Option<ReportSentence> {
    let what = match file.class.sensitive? {
        Sensitive::Security => "security",
        Sensitive::Production => "production",
    };
    let words = ReportSentence::ours("have ").path(&file.path);
    let words = words.and(format!(" reviewed by somebody responsible for {what}: it can do harm in one line"));
    Some(with_command(words, change))
}

/// A large change of several files whose score comes from its size is split.
fn split_advice(change: &Change, assessment: &Assessment) -> Option<ReportSentence> {
    assessment.reasons.iter().find(|reason| matches!(reason, LevelReason::Score { .. }))?;
    let contributions = &assessment.score.scored.as_ref()?.contributions;
    let top = contributions.iter().max_by(|a, b| a.log_odds.total_cmp(&b.log_odds)).filter(|top| top.log_odds > 0.0)?;
    // Tests belong to what they test, and nobody reads what a program wrote.
    let is_read = |file: &&ChangedFile| matches!(file.class.role, FileRole::Code | FileRole::Configuration);
    let read: Vec<&ChangedFile> = change.files.iter().filter(is_read).collect();
    let added: u64 = read.iter().filter_map(|file| file.lines).map(|lines| u64::from(lines.added)).sum();
    if !SIZE.contains(&top.feature) || read.len() < 2 || added < SPLIT_FROM {
        return None;
    }
    let largest = read.iter().max_by_key(|file| file.lines.map(|lines| lines.added))?;
    let (files, lines) = (number_of(read.len(), "file"), number_of(added, "added line"));
    let words = ReportSentence::ours(format!("split the change ({lines} in {files}); begin with "));
    Some(with_command(words.path(largest.path.to_text()), change))
}

/// An advice with the command that shows the files of the change.
fn with_command(words: ReportSentence, change: &Change) -> ReportSentence {
    let command = match change.id {
        Some(id) => format!("git show --stat {:.12}", id.to_string()),
        None => "git diff --stat HEAD".to_owned(),
    };
    words.and("; see ").then(ReportPhrase::Foreign(command))
}

/// If nothing could be measured for want of history, the advice is to fetch the history.
fn history_advice(assessment: &Assessment) -> Option<ReportSentence> {
    let is_blind =
        assessment.reasons.iter().any(|reason| matches!(reason, LevelReason::AllUnknown | LevelReason::NothingKnown));
    let gap = assessment.gaps.first().filter(|_| is_blind)?;
    Some(ReportSentence::ours(format!("some evidence is missing; fix the cause, then assess again: {gap}")))
}
