//! `proem-lab eval context`: how often the files and functions that a task turned out to be about are among those named.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_engine::workers::Sequential;
use proem_select::context::{
    ContextTask, ContextWeights, Corpus, FilePurpose, FileSignals, file_signals, rank_definitions,
};
use serde::Deserialize;

use super::cases::{Asker, Case, Clone, ShortForm};
use super::definitions::{CaseLook, weighted_score, with_definitions};
use super::held_back::{HeldBackTables, is_held_back};
use super::peers::page_rank;
use super::train::{eprint_line, workspace_weights};

/// Measures the ranking of files on clones that nobody tuned on.
#[derive(Debug, Args)]
pub(crate) struct EvalContext {
    /// A clone, in a folder that is or is in `OWNER+NAME`. Give it once for each.
    #[arg(long = "clone", value_name = "DIR", required = true)]
    clones: Vec<PathBuf>,
    /// A clone of software for everyday life, for the table of tasks about no code alone. Give it once for each.
    #[arg(long, value_name = "DIR")]
    business: Vec<PathBuf>,
    /// A clone of clinc/oos-eval: what people ask an assistant for.
    #[arg(long, value_name = "DIR")]
    pub(super) clinc: PathBuf,
    /// The folder with the records of the clones.
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// How many cases of each clone.
    #[arg(long, value_name = "N", default_value_t = 110)]
    cases: usize,
    /// Among how many of its newest commits.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    window: usize,
    /// The workspace's folder, whose `evals/context/scores.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) to: PathBuf,
    /// Print the table, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The ways to rank, as the table calls them.
const WAYS: [&str; 5] = ["Proem", "BM25 with path words", "the same without tests", "counts of its words", "PageRank"];

/// How many definitions are named.
const DEFINITIONS: usize = 10;

/// How often the answers were among the first ten, and the first.
#[derive(Debug, Clone, Copy, Default)]
struct Recall {
    cases: usize,
    ten: f64,
    one: f64,
}

impl Recall {
    fn add(&mut self, order: &[&str], answers: &BTreeSet<String>) {
        let among = |most: usize| order.iter().take(most).filter(|path| answers.contains(**path)).count();
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let share = |found: usize, of: usize| found as f64 / of.max(1) as f64;
        self.cases += 1;
        self.ten += share(among(10), answers.len());
        self.one += share(among(1), 1);
    }

    #[expect(clippy::cast_precision_loss, reason = "a few thousand cases")]
    fn percent(self) -> (f64, f64) {
        let cases = self.cases.max(1) as f64;
        (100.0 * self.ten / cases, 100.0 * self.one / cases)
    }
}

/// The measurements of one clone.
#[derive(Debug, Default)]
struct Measured {
    ways: [Recall; WAYS.len()],
    /// Cases that changed a function, and those where one was named.
    functions: (usize, usize),
    files: usize,
    /// The sum of what the first file was given, and how often it was right.
    first: (f64, usize),
    /// Proem where it is not known who asks.
    stranger: Recall,
}

/// The measurements, by clone.
#[derive(Debug, Default)]
struct Tables {
    rows: Vec<(String, Measured)>,
    vague: Vec<(String, Measured)>,
    /// By the forms in [`SHORT`].
    short: [Vec<(String, Measured)>; SHORT.len()],
    /// Vague tasks whose commits are no cases.
    left_out: usize,
    held_back: HeldBackTables,
    /// Clones of software for everyday life.
    business: Vec<String>,
}

/// Short tasks, with what the report calls them.
const SHORT: [(&str, ShortForm); 3] = [
    ("The name of the first source that was changed, in words, and one word of the subject", ShortForm::NameAndWord),
    ("That name alone", ShortForm::NameOfPart),
    ("The two words of the subject that the fewest files have", ShortForm::Telling(2)),
];

/// The cases in few words.
fn shorten_cases(clone: &mut Clone, cases: &[Case], form: ShortForm) -> Result<Vec<Case>, String> {
    let mut short = Vec::new();
    for case in cases {
        let Some(tree) = clone.tree(case)? else { continue };
        let corpus = clone.corpus(case, &tree, Asker::Unknown)?;
        short.extend(form.of(case, &corpus.corpus));
    }
    Ok(short)
}

#[derive(Debug, Deserialize)]
struct VagueTask {
    repo: String,
    commit: String,
    task: String,
}

pub(crate) fn run_eval_context(args: &EvalContext) -> Result<String, String> {
    let weights = workspace_weights(&args.to)?;
    let vague = vague_tasks(&args.to)?;
    let mut tables = Tables::default();
    for folder in &args.clones {
        let mut clone = Clone::open(folder, &args.cache)?;
        let cases = clone.cases(args.window, args.cases)?;
        eprint_line(&format!("{}: {} cases", clone.name, cases.len()));
        tables.rows.push((clone.name.clone(), measure_clone(&mut clone, &cases, &weights)?));
        tables.held_back.add_written(&mut clone, &cases, &weights, args)?;
        tables.held_back.add("about code, as they were put", &mut clone, &cases, &weights)?;
        for (form, table) in SHORT.into_iter().zip(&mut tables.short) {
            let short = shorten_cases(&mut clone, &cases, form.1)?;
            tables.held_back.add("about code, in few words", &mut clone, &short, &weights)?;
            table.push((clone.name.clone(), measure_clone(&mut clone, &short, &weights)?));
        }
        let mut others = Vec::new();
        for task in vague.iter().filter(|task| task.repo == clone.name) {
            match clone.case_of(&task.commit, &task.task)? {
                Some(case) => others.push(case),
                None => tables.left_out += 1,
            }
        }
        tables.held_back.add("about code, vague", &mut clone, &others, &weights)?;
        tables.vague.push((clone.name.clone(), measure_clone(&mut clone, &others, &weights)?));
        if let Some(note) = clone.reader.keep() {
            eprint_line(&note);
        }
    }
    for folder in &args.business {
        let mut clone = Clone::open(folder, &args.cache)?;
        let cases = clone.cases(args.window, args.cases)?;
        eprint_line(&format!("{}: {} cases", clone.name, cases.len()));
        tables.held_back.add("about software for everyday life, as they were put", &mut clone, &cases, &weights)?;
        for (_, form) in SHORT {
            let short = shorten_cases(&mut clone, &cases, form)?;
            tables.held_back.add("about software for everyday life, in few words", &mut clone, &short, &weights)?;
        }
        tables.business.push(clone.name.clone());
        if let Some(note) = clone.reader.keep() {
            eprint_line(&note);
        }
    }
    let report = context_report(&tables, args)?;
    if !args.dry_run {
        let path = args.to.join("evals/context/scores.md");
        std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(report)
}

fn vague_tasks(workspace: &Path) -> Result<Vec<VagueTask>, String> {
    let path = workspace.join("evals/context/vague.jsonl");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"))).collect()
}

fn measure_clone(clone: &mut Clone, cases: &[Case], weights: &ContextWeights) -> Result<Measured, String> {
    let mut measured = Measured::default();
    for case in cases {
        let Some(tree) = clone.tree(case)? else { continue };
        let corpus = clone.corpus(case, &tree, Asker::Known)?;
        let task = ContextTask::new(&case.task);
        let signals = file_signals(&corpus.corpus, &task, weights);
        measure_case(&mut measured, &corpus.corpus, &signals, case, weights);
        let is_held = is_held_back(&corpus.corpus, &task, weights);
        let order = if is_held { Vec::new() } else { rank_sources(&corpus.corpus, &signals, weights) };
        measured.ways[0].add(&order, &case.answers);
        let stranger = clone.corpus(case, &tree, Asker::Unknown)?;
        let is_held = is_held_back(&stranger.corpus, &task, weights);
        let order = if is_held { Vec::new() } else { by_proem(&stranger.corpus, &task, weights) };
        measured.stranger.add(&order, &case.answers);
        let grep = by_score(&corpus.corpus, &[FilePurpose::Code, FilePurpose::Test], |place| {
            let record = corpus.corpus.files.get(place).and_then(|file| file.record);
            let words = task.terms.iter().filter_map(|query| record?.count(query.term));
            f64::from(words.map(|count| u32::from(count.code) + u32::from(count.prose)).sum::<u32>())
        });
        measured.ways[3].add(&grep, &case.answers);
        let ranks = page_rank(&corpus.corpus, &task);
        let ranks = by_score(&corpus.corpus, &[FilePurpose::Code, FilePurpose::Test], |place| {
            ranks.get(place).copied().unwrap_or(0.0)
        });
        measured.ways[4].add(&ranks, &case.answers);
        let look = CaseLook { case, tree: &tree, corpus: &corpus.corpus, signals: &signals, weights };
        functions(&mut measured, clone, &look)?;
    }
    Ok(measured)
}

/// The paths of the sources, likeliest first, as Proem ranks them.
pub(super) fn by_proem<'c>(corpus: &Corpus<'c>, task: &ContextTask, weights: &ContextWeights) -> Vec<&'c str> {
    rank_sources(corpus, &file_signals(corpus, task, weights), weights)
}

/// The paths of the sources, best first by their signals.
fn rank_sources<'c>(corpus: &Corpus<'c>, signals: &[FileSignals], weights: &ContextWeights) -> Vec<&'c str> {
    by_score(corpus, &[FilePurpose::Code], |place| {
        signals.get(place).map_or(0.0, |signals| weighted_score(&weights.all, signals))
    })
}

/// The paths of the files that count, best first.
pub(super) fn by_score<'c>(corpus: &Corpus<'c>, uses: &[FilePurpose], score: impl Fn(usize) -> f64) -> Vec<&'c str> {
    let mut order: Vec<(usize, f64)> = corpus
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| uses.contains(&file.used_for))
        .map(|(place, _)| (place, score(place)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().filter_map(|(place, _)| corpus.files.get(place).map(|file| file.path)).collect()
}

/// Proem's verdict on its first file, and BM25's.
fn measure_case(
    measured: &mut Measured,
    corpus: &Corpus<'_>,
    signals: &[FileSignals],
    case: &Case,
    weights: &ContextWeights,
) {
    let of = |place: usize, weights: &[f32]| signals.get(place).map_or(0.0, |signals| weighted_score(weights, signals));
    let code = [FilePurpose::Code];
    let order = rank_sources(corpus, signals, weights);
    measured.files = corpus.files.iter().filter(|file| file.used_for == FilePurpose::Code).count();
    let scores: Vec<f64> = (0..signals.len())
        .filter(|place| corpus.files.get(*place).is_some_and(|file| file.used_for == FilePurpose::Code))
        .map(|place| of(place, &weights.all))
        .collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let above = -scores.iter().map(|score| libm::exp(score - most)).sum::<f64>().ln();
    measured.first.0 += 1.0 / (1.0 + libm::exp(-(f64::from(weights.slope) * above + f64::from(weights.offset))));
    measured.first.1 += usize::from(order.first().is_some_and(|path| case.answers.contains(*path)));
    let words =
        |place: usize| signals.get(place).and_then(|signals| signals.first()).map_or(0.0, |value| f64::from(*value));
    measured.ways[1].add(&by_score(corpus, &[FilePurpose::Code, FilePurpose::Test], words), &case.answers);
    measured.ways[2].add(&by_score(corpus, &code, words), &case.answers);
}

/// Whether a function that the case changed is among the ten that are named.
fn functions(measured: &mut Measured, clone: &Clone, look: &CaseLook<'_>) -> Result<(), String> {
    let named = with_definitions(clone, look, |sources, wanted| {
        let named =
            rank_definitions(sources, &ContextTask::new(&look.case.task), look.weights, DEFINITIONS, &Sequential);
        named.iter().any(|named| wanted.contains(&(named.file, named.symbol)))
    })?;
    if let Some(named) = named {
        measured.functions.0 += 1;
        measured.functions.1 += usize::from(named);
    }
    Ok(())
}

fn context_report(tables: &Tables, args: &EvalContext) -> Result<String, String> {
    let Tables { rows, vague, short, left_out, held_back, business } = tables;
    let mut out = String::new();
    let mut line = |text: &str| writeln!(out, "{text}").map_err(|error| error.to_string());
    line("# Context: which files a task is about\n")?;
    line(
        "Written by `cargo lab eval context`; what it measures, and on what, says the [data card](README.md). Recall of \
         the changed sources among the first ten in per cent, and in brackets how often the first file was one of them.\n",
    )?;
    let head = WAYS.iter().map(|way| format!(" {way} |")).collect::<String>();
    line(&format!("| repository | sources | cases |{head} a changed function among {DEFINITIONS} |"))?;
    line(&format!("|---|---:|---:|{}---:|", "---:|".repeat(WAYS.len())))?;
    push_context_rows(rows, &mut line)?;
    line("\n## Vague tasks\n")?;
    line(&format!(
        "Written from subject and message alone, without a look at the change; {left_out} are left out because their \
         commits are no cases.\n"
    ))?;
    line(&format!("| repository | sources | cases |{head} a changed function among {DEFINITIONS} |"))?;
    line(&format!("|---|---:|---:|{}---:|", "---:|".repeat(WAYS.len())))?;
    push_context_rows(vague, &mut line)?;
    line("\n## Short tasks\n")?;
    line("The cases above in few words, means over the repositories.\n")?;
    line(&format!("| task |{head} a changed function among {DEFINITIONS} |"))?;
    line(&format!("|---|{}---:|", "---:|".repeat(WAYS.len())))?;
    for ((name, _), rows) in SHORT.into_iter().zip(short) {
        line(&format!("| {name} |{}", means(rows)))?;
    }
    line("\n## Who asks\n")?;
    line("In the tables above it is known who asks: whoever made the change. Where it isn't, as for a newcomer:\n")?;
    line("| tasks | Proem, unknown who asks | known |")?;
    line("|---|---:|---:|")?;
    for (name, rows) in [("as they were put", rows), ("vague", vague)] {
        let (unknown, known) =
            (mean_recall(rows, |measured| measured.stranger), mean_recall(rows, |measured| measured.ways[0]));
        line(&format!("| {name} |{}{}", recall_cell(unknown), recall_cell(known)))?;
    }
    for ((name, _), rows) in SHORT.into_iter().zip(short) {
        let (unknown, known) =
            (mean_recall(rows, |measured| measured.stranger), mean_recall(rows, |measured| measured.ways[0]));
        line(&format!("| {name} |{}{}", recall_cell(unknown), recall_cell(known)))?;
    }
    line("\n## Tasks about no code\n")?;
    line(&format!(
        "Where a task is held to be about no code, nothing is listed; in the tables above nothing is found then. The rule \
         beside it: a task of three words or more that names nothing, of which no source has two. Software for everyday \
         life: {}.\n",
        business.join(", ")
    ))?;
    for row in held_back.lines() {
        line(&row)?;
    }
    line("\n## Probability\n")?;
    let cases: usize = rows.iter().map(|(_, measured)| measured.ways[0].cases).sum();
    let (said, right) = rows.iter().fold((0.0, 0), |(said, right), (_, m)| (said + m.first.0, right + m.first.1));
    #[expect(clippy::cast_precision_loss, reason = "a few thousand cases")]
    let (said, right) = (100.0 * said / cases.max(1) as f64, 100.0 * right as f64 / cases.max(1) as f64);
    line(&format!("The first file was given {said:.1} % on average, and was right in {right:.1} % of {cases} cases."))?;
    line(&format!("\nCases: at most {} of the newest {} commits of each clone.", args.cases, args.window))?;
    Ok(out)
}

fn push_context_rows(
    rows: &[(String, Measured)],
    line: &mut impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    for (name, measured) in rows {
        let cells: String = measured.ways.iter().map(|recall| recall_cell(recall.percent())).collect();
        let cases = measured.ways[0].cases;
        line(&format!("| {name} | {} | {cases} |{cells} {} |", measured.files, named_share(measured.functions)))?;
    }
    line(&format!("| mean | | |{}", means(rows)))
}

/// The means of a table, as the end of a line.
fn means(rows: &[(String, Measured)]) -> String {
    let cells: String = (0..WAYS.len())
        .map(|way| recall_cell(mean_recall(rows, |measured| measured.ways.get(way).copied().unwrap_or_default())))
        .collect();
    let functions = rows.iter().fold((0, 0), |sum, (_, m)| (sum.0 + m.functions.0, sum.1 + m.functions.1));
    format!("{cells} {} |", named_share(functions))
}

fn recall_cell((ten, one): (f64, f64)) -> String {
    format!(" {ten:.1} ({one:.1}) |")
}

fn named_share((of, named): (usize, usize)) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand cases")]
    let percent = 100.0 * named as f64 / of.max(1) as f64;
    format!("{percent:.1} % of {of}")
}

fn mean_recall(rows: &[(String, Measured)], of: impl Fn(&Measured) -> Recall) -> (f64, f64) {
    let with: Vec<(f64, f64)> =
        rows.iter().map(|(_, measured)| of(measured)).filter(|recall| recall.cases > 0).map(Recall::percent).collect();
    #[expect(clippy::cast_precision_loss, reason = "a dozen clones")]
    let count = with.len().max(1) as f64;
    (with.iter().map(|(ten, _)| ten).sum::<f64>() / count, with.iter().map(|(_, one)| one).sum::<f64>() / count)
}
