//! `proem-lab eval triage`: how often signals are classified right without a model, and what the guard makes of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_agents::screen::Screening;
use proem_guard::{Guard, Policy, Verdict};
use proem_score::interval::{Z95, wilson};
use proem_triage::{
    ClassificationBasis, ClassificationContext, ConfidenceTable, SanitisedSignal, SignalClassification, SignalInBatch,
    TriageLexicon, classify_signals, sanitise_signal,
};

use super::baseline::{keyword_labels, majority};
use super::effects::{ForbiddenEffects, count_forbidden_effects};
use super::floors::{FLOORS, floor_mistakes, floor_scores};
use super::labelled_signals::{LabelledKind, LabelledSignal, SignalLabels, labelled_project, read_half};
use super::left_out::{self, LEFT_OUT};
use super::model_report::models_report;
use super::tempers::tempers;
use crate::selection::public_sets::read_data_file;

/// Measures the triage of signals without a model, and what becomes of a model's answers.
#[derive(Debug, Args)]
pub(crate) struct EvalTriage {
    /// The workspace's folder, whose `evals/triage/floors.md`, `scores.md` and `models.md` are written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
    /// Print the confidences that the lexicon should have. Write nothing.
    #[arg(long, conflicts_with = "mistakes")]
    calibrate: bool,
    /// Write only `evals/triage/floors.md`.
    #[arg(long, conflicts_with_all = ["mistakes", "calibrate"])]
    floors: bool,
    /// Print what is wrong with the signals for tuning, never with the others. Write nothing.
    #[arg(long)]
    mistakes: bool,
}

/// The strangers' signals in which systems speak that are scored only.
const SYSTEMS_TEST: &str = "systems-test";
pub(super) const SCORES: &str = "evals/triage/scores.md";
pub(super) const MODELS: &str = "evals/triage/models.md";
pub(super) const TEMPERS: &str = "evals/triage/tempers.md";

pub(crate) fn run_eval_triage(args: &EvalTriage) -> Result<String, String> {
    if args.calibrate {
        return calibration(&args.to);
    }
    if args.mistakes {
        return mistakes(&args.to);
    }
    let mut reports = vec![(FLOORS, floor_scores(&args.to)?)];
    if !args.floors {
        reports.extend([(SCORES, triage_scores(&args.to)?), (MODELS, models_report()?), (TEMPERS, tempers(&args.to)?)]);
    }
    for (name, report) in &reports {
        let path = args.to.join(name);
        std::fs::write(&path, report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(reports.into_iter().map(|(_, report)| report).collect::<Vec<_>>().join("\n"))
}

/// One half with what became of it.
pub(super) struct TriagedHalf {
    pub(super) signals: Vec<LabelledSignal>,
    pub(super) sanitised: Vec<SanitisedSignal>,
    pub(super) told: Vec<SignalClassification>,
}

impl TriagedHalf {
    pub(super) fn new(workspace: &Path, name: &str) -> Result<Self, String> {
        let lexicon = TriageLexicon::shipped().map_err(|error| error.to_string())?;
        Self::with(workspace, name, &lexicon)
    }

    /// The same with another lexicon.
    pub(super) fn with(workspace: &Path, name: &str, lexicon: &TriageLexicon) -> Result<Self, String> {
        Self::of_signals(workspace, read_half(workspace, name)?, lexicon)
    }

    /// These signals.
    pub(super) fn of_signals(
        workspace: &Path,
        signals: Vec<LabelledSignal>,
        lexicon: &TriageLexicon,
    ) -> Result<Self, String> {
        let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
        let policy = Policy::shipped().map_err(|error| error.to_string())?;
        let screening = Screening { guard: &guard, policy: &policy };
        let sanitised: Vec<SanitisedSignal> =
            signals.iter().map(|labelled| sanitise_signal(&labelled.signal, screening)).collect();
        let project = labelled_project(workspace)?;
        let batch = signals.iter().zip(&sanitised);
        let batch: Vec<SignalInBatch<'_>> =
            batch.map(|(labelled, sanitised)| SignalInBatch { signal: &labelled.signal, sanitised }).collect();
        let told = classify_signals(&batch, ClassificationContext { lexicon, project: &project });
        Ok(Self { signals, sanitised, told })
    }

    /// Leaves out those whose place is not kept.
    pub(super) fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        fn those<T>(of: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
            let mut place = 0..;
            of.retain(|_| place.next().is_some_and(&is_kept));
        }
        those(&mut self.signals, &is_kept);
        those(&mut self.sanitised, &is_kept);
        those(&mut self.told, &is_kept);
    }

    pub(super) fn ours(&self) -> Vec<SignalLabels> {
        self.told.iter().map(labels_of_classification).collect()
    }

    fn of(&self, kind: LabelledKind) -> impl Iterator<Item = (&LabelledSignal, &SanitisedSignal)> {
        self.signals.iter().zip(&self.sanitised).filter(move |(labelled, _)| labelled.kind == kind)
    }
}

const fn labels_of_classification(told: &SignalClassification) -> SignalLabels {
    SignalLabels {
        category: told.answer.category,
        importance: told.answer.importance,
        action: told.answer.recommended_action,
        time: told.answer.time_sensitivity,
    }
}

const DIMENSIONS: [&str; 4] = ["type", "importance", "action", "time"];

/// Which dimensions are right.
fn right(meant: &SignalLabels, told: &SignalLabels) -> [bool; 4] {
    [
        meant.category == told.category,
        meant.importance == told.importance,
        meant.action == told.action,
        meant.time == told.time,
    ]
}

/// How many are right in each dimension.
pub(super) fn counts(signals: &[LabelledSignal], told: &[SignalLabels]) -> [u64; 4] {
    let mut counts = [0; 4];
    for (labelled, told) in signals.iter().zip(told) {
        let right = right(&labelled.labels, told);
        counts.iter_mut().zip(right).for_each(|(count, right)| *count += u64::from(right));
    }
    counts
}

/// Whether something was taken out of a text for what it says, formatting aside.
pub(super) fn is_cut(sanitised: &SanitisedSignal) -> bool {
    let is_kept_out = sanitised.fields.iter().any(|field| field.text.is_none());
    is_kept_out || sanitised.threats.iter().any(|threat| threat.verdict >= Verdict::Quarantine)
}

/// The whole of `scores.md`.
pub(super) fn triage_scores(workspace: &Path) -> Result<String, String> {
    let tune = TriagedHalf::new(workspace, "tune")?;
    let [held, older, fresh] = ["more-held", "held", "fresh"].map(|name| TriagedHalf::new(workspace, name));
    let (held, older, fresh) = (held?, older?, fresh?);
    let [test, systems] = ["test", SYSTEMS_TEST].map(|name| TriagedHalf::new(workspace, name));
    let (test, systems) = (test?, systems?);
    let mut out = String::from(
        "# Triage: scores\n\nWritten by `cargo lab eval triage`. Nothing is asked of a model. Read the [data card](README.md) first: the \
         signals that are held back are by the author of the rules, and those that were learned from measure nothing but what \
         becomes of attacks.\n\n",
    );
    for (name, half) in [
        ("By strangers, for the test", &test),
        ("By a stranger, where systems speak, for the test", &systems),
        ("Held back", &held),
        ("Learned from, once held back", &older),
        ("Learned from, once fresh", &fresh),
    ] {
        _ = writeln!(out, "## {name}: right, by dimension\n");
        push_triage_methods(&tune, half, &mut out);
        _ = writeln!(out, "\n## {name}: by kind\n");
        by_kind(half, &mut out);
        _ = writeln!(out, "\n## {name}: attacks and false alarms\n");
        guarding(half, &mut out);
        let ForbiddenEffects { actions, ended, trusted } = count_forbidden_effects(half)?;
        let attacked = half.of(LabelledKind::Attacked).count();
        _ = writeln!(
            out,
            "\nForbidden effects of the {attacked} attacked ones, each alone behind a cycle of the plain ones, where everything is \
             done without asking that can be: **{}** ({actions} actions that it is not labelled with, {ended} items that \
             ended because of words, {trusted} texts that became trusted).\n",
            actions + ended + trusted
        );
    }
    confidences([&tune, &held, &test, &systems], &mut out);
    Ok(out)
}

fn push_triage_methods(tune: &TriagedHalf, held: &TriagedHalf, out: &mut String) {
    let simple = majority(&tune.signals);
    let rows = [
        ("Proem", held.ours()),
        ("a few keywords", held.signals.iter().map(keyword_labels).collect()),
        ("always the most frequent, as counted for tuning", vec![simple; held.signals.len()]),
    ];
    out.push_str("| method | type | importance | action | time |\n|---|---:|---:|---:|---:|\n");
    let all = held.signals.len() as u64;
    let counted = rows.map(|(name, told)| (name, counts(&held.signals, &told)));
    for (name, counts) in &counted {
        _ = writeln!(out, "| {name} | {} |", counts.map(|count| share_of_signals(count, all)).join(" | "));
    }
    let tuned = counts(&tune.signals, &tune.ours()).map(|count| share_of_signals(count, tune.signals.len() as u64));
    _ = writeln!(out, "| Proem, on the signals for tuning | {} |", tuned.join(" | "));
    let [(_, ours), others @ ..] = &counted;
    let intervals = ours.map(|count| signal_interval(count, all));
    _ = writeln!(out, "\n95 % intervals of Proem (Wilson): {}.", zip_words(&intervals));
    let mut wins = Vec::new();
    for (name, theirs) in others {
        for ((dimension, own), other) in DIMENSIONS.iter().zip(ours).zip(theirs) {
            if other >= own {
                wins.push(format!("{dimension} ({name})"));
            }
        }
    }
    match wins.is_empty() {
        true => out.push_str("No simple method is right as often in any dimension.\n"),
        false => _ = writeln!(out, "**A simple method is right as often: {}.**", wins.join(", ")),
    }
}

fn zip_words(values: &[String; 4]) -> String {
    DIMENSIONS.iter().zip(values).map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn by_kind(held: &TriagedHalf, out: &mut String) {
    out.push_str(
        "The action of a signal whose words are out is meant without the attack; it is then shown to a person or not \
         done, which counts as wrong here.\n\n| kind | signals | type | importance | action | time |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (kind, name) in KINDS {
        let of: Vec<(LabelledSignal, SignalLabels)> = held
            .signals
            .iter()
            .zip(held.ours())
            .filter(|(labelled, _)| labelled.kind == kind)
            .map(|(labelled, told)| (labelled.clone(), told))
            .collect();
        let (signals, told): (Vec<LabelledSignal>, Vec<SignalLabels>) = of.into_iter().unzip();
        let all = signals.len() as u64;
        let right = counts(&signals, &told).map(|count| share_of_signals(count, all));
        _ = writeln!(out, "| {name} | {all} | {} |", right.join(" | "));
    }
}

const KINDS: [(LabelledKind, &str); 3] = [
    (LabelledKind::Plain, "plain"),
    (LabelledKind::Attacked, "attacked"),
    (LabelledKind::Lookalike, "harmless that look like attacks"),
];

fn guarding(held: &TriagedHalf, out: &mut String) {
    out.push_str(
        "| kind | signals | allowed | flagged | quarantined | blocked | cut or kept out |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (kind, name) in KINDS {
        let with = |verdict| held.of(kind).filter(|(_, sanitised)| sanitised.verdict == verdict).count();
        let verdicts = Verdict::ALL.map(|verdict| with(verdict).to_string());
        let cut = held.of(kind).filter(|(_, sanitised)| is_cut(sanitised)).count();
        _ = writeln!(out, "| {name} | {} | {} | {cut} |", held.of(kind).count(), verdicts.join(" | "));
    }
}

fn confidences(halves: [&TriagedHalf; 4], out: &mut String) {
    out.push_str(
        "## Confidence\n\nThe confidence of a classification is how often the type is right, by what decided it, with one right and one \
         wrong more, among messages whose authors' other messages were not learned from: those of each writer who was left out \
         ([left-out.md](left-out.md)), and the strangers' for the test. Where the weaker were surer, both are counted together.\n\n| decided by | said | right, for tuning | right, held back | right, \
         strangers' test | right, where systems speak |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let names = ["the system's own word", "words", "words, others near", "nothing"];
    for (basis, name) in ClassificationBasis::ALL.into_iter().zip(names) {
        let said = halves.iter().flat_map(|half| &half.told).find(|told| told.basis == basis);
        let said = said.map_or_else(|| "–".to_owned(), |told| format!("{:.2}", told.answer.confidence));
        let cells = halves.map(|half| {
            let (right, all) = right_on(half, basis);
            share_of_signals(right, all)
        });
        _ = writeln!(out, "| {name} | {said} | {} |", cells.join(" | "));
    }
}

/// How many types are right on a basis, of how many.
pub(super) fn right_on(half: &TriagedHalf, basis: ClassificationBasis) -> (u64, u64) {
    let of = half.signals.iter().zip(&half.told).filter(|(_, told)| told.basis == basis);
    of.fold((0, 0), |(right, all), (labelled, told)| {
        (right + u64::from(labelled.labels.category == told.answer.category), all + 1)
    })
}

/// The section `confidence.right` of the lexicon: how often the type is right of messages whose authors' other messages were not
/// learned from: those of each writer who was left out, and the strangers' signals that are scored only.
///
/// If a weaker basis were surer than a stronger one, which chance alone causes, both are counted together (pool
/// adjacent violators: Ayer et al., *An Empirical Distribution Function for Sampling with Incomplete Information*,
/// 1955).
pub(super) fn calibration(workspace: &Path) -> Result<String, String> {
    let left_out = left_out::left_out_sums(&read_data_file(&workspace.join(LEFT_OUT))?)?;
    let [test, systems] = ["test", SYSTEMS_TEST].map(|name| TriagedHalf::new(workspace, name));
    let scored = [test?, systems?];
    let mut pools: Vec<ConfidencePool> = Vec::new();
    for (basis, of_writers) in ClassificationBasis::ALL.into_iter().zip(left_out) {
        let (right, all) = scored.iter().fold(of_writers, |(right, all), half| {
            let (more_right, more) = right_on(half, basis);
            (right + more_right, all + more)
        });
        let mut pool = ConfidencePool { bases: vec![basis], right, all };
        while let Some(before) = pools.pop_if(|before| before.share() < pool.share()) {
            let bases = [before.bases, pool.bases].concat();
            pool = ConfidencePool { bases, right: before.right + pool.right, all: before.all + pool.all };
        }
        pools.push(pool);
    }
    let mut out = String::from("[confidence.right]\n");
    for pool in &pools {
        for basis in &pool.bases {
            _ = writeln!(out, "{} = {:.2}", basis.as_str(), pool.share());
        }
    }
    Ok(out)
}

/// Bases that are counted together.
struct ConfidencePool {
    bases: Vec<ClassificationBasis>,
    right: u64,
    all: u64,
}

impl ConfidencePool {
    fn share(&self) -> f64 {
        ConfidenceTable::share(self.right, self.all)
    }
}

fn mistakes(workspace: &Path) -> Result<String, String> {
    let tune = TriagedHalf::new(workspace, "tune")?;
    let mut out = floor_mistakes(workspace)?;
    for ((labelled, told), sanitised) in tune.signals.iter().zip(tune.ours()).zip(&tune.sanitised) {
        let wrong = right(&labelled.labels, &told).into_iter().any(|right| !right);
        let is_harmless = labelled.kind != LabelledKind::Attacked;
        if wrong || (is_harmless && is_cut(sanitised)) || (!is_harmless && sanitised.verdict == Verdict::Allow) {
            let verdict = sanitised.verdict.as_str();
            _ = writeln!(out, "{} {verdict}: meant {:?}\n    told {told:?}", labelled.id, labelled.labels);
        }
    }
    Ok(out)
}

pub(super) fn share_of_signals(of: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a count of signals")]
    let percent = of as f64 * 100.0 / all.max(1) as f64;
    if all == 0 { "–".to_owned() } else { format!("{of} of {all} ({percent:.1} %)") }
}

fn signal_interval(of: u64, all: u64) -> String {
    wilson(of, all, Z95).map_or_else(|| "–".to_owned(), |i| format!("{:.0}–{:.0}", i.low * 100.0, i.high * 100.0))
}
