//! `proem-lab eval risk`: how well the score tells the commits that needed a fix.
//!
//! Each project is cut by time: a model learns from the first four fifths and is measured on the
//! last fifth. Beside it stands what a project gets that no model has seen.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_risk::level::Thresholds;
use proem_risk::metric::{PercentileRank, Signal};
use proem_risk::score::{ChangeFeatures, Feature, RiskModel};
use proem_score::linear::logistic;
use proem_score::measure as measures;

use super::labelled_commits::{LabelledCommit, LabelledProject, check_label_counts, projects, scale};
use super::learn::{ProjectSlice, learn_own_model, learn_pooled_model, single_precision};
use super::measure::{ScoredCommit, area_under_curve, area_within_size, recall_by_lines, recall_of_riskiest};
use super::peers::Regression;

/// Measures the score of a change.
#[derive(Debug, Args)]
pub(crate) struct EvalRisk {
    /// Folder with a table of labelled commits for each project, `.csv` or `.csv.gz`. The scores of the default sets
    /// are written to `evals/risk/scores.md`. Those of others are printed.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The file that is written.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const DATA: &str = concat!("../", "shared/data/risk");
const SCORES: &str = "evals/risk/scores.md";
const BINS: usize = 10;

pub(crate) fn run_eval_risk(args: &EvalRisk) -> Result<String, String> {
    let folder = args.data.as_deref().unwrap_or(Path::new(DATA));
    let report = risk_eval_report(&projects(folder)?)?;
    let default = args.data.is_none().then(|| PathBuf::from(SCORES));
    if let Some(path) = args.out.clone().or(default) {
        std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(report)
}

/// The methods to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Own,
    Unseen,
    /// The level that a repository gets: the place of that score among the earlier commits, in three steps.
    Level,
    Size,
    Regression,
    Added,
    Smallest,
}

impl Method {
    const ALL: [Self; 7] =
        [Self::Own, Self::Unseen, Self::Level, Self::Size, Self::Regression, Self::Added, Self::Smallest];

    const fn name(self) -> &'static str {
        match self {
            Self::Own => "Proem, learned from the project",
            Self::Unseen => "Proem, learned from other projects",
            Self::Level => "the level that follows from it: LOW, MEDIUM, HIGH",
            Self::Size => "Proem, size alone, learned from the project",
            Self::Regression => "logistic regression, 14 metrics",
            Self::Added => "lines added",
            Self::Smallest => "smallest first",
        }
    }

    /// Whether its scores are log-odds.
    const fn is_calibrated(self) -> bool {
        !matches!(self, Self::Level | Self::Added | Self::Smallest)
    }
}

/// The measures of one method on one project. `None` where one doesn't apply.
#[derive(Debug, Clone, Copy)]
struct MethodMeasures {
    method: Method,
    /// AUC, within size, top 5, 10 and 20 %, 20 % of lines, Brier, calibration error.
    values: [Option<f64>; 8],
    /// Half the interval of the AUC.
    half: Option<f64>,
}

/// A project that was measured.
struct Measured<'a> {
    name: &'a str,
    commits: usize,
    bugs: usize,
    rows: Vec<MethodMeasures>,
    /// The results of its model of other projects without some metrics: AUC and within size.
    without: Vec<[Option<f64>; 2]>,
}

/// Metrics that may be unknown together.
const GROUPS: [(&str, &[Feature]); 5] = [
    ("nothing", &[]),
    ("the files' past (lt, ndev, age, nuc)", &[Feature::Lt, Feature::Ndev, Feature::Age, Feature::Nuc]),
    ("the author's experience (exp, rexp, sexp)", &[Feature::Exp, Feature::Rexp, Feature::Sexp]),
    ("the lines (la, ld, lt, entropy)", &[Feature::La, Feature::Ld, Feature::Lt, Feature::Entropy]),
    (
        "both of the past and the experience",
        &[Feature::Lt, Feature::Ndev, Feature::Age, Feature::Nuc, Feature::Exp, Feature::Rexp, Feature::Sexp],
    ),
];

fn risk_eval_report(projects: &[LabelledProject]) -> Result<String, String> {
    let shipped = RiskModel::shipped().map_err(|error| error.to_string())?;
    let (mut measured, mut refused) = (Vec::new(), Vec::new());
    for project in projects {
        let (earlier, later) = project.split();
        let checked = check_label_counts(&format!("the first four fifths of {}", project.name), earlier)
            .and_then(|()| check_label_counts(&format!("the last fifth of {}", project.name), later));
        match checked {
            Ok(()) => measured.push(project),
            Err(problem) => refused.push(problem),
        }
    }
    let measured =
        measured.iter().map(|project| measure_project(project, &measured, &shipped)).collect::<Result<Vec<_>, _>>()?;
    Ok(risk_eval_text(&measured, &refused))
}

/// Measures one project.
fn measure_project<'a>(
    project: &'a LabelledProject,
    all: &[&LabelledProject],
    shipped: &RiskModel,
) -> Result<Measured<'a>, String> {
    let (earlier, later) = project.split();
    let scale = scale(earlier);
    let part = |project: &'a LabelledProject| ProjectSlice { name: &project.name, commits: project.split().0 };
    let own = learn_own_model(part(project))?;
    let unseen = unseen_model(project, all, shipped)?;
    let regression = Regression::fit(earlier)?;
    let thresholds = Thresholds::shipped().map_err(|error| error.to_string())?;
    let mut past: Vec<f64> =
        unseen.iter().flat_map(|model| earlier.iter().map(|commit| model.log_odds(&commit.features, &scale))).collect();
    past.sort_by(f64::total_cmp);
    let mut rows = Vec::new();
    for method in Method::ALL {
        let score = |commit: &LabelledCommit| -> Option<f64> {
            let features = &commit.features;
            match method {
                Method::Own => Some(own.log_odds(features, &scale)),
                Method::Unseen => unseen.as_ref().map(|model| model.log_odds(features, &scale)),
                Method::Level => {
                    let rank = PercentileRank::among(&past, unseen.as_ref()?.log_odds(features, &scale))?;
                    Some(level_of_signal(thresholds.score_signal(rank.percentile, rank.among)))
                }
                Method::Size => {
                    let scored = own.score(features, &scale);
                    Some(scored.log_odds - scored.given_size?)
                }
                Method::Regression => Some(regression.score(features)),
                Method::Added => features.get(Feature::La),
                Method::Smallest => Some(-(features.get(Feature::La)? + features.get(Feature::Ld)?)),
            }
        };
        rows.extend(score_commits(later, score).map(|judged| method_measures(method, &judged)));
    }
    let without = |unknown: &[Feature]| {
        let judged =
            score_commits(later, |commit| Some(unseen.as_ref()?.log_odds(&forget(&commit.features, unknown), &scale)));
        let judged = judged.unwrap_or_default();
        [area_under_curve(&judged).map(|area| area.area), area_within_size(&judged)]
    };
    Ok(Measured {
        name: &project.name,
        commits: later.len(),
        bugs: later.iter().filter(|commit| commit.is_bug).count(),
        without: GROUPS.iter().map(|(_, unknown)| without(unknown)).collect(),
        rows,
    })
}

/// A level as a number. Only its order counts.
const fn level_of_signal(signal: Signal) -> f64 {
    match signal {
        Signal::High => 2.0,
        Signal::Medium => 1.0,
        Signal::Low | Signal::Unknown | Signal::None => 0.0,
    }
}

/// A model that hasn't learned from a project: the shipped one, or one learned from the others where the shipped one
/// knows it. `None` if there are no others.
fn unseen_model(
    project: &LabelledProject,
    all: &[&LabelledProject],
    shipped: &RiskModel,
) -> Result<Option<RiskModel>, String> {
    if !shipped.projects().contains(&project.name) {
        return Ok(Some(shipped.clone()));
    }
    let others = all.iter().filter(|other| other.name != project.name);
    let parts: Vec<ProjectSlice<'_>> =
        others.map(|other| ProjectSlice { name: &other.name, commits: other.split().0 }).collect();
    match parts.as_slice() {
        [] => Ok(None),
        [one] => learn_own_model(*one).map(Some),
        several => learn_pooled_model(several).map(Some),
    }
}

/// The commits with a score. `None` if a commit has none.
fn score_commits(
    commits: &[LabelledCommit],
    score: impl Fn(&LabelledCommit) -> Option<f64>,
) -> Option<Vec<ScoredCommit>> {
    let judge = |commit: &LabelledCommit| {
        let added = commit.features.get(Feature::La).unwrap_or(0.0);
        let lines = added + commit.features.get(Feature::Ld).unwrap_or(0.0);
        Some(ScoredCommit { score: score(commit)?, is_bug: commit.is_bug, added, lines })
    };
    commits.iter().map(judge).collect()
}

fn method_measures(method: Method, judged: &[ScoredCommit]) -> MethodMeasures {
    let labels: Vec<bool> = judged.iter().map(|judged| judged.is_bug).collect();
    let probabilities: Vec<f64> = judged.iter().map(|judged| logistic(judged.score)).collect();
    let probabilities = Some(single_precision(&probabilities)).filter(|_| method.is_calibrated());
    let area = area_under_curve(judged);
    let values = [
        area.map(|area| area.area),
        area_within_size(judged),
        recall_of_riskiest(judged, 0.05),
        recall_of_riskiest(judged, 0.1),
        recall_of_riskiest(judged, 0.2),
        recall_by_lines(judged, 0.2),
        probabilities.as_ref().and_then(|p| measures::brier(p, &labels)),
        probabilities.as_ref().and_then(|p| measures::expected_calibration_error(p, &labels, BINS)),
    ];
    MethodMeasures { method, values, half: area.map(super::measure::Area::half) }
}

/// The same metrics, some of them unknown.
fn forget(features: &ChangeFeatures, unknown: &[Feature]) -> ChangeFeatures {
    let keep = |feature| features.get(feature).filter(|_| !unknown.contains(&feature));
    ChangeFeatures {
        ns: keep(Feature::Ns),
        nd: keep(Feature::Nd),
        nf: keep(Feature::Nf),
        entropy: keep(Feature::Entropy),
        la: keep(Feature::La),
        ld: keep(Feature::Ld),
        lt: keep(Feature::Lt),
        fix: features.fix.filter(|_| !unknown.contains(&Feature::Fix)),
        ndev: keep(Feature::Ndev),
        age: keep(Feature::Age),
        nuc: keep(Feature::Nuc),
        exp: keep(Feature::Exp),
        rexp: keep(Feature::Rexp),
        sexp: keep(Feature::Sexp),
    }
}

fn risk_eval_text(measured: &[Measured<'_>], refused: &[String]) -> String {
    let mut out = String::from(
        "# Risk: scores\n\nMade by `cargo lab eval risk`; what the sets are and what the columns mean says the \
         [data card](README.md). Each project is cut by time; learned from the first four fifths, measured on the \
         last fifth.\n",
    );
    let header = "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    let columns = "AUC | within size | top 5 % | top 10 % | top 20 % | 20 % of lines | Brier | calibration error |";
    for project in measured {
        _ = write!(
            out,
            "\n## {}\n\n{} commits, {} of which needed a fix.\n\n| | {columns}\n{header}",
            project.name, project.commits, project.bugs
        );
        for row in &project.rows {
            out.push_str(&method_line(row.method, row.values, row.half));
        }
    }
    if measured.len() > 1 {
        let commits: usize = measured.iter().map(|project| project.commits).sum();
        let bugs: usize = measured.iter().map(|project| project.bugs).sum();
        _ = write!(
            out,
            "\n## Mean of {} projects\n\n{commits} commits, {bugs} of which needed a fix.\n\n| | {columns}\n{header}",
            measured.len()
        );
        for method in Method::ALL {
            let rows: Vec<&MethodMeasures> =
                measured.iter().filter_map(|project| project.rows.iter().find(|row| row.method == method)).collect();
            if rows.len() == measured.len() {
                let values =
                    std::array::from_fn(|place| mean_or_none(rows.iter().map(|row| row.values.get(place).copied()?)));
                // The sets are independent, so the variances of the mean add up.
                let squares: Option<f64> = rows.iter().map(|row| row.half.map(|half| half * half)).sum();
                #[expect(clippy::cast_precision_loss, reason = "a few projects")]
                let half = squares.map(|squares| libm::sqrt(squares) / rows.len() as f64);
                out.push_str(&method_line(method, values, half));
            }
        }
    }
    out.push_str(&unknown_metric_losses(measured));
    if !refused.is_empty() {
        out.push_str("\n## Not measured\n\n");
        refused.iter().for_each(|problem| _ = writeln!(out, "- {problem}"));
    }
    out
}

/// The loss if metrics are unknown.
fn unknown_metric_losses(measured: &[Measured<'_>]) -> String {
    let mut out = String::from(
        "\n## With unknown metrics\n\nLearned from other projects, the mean of all projects.\n\n\
         | unknown | AUC | within size |\n|---|---:|---:|\n",
    );
    for (place, (name, _)) in GROUPS.iter().enumerate() {
        let of = |column: usize| {
            mean_or_none(
                measured
                    .iter()
                    .map(|project| project.without.get(place).and_then(|areas| areas.get(column).copied()?)),
            )
        };
        _ = writeln!(out, "| {name} | {} | {} |", three_decimals_cell(of(0)), three_decimals_cell(of(1)));
    }
    out
}

fn method_line(method: Method, values: [Option<f64>; 8], half: Option<f64>) -> String {
    let [area, rest @ ..] = values.map(three_decimals_cell);
    let half = half.map_or(String::new(), |half| format!(" ± {half:.3}"));
    format!("| {} | {area}{half} | {} |\n", method.name(), rest.join(" | "))
}

fn three_decimals_cell(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
}

/// `None` if a value is missing.
fn mean_or_none(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few projects")]
    let count = values.len() as f64;
    let sum: Option<f64> = values.sum();
    sum.filter(|_| count > 0.0).map(|sum| sum / count)
}
