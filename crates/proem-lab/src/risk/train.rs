//! `proem-lab train risk`: learns the score of a change.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use proem_risk::score::{Feature, RiskModel};

use super::labelled_commits::{LabelledCommit, LabelledProject, check_label_counts, projects};
use super::learn::{ProjectSlice, learn_own_model, learn_pooled_model};

/// Learns the score of a change.
#[derive(Debug, Args)]
pub(crate) struct TrainRisk {
    /// Folder with a table of labelled commits for each project, `.csv` or `.csv.gz`.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data/risk"))]
    data: PathBuf,
    /// The file that is written.
    #[arg(long, value_name = "FILE", default_value = "crates/proem-risk/data/score-1.json")]
    out: PathBuf,
    /// Leaves out the newest days of each project: a commit that nobody has fixed yet may still
    /// need a fix.
    #[arg(long, value_name = "DAYS", default_value_t = 180)]
    censor_days: u32,
    /// Writes nothing and fails if the file would change.
    #[arg(long)]
    check: bool,
}

const DAY: i64 = 86_400;
/// The fewest days that a project has to cover.
const SHORTEST: i64 = 182;

pub(crate) fn run_train_risk(args: &TrainRisk) -> Result<String, String> {
    let projects = projects(&args.data)?;
    let parts =
        projects.iter().map(|project| settled_slice(project, args.censor_days)).collect::<Result<Vec<_>, _>>()?;
    let model = match parts.as_slice() {
        [one] => learn_own_model(*one)?,
        several => learn_pooled_model(several)?,
    };
    let file = model.write();
    if RiskModel::read(&file).map_err(|error| error.to_string())? != model {
        return Err("the model doesn't read as it was written".to_owned());
    }
    if args.check {
        let path = args.out.display();
        let known = std::fs::read_to_string(&args.out).map_err(|error| format!("could not read `{path}`: {error}"))?;
        if known != file {
            return Err(format!("`{path}` is not what is learned from `{}`; train it again", args.data.display()));
        }
    } else {
        std::fs::write(&args.out, &file)
            .map_err(|error| format!("could not write `{}`: {error}", args.out.display()))?;
    }
    Ok(training_report(&parts, &model, file.len()))
}

/// The commits of a project whose labels had time to come.
fn settled_slice(project: &LabelledProject, censor_days: u32) -> Result<ProjectSlice<'_>, String> {
    let newest = project.commits.last().map_or(0, |commit| commit.date);
    let end = newest.saturating_sub(i64::from(censor_days).saturating_mul(DAY));
    let count = project.commits.partition_point(|commit| commit.date <= end);
    let commits = project.commits.get(..count).unwrap_or_default();
    check_label_counts(&format!("{}, without its newest {censor_days} days,", project.name), commits)?;
    if span_in_days(commits) < SHORTEST {
        return Err(format!(
            "{}, without its newest {censor_days} days, covers {} days; at least {SHORTEST} are needed",
            project.name,
            span_in_days(commits)
        ));
    }
    Ok(ProjectSlice { name: &project.name, commits })
}

fn span_in_days(commits: &[LabelledCommit]) -> i64 {
    let date = |commit: Option<&LabelledCommit>| commit.map_or(0, |commit| commit.date);
    date(commits.last()).saturating_sub(date(commits.first())) / DAY
}

fn training_report(parts: &[ProjectSlice<'_>], model: &RiskModel, bytes: usize) -> String {
    let mut out = String::new();
    for part in parts {
        let bugs = part.commits.iter().filter(|commit| commit.is_bug).count();
        _ = writeln!(
            out,
            "{}: {} commits in {} days, {bugs} needed a fix",
            part.name,
            part.commits.len(),
            span_in_days(part.commits)
        );
    }
    let (commits, bugs) = model.learned_from();
    _ = writeln!(out, "learned from {commits} commits, {bugs} of which needed a fix: {bytes} bytes");
    _ = writeln!(out, "calibration error where it hadn't learned: {:.4}", model.expected_calibration_error());
    let mut features = Feature::ALL;
    features.sort_by(|a, b| model.importance(*b).total_cmp(&model.importance(*a)));
    for feature in features {
        _ = writeln!(out, "{:>5.1} % {}", 100.0 * model.importance(feature), feature.in_words());
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const HEADER: &str = "date,bug,ns,nd,nf,entropy,la,ld,lt,fix,ndev,age,nuc,exp,rexp,sexp\n";

    /// A table of `count` commits, one a day, whose large changes need a fix.
    fn table(count: u32) -> String {
        let mut table = String::from(HEADER);
        for day in 0..count {
            let (la, other) = (day * 7 % 40, day * 11 % 23);
            let bug = u8::from(la + other % 5 > 20);
            let row =
                format!("{bug},1,1,2,0.5,{la},{other},{},0,3,{other}.5,9,{},{},{}", 50 + other, day + 1, la + 1, other);
            _ = writeln!(table, "{},{row}", i64::from(day) * DAY);
        }
        table
    }

    fn train(tables: &[(&str, u32)], check: bool, folder: &std::path::Path) -> Result<String, String> {
        for (name, count) in tables {
            std::fs::write(folder.join(name), table(*count)).unwrap();
        }
        run_train_risk(&TrainRisk {
            data: folder.to_path_buf(),
            out: folder.join("model.json"),
            censor_days: 30,
            check,
        })
    }

    #[test]
    fn a_project_teaches_the_same_model_twice() {
        let folder = tempfile::tempdir().unwrap();
        let report = train(&[("one.csv", 330)], false, folder.path()).unwrap();
        assert!(report.starts_with("one: 300 commits in 299 days, "), "{report}");
        train(&[], true, folder.path()).unwrap();
        let model = RiskModel::read(&std::fs::read_to_string(folder.path().join("model.json")).unwrap()).unwrap();
        assert_eq!(model.projects(), ["one"]);
        assert!(model.importance(Feature::La) > 0.5, "{report}");
        std::fs::write(folder.path().join("model.json"), "{}").unwrap();
        let error = train(&[], true, folder.path()).unwrap_err();
        assert!(error.contains("is not what is learned from"), "{error}");
    }

    #[test]
    fn several_projects_teach_one_model() {
        let folder = tempfile::tempdir().unwrap();
        let report = train(&[("a.csv", 250), ("b.csv", 330)], false, folder.path()).unwrap();
        assert!(report.contains("learned from 520 commits, "), "{report}");
    }

    #[test]
    fn too_little_is_refused_by_name() {
        let check = |count: u32, expected: &str| {
            let folder = tempfile::tempdir().unwrap();
            let error = train(&[("one.csv", count)], false, folder.path()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
            assert!(!folder.path().join("model.json").exists());
        };
        check(200, "one, without its newest 30 days, covers 169 days; at least 182 are needed");
        check(80, "one, without its newest 30 days, has 25 commits that needed a fix and 25 that didn't");
    }
}
