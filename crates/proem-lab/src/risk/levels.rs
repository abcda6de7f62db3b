//! `proem-lab eval risk-levels`: what the rules make of the commits of real clones.
//!
//! Of each clone the newest commits are assessed, each against its own past, and it is counted how many are above LOW.
//! A level is good if such a change needed a fix more often: a commit has the label if a later fix changes lines that
//! blame ascribes to it. Labels come late, so they are asked of older commits (`--skip`).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use proem_risk::assess::Depth;
use proem_risk::change::Change;
use proem_risk::history::ObjectId;
use proem_risk::level::{Level, LevelRules, Thresholds};
use proem_risk::metric::MetricName;
use proem_risk::signal::SignalName;
use proem_runtime::Environment;
use proem_runtime::change::{ChangeLimits, ResolvedChange, Spec, read_change, resolve_change};
use proem_runtime::git::{GitProgram, Repository, discover_repository_around};
use proem_runtime::risk::{Assessor, AssessorOptions};

use super::blame;
use super::measure::{ScoredCommit, area_under_curve};

/// Measures the levels on clones.
#[derive(Debug, Args)]
pub(crate) struct EvalLevels {
    /// A clone with its revision, as in `../ripgrep@3fce3b5bb023`. Give it once for each clone.
    #[arg(long = "clone", value_name = "DIR@REV", required = true)]
    clones: Vec<String>,
    /// How many commits are assessed. Merges are not.
    #[arg(long, value_name = "N", default_value_t = 150)]
    last: usize,
    /// How many newer ones are left out.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,
    /// Also look up which of them needed a fix later.
    #[arg(long)]
    labelled: bool,
    /// A file that the tables are written to.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The names of the deciding rules in the tables.
const RULES: [(&str, LevelRules); 3] = [
    ("the rank (the default)", LevelRules::Rank),
    ("the seed's counting (`--rules seed`)", LevelRules::Seed),
    ("the higher of both (before)", LevelRules::RankOrSeed),
];

/// The time for a small question to git.
const SMALL: Duration = Duration::from_mins(1);

/// The window of co-change and ownership, in days.
const WINDOW_DAYS: u32 = 365;

/// A commit that was assessed.
struct CommitLevels {
    /// By each of [`RULES`].
    levels: [Level; RULES.len()],
    added: f64,
    lines: f64,
    is_bug: bool,
    /// The place of its score, and the signals of its findings, by the default rules.
    percentile: Option<f64>,
    found: BTreeSet<SignalName>,
}

pub(crate) fn run_eval_levels(args: &EvalLevels) -> Result<String, String> {
    let mut out = String::from(
        "# Risk: levels of real clones\n\nMade by `cargo lab eval risk-levels`; what it measures says the \
         [data card](README.md).\n",
    );
    for clone in &args.clones {
        let (folder, revision) =
            clone.rsplit_once('@').ok_or_else(|| format!("`{clone}` names no revision; write DIR@REV"))?;
        let assessed = assess_commits(Path::new(folder), revision, args)?;
        out.push_str(&levels_table(&name_of_clone(folder), revision, args, &assessed));
    }
    if let Some(path) = &args.out {
        std::fs::write(path, &out).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(out)
}

pub(super) fn name_of_clone(folder: &str) -> String {
    let name = Path::new(folder).file_name();
    name.map_or_else(|| folder.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Assesses the commits of a clone by all rules.
fn assess_commits(folder: &Path, revision: &str, args: &EvalLevels) -> Result<Vec<CommitLevels>, String> {
    let words = |error: &dyn std::fmt::Display| format!("`{}`: {error}", folder.display());
    let git = GitProgram::find(&Environment::inherited()).map_err(|error| words(&error))?;
    let repository = discover_repository_around(&git, folder, SMALL).map_err(|error| words(&error))?;
    let repository = repository.ok_or_else(|| words(&"is not in a git repository"))?;
    let commits = blame::commits(folder, revision, args.skip, args.last)?;
    let buggy = if args.labelled { blame::needed_a_fix(folder, revision, &commits)? } else { BTreeSet::new() };
    let now = blame::commit_date(folder, revision)?;
    let specs = commits.iter().map(|id| Spec::Rev(id.clone()));
    let changes = specs.map(|spec| resolve_change(&git, &repository, &spec, now)).collect::<Result<Vec<_>, _>>();
    let changes = changes.map_err(|error| words(&error))?;
    let assessor = open_assessor(&git, &repository, &changes, now).map_err(|error| words(&error))?;
    let one = |resolved: &ResolvedChange| {
        let change = read_change(&git, &repository, resolved, assessor.rules(), &ChangeLimits::default())?;
        judge_change(&assessor, &change, resolved.id.is_some_and(|id: ObjectId| buggy.contains(&id.to_string())))
    };
    changes.iter().map(one).collect::<Result<_, _>>().map_err(|error| words(&error))
}

fn open_assessor(
    git: &GitProgram,
    repository: &Repository,
    changes: &[ResolvedChange],
    now: i64,
) -> Result<Assessor, proem_runtime::Error> {
    let thresholds = Thresholds::shipped().map_err(proem_runtime::Error::Assessment)?;
    let options = AssessorOptions {
        changes: changes.to_vec(),
        first_parent: false,
        window_days: WINDOW_DAYS,
        now,
        cache: None,
        thresholds,
        level_rules: LevelRules::Rank,
        incidents: None,
        coverage: None,
    };
    Assessor::open(git, repository, options, &|_| ())
}

fn judge_change(assessor: &Assessor, change: &Change, is_bug: bool) -> Result<CommitLevels, proem_runtime::Error> {
    let look = assessor.look(change)?;
    let mut levels = [Level::Unknown; RULES.len()];
    let (mut added, mut removed, mut percentile, mut found) = (0.0, 0.0, None, BTreeSet::new());
    for (level, (_, rules)) in levels.iter_mut().zip(RULES) {
        let assessment = look.assess_by(rules, Depth::TierTwo)?;
        let of = |name: MetricName| assessment.metrics.iter().find(|one| one.name == name).and_then(|one| one.value);
        // A change in which nothing runs adds no line that runs.
        added = of(MetricName::LinesAdded).unwrap_or(0.0);
        removed = of(MetricName::LinesDeleted).unwrap_or(0.0);
        *level = assessment.level;
        percentile = assessment.score.rank.filter(|_| assessment.found.quiet.is_empty()).map(|rank| rank.percentile);
        found = assessment.found.findings.iter().map(|finding| finding.signal).collect();
    }
    Ok(CommitLevels { levels, added, lines: added + removed, is_bug, percentile, found })
}

const fn level_as_number(level: Level) -> f64 {
    match level {
        Level::Low => 0.0,
        // It is no alarm, and no LOW.
        Level::Unknown => 0.5,
        Level::Medium => 1.0,
        Level::High => 2.0,
    }
}

/// The result of one way of judging.
struct JudgementRow {
    name: String,
    /// HIGH, MEDIUM and UNKNOWN.
    counts: [usize; 3],
    /// Whether each commit is above LOW, with its score.
    judged: Vec<(bool, f64)>,
}

fn judgement_rows(assessed: &[CommitLevels]) -> Vec<JudgementRow> {
    let mut rows = Vec::new();
    for (place, (name, _)) in RULES.iter().enumerate() {
        let levels: Vec<Level> = assessed.iter().filter_map(|one| one.levels.get(place).copied()).collect();
        let count = |wanted: Level| levels.iter().filter(|level| **level == wanted).count();
        rows.push(JudgementRow {
            name: (*name).to_owned(),
            counts: [count(Level::High), count(Level::Medium), count(Level::Unknown)],
            judged: levels.iter().map(|level| (*level >= Level::Medium, level_as_number(*level))).collect(),
        });
    }
    let quota = rows.first().map(|row| row.counts).unwrap_or_default();
    rows.push(by_size(assessed, quota));
    rows
}

/// The simple rule: as many HIGH and MEDIUM as the rank gives, to the commits with most lines added.
fn by_size(assessed: &[CommitLevels], [high, medium, _]: [usize; 3]) -> JudgementRow {
    let mut order: Vec<usize> = (0..assessed.len()).collect();
    let added = |at: usize| assessed.get(at).map_or(0.0, |one| one.added);
    order.sort_by(|a, b| added(*b).total_cmp(&added(*a)));
    let mut judged = vec![(false, 0.0); assessed.len()];
    for (rank, at) in order.into_iter().take(high.saturating_add(medium)).enumerate() {
        if let Some(slot) = judged.get_mut(at) {
            *slot = (true, if rank < high { 2.0 } else { 1.0 });
        }
    }
    JudgementRow { name: "lines added, as many".to_owned(), counts: [high, medium, 0], judged }
}

fn levels_table(name: &str, revision: &str, args: &EvalLevels, assessed: &[CommitLevels]) -> String {
    let bugs = assessed.iter().filter(|one| one.is_bug).count();
    let mut out = format!("\n## {name} at {revision}\n\n");
    let skipped = if args.skip > 0 { format!(" behind the newest {}", args.skip) } else { String::new() };
    _ = write!(out, "The last {} commits{skipped}", assessed.len());
    let (columns, rule) = if args.labelled {
        _ = write!(out, ", {bugs} of which needed a fix later");
        (" AUC | of those above LOW needed a fix |", "---:|---:|")
    } else {
        ("", "")
    };
    _ = write!(out, ".\n\n| | HIGH | MEDIUM | UNKNOWN | above LOW |{columns}\n|---|---:|---:|---:|---:|{rule}\n");
    for row in judgement_rows(assessed) {
        let [high, medium, unknown] = row.counts;
        let above = percent_of_commits(high.saturating_add(medium), assessed.len());
        _ = write!(out, "| {} | {high} | {medium} | {unknown} | {above} |", row.name);
        if args.labelled {
            out.push_str(&label_counts(&row, assessed));
        }
        out.push('\n');
    }
    if args.labelled {
        out.push_str(&places_table(assessed));
    }
    out
}

/// The bands of percentiles of the second table.
const BANDS: [(f64, f64); 5] = [(0.0, 80.0), (80.0, 90.0), (90.0, 95.0), (95.0, 99.0), (99.0, 101.0)];

/// How many commits of each band needed a fix: all, those with a finding that says where to look, and those without.
fn places_table(assessed: &[CommitLevels]) -> String {
    let mut out = String::from("\n| rank | needed a fix | with a finding | without one |\n|---|---:|---:|---:|\n");
    let share = |wanted: &dyn Fn(&CommitLevels) -> bool| {
        let all: Vec<&CommitLevels> = assessed.iter().filter(|one| wanted(one)).collect();
        format!("{} of {}", all.iter().filter(|one| one.is_bug).count(), all.len())
    };
    for (from, to) in BANDS {
        let is_in = |one: &CommitLevels| one.percentile.is_some_and(|percentile| (from..to).contains(&percentile));
        let all = share(&is_in);
        let with = share(&|one| is_in(one) && !one.found.is_empty());
        let without = share(&|one| is_in(one) && one.found.is_empty());
        _ = writeln!(out, "| {from:.0} to {:.0} | {all} | {with} | {without} |", to.min(100.0));
    }
    out.push_str("\n| finding | needed a fix |\n|---|---:|\n");
    for signal in SignalName::ALL {
        let has_one = |one: &CommitLevels| one.found.contains(&signal);
        if assessed.iter().any(has_one) {
            _ = writeln!(out, "| `{}` | {} |", signal.as_str(), share(&has_one));
        }
    }
    out
}

fn label_counts(row: &JudgementRow, assessed: &[CommitLevels]) -> String {
    let all = row.judged.iter().zip(assessed);
    let judged: Vec<ScoredCommit> = all
        .clone()
        .map(|((_, score), one)| ScoredCommit { score: *score, is_bug: one.is_bug, added: one.added, lines: one.lines })
        .collect();
    let area = area_under_curve(&judged)
        .map_or_else(|| "–".to_owned(), |area| format!("{:.3} ± {:.3}", area.area, area.half()));
    let above: Vec<bool> = all.filter(|((is_above, _), _)| *is_above).map(|(_, one)| one.is_bug).collect();
    let hits = above.iter().filter(|is_bug| **is_bug).count();
    format!(" {area} | {hits} of {} ({}) |", above.len(), percent_of_commits(hits, above.len()))
}

fn percent_of_commits(part: usize, whole: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts of commits")]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    format!("{share:.0} %")
}
