//! `proem-lab eval mode`: how often the mode is what the person means, beside the simplest rules.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_agents::assemble::{mode_examples, mode_keywords, phrases};
use proem_embed::StaticModel;
use proem_score::interval::{Z95, wilson};
use proem_select::embedding::{Embedder as _, Vector};
use proem_select::mode::{Hints, Keywords, Mode, ModeBasis, ModeExamples, ModeInference, Phrases, Wording, infer};
use proem_select::select::Selector;
use serde::Deserialize;

use crate::selection::public_sets::read_data_file;

/// Measures the choice of modes.
#[derive(Debug, Args)]
pub(crate) struct EvalMode {
    /// The workspace's folder, whose `evals/mode/scores.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

pub(super) const SCORES: &str = "evals/mode/scores.md";
const TASKS: &str = "evals/mode/tasks";
const LANGUAGES: [&str; 5] = ["en", "pt", "fr", "es", "de"];

pub(crate) fn run_eval_mode(args: &EvalMode) -> Result<String, String> {
    let report = mode_scores(&args.to)?;
    let path = args.to.join(SCORES);
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(report)
}

/// A task with what its writer meant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModeCase {
    task: String,
    language: String,
    /// Whether the person asks for an answer, and nothing is to change.
    question: bool,
    mode: Mode,
}

fn read_mode_cases(path: &Path) -> Result<Vec<ModeCase>, String> {
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("`{}`, line {number}: {error}", path.display()))
    };
    (1..).zip(read_data_file(path)?.lines()).filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

/// The means of telling modes.
struct Teller {
    phrases: &'static Phrases,
    keywords: Keywords,
    selector: Selector,
    examples: ModeExamples,
    least: f32,
}

impl Teller {
    fn new(embedder: &StaticModel<'_>) -> Result<Self, String> {
        let failed = |error: proem_engine::Error| error.to_string();
        let selector = Selector::shipped().map_err(failed)?;
        let sentences = mode_examples().map_err(failed)?;
        let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
        let mut examples = ModeExamples::default();
        for ((mode, _), vector) in sentences.iter().zip(embedder.embed(&texts).map_err(failed)?) {
            vector.into_iter().for_each(|vector| examples.add(*mode, vector));
        }
        let least = selector.calibrations().related.get(embedder.model().as_str()).copied();
        let least = least.ok_or("the built-in model is not calibrated")?;
        Ok(Self { phrases: phrases().map_err(failed)?, keywords: mode_keywords(), selector, examples, least })
    }

    fn infer(&self, task: &str, nearest: Option<&dyn Fn() -> Option<ModeInference>>) -> ModeInference {
        let wording = Wording { phrases: self.phrases, keywords: &self.keywords };
        infer(Some(task), &Hints::default(), &wording, nearest)
    }

    fn vector(&self, task: &str, embedder: &StaticModel<'_>) -> Result<Option<Vector>, String> {
        let query = self.selector.query(task.trim());
        let vectors = self.selector.embed(&query, embedder).map_err(|error| error.to_string())?;
        Ok(vectors.into_iter().next().flatten())
    }

    /// As `proem assemble` tells it without any hint.
    fn tell(&self, task: &str, embedder: &StaticModel<'_>) -> Result<ModeInference, String> {
        let vector = self.vector(task, embedder)?;
        let nearest = || self.examples.nearest(vector.as_ref()?, self.least, ModeExamples::LEAD).ok().flatten();
        Ok(self.infer(task, Some(&nearest)))
    }

    /// The keywords anywhere in the task, and `act` where there are none.
    fn keywords_alone(&self, task: &str) -> Mode {
        let wording = Wording { phrases: &Phrases::default(), keywords: &self.keywords };
        let inferred = infer(Some(task), &Hints::default(), &wording, None);
        if inferred.basis == ModeBasis::Keyword { inferred.mode } else { Mode::Act }
    }
}

/// How one method did.
#[derive(Debug, Clone, Default)]
struct Score {
    all: u64,
    right: u64,
    questions: u64,
    told_to_change: u64,
    /// Meant, then told, in the order of [`Mode::ALL`].
    confusion: [[u64; 3]; 3],
}

impl Score {
    fn new<'c>(told: impl Iterator<Item = (&'c ModeCase, Mode)>) -> Self {
        let mut score = Self::default();
        let place = |mode: Mode| Mode::ALL.iter().position(|other| *other == mode).unwrap_or(0);
        for (case, mode) in told {
            score.all += 1;
            score.right += u64::from(case.mode == mode);
            score.questions += u64::from(case.question);
            score.told_to_change += u64::from(case.question && mode == Mode::Act);
            let row = score.confusion.get_mut(place(case.mode));
            row.and_then(|row| row.get_mut(place(mode))).into_iter().for_each(|count| *count += 1);
        }
        score
    }
}

/// The whole of `scores.md`.
pub(super) fn mode_scores(workspace: &Path) -> Result<String, String> {
    let embedder = StaticModel::built_in().map_err(|error| error.to_string())?;
    let teller = Teller::new(&embedder)?;
    let kept = read_mode_cases(&workspace.join(TASKS).join("kept.jsonl"))?;
    let dev = read_mode_cases(&workspace.join(TASKS).join("dev.jsonl"))?;
    let told =
        |cases: &[ModeCase]| cases.iter().map(|case| teller.tell(&case.task, &embedder)).collect::<Result<Vec<_>, _>>();
    let ours = told(&kept)?;
    let mut out =
        String::from("# Mode: scores\n\nWritten by `cargo lab eval mode`, on the kept tasks only, without hints.\n\n");
    push_mode_methods(&teller, &kept, &ours, &mut out);
    by_language(&kept, &ours, &mut out);
    bases(&kept, &ours, &mut out);
    left_open(&teller, &embedder, &dev, &mut out)?;
    Ok(out)
}

/// Of the kept tasks the share that is told right, and of the kept questions the share that is told
/// to change something.
#[cfg(test)]
pub(super) fn kept_shares(workspace: &Path) -> Result<(f64, f64), String> {
    let embedder = StaticModel::built_in().map_err(|error| error.to_string())?;
    let teller = Teller::new(&embedder)?;
    let kept = read_mode_cases(&workspace.join(TASKS).join("kept.jsonl"))?;
    let told = kept
        .iter()
        .map(|case| Ok((case, teller.tell(&case.task, &embedder)?.mode)))
        .collect::<Result<Vec<_>, String>>()?;
    let score = Score::new(told.into_iter());
    #[expect(clippy::cast_precision_loss, reason = "a count of tasks")]
    let share = |of: u64, all: u64| of as f64 / all as f64;
    Ok((share(score.right, score.all), share(score.told_to_change, score.questions)))
}

fn push_mode_methods(teller: &Teller, kept: &[ModeCase], ours: &[ModeInference], out: &mut String) {
    let mark = |task: &str| if task.contains('?') { Mode::Plan } else { Mode::Act };
    let rows = [
        ("Proem", Score::new(kept.iter().zip(ours).map(|(case, inferred)| (case, inferred.mode)))),
        ("Proem, without meaning", Score::new(kept.iter().map(|case| (case, teller.infer(&case.task, None).mode)))),
        ("keywords alone, else act", Score::new(kept.iter().map(|case| (case, teller.keywords_alone(&case.task))))),
        ("always plan", Score::new(kept.iter().map(|case| (case, Mode::Plan)))),
        ("plan if there is a question mark, else act", Score::new(kept.iter().map(|case| (case, mark(&case.task))))),
    ];
    out.push_str(
        "| method | right | 95 % interval (Wilson) | questions told to change something |\n|---|---:|---:|---:|\n",
    );
    for (name, score) in &rows {
        let right = share_of_tasks(score.right, score.all);
        let told = share_of_tasks(score.told_to_change, score.questions);
        _ = writeln!(out, "| {name} | {right} | {} | {told} |", task_interval(score.right, score.all));
    }
    let [own, _, others @ ..] = &rows;
    let better: Vec<&str> =
        others.iter().filter(|(_, score)| score.right >= own.1.right).map(|(name, _)| *name).collect();
    match better.is_empty() {
        true => out.push_str("\nNo simple rule is right as often.\n"),
        false => _ = writeln!(out, "\n**A simple rule is right as often: {}.**", better.join(", ")),
    }
}

fn by_language(kept: &[ModeCase], ours: &[ModeInference], out: &mut String) {
    out.push_str("\n## By language\n\n| language | tasks | right | questions told to change something | meant plan: plan, review, act | meant review | meant act |\n|---|---:|---:|---:|---|---|---|\n");
    for language in LANGUAGES {
        let of = kept.iter().zip(ours).filter(|(case, _)| case.language == language);
        let score = Score::new(of.map(|(case, inferred)| (case, inferred.mode)));
        let row = |told: [u64; 3]| told.map(|count| count.to_string()).join(", ");
        let [plan, review, act] = score.confusion.map(row);
        let (right, told) =
            (share_of_tasks(score.right, score.all), share_of_tasks(score.told_to_change, score.questions));
        _ = writeln!(out, "| {language} | {} | {right} | {told} | {plan} | {review} | {act} |", score.all);
    }
}

fn bases(kept: &[ModeCase], ours: &[ModeInference], out: &mut String) {
    out.push_str("\n## What decided\n\n| by | tasks | right |\n|---|---:|---:|\n");
    let names = [
        (ModeBasis::Sentence, "what the sentences ask"),
        (ModeBasis::Keyword, "a keyword"),
        (ModeBasis::Meaning, "meaning"),
        (ModeBasis::Default, "nothing, so plan"),
    ];
    for (basis, name) in names {
        let of = kept.iter().zip(ours).filter(|(_, inferred)| inferred.basis == basis);
        let score = Score::new(of.map(|(case, inferred)| (case, inferred.mode)));
        _ = writeln!(out, "| {name} | {} | {} |", score.all, share_of_tasks(score.right, score.all));
    }
}

/// Whether meaning tells more than `plan` of the tasks for developing: of those that nothing else
/// decides, and of all, as if nothing else did.
fn left_open(teller: &Teller, embedder: &StaticModel<'_>, dev: &[ModeCase], out: &mut String) -> Result<(), String> {
    let vectors = dev.iter().map(|case| teller.vector(&case.task, embedder)).collect::<Result<Vec<_>, _>>()?;
    let open: Vec<bool> = dev.iter().map(|case| teller.infer(&case.task, None).basis == ModeBasis::Default).collect();
    let left = open.iter().filter(|open| **open).count();
    _ = writeln!(
        out,
        "\n## What meaning is worth\n\nOf the {} tasks for developing, sentences and keywords leave {left} open. Where meaning decides, by \
         how much nearer the first mode has to be than the second:\n\n| lead | of those left open | right | with `plan` | of all, alone \
         | right | with `plan` |\n|---:|---:|---:|---:|---:|---:|---:|",
        dev.len(),
    );
    for lead in [0.0, ModeExamples::LEAD, 0.1, 0.15] {
        let mut counts = [[0_u64; 3]; 2];
        for ((case, vector), open) in dev.iter().zip(&vectors).zip(&open) {
            let Some(vector) = vector else { continue };
            let nearest = teller.examples.nearest(vector, teller.least, lead).map_err(|error| error.to_string())?;
            let Some(nearest) = nearest else { continue };
            let told = [1, u64::from(nearest.mode == case.mode), u64::from(case.mode == Mode::Plan)];
            let [of_open, of_all] = &mut counts;
            of_all.iter_mut().zip(told).for_each(|(sum, one)| *sum += one);
            of_open.iter_mut().zip(told).for_each(|(sum, one)| *sum += one * u64::from(*open));
        }
        let cells: Vec<String> = counts.iter().flatten().map(u64::to_string).collect();
        _ = writeln!(out, "| {lead:.2} | {} |", cells.join(" | "));
    }
    Ok(())
}

fn share_of_tasks(of: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a count of tasks")]
    let percent = of as f64 * 100.0 / all.max(1) as f64;
    if all == 0 { "–".to_owned() } else { format!("{of} of {all} ({percent:.1} %)") }
}

fn task_interval(of: u64, all: u64) -> String {
    wilson(of, all, Z95).map_or_else(|| "–".to_owned(), |i| format!("{:.1}–{:.1}", i.low * 100.0, i.high * 100.0))
}
