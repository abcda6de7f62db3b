//! The evidence of a change within a token budget, in four levels of detail.
//!
//! - The changes: files, languages, lines.
//! - One line for each finding and signal, the weightiest first. LOW is counted in records that have no yardsticks.
//! - Details of what is HIGH, and what no rule speaks of for the riskiest files.
//! - The files around a file, once that was asked for.
//!
//! Invariants: the lines hold our words and numbers only, every name from outside is an alias ([`Aliases`]); what the
//! aliases represent is a list of its own, for a section that is contained. No content of a file is in here, and of a
//! message only the first line; what is not shown is counted.

mod alias;
mod excerpt;
mod words;
mod yardstick;

pub use self::alias::Aliases;
pub use self::excerpt::DiffExcerpt;
pub use self::yardstick::Yardsticks;

use proem_risk::assess::{Assessment, FileAssessment, Partner};
use proem_risk::finding::Finding;
use proem_risk::level::Level;
use proem_risk::metric::{Metric, MetricName, Sentence, SentencePart, Signal};
use proem_risk::path::{FileRole, Sensitive};
use serde::{Deserialize, Serialize};

use self::alias::AliasWriter;
use self::words::{at_most_two_decimals, count_phrase, measured_value, sentence_part_name};
use super::hop::{Hop, NeighbourFiles};

/// The most files that are described one by one.
const MAX_FILES: usize = 10;

/// The most signals that have a line of their own.
const MAX_ITEMS: usize = 24;

/// The most missing partners that have a line of their own.
const MAX_PARTNERS: usize = 3;

/// The most gaps that have a line of their own.
const MAX_GAPS: usize = 4;

/// The most names that the details of one signal give, incidents of the best band aside.
const MAX_DETAILS: usize = 5;

/// How many incidents of the middle band are shown.
const MIDDLE_INCIDENTS: usize = 3;

/// How many files get a line of what no rule speaks of.
const MAX_BESIDE: usize = 3;

/// The metrics without a rule that still help to judge.
const BESIDE: [MetricName; 5] = [
    MetricName::PriorFixes,
    MetricName::PriorReverts,
    MetricName::MinorContributors,
    MetricName::OwnerShare,
    MetricName::RecentCommits,
];

/// The known facts at a point of an investigation.
#[derive(Debug, Clone, Copy)]
pub struct KnownFacts<'k> {
    /// The assessment so far.
    pub assessment: &'k Assessment,
    /// The hops so far, each with what came of it.
    pub hops: &'k [(Hop, Sentence)],
    /// The neighbours found around files, by their place in the change.
    pub neighbours: &'k [(u32, NeighbourFiles)],
    /// Changed files that are spoken of besides, whose aliases are explained too.
    pub named: &'k [u32],
    /// Whether every measured signal has a line.
    pub signals: ListedSignals,
}

/// The signals that get a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedSignals {
    /// Findings and all measured ones, LOW too.
    All,
    /// Metrics above LOW, as in records of before.
    AboveLow,
}

/// Evidence as a prompt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptEvidence {
    /// Numbered pieces, weightiest first: HIGH, MEDIUM, what no rule speaks of, LOW, UNKNOWN.
    pub items: Vec<NumberedEvidence>,
    /// The first level of detail: the change as a whole, and then its files, a line each.
    pub change: Vec<String>,
    /// The facts that are only counted, and those that could not be known.
    pub left_out: Vec<String>,
    /// More about pieces that are HIGH, by their number.
    pub details: Vec<String>,
    /// The files around files.
    pub neighbours: Vec<String>,
    /// The steps that were taken, in order, with what each brought.
    pub chain: Vec<String>,
    /// The name behind each alias in all this. From outside.
    pub names: Vec<String>,
    /// Why hops were chosen, in a model's words. From outside.
    pub reasons: Vec<String>,
}

/// A numbered piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedEvidence {
    /// The evidence that it can cite.
    pub given: CitableEvidence,
    /// It in our words, names as aliases.
    pub line: String,
}

/// The evidence that citations are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitableEvidence {
    /// Its number, from 1. It is cited as `E1`.
    pub number: u32,
    /// The rules' signal.
    pub signal: Signal,
    /// Its subject, such as `coupling of src/auth.py`.
    pub title: Sentence,
}

impl NumberedEvidence {
    /// How its line begins, in every prompt.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("E{} ", self.given.number)
    }
}

/// Whether a file's signals decide anything: tests, generated, foreign and lock files, pictures and
/// documentation have none that do.
#[must_use]
pub const fn is_judged(file: &FileAssessment) -> bool {
    matches!(file.class.role, FileRole::Code | FileRole::Configuration)
}

/// How many pieces of evidence are HIGH: metrics of judged files, and the score.
#[must_use]
pub fn count_high_evidence(assessment: &Assessment) -> usize {
    let is_high = |metric: &&Metric| metric.signal == Signal::High;
    let files = assessment.files.iter().filter(|file| is_judged(file));
    let metrics = files.flat_map(|file| &file.metrics).filter(is_high).count();
    metrics.saturating_add(usize::from(assessment.score.signal == Signal::High))
}

/// Puts what is known into lines. `aliases` grows by names that were not met before, so that each keeps
/// its alias over a whole investigation.
#[must_use]
pub fn gather_evidence(known: KnownFacts<'_>, aliases: &mut Aliases) -> PromptEvidence {
    let mut writer = aliases.writer();
    known.named.iter().for_each(|file| _ = writer.changed(*file));
    let mut left_out = Vec::new();
    let change = change_lines(known.assessment, &mut writer);
    let found = numbered_evidence(known.assessment, known.signals, &mut left_out);
    let mut items = Vec::new();
    let mut details = Vec::new();
    for (number, piece) in (1_u32..).zip(&found) {
        let given = CitableEvidence { number, signal: piece.signal(), title: piece.title() };
        items.push(NumberedEvidence { line: format!("E{number} {}", piece.line(&mut writer)), given });
        details.extend(piece.details(&mut writer).map(|details| format!("E{number}: {details}")));
    }
    details.extend(neighbouring_evidence(known.assessment, &mut writer));
    count_gaps(known.assessment, &mut left_out);
    let neighbours = known.neighbours.iter().map(|(file, found)| neighbours_line(*file, found, &mut writer)).collect();
    let chain = known.hops.iter().map(|(hop, came)| hop_line(hop, came, &mut writer)).collect();
    let reasons = known.hops.iter().filter(|(hop, _)| !hop.reasoning.is_empty());
    let reasons =
        reasons.map(|(hop, _)| format!("hop {}: {}", hop.hop, words::safe_on_one_line(&hop.reasoning))).collect();
    PromptEvidence { items, change, left_out, details, neighbours, chain, names: writer.names(), reasons }
}

/// A piece of evidence before it has a number.
#[derive(Debug)]
enum EvidenceSource<'a> {
    Score(&'a Assessment),
    Metric(&'a FileAssessment, &'a Metric),
    Sensitive(&'a FileAssessment, Sensitive),
    Partner(&'a Partner),
    Finding(&'a Assessment, &'a Finding),
}

impl EvidenceSource<'_> {
    const fn signal(&self) -> Signal {
        match self {
            Self::Score(assessment) => assessment.score.signal,
            Self::Metric(_, metric) => metric.signal,
            // The rules put the change at MEDIUM at least for it.
            Self::Sensitive(..) => Signal::Medium,
            Self::Finding(_, finding) if finding.worth.raises => Signal::Medium,
            Self::Partner(..) | Self::Finding(..) => Signal::None,
        }
    }

    /// Its place among the pieces: the weightiest first.
    const fn weight(&self) -> u8 {
        match self.signal() {
            Signal::High => 0,
            Signal::Medium => 1,
            Signal::None => 2,
            Signal::Low => 3,
            Signal::Unknown => 4,
        }
    }

    fn title(&self) -> Sentence {
        let of = |what: String, path: &str| Sentence::ours(what).then(SentencePart::Path(path.to_owned()));
        match self {
            Self::Score(_) => Sentence::ours("the score of the change"),
            Self::Metric(file, metric) => of(format!("{} of ", metric.name.as_str()), &file.path),
            Self::Sensitive(file, _) => of("what ".to_owned(), &file.path).and(" is for"),
            Self::Partner(partner) => of("the missing partner ".to_owned(), &partner.path),
            Self::Finding(assessment, finding) => {
                let file = assessment.files.iter().find(|file| file.index == finding.file);
                of(format!("{} in ", finding.signal.as_str()), file.map_or("the change", |file| &file.path))
            }
        }
    }

    fn line(&self, writer: &mut AliasWriter<'_>) -> String {
        let signal = self.signal().as_str();
        match self {
            Self::Score(assessment) => {
                format!("{signal} score of the change: {}", words::score_rank(&assessment.score))
            }
            Self::Metric(file, metric) => {
                let name = metric.name.as_str();
                let head = format!("{signal} {name} of {}", writer.changed(file.index));
                let sentence = writer.sentence(&metric.evidence);
                match metric.signal {
                    Signal::Unknown => format!("{head}: {sentence}"),
                    Signal::High => {
                        format!("{head}: {}{}; {sentence}", measured_value(metric), words::rank_in_brackets(metric))
                    }
                    _ => format!("{head}: {}", measured_value(metric)),
                }
            }
            Self::Sensitive(file, sensitive) => {
                let why = match sensitive {
                    Sensitive::Security => "security",
                    Sensitive::Production => "production",
                };
                format!("{signal} {} is sensitive: {why}", writer.changed(file.index))
            }
            Self::Partner(partner) => {
                let (missing, of) = (writer.path(&partner.path), writer.changed(partner.of));
                let imported = match partner.imported {
                    Some(true) => ", and an import connects them",
                    Some(false) => ", and no import explains it",
                    None => "",
                };
                let (together, all) = (partner.together.numerator, partner.together.denominator);
                format!("missing: {missing} changed with {of} in {together} of {all} commits{imported}")
            }
            Self::Finding(_, finding) => {
                let head = format!("finding {} in {}", finding.signal.as_str(), writer.changed(finding.file));
                format!("{head}: {}", writer.sentence(&finding.evidence))
            }
        }
    }

    /// The third level: names behind what is HIGH, and behind incidents of the middle band.
    fn details(&self, writer: &mut AliasWriter<'_>) -> Option<String> {
        let (file, metric) = match self {
            Self::Metric(file, metric) => (file, metric),
            Self::Score(assessment) if assessment.score.signal >= Signal::Medium => {
                return words::raised_by(&assessment.score);
            }
            Self::Score(_) | Self::Sensitive(..) | Self::Partner(..) | Self::Finding(..) => return None,
        };
        let most = match (metric.signal, metric.name) {
            (Signal::High, MetricName::IncidentSimilarity) => usize::MAX,
            (Signal::High, _) => MAX_DETAILS,
            (Signal::Medium, MetricName::IncidentSimilarity) => MIDDLE_INCIDENTS,
            _ => return None,
        };
        let mut shown: Vec<String> =
            metric.details.iter().take(most).map(|sentence| writer.sentence(sentence)).collect();
        let more = metric.beside(shown.len());
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        shown.extend(call_sites(file, metric));
        (!shown.is_empty()).then(|| shown.join("; "))
    }
}

/// How often the files that import a file of HIGH coupling call it.
fn call_sites(file: &FileAssessment, metric: &Metric) -> Option<String> {
    if (metric.signal, metric.name) != (Signal::High, MetricName::Coupling) {
        return None;
    }
    let calls = file.metrics.iter().find(|metric| metric.name == MetricName::CallSites && metric.value.is_some())?;
    Some(format!("call sites: {}", measured_value(calls)))
}

/// All pieces that get a number; what gets none is counted in `left_out`.
fn numbered_evidence<'a>(
    assessment: &'a Assessment,
    listed: ListedSignals,
    left_out: &mut Vec<String>,
) -> Vec<EvidenceSource<'a>> {
    let mut found = vec![EvidenceSource::Score(assessment)];
    if listed == ListedSignals::All {
        found.extend(assessment.found.findings.iter().map(|finding| EvidenceSource::Finding(assessment, finding)));
    }
    let (mut low, mut unjudged) = (0_usize, 0_usize);
    for file in &assessment.files {
        if !is_judged(file) {
            unjudged = unjudged.saturating_add(1);
            continue;
        }
        found.extend(file.class.sensitive.map(|sensitive| EvidenceSource::Sensitive(file, sensitive)));
        for metric in file.metrics.iter().filter(|metric| metric.name.tier().is_some()) {
            match metric.signal {
                Signal::Low if listed == ListedSignals::AboveLow => low = low.saturating_add(1),
                Signal::None => {}
                _ => found.push(EvidenceSource::Metric(file, metric)),
            }
        }
    }
    found.extend(assessment.partners.iter().take(MAX_PARTNERS).map(EvidenceSource::Partner));
    // The files are in the order of their risk, and a stable sort keeps it.
    found.sort_by_key(EvidenceSource::weight);
    if low > 0 {
        left_out.push(format!("{} LOW", count_phrase(low, "further metric is", "further metrics are")));
    }
    let more = usize::try_from(assessment.more_partners).unwrap_or(usize::MAX);
    let partners = assessment.partners.len().saturating_add(more).saturating_sub(MAX_PARTNERS);
    if partners > 0 {
        left_out.push(format!(
            "{} missing",
            count_phrase(partners, "further usual partner is", "further usual partners are")
        ));
    }
    if unjudged > 0 {
        let files = count_phrase(unjudged, "file is", "files are");
        left_out.push(format!("{files} tests, documentation, generated or foreign, and not judged"));
    }
    let more = found.split_off(found.len().min(MAX_ITEMS));
    if !more.is_empty() {
        let of = |signal: Signal| more.iter().filter(|found| found.signal() == signal).count();
        let parts =
            [Signal::High, Signal::Medium, Signal::Low, Signal::Unknown].map(|signal| (of(signal), signal.as_str()));
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, signal)| format!("{n} {signal}")).collect();
        let among = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        left_out
            .push(format!("{} not shown{among}", count_phrase(more.len(), "further signal is", "further signals are")));
    }
    found
}

/// Facts without a rule, for the files that are not LOW.
fn neighbouring_evidence(assessment: &Assessment, writer: &mut AliasWriter<'_>) -> Vec<String> {
    let files = assessment.files.iter().filter(|file| is_judged(file) && file.level > Level::Low);
    let lines = files.take(MAX_BESIDE).filter_map(|file| {
        let metrics = file.metrics.iter().filter(|metric| BESIDE.contains(&metric.name) && metric.value.is_some());
        let metrics: Vec<String> =
            metrics.map(|metric| format!("{} {}", metric.name.in_words(), measured_value(metric))).collect();
        (!metrics.is_empty()).then(|| format!("{} besides: {}", writer.changed(file.index), metrics.join(", ")))
    });
    lines.collect()
}

fn count_gaps(assessment: &Assessment, left_out: &mut Vec<String>) {
    left_out
        .extend(assessment.gaps.iter().take(MAX_GAPS).map(|gap| format!("unknown: {}", words::safe_on_one_line(gap))));
    let more = assessment.gaps.len().saturating_sub(MAX_GAPS);
    if more > 0 {
        left_out.push(format!("unknown: {}", count_phrase(more, "thing more", "things more")));
    }
}

/// The first level: the change and its files.
fn change_lines(assessment: &Assessment, writer: &mut AliasWriter<'_>) -> Vec<String> {
    let of = |name: MetricName| {
        let metric = assessment.metrics.iter().find(|metric| metric.name == name);
        metric.and_then(|metric| metric.value)
    };
    let files = count_phrase(assessment.files.len(), "file", "files");
    let lines = |name: MetricName, what: &str| match of(name) {
        Some(value) => format!("{} lines {what}", at_most_two_decimals(value)),
        None => format!("an unknown number of lines {what}"),
    };
    let (added, removed) = (lines(MetricName::LinesAdded, "added"), lines(MetricName::LinesDeleted, "removed"));
    let mut all = vec![format!("{files}, {added}, {removed}; {} by the rules so far", assessment.level.as_str())];
    for file in assessment.files.iter().take(MAX_FILES) {
        let mut what = vec![words::change_verb(file.status).to_owned()];
        what.push(file.class.language.as_ref().map_or("of unknown language", |language| &language.0).to_owned());
        what.push(file.lines.map_or("of unknown length".to_owned(), |lines| format!("{lines} lines")));
        what.extend(words::role_phrase_for_file(file.class.role).map(str::to_owned));
        what.extend(file.class.framework.as_ref().map(|name| format!("coupled by design ({})", name.0)));
        all.push(format!("{}: {}", writer.changed(file.index), what.join(", ")));
    }
    let more = assessment.files.len().saturating_sub(MAX_FILES);
    if more > 0 {
        all.push(count_phrase(more, "further file, less risky by the rules", "further files, less risky by the rules"));
    }
    all
}

/// The fourth level: what is around a file.
fn neighbours_line(file: u32, found: &NeighbourFiles, writer: &mut AliasWriter<'_>) -> String {
    let of = writer.changed(file);
    let far = found
        .mean_distance
        .map_or(String::new(), |far| format!(", {} imports away on average", at_most_two_decimals(far)));
    let names: Vec<String> = found.names.iter().take(NeighbourFiles::MAX_NAMES).map(|path| writer.path(path)).collect();
    let nearest = if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) };
    let (direct, transitive) = (found.direct, found.transitive);
    format!("{of}: imported by {direct} files, and those by {transitive} more{far}{nearest}")
}

fn hop_line(hop: &Hop, came: &Sentence, writer: &mut AliasWriter<'_>) -> String {
    let metric = hop.metric.as_ref().map_or(String::new(), |metric| format!(" {metric}"));
    let file = hop.file.map_or(String::new(), |file| format!(" of {}", writer.changed(file)));
    let came = writer.sentence(came);
    format!("hop {}: {}{metric}{file}: {came}", hop.hop, hop.action.as_str())
}

/// The result of a measurement, for the chain of evidence.
#[must_use]
pub fn came_of(metric: &Metric) -> Sentence {
    let head = match metric.signal {
        Signal::Unknown => format!("{}, ", metric.signal.as_str()),
        signal => format!("{} ({}), ", signal.as_str(), measured_value(metric)),
    };
    let mut sentence = Sentence::ours(head);
    sentence.0.extend(metric.evidence.0.iter().cloned());
    sentence
}

/// The result of a look at the neighbours.
#[must_use]
pub fn came_around(found: &NeighbourFiles) -> Sentence {
    let far = found
        .mean_distance
        .map_or(String::new(), |far| format!(", {} imports away on average", at_most_two_decimals(far)));
    Sentence::ours(format!("{} direct and {} transitive importers{far}", found.direct, found.transitive))
}

/// The first line of a message, on which nothing else can be.
#[must_use]
pub fn first_message_line(message: &str) -> String {
    words::safe_on_one_line(message.lines().next().unwrap_or_default())
}

/// A sentence with its names in it: for a report, never for a prompt.
#[must_use]
pub fn sentence_with_names(sentence: &Sentence) -> String {
    sentence.0.iter().map(|piece| sentence_part_name(piece).to_owned()).collect()
}
