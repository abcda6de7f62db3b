//! The difference of a change from its recorded state, in words: the first thing that a person would see.

use proem_agents::risk::investigation::Subject;
use proem_guard::show::terminal_str;
use proem_risk::assess::FileAssessment;
use proem_risk::metric::{Metric, MetricName};

use crate::words::two_decimals;

/// The first difference between a recorded subject and today's.
pub(super) fn first_subject_difference(before: &Subject, today: &Subject) -> String {
    let (old, new) = (&before.assessment, &today.assessment);
    path_difference(before, today)
        .or_else(|| (before.subject != today.subject).then(|| "its commit message differs".to_owned()))
        .or_else(|| metric_difference(&old.metrics, &new.metrics, ""))
        .or_else(|| assessed_file_difference(&old.files, &new.files))
        .or_else(|| gap_difference(&old.gaps, &new.gaps))
        .or_else(|| (old.score != new.score).then(|| "its percentile among past commits differs".to_owned()))
        .unwrap_or_else(|| "its assessment differs".to_owned())
}

/// The difference of the change itself: its files, its message, its lines. Its assessment isn't compared.
pub(super) fn change_difference(before: &Subject, today: &Subject) -> Option<String> {
    let lines = |subject: &Subject| -> Vec<Metric> {
        let counts = [MetricName::Files, MetricName::LinesAdded, MetricName::LinesDeleted, MetricName::LinesBefore];
        subject.assessment.metrics.iter().filter(|metric| counts.contains(&metric.name)).cloned().collect()
    };
    let bare = |subject: &Subject| -> Vec<FileAssessment> {
        let bare = |file: &FileAssessment| FileAssessment { metrics: Vec::new(), ..file.clone() };
        subject.assessment.files.iter().map(bare).collect()
    };
    path_difference(before, today)
        .or_else(|| (before.subject != today.subject).then(|| "its commit message differs".to_owned()))
        .or_else(|| metric_difference(&lines(before), &lines(today), ""))
        .or_else(|| assessed_file_difference(&bare(before), &bare(today)))
}

fn path_difference(before: &Subject, today: &Subject) -> Option<String> {
    let only = |one: &Subject, other: &Subject| one.paths.iter().find(|path| !other.paths.contains(path)).cloned();
    let added = only(today, before)
        .map(|path| format!("`{}` is now part of the change and was not before", terminal_str(&path)));
    added.or_else(|| {
        only(before, today).map(|path| format!("`{}` is no longer part of the change", terminal_str(&path)))
    })
}

fn assessed_file_difference(before: &[FileAssessment], today: &[FileAssessment]) -> Option<String> {
    before.iter().find_map(|file| {
        let of = format!(" of `{}`", terminal_str(&file.path));
        let same = today.iter().find(|same| same.index == file.index)?;
        if file.lines != same.lines {
            let lines = |lines: Option<u32>| lines.map_or_else(|| "unknown".to_owned(), |lines| lines.to_string());
            return Some(format!("lines{of}: {} when recorded, {} now", lines(file.lines), lines(same.lines)));
        }
        metric_difference(&file.metrics, &same.metrics, &of)
    })
}

fn metric_difference(before: &[Metric], today: &[Metric], of: &str) -> Option<String> {
    before.iter().find_map(|metric| {
        let name = metric.name.in_words();
        let Some(same) = today.iter().find(|same| same.name == metric.name) else {
            return Some(format!("{name}{of} is no longer measured"));
        };
        let value = |metric: &Metric| metric.value.map_or_else(|| "unknown".to_owned(), two_decimals);
        let (was, is) = (value(metric), value(same));
        match (metric == same, was == is) {
            (true, _) => None,
            (false, false) => Some(format!("{name}{of}: {was} when recorded, {is} now")),
            (false, true) => Some(format!("the evidence for {name}{of} differs")),
        }
    })
}

fn gap_difference(before: &[String], today: &[String]) -> Option<String> {
    let only = |one: &[String], other: &[String]| one.iter().find(|gap| !other.contains(gap)).cloned();
    only(today, before)
        .or_else(|| only(before, today))
        .map(|gap| format!("the unknown parts differ: {}", terminal_str(&gap)))
}

#[cfg(test)]
mod tests {
    use proem_risk::assess::{Assessment, ChangeScore, Investigate};
    use proem_risk::change::FileStatus;
    use proem_risk::level::{Level, LevelRules};
    use proem_risk::metric::{Sentence, Signal};
    use proem_risk::path::{FileRole, PathClass};

    use super::*;

    fn subject() -> Subject {
        let file = FileAssessment {
            index: 0,
            path: "src/a\u{1b}.py".to_owned(),
            class: PathClass { language: None, role: FileRole::Code, sensitive: None, framework: None },
            lines: Some(60),
            status: FileStatus::Modified,
            level: Level::Low,
            reasons: Vec::new(),
            metrics: vec![Metric::of(MetricName::Coupling, 12.0)],
        };
        let assessment = Assessment {
            level: Level::Low,
            rules: LevelRules::Rank,
            reasons: Vec::new(),
            confidence: None,
            score: ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Low },
            metrics: vec![Metric::of(MetricName::LinesAdded, 5.0)],
            files: vec![file],
            partners: Vec::new(),
            more_partners: 0,
            found: proem_risk::finding::Found::default(),
            investigate: Investigate::Yes,
            gaps: Vec::new(),
            calibration_error: 0.05,
        };
        Subject {
            assessment,
            subject: "Go".to_owned(),
            paths: vec!["src/a\u{1b}.py".to_owned()],
            yardsticks: None,
            diff: None,
        }
    }

    #[test]
    fn the_first_difference_is_what_a_person_would_see() {
        let check = |change: fn(&mut Subject), expected: &str| {
            let mut today = subject();
            change(&mut today);
            assert_eq!(first_subject_difference(&subject(), &today), expected);
        };
        check(|today| today.paths.push("b.py".to_owned()), "`b.py` is now part of the change and was not before");
        check(|today| today.paths.clear(), "`src/a\\u{1b}.py` is no longer part of the change");
        check(|today| today.assessment.metrics[0].value = Some(9.5), "lines added: 5 when recorded, 9.5 now");
        check(|today| today.assessment.metrics.clear(), "lines added is no longer measured");
        check(
            |today| today.assessment.files[0].lines = None,
            "lines of `src/a\\u{1b}.py`: 60 when recorded, unknown now",
        );
        check(
            |today| today.assessment.files[0].metrics[0].value = None,
            "coupling of `src/a\\u{1b}.py`: 12 when recorded, unknown now",
        );
        check(
            |today| today.assessment.files[0].metrics[0].evidence = Sentence::ours("others import it"),
            "the evidence for coupling of `src/a\\u{1b}.py` differs",
        );
        check(|today| today.assessment.gaps.push("the past".to_owned()), "the unknown parts differ: the past");
        check(|today| today.assessment.score.signal = Signal::High, "its percentile among past commits differs");
        check(|today| today.subject = "Stop".to_owned(), "its commit message differs");
        check(|today| today.assessment.level = Level::High, "its assessment differs");
    }

    #[test]
    fn of_a_change_that_was_assessed_by_the_rules_of_before_only_itself_is_compared() {
        let check = |change: fn(&mut Subject), expected: Option<&str>| {
            let mut today = subject();
            change(&mut today);
            assert_eq!(change_difference(&subject(), &today).as_deref(), expected);
        };
        check(|today| today.paths.push("b.py".to_owned()), Some("`b.py` is now part of the change and was not before"));
        check(|today| today.assessment.metrics[0].value = Some(9.5), Some("lines added: 5 when recorded, 9.5 now"));
        check(
            |today| today.assessment.files[0].lines = None,
            Some("lines of `src/a\\u{1b}.py`: 60 when recorded, unknown now"),
        );
        check(|today| today.subject = "Stop".to_owned(), Some("its commit message differs"));
        check(|today| today.assessment.level = Level::High, None);
        check(|today| today.assessment.files[0].metrics[0].value = None, None);
        check(|today| today.assessment.gaps.push("the past".to_owned()), None);
    }
}
