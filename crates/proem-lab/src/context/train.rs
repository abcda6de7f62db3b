//! `proem-lab train context`: learns how much each signal counts, from clones that are never reported on.

use std::path::PathBuf;

use clap::Args;
use proem_engine::workers::Sequential;
use proem_score::calibrate::Platt;
use proem_select::context::{
    ContextTask, ContextWeights, Corpus, DEFINITION_SIGNAL_NAMES, DEFINITION_SIGNALS, DefinitionLook, FIRST_LATE,
    FilePurpose, FileSignals, SIGNALS, definition_looks, file_signals,
};

use super::ablation;
use super::cases::{Asker, Case, Clone, ShortForm};
use super::definitions::{CaseLook, with_definitions};
use super::fit::{ContextChoice, fit_conditional_logit};

/// Learns the weights of context.
#[derive(Debug, Args)]
pub(crate) struct TrainContext {
    /// A clone to learn from, in a folder that is or is in `OWNER+NAME`. Give it once for each.
    #[arg(long = "clone", value_name = "DIR", required = true)]
    clones: Vec<PathBuf>,
    /// The folder with the records of the clones.
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// How many cases of each clone.
    #[arg(long, value_name = "N", default_value_t = 120)]
    cases: usize,
    /// Among how many of its newest commits.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    window: usize,
    /// The workspace's folder, whose `crates/proem-select/data/context.json` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
    /// Measure besides what each kind of signal is worth, and write `evals/context/ablation.md`.
    #[arg(long)]
    ablation: bool,
}

/// The lessons of one clone.
pub(super) struct Lessons {
    /// `OWNER/NAME`.
    pub(super) clone: String,
    pub(super) cases: Vec<Lesson>,
}

/// A case that is learned from.
pub(super) struct Lesson {
    pub(super) choice: ContextChoice<SIGNALS>,
    /// How many files the case changed. One that was not read is no candidate.
    pub(super) answers: usize,
    /// Whether its task is put in few words.
    pub(super) is_short: bool,
}

/// The most files of a case that are learned from: the best by each signal.
const BEST_BY_EACH: usize = 60;

/// People ask in few words as well: each task is learned from in one of these forms besides.
const SHORT_FORMS: [ShortForm; 4] =
    [ShortForm::Telling(2), ShortForm::NameOfPart, ShortForm::Telling(4), ShortForm::NameAndWord];

/// The signals that may count: the size is there so that its worth can be seen, and what a task never has in a commit's
/// message is set by hand.
pub(super) const BY_HAND: [(usize, f32); 4] = [(19, 4.0), (20, 3.0), (21, 6.0), (22, 1.0)];

pub(crate) fn run_train_context(args: &TrainContext) -> Result<String, String> {
    let shipped = workspace_weights(&args.to)?;
    let learned: Vec<usize> = (0..SIGNALS).filter(|at| BY_HAND.iter().all(|(hand, _)| hand != at)).collect();
    let early: Vec<usize> = learned.iter().copied().filter(|at| *at < FIRST_LATE).collect();
    let lessons = context_lessons(args, &shipped)?;
    let first = with_hand(fit_conditional_logit(&choices_of(&lessons), &early, &[])?);
    let weights = ContextWeights { first: first.clone(), all: first, slope: 1.0, offset: 0.0, ..shipped };
    let lessons = self::context_lessons(args, &weights)?;
    let choices = choices_of(&lessons);
    let all = with_hand(fit_conditional_logit(&choices, &learned, &[])?);
    let weights = ContextWeights { all, ..weights };
    let (slope, offset) = fit_platt_sigmoid(&choices, &weights);
    let weights = ContextWeights { slope, offset, ..weights };
    let within = definitions(args, &weights)?;
    let every: Vec<usize> = (0..DEFINITION_SIGNALS).collect();
    let of_definitions: Vec<&ContextChoice<DEFINITION_SIGNALS>> = within.iter().collect();
    let weights = ContextWeights { definitions: fit_conditional_logit(&of_definitions, &every, &[])?, ..weights };
    write_weights(&args.to, &weights)?;
    if args.ablation {
        let path = args.to.join("evals/context/ablation.md");
        let table = ablation::ablation_table(&lessons, &learned, &weights.all)?;
        std::fs::write(&path, table).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    let names = proem_select::context::SIGNAL_NAMES.iter().zip(weights.first.iter().zip(&weights.all));
    let rows: String = names.map(|(name, (first, all))| format!("{name:30} {first:8.3} {all:8.3}\n")).collect();
    let within_rows = DEFINITION_SIGNAL_NAMES.iter().zip(&weights.definitions);
    let within_rows: String = within_rows.map(|(name, weight)| format!("{name:30} {weight:8.3}\n")).collect();
    let (files, within) = (choices.len(), within.len());
    let line = format!("slope {} offset {}", weights.slope, weights.offset);
    Ok(format!("{files} cases\n{rows}{line}\n{within} cases of definitions\n{within_rows}"))
}

/// The weights of a workspace, as its file has them: this program may have been built before they were learned.
pub(super) fn workspace_weights(workspace: &std::path::Path) -> Result<ContextWeights, String> {
    let path = workspace.join("crates/proem-select/data/context.json");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    ContextWeights::parse(&text).map_err(|error| error.to_string())
}

/// Writes the file that [`workspace_weights`] reads.
pub(super) fn write_weights(workspace: &std::path::Path, weights: &ContextWeights) -> Result<(), String> {
    let path = workspace.join("crates/proem-select/data/context.json");
    let text = serde_json::to_string_pretty(weights).map_err(|error| error.to_string())?;
    std::fs::write(&path, text + "\n").map_err(|error| format!("could not write `{}`: {error}", path.display()))
}

/// The choices of all clones.
pub(super) fn choices_of(lessons: &[Lessons]) -> Vec<&ContextChoice<SIGNALS>> {
    lessons.iter().flat_map(|of| &of.cases).map(|lesson| &lesson.choice).collect()
}

pub(super) fn with_hand(mut weights: Vec<f32>) -> Vec<f32> {
    for (at, weight) in BY_HAND {
        if let Some(slot) = weights.get_mut(at) {
            *slot = weight;
        }
    }
    weights
}

fn context_lessons(args: &TrainContext, weights: &ContextWeights) -> Result<Vec<Lessons>, String> {
    let mut all = Vec::new();
    for folder in &args.clones {
        let mut clone = Clone::open(folder, &args.cache)?;
        let cases = clone.cases(args.window, args.cases)?;
        eprint_line(&format!("{}: {} cases", clone.name, cases.len()));
        let mut lessons = Lessons { clone: clone.name.clone(), cases: Vec::new() };
        for (number, case) in cases.iter().enumerate() {
            let Some(tree) = clone.tree(case)? else { continue };
            // Of every second case it is unknown who asks, so that what is learned holds for newcomers as well.
            let asker = if number % 2 == 0 { Asker::Known } else { Asker::Unknown };
            let corpus = clone.corpus(case, &tree, asker)?;
            lessons.cases.extend(lesson(&corpus.corpus, case, weights, false));
            let form = SHORT_FORMS.get(number % SHORT_FORMS.len()).copied().unwrap_or(ShortForm::NameOfPart);
            let short = form.of(case, &corpus.corpus);
            lessons.cases.extend(short.and_then(|case| lesson(&corpus.corpus, &case, weights, true)));
        }
        if let Some(note) = clone.reader.keep() {
            eprint_line(&note);
        }
        all.push(lessons);
    }
    Ok(all)
}

/// The definitions of the best files of each case, under these weights of files.
fn definitions(
    args: &TrainContext,
    weights: &ContextWeights,
) -> Result<Vec<ContextChoice<DEFINITION_SIGNALS>>, String> {
    let mut choices = Vec::new();
    for folder in &args.clones {
        let mut clone = Clone::open(folder, &args.cache)?;
        let cases = clone.cases(args.window, args.cases)?;
        eprint_line(&format!("{}: definitions of {} cases", clone.name, cases.len()));
        for case in &cases {
            let Some(tree) = clone.tree(case)? else { continue };
            let corpus = clone.corpus(case, &tree, Asker::Known)?;
            let task = ContextTask::new(&case.task);
            let signals = file_signals(&corpus.corpus, &task, weights);
            let look = CaseLook { case, tree: &tree, corpus: &corpus.corpus, signals: &signals, weights };
            let rows = with_definitions(&clone, &look, |sources, wanted| {
                let row = |look: DefinitionLook| (look.signals, wanted.contains(&(look.file, look.symbol)));
                definition_looks(sources, &task, &Sequential).into_iter().map(row).collect::<Vec<_>>()
            })?;
            let rows = rows.filter(|rows| rows.iter().any(|(_, is_right)| *is_right));
            choices.extend(rows.map(|rows| ContextChoice { rows }));
        }
    }
    Ok(choices)
}

/// Says how far it is.
pub(super) fn eprint_line(text: &str) {
    use std::io::Write as _;
    // Nobody may listen.
    _ = writeln!(std::io::stderr(), "{text}");
}

fn lesson(corpus: &Corpus<'_>, case: &Case, weights: &ContextWeights, is_short: bool) -> Option<Lesson> {
    let signals = file_signals(corpus, &ContextTask::new(&case.task), weights);
    let code: Vec<usize> = (0..signals.len())
        .filter(|at| corpus.files.get(*at).is_some_and(|file| file.used_for == FilePurpose::Code))
        .collect();
    let mut chosen = std::collections::BTreeSet::new();
    for signal in 0..SIGNALS {
        let of = |file: usize| signals.get(file).and_then(|row| row.get(signal)).copied().unwrap_or(0.0);
        let mut order: Vec<usize> = code.iter().copied().filter(|file| of(*file) > 0.0).collect();
        order.sort_by(|a, b| of(*b).total_cmp(&of(*a)).then(a.cmp(b)));
        chosen.extend(order.into_iter().take(BEST_BY_EACH));
    }
    let is_right = |file: usize| corpus.files.get(file).is_some_and(|file| case.answers.contains(file.path));
    chosen.extend(code.iter().copied().filter(|file| is_right(*file)));
    let rows: Vec<(FileSignals, bool)> =
        chosen.into_iter().filter_map(|file| Some((*signals.get(file)?, is_right(file)))).collect();
    let is_learned_from = rows.iter().any(|(_, is_right)| *is_right);
    is_learned_from.then_some(Lesson { choice: ContextChoice { rows }, answers: case.answers.len(), is_short })
}

/// Slope and offset of Platt's sigmoid over how far a score is above what its list adds up to.
fn fit_platt_sigmoid(choices: &[&ContextChoice<SIGNALS>], weights: &ContextWeights) -> (f32, f32) {
    let (mut scored, mut labels) = (Vec::new(), Vec::new());
    for choice in choices {
        let score = |signals: &FileSignals| -> f32 { weights.all.iter().zip(signals).map(|(w, s)| w * s).sum() };
        let scores: Vec<f32> = choice.rows.iter().map(|(signals, _)| score(signals)).collect();
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let above = most + libm::logf(scores.iter().map(|score| libm::expf(score - most)).sum::<f32>());
        let rows = choice.rows.iter().zip(&scores);
        for ((_, is_right), score) in rows {
            scored.push(score - above);
            labels.push(*is_right);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "numbers of moderate size")]
    let line = |platt: Platt| (-platt.slope as f32, -platt.offset as f32);
    Platt::fit(&scored, &labels).map_or((1.0, 0.0), line)
}
