//! How often a task is held to be about no code, rightly and wrongly, beside a rule that anybody could write.

use proem_select::context::words::WordForm;
use proem_select::context::{ContextTask, ContextWeights, Corpus, FilePurpose, signals_of_task};

use super::assistant::AssistantRequests;
use super::cases::{Asker, Case, Clone};
use super::eval::{EvalContext, by_proem};
use super::written_tasks::{TaskPart, everyday, foreign};

/// The effect of holding back on tasks of one kind, by Proem and by the rule.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeldBack {
    tasks: usize,
    /// Shares of what the tasks are about that are among the first ten, added up.
    found: f64,
    ways: [HeldBackBy; WAYS],
}

/// By Proem. By Proem, or doubtful to it. By the rule.
const WAYS: usize = 3;

#[derive(Debug, Clone, Copy, Default)]
struct HeldBackBy {
    tasks: usize,
    found: f64,
}

impl HeldBack {
    fn add(&mut self, held: [bool; WAYS], found: f64) {
        self.tasks += 1;
        self.found += found;
        for (way, _) in self.ways.iter_mut().zip(held).filter(|(_, is_held)| *is_held) {
            way.tasks += 1;
            way.found += found;
        }
    }

    /// Its row of the table.
    fn row(&self, name: &str) -> String {
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let of_tasks = |way: &HeldBackBy| format!(" {:.1} % |", 100.0 * way.tasks as f64 / self.tasks.max(1) as f64);
        let lost = |way: &HeldBackBy| {
            let lost = format!(" {:.2} % |", 100.0 * way.found / self.found);
            if self.found > 0.0 { lost } else { " |".to_owned() }
        };
        let cells: String = self.ways.iter().map(|way| of_tasks(way) + &lost(way)).collect();
        format!("| {name} | {} |{cells}", self.tasks)
    }
}

/// Whether Proem holds a task to be about no code.
pub(super) fn is_held_back(corpus: &Corpus<'_>, task: &ContextTask, weights: &ContextWeights) -> bool {
    let signals = signals_of_task(corpus, task, weights);
    signals.is_some_and(|signals| weights.abstention.probability(&signals) < weights.abstention.least)
}

/// Each way's result for a task.
fn by_each(corpus: &Corpus<'_>, task: &ContextTask, weights: &ContextWeights) -> [bool; WAYS] {
    let Some(signals) = signals_of_task(corpus, task, weights) else { return [false; WAYS] };
    let abstention = &weights.abstention;
    let about_code = abstention.probability(&signals);
    let is_held = about_code < abstention.least;
    [is_held, is_held || abstention.is_doubtful(about_code, corpus.files.len()), is_ruled_out(corpus, task)]
}

/// The rule: a task of three words or more that names nothing, of which no source has two.
fn is_ruled_out(corpus: &Corpus<'_>, task: &ContextTask) -> bool {
    let words: Vec<_> =
        task.terms.iter().filter(|query| query.form == WordForm::Part).map(|query| query.term).collect();
    let with =
        |record: &proem_select::context::FileRecord| words.iter().filter(|word| record.count(**word).is_some()).count();
    let sources = corpus.files.iter().filter(|file| file.used_for == FilePurpose::Code);
    let most = sources.filter_map(|file| file.record).map(with).max().unwrap_or(0);
    words.len() >= 3 && most < 2
}

/// The report on tasks that are held to be about no code.
#[derive(Debug, Default)]
pub(super) struct HeldBackTables {
    everyday: HeldBack,
    asked: HeldBack,
    foreign: HeldBack,
    /// By the names of the kinds.
    kinds: Vec<(&'static str, HeldBack)>,
}

impl HeldBackTables {
    /// Measures the tasks that have answers.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        clone: &mut Clone,
        cases: &[Case],
        weights: &ContextWeights,
    ) -> Result<(), String> {
        let held = measure_held_back(clone, cases, weights)?;
        match self.kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.join(&held),
            None => self.kinds.push((name, held)),
        }
        Ok(())
    }

    /// Measures tasks of everyday life in the tree before one of the cases, and tasks in other languages.
    pub(super) fn add_written(
        &mut self,
        clone: &mut Clone,
        cases: &[Case],
        weights: &ContextWeights,
        args: &EvalContext,
    ) -> Result<(), String> {
        let mut others = Vec::new();
        for task in foreign(&args.to, TaskPart::Test)?.iter().filter(|task| task.repo == clone.name) {
            others.extend(clone.case_of(&task.commit, &task.task)?);
        }
        self.foreign.join(&measure_held_back(clone, &others, weights)?);
        let Some(case) = cases.first() else { return Ok(()) };
        let Some(tree) = clone.tree(case)? else { return Ok(()) };
        let corpus = clone.corpus(case, &tree, Asker::Known)?;
        let add = |texts: Vec<String>, kind: &mut HeldBack| {
            for text in texts {
                kind.add(by_each(&corpus.corpus, &ContextTask::new(&text), weights), 0.0);
            }
        };
        add(everyday(&args.to, TaskPart::Test)?, &mut self.everyday);
        add(AssistantRequests::read(&args.clinc)?.reported(), &mut self.asked);
        Ok(())
    }

    /// The lines of the table.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "| tasks | | held back by Proem | of what is found | that, or the path alone | of what is found | held back by \
             the rule | of what is found |"
                .to_owned(),
            "|---|---:|---:|---:|---:|---:|---:|---:|".to_owned(),
            self.everyday.row("of everyday life"),
            self.asked.row("asked of an assistant (CLINC150)"),
            self.foreign.row("about code, in other languages"),
        ];
        lines.extend(self.kinds.iter().map(|(name, held)| held.row(name)));
        lines
    }
}

impl HeldBack {
    fn join(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.found += other.found;
        for (way, other) in self.ways.iter_mut().zip(other.ways) {
            way.tasks += other.tasks;
            way.found += other.found;
        }
    }
}

fn measure_held_back(clone: &mut Clone, cases: &[Case], weights: &ContextWeights) -> Result<HeldBack, String> {
    let mut held = HeldBack::default();
    for case in cases {
        let Some(tree) = clone.tree(case)? else { continue };
        let corpus = clone.corpus(case, &tree, Asker::Known)?;
        let task = ContextTask::new(&case.task);
        let order = by_proem(&corpus.corpus, &task, weights);
        let found = order.iter().take(10).filter(|path| case.answers.contains(**path)).count();
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let found = found as f64 / case.answers.len().max(1) as f64;
        held.add(by_each(&corpus.corpus, &task, weights), found);
    }
    Ok(held)
}
