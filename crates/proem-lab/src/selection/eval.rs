//! `proem-lab eval selection`: how well the shipped selection works, beside what else there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use proem_embed::StaticModel;
use proem_score::interval::{Z95, wilson};
use proem_score::measure;
use proem_select::catalogue::Capability;
use proem_select::embedding::Embedder as _;
use proem_select::select::{
    CapabilityUsage, CatalogueIndex, Ranking, Selector, TaskEmbedding, UsageHistory, usage_key,
};

use super::peers::Peers;
use super::project::{self, TaskOutcome, TaskPart};
use super::public_sets::{Dice, SelectionRequest, ToolCatalogue, read_requests};

/// Measures the selection of tools.
#[derive(Debug, Args)]
pub(crate) struct EvalSelection {
    /// Folder with `selection/`.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    data: PathBuf,
    /// The workspace's folder, whose `evals/selection/scores.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
    /// Only list what is wrong with the tasks of one project that may be looked at, and write nothing.
    #[arg(long)]
    wrong: bool,
}

const SCORES: &str = "evals/selection/scores.md";
const TASKS: &str = "evals/selection/tasks";
const METHODS: [&str; 5] = ["BM25", "static vectors", "rank fusion", "Proem, words only", "Proem"];
/// Parts that the tools with training requests are cut into. Each is left out once.
const FOLDS: usize = 5;
const STEMS: usize = 150;

pub(crate) fn run_eval_selection(args: &EvalSelection) -> Result<String, String> {
    let embedder = StaticModel::built_in().map_err(|error| error.to_string())?;
    let selector = Selector::shipped().map_err(|error| error.to_string())?;
    let usage = Selector::shipped_usage().map_err(|error| error.to_string())?;
    let lab = SelectionBench { embedder: &embedder, selector: &selector };
    let of_project = |knowledge| project::outcomes(&lab, &args.to, knowledge);
    if args.wrong {
        let outcomes = of_project(EvalKnowledge::Meaning)?;
        let wrong = outcomes.iter().filter(|outcome| outcome.is_of(TaskPart::Dev) && !outcome.is_right());
        return Ok(wrong.map(TaskOutcome::line).collect::<Vec<_>>().join("\n"));
    }
    let read = |name: &str| ToolCatalogue::read(&args.data.join("selection").join(name));
    let asked = |name: &str| read_requests(&args.data.join("selection").join(name));
    let (meta, seal) = (read("metatool.tools.jsonl")?, read("seal.tools.jsonl")?);
    let (dev, seal_dev) = (asked("metatool.dev.jsonl")?, asked("seal.dev.jsonl")?);
    let training = asked("metatool.train.jsonl")?;
    let own = ToolCatalogue::read(&args.to.join(TASKS).join("catalogue.jsonl"))?;
    let tasks = read_requests(&args.to.join(TASKS).join("tasks.jsonl"))?;
    let none = read_requests(&args.to.join(TASKS).join("none.jsonl"))?;

    let mut rows = vec![
        ("MetaTool dev, unseen requests".to_owned(), lab.measure(&meta, &usage, &dev)?),
        ("MetaTool dev, tools without training requests".to_owned(), lab.unseen(&meta, &training, &dev)?),
        ("Seal-Tools dev, out of domain".to_owned(), lab.measure(&seal, &usage, &seal_dev)?),
        ("Tasks, all languages".to_owned(), lab.measure(&own, &usage, &tasks)?),
    ];
    for language in ["en", "pt", "fr", "es", "de"] {
        let of: Vec<SelectionRequest> = tasks.iter().filter(|task| task.language == language).cloned().collect();
        rows.push((format!("Tasks, {language}"), lab.measure(&own, &usage, &of)?));
    }
    let [of_none, of_tasks] = lab.abstention(&own, &usage, &tasks, &none)?;
    let of_project = project::project_table(&of_project(EvalKnowledge::Words)?, &of_project(EvalKnowledge::Meaning)?);
    let report = selection_report(&rows, &of_none, &of_tasks) + &of_project;
    let path = args.to.join(SCORES);
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(report)
}

pub(super) struct SelectionBench<'a> {
    pub(super) embedder: &'a StaticModel<'a>,
    pub(super) selector: &'a Selector,
}

/// How many requests were answered with nothing.
#[derive(Debug, Clone, Copy)]
struct AbstentionCount {
    abstained: usize,
    /// How many requests there were.
    requests: usize,
}

/// Sums over requests, for each method.
#[derive(Debug, Clone, Default)]
struct MethodSums {
    requests: usize,
    recall: [f64; 5],
    precision: [f64; 5],
    /// The first entry's probability and whether it serves, by the last method.
    first: Vec<(f32, bool)>,
}

impl MethodSums {
    fn add(&mut self, orders: &[Vec<usize>], wanted: &BTreeSet<usize>, first: f32) {
        self.requests = self.requests.saturating_add(1);
        for ((order, recall), precision) in orders.iter().zip(&mut self.recall).zip(&mut self.precision) {
            let hits: Vec<bool> = order.iter().take(5).map(|entry| wanted.contains(entry)).collect();
            *recall += measure::recall_at(&hits, wanted.len(), 5).unwrap_or(0.0);
            *precision += measure::precision_at(&hits, 3).unwrap_or(0.0);
        }
        let serves = orders.last().and_then(|order| order.first()).is_some_and(|entry| wanted.contains(entry));
        self.first.push((first, serves));
    }

    fn join(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.recall.iter_mut().zip(other.recall).for_each(|(sum, more)| *sum += more);
        self.precision.iter_mut().zip(other.precision).for_each(|(sum, more)| *sum += more);
        self.first.extend(other.first);
    }
}

impl SelectionBench<'_> {
    fn measure(
        &self,
        tools: &ToolCatalogue,
        usage: &UsageHistory,
        asked: &[SelectionRequest],
    ) -> Result<MethodSums, String> {
        let entries = tools.entries();
        let peers = Peers::new(entries, self.embedder)?;
        let index = self.index(entries, usage)?;
        let mut sums = MethodSums::default();
        for request in asked {
            let wanted = tools.wanted(request)?;
            let [lexical, semantic, fused] = peers.orders(&request.query)?;
            let words = self.rank(entries, &index, &request.query, EvalKnowledge::Words)?;
            let ranking = self.rank(entries, &index, &request.query, EvalKnowledge::Meaning)?;
            let order = |ranking: &Ranking| ranking.ranked.iter().map(|ranked| ranked.entry).collect::<Vec<_>>();
            let first = ranking.ranked.first().map_or(0.0, |first| first.probability);
            sums.add(&[lexical, semantic, fused, order(&words), order(&ranking)], &wanted, first);
        }
        Ok(sums)
    }

    /// Each fifth of the tools loses its training requests once, and its dev requests are ranked.
    fn unseen(
        &self,
        tools: &ToolCatalogue,
        training: &[SelectionRequest],
        dev: &[SelectionRequest],
    ) -> Result<MethodSums, String> {
        let served = |request: &SelectionRequest| tools.wanted(request).map(|wanted| wanted.first().copied());
        let known: BTreeSet<usize> =
            training.iter().map(served).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let mut known: Vec<usize> = known.into_iter().collect();
        Dice(99).shuffle(&mut known);
        let mut all = MethodSums::default();
        for fold in 0..FOLDS {
            let out: BTreeSet<usize> = known.iter().copied().skip(fold).step_by(FOLDS).collect();
            let mut used: BTreeMap<usize, CapabilityUsage> = BTreeMap::new();
            for request in training {
                let Some(tool) = served(request)?.filter(|tool| !out.contains(tool)) else { continue };
                let query = self.selector.query(&request.query);
                let vectors = self.selector.embed(&query, self.embedder).map_err(|error| error.to_string())?;
                used.entry(tool).or_default().add(&query, vectors.first().and_then(Option::as_ref));
            }
            let mut usage = UsageHistory::default();
            for (tool, mut used) in used {
                used.keep(STEMS, self.selector.words());
                tools.entries().get(tool).into_iter().for_each(|entry| usage.add(usage_key(entry), &used));
            }
            let asked: Vec<SelectionRequest> = dev
                .iter()
                .filter(|request| matches!(served(request), Ok(Some(tool)) if out.contains(&tool)))
                .cloned()
                .collect();
            all.join(self.measure(tools, &usage, &asked)?);
        }
        Ok(all)
    }

    /// Of the requests that nothing serves, and then of the others.
    fn abstention(
        &self,
        tools: &ToolCatalogue,
        usage: &UsageHistory,
        tasks: &[SelectionRequest],
        none: &[SelectionRequest],
    ) -> Result<[AbstentionCount; 2], String> {
        let index = self.index(tools.entries(), usage)?;
        let count = |asked: &[SelectionRequest]| -> Result<AbstentionCount, String> {
            let mut abstained = 0_usize;
            for request in asked {
                let ranking = self.rank(tools.entries(), &index, &request.query, EvalKnowledge::Meaning)?;
                abstained = abstained.saturating_add(usize::from(ranking.abstained()));
            }
            Ok(AbstentionCount { abstained, requests: asked.len() })
        };
        Ok([count(none)?, count(tasks)?])
    }

    pub(super) fn index(&self, entries: &[Capability], usage: &UsageHistory) -> Result<CatalogueIndex, String> {
        let mut index = CatalogueIndex::new(entries, usage, self.selector);
        index.embed(entries, self.embedder, None).map_err(|error| error.to_string())?;
        Ok(index)
    }

    pub(super) fn rank(
        &self,
        entries: &[Capability],
        index: &CatalogueIndex,
        request: &str,
        knows: EvalKnowledge,
    ) -> Result<Ranking, String> {
        let query = self.selector.query(request);
        let vectors = self.selector.embed(&query, self.embedder).map_err(|error| error.to_string())?;
        let meant = TaskEmbedding { model: self.embedder.model(), vectors: &vectors, pieces: self.embedder.pieces() };
        let meant = (knows == EvalKnowledge::Meaning).then_some(&meant);
        self.selector.rank(entries, index, &query, meant).map_err(|error| error.to_string())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalKnowledge {
    Words,
    Meaning,
}

fn selection_report(rows: &[(String, MethodSums)], none: &AbstentionCount, tasks: &AbstentionCount) -> String {
    let mut out = String::from(
        "# Selection: scores\n\nWritten by `cargo lab eval selection`. In percent; the means of all requests.\n\n",
    );
    for (title, pick) in [("Recall at 5", 0), ("Precision at 3", 1)] {
        _ = write!(out, "## {title}\n\n| set | requests | {} |\n|---|---:|", METHODS.join(" | "));
        out.push_str(&"---:|".repeat(METHODS.len()));
        out.push('\n');
        for (name, sums) in rows {
            let values = if pick == 0 { &sums.recall } else { &sums.precision };
            let cells: Vec<String> = values.iter().map(|value| percent_of_requests(*value, sums.requests)).collect();
            _ = writeln!(out, "| {name} | {} | {} |", sums.requests, cells.join(" | "));
        }
        out.push('\n');
    }
    out.push_str("## Abstention\n\n| requests | abstained | share | 95 % interval (Wilson) |\n|---|---:|---:|---:|\n");
    for (name, AbstentionCount { abstained, requests }) in
        [("that nothing serves (wanted: all)", none), ("that something serves (wanted: none)", tasks)]
    {
        let interval = wilson(*abstained as u64, *requests as u64, Z95);
        let interval = interval.map_or(String::from("–"), |i| format!("{:.1}–{:.1}", i.low * 100.0, i.high * 100.0));
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let share = percent_of_requests(*abstained as f64, *requests);
        _ = writeln!(out, "| {name} | {abstained} of {requests} | {share} | {interval} |");
    }
    out.push_str("\n## The first entry's probability\n\n| set | Brier score | expected calibration error (10 bins) |\n|---|---:|---:|\n");
    for (name, sums) in rows.iter().take(4) {
        let (probabilities, serves): (Vec<f32>, Vec<bool>) = sums.first.iter().copied().unzip();
        let brier = measure::brier(&probabilities, &serves).map_or("–".into(), |value| format!("{value:.3}"));
        let error = measure::expected_calibration_error(&probabilities, &serves, 10)
            .map_or("–".into(), |value| format!("{value:.3}"));
        _ = writeln!(out, "| {name} | {brier} | {error} |");
    }
    out
}

fn percent_of_requests(sum: f64, of: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let mean = sum / of.max(1) as f64;
    format!("{:.1}", mean * 100.0)
}
