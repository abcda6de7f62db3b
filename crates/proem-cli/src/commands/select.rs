//! `proem select`: the likeliest tools and skills for one task or for many.
//!
//! Queries are a stream: one is read, answered and forgotten. A line that is no query is named and
//! passed over, and the exit code says so in the end.

pub(super) mod answer;

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_select::select::MAX_BYTES;
use proem_text::json;
use serde_json::json;

use self::answer::RankingOutput;
use crate::failure::CommandFailure;
use crate::ui::{self, CountLine, Printed, group_thousands};
use proem_app::select::lines::{self, QueryLine, QueryLines, RankedQuery};
use proem_app::select::{QueryRanking, Ranker, SelectOptions};

pub(crate) const SELECT_EXAMPLES: &str = "\
Examples:
  proem select \"open a pull request\"
  proem select \"abre um chamado\" --catalogue tools.jsonl --top 3
  proem select --catalogue tools.jsonl --queries tasks.jsonl --json > ranked.jsonl
  tail -f tasks.jsonl | proem select --queries - --usage used.jsonl --json";

#[derive(Debug, Parser)]
pub(crate) struct Select {
    /// The task
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) query: Option<String>,
    /// Rank for every task of a file, one on each line as `{"query": …}`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// JSON lines, or a saved answer to `tools/list`, instead of the project's catalogue
    #[arg(long, value_name = "FILE")]
    pub(crate) catalogue: Option<PathBuf>,
    /// A folder in the project whose catalogue is used
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "catalogue")]
    pub(crate) root: PathBuf,
    /// How many to list, the likeliest first
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) top: u16,
    /// A file with what earlier tasks used, as lines `{"query": …, "tools": […]}`
    #[arg(long, value_name = "FILE")]
    pub(crate) usage: Option<PathBuf>,
    /// Rank by shared words only
    #[arg(long)]
    pub(crate) no_embedding: bool,
    /// Print one line of JSON for each task
    #[arg(long)]
    pub(crate) json: bool,
}

impl Select {
    /// The entries to rank, and the means.
    pub(crate) fn options(&self) -> SelectOptions {
        SelectOptions {
            catalogue: self.catalogue.clone(),
            root: self.root.clone(),
            usage: self.usage.clone(),
            words_only: self.no_embedding.then(|| "`--no-embedding`: ranked by shared words".to_owned()),
        }
    }
}

pub(super) fn run_select(args: &Select) -> Result<ExitCode, CommandFailure> {
    let mut said = Vec::new();
    let ranker = Ranker::new(&args.options(), &crate::user_places()?, &mut said);
    ui::print_notes(&said);
    let ranker = ranker?;
    ui::print_notes(ranker.notes());
    let mut answers = SelectAnswers { ranker: &ranker, args, answered: 0, degraded: None };
    let Some(path) = &args.queries else {
        let query = args.query.as_deref().unwrap_or_default();
        _ = answers.answer(query, "the task")?;
        return Ok(ExitCode::SUCCESS);
    };
    let shown = lines::lines_path(path);
    let from: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(lines::open_named_file(path)?))
    };
    let refused = answer_queries(&mut answers, QueryLines::new(from), &shown)?;
    if refused > 0 {
        let lines =
            if refused == 1 { "1 line is".to_owned() } else { format!("{} lines are", group_thousands(refused)) };
        let others = group_thousands(answers.answered);
        return Err(CommandFailure::usage(format!("{lines} not ranked in {shown}, as listed above; {others} are")));
    }
    if answers.answered == 0 {
        ui::print_note(&format!("no query in {shown}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers line by line. Says how many lines were no queries.
fn answer_queries(
    answers: &mut SelectAnswers<'_>,
    mut lines: QueryLines<Box<dyn BufRead>>,
    shown: &str,
) -> Result<usize, CommandFailure> {
    let mut refused = 0_usize;
    let mut progress = CountLine::new("answered");
    loop {
        let next =
            lines.next_line().map_err(|error| CommandFailure::outside(format!("could not read {shown}: {error}")))?;
        let Some((number, line)) = next else { break };
        let asked = match line {
            QueryLine::Blank => continue,
            QueryLine::Text(text) => RankedQuery::parse(&text),
            QueryLine::Unreadable(why) => Err(why),
        };
        match asked {
            Ok(RankedQuery { query, .. }) => {
                if answers.answer(&query, &format!("line {}", group_thousands(number)))?.is_break() {
                    break;
                }
            }
            Err(why) => {
                refused = refused.saturating_add(1);
                progress.clear();
                ui::print_failure(&CommandFailure::usage(format!("{shown}, line {number}: {why}")));
            }
        }
        progress.tell(answers.answered, 0);
    }
    progress.clear();
    Ok(refused)
}

struct SelectAnswers<'a> {
    ranker: &'a Ranker,
    args: &'a Select,
    answered: usize,
    /// The last reason that words alone decide.
    degraded: Option<String>,
}

impl SelectAnswers<'_> {
    /// Ranks and prints. Breaks off when nobody reads any more. `place` names the query.
    fn answer(&mut self, query: &str, place: &str) -> Result<ControlFlow<()>, CommandFailure> {
        let answered: QueryRanking = self.ranker.rank(query)?;
        let top = usize::from(self.args.top);
        let text = if self.args.json {
            format!("{}\n", json::compact(&json!(RankingOutput::new(self.ranker, &answered, query, top))))
        } else {
            let heading = self.args.queries.as_ref().map(|_| query);
            let between = if self.answered > 0 { "\n" } else { "" };
            format!("{between}{}", answer::ranking_listing(self.ranker, &answered, heading, top))
        };
        self.answered = self.answered.saturating_add(1);
        let printed = if self.args.json { Printed::Document } else { Printed::Listing };
        let flow = ui::write_to_stdout(printed, &text)?;
        if answered.ranking.cut {
            ui::print_note(&format!("{place}: only the first {} bytes were used", group_thousands(MAX_BYTES)));
        }
        if self.degraded != answered.ranking.degraded {
            answered.ranking.degraded.iter().for_each(|reason| ui::print_note(&format!("degraded: {reason}")));
            self.degraded = answered.ranking.degraded;
        }
        Ok(flow)
    }
}
