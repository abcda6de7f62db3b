//! Reports of assessments that are made by hand.

use std::collections::BTreeMap;

use proem_risk::assess::{Assessment, ChangeScore, FileAssessment, Investigate, Partner};
use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::finding::{Advice, Finding};
use proem_risk::history::ObjectId;
use proem_risk::identity::Person;
use proem_risk::level::{Level, LevelReason, LevelRules};
use proem_risk::metric::{
    ConfidenceInterval, Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal,
};
use proem_risk::path::{FileRole, PathClass, RepoPath, Sensitive};
use proem_risk::score::{Contribution, Feature, RiskScore};

use proem_risk::signal::{SignalName, SignalTable};

use super::*;
use crate::risk::investigation::{HopAction, HopChooser};

/// A change of these files, each with its metrics.
#[derive(Debug, Clone)]
struct Made {
    change: Change,
    assessment: Assessment,
}

fn made(level: Level, files: &[(&str, Vec<Metric>)]) -> Made {
    let class = || PathClass { language: None, role: FileRole::Code, sensitive: None, framework: None };
    let changed = |path: &str| ChangedFile {
        path: RepoPath::new(path),
        before: None,
        status: FileStatus::Modified,
        kind: FileKind::Regular,
        class: class(),
        lines: Some(LineCounts { added: 12, removed: 3 }),
        lines_before: Some(100),
        lines_after: Some(109),
    };
    let assessed = |(index, (path, metrics)): (usize, &(&str, Vec<Metric>))| FileAssessment {
        index: u32::try_from(index).unwrap(),
        path: (*path).to_owned(),
        class: class(),
        lines: Some(109),
        status: FileStatus::Modified,
        level,
        reasons: Vec::new(),
        metrics: metrics.clone(),
    };
    let change = Change {
        kind: ChangeKind::Commit,
        id: ObjectId::parse(&[b'a'; 40]),
        base: ObjectId::parse(&[b'b'; 40]),
        commits: 1,
        is_merge: false,
        at: 1_700_000_000,
        author: Some(Person { mail: "ann@example.org".to_owned(), name: "Ann".to_owned() }),
        subject: "Speed it up".to_owned(),
        files: files.iter().map(|(path, _)| changed(path)).collect(),
        identifiers: Vec::new(),
        patches: Vec::new(),
        gaps: Vec::new(),
    };
    let assessment = Assessment {
        level,
        rules: LevelRules::Rank,
        reasons: Vec::new(),
        confidence: Some(0.8),
        score: ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Unknown },
        metrics: Vec::new(),
        files: files.iter().enumerate().map(assessed).collect(),
        partners: Vec::new(),
        more_partners: 0,
        found: proem_risk::finding::Found::default(),
        investigate: Investigate::Yes,
        gaps: Vec::new(),
        calibration_error: 0.05,
    };
    Made { change, assessment }
}

fn metric(name: MetricName, signal: Signal, evidence: Sentence) -> Metric {
    Metric { signal, evidence, ..Metric::of(name, 12.0) }
}

fn path(path: &str) -> SentencePart {
    SentencePart::Path(path.to_owned())
}

fn high(name: MetricName) -> Metric {
    let evidence = match name {
        MetricName::IncidentSimilarity => {
            Sentence::ours("it is like ").then(SentencePart::Message("17 Time-out after the check".to_owned()))
        }
        MetricName::OwnershipChurn => Sentence::default()
            .then(SentencePart::Person("ann@example.org".to_owned()))
            .and(" leads since 14 days; ")
            .then(SentencePart::Person("bob@example.org".to_owned()))
            .and(" led before"),
        MetricName::CoChange => Sentence::default().then(path("b.rs")).and(" changed in 15 of 20"),
        _ => Sentence::ours(format!("evidence of {}", name.as_str())),
    };
    let details =
        if name == MetricName::Coupling { vec![Sentence::default().then(path("user.rs"))] } else { Vec::new() };
    let of = (name == MetricName::TestRatio).then_some(Fraction { numerator: 1, denominator: 250 });
    let total = (name == MetricName::Coupling).then_some(12);
    Metric { details, of, total, ..metric(name, Signal::High, evidence) }
}

fn about() -> ReportContext {
    ReportContext { model: Some("m".to_owned()), ..ReportContext::default() }
}

fn exact(words: &[ReportSentence]) -> Vec<String> {
    words.iter().map(ReportSentence::exact).collect()
}

fn with_score(mut made: Made, top: Feature) -> Made {
    let contributions = Feature::ALL
        .into_iter()
        .map(|feature| Contribution { feature, log_odds: if feature == top { 0.9 } else { -0.1 } })
        .collect();
    made.assessment.score = ChangeScore {
        scored: Some(RiskScore {
            probability: 0.4,
            log_odds: -0.4,
            intercept: -1.0,
            contributions,
            given_size: Some(0.2),
            unknown: Vec::new(),
            known: 1.0,
        }),
        rank: Some(PercentileRank { percentile: 97.4, among: 480 }),
        recent: None,
        between: Some(ConfidenceInterval { low: 95.0, high: 98.6 }),
        signal: Signal::High,
    };
    made.assessment.reasons = vec![LevelReason::Score { percentile: 97.4 }];
    made
}

#[test]
fn advice_names_what_it_is_about() {
    let check = |name: MetricName, expected: &[&str]| {
        let mut made = made(Level::High, &[("src/a.rs", vec![high(name)])]);
        let together = Fraction { numerator: 15, denominator: 20 };
        made.assessment.partners =
            vec![Partner { path: "b.rs".to_owned(), of: 0, together, low: 0.53, imported: Some(false) }];
        let report = RiskReport::new(&made.change, &made.assessment, None, about());
        assert_eq!(exact(&report.recommendations), expected, "{name:?}");
        assert_eq!(exact(&report.files[0].recommendations), expected, "{name:?}");
    };
    check(
        MetricName::IncidentSimilarity,
        &["read how this was fixed, and add a test against a regression in src/a.rs: 17 Time-out after the check"],
    );
    check(MetricName::CoChange, &["change b.rs too, or say why not: it changed in 15 of 20 commits of src/a.rs"]);
    check(MetricName::OwnershipChurn, &["ask bob@example.org to review src/a.rs, whose owner changed"]);
    check(MetricName::Coupling, &["run the tests of user.rs and the other 11 files that import src/a.rs"]);
    check(MetricName::TestRatio, &["add tests for src/a.rs: it has 1 line of tests for 250 of code"]);
    check(MetricName::PriorFixes, &[]);
}

#[test]
fn a_change_has_at_most_three_lines_of_advice() {
    let names =
        [MetricName::IncidentSimilarity, MetricName::OwnershipChurn, MetricName::Coupling, MetricName::TestRatio];
    let high = made(Level::High, &[("a.rs", names.map(high).to_vec()), ("c.rs", names.map(high).to_vec())]);
    let report = RiskReport::new(&high.change, &high.assessment, None, about());
    assert_eq!(report.recommendations.len(), 3, "{:?}", exact(&report.recommendations));
}

#[test]
fn there_is_no_advice_about_nothing() {
    let low = made(Level::Low, &[("a.rs", vec![high(MetricName::TestRatio)])]);
    assert_eq!(exact(&RiskReport::new(&low.change, &low.assessment, None, about()).recommendations), [""; 0]);
    // Only the author is named, all partners are there, and the importers are unknown.
    let anonymous = Metric {
        evidence: Sentence::default().then(SentencePart::Person("ann@example.org".to_owned())),
        ..high(MetricName::OwnershipChurn)
    };
    let unnamed = Metric { details: Vec::new(), ..high(MetricName::Coupling) };
    let high = made(Level::High, &[("a.rs", vec![anonymous, unnamed, high(MetricName::CoChange)])]);
    assert_eq!(exact(&RiskReport::new(&high.change, &high.assessment, None, about()).recommendations), [""; 0]);
}

#[test]
fn advice_against_a_regression_is_for_code_and_many_importers_are_one_suite() {
    let mut pipeline = made(Level::High, &[(".github/workflows/ci.yml", vec![high(MetricName::IncidentSimilarity)])]);
    pipeline.assessment.files[0].class.role = FileRole::Configuration;
    let report = RiskReport::new(&pipeline.change, &pipeline.assessment, None, about());
    let expected = "read how this was fixed before you change .github/workflows/ci.yml: 17 Time-out after the check";
    assert_eq!(exact(&report.recommendations), [expected]);
    let many = Metric { total: Some(139), ..high(MetricName::Coupling) };
    let many = made(Level::High, &[("src/server.h", vec![many])]);
    let report = RiskReport::new(&many.change, &many.assessment, None, about());
    assert_eq!(exact(&report.recommendations), ["run all tests: 139 files import src/server.h"]);
}

#[test]
fn findings_advise_first_each_with_its_command_and_signals_only_where_they_decide() {
    let mut made = with_score(made(Level::High, &[("a.rs", vec![high(MetricName::Coupling)])]), Feature::Exp);
    let row = SignalTable::default().row(SignalName::FixedLines, &[]);
    made.assessment.found.findings = vec![Finding {
        signal: SignalName::FixedLines,
        file: 0,
        is_in_sensitive_file: false,
        line: Some(5),
        of: None,
        count: 2,
        commit: Some("abc".to_owned()),
        days: Some(40),
        evidence: Sentence::default().then(path("a.rs")).and(" loses 2 lines of a fix"),
        advice: Some(Advice {
            sentence: Sentence::ours("make sure that it stays fixed"),
            command: Some("git show abc".to_owned()),
        }),
        worth: row,
    }];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(exact(&report.recommendations), ["make sure that it stays fixed; see git show abc"]);
    assert_eq!(report.findings[0].path, "a.rs");
    let rank = report.rank.unwrap();
    assert!(
        rank.starts_with("riskier than 97.4 % of this repository's last 480 changes; what that is worth here is"),
        "{rank}"
    );
}

#[test]
fn the_score_is_answered_by_a_split_only_if_size_makes_it() {
    for (top, added, expected) in [
        (
            Feature::La,
            100,
            vec!["split the change (200 added lines in 2 files); begin with b.rs; see git show --stat aaaaaaaaaaaa"],
        ),
        (
            Feature::Nf,
            100,
            vec!["split the change (200 added lines in 2 files); begin with b.rs; see git show --stat aaaaaaaaaaaa"],
        ),
        (Feature::Exp, 100, vec![]),
        // A small change is read at once.
        (Feature::La, 99, vec![]),
    ] {
        let mut made = with_score(made(Level::High, &[("a.rs", vec![]), ("b.rs", vec![])]), top);
        made.change.files.iter_mut().for_each(|file| file.lines = Some(LineCounts { added, removed: 3 }));
        let report = RiskReport::new(&made.change, &made.assessment, None, about());
        assert_eq!(exact(&report.recommendations), expected, "{top:?} {added}");
    }
}

#[test]
fn tests_are_not_split_off() {
    let files = [("a.rs", vec![]), ("b.rs", vec![]), ("tests/c.rs", vec![])];
    let mut made = with_score(made(Level::High, &files), Feature::La);
    made.change.files.iter_mut().for_each(|file| file.lines = Some(LineCounts { added: 150, removed: 0 }));
    made.change.files[2].lines = Some(LineCounts { added: 900, removed: 0 });
    made.change.files[2].class.role = FileRole::Test;
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(
        exact(&report.recommendations),
        ["split the change (300 added lines in 2 files); begin with b.rs; see git show --stat aaaaaaaaaaaa"]
    );
    made.change.files[1].class.role = FileRole::Test;
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(exact(&report.recommendations), [""; 0]);
}

#[test]
fn nobody_who_adds_tests_is_told_to() {
    let check = |added: u32, expected: usize| {
        let mut made = made(Level::High, &[("a.rs", vec![high(MetricName::TestRatio)]), ("tests/b.rs", vec![])]);
        made.change.files[1].class.role = FileRole::Test;
        made.change.files[1].lines = Some(LineCounts { added, removed: 5 });
        let report = RiskReport::new(&made.change, &made.assessment, None, about());
        assert_eq!(report.recommendations.len(), expected, "{:?}", report.recommendations);
    };
    check(0, 1);
    check(1, 0);
}

#[test]
fn a_change_in_which_nothing_runs_says_so() {
    let mut made = made(Level::Low, &[("docs/a.md", vec![])]);
    made.assessment.investigate = Investigate::NothingThatRuns;
    made.assessment.reasons = vec![LevelReason::NothingRuns { roles: vec![FileRole::Documentation] }];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(report.reasoning.exact(), "LOW: only documentation changes");
    assert_eq!(exact(&report.key_evidence), ["12 lines added and 3 removed in 1 file; it changes no code"]);
}

#[test]
fn tests_are_no_evidence_and_what_is_not_shown_is_counted() {
    let mut made = made(
        Level::High,
        &[("a.rs", vec![high(MetricName::Coupling)]), ("tests/b.rs", vec![high(MetricName::CoChange)])],
    );
    made.assessment.files[1].class.role = FileRole::Test;
    made.assessment.more_partners = 13;
    let together = Fraction { numerator: 15, denominator: 20 };
    made.assessment.partners =
        vec![Partner { path: "b.rs".to_owned(), of: 0, together, low: 0.53, imported: Some(false) }];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(exact(&report.key_evidence), ["a.rs: evidence of coupling"]);
    assert_eq!((report.missing_partners.len(), report.missing_partners_total), (1, 14));
    assert_eq!(report.files[0].metrics[0].details_total, Some(12));
}

#[test]
fn sensitive_files_are_reviewed_by_who_answers_for_them() {
    let mut made = made(Level::Medium, &[("keys.rs", vec![])]);
    made.assessment.files[0].class.sensitive = Some(Sensitive::Security);
    made.assessment.reasons = vec![LevelReason::Sensitive { file: 0 }];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(
        exact(&report.recommendations),
        [
            "have keys.rs reviewed by somebody responsible for security: it can do harm in one line; see git show --stat \
          aaaaaaaaaaaa"
        ]
    );
    assert!(report.reasoning.exact().starts_with("MEDIUM: "), "{:?}", report.reasoning);
    assert!(report.reasons[0].names("keys.rs"));
}

#[test]
fn strong_evidence_comes_first_and_each_metric_before_its_second() {
    let medium = |name: MetricName| Metric { signal: Signal::Medium, ..high(name) };
    let made = made(
        Level::High,
        &[
            ("a.rs", vec![high(MetricName::Coupling), medium(MetricName::IncidentSimilarity)]),
            ("b.rs", vec![high(MetricName::Coupling), high(MetricName::TestRatio)]),
        ],
    );
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(
        exact(&report.key_evidence),
        ["a.rs: evidence of coupling", "b.rs: evidence of test_ratio", "b.rs: evidence of coupling"]
    );
    let scored = with_score(made.clone(), Feature::La);
    let report = RiskReport::new(&scored.change, &scored.assessment, None, about());
    assert_eq!(
        report.key_evidence[0].exact(),
        "24 lines added and 6 removed in 2 files: scored above 97.4 % of 480 past commits, mostly by lines added"
    );
    assert_eq!(report.key_evidence.len(), 3);
}

#[test]
fn without_a_signal_the_size_is_told_and_unknown_is_no_zero() {
    let unknown = Metric::unknown(MetricName::TestRatio, Sentence::ours("no tests of it were found"));
    let mut made =
        made(Level::Low, &[("a.rs", vec![unknown, metric(MetricName::Coupling, Signal::Low, Sentence::ours("x"))])]);
    made.change.gaps = vec!["a shallow clone".to_owned()];
    made.assessment.gaps = vec!["a shallow clone".to_owned(), "no tree".to_owned()];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(exact(&report.key_evidence), ["12 lines added and 3 removed in 1 file; none of its files has a score"]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json.pointer("/files/0/metrics/0/value"), Some(&serde_json::Value::Null));
    assert_eq!(json.pointer("/unknown/0/why"), Some(&"no tests of it were found".into()));
    assert_eq!(json.pointer("/score/probability"), Some(&serde_json::Value::Null));
    assert_eq!(report.gaps, ["a shallow clone", "no tree"]);
    // One of two signals is known. The change is at most as sure as that.
    assert_eq!(report.files[0].confidence, Some(0.5));
}

#[test]
fn the_mode_says_whether_a_model_was_there_wanted_and_of_use() {
    let made = made(Level::High, &[("a.rs", vec![high(MetricName::Coupling)])]);
    let synthesis = Synthesis {
        risk_level: Level::High,
        model_confidence: 0.7,
        key_evidence: vec!["it is imported widely".to_owned()],
        recommendations: Vec::new(),
        reasoning: "Because so much depends on it.".to_owned(),
    };
    let check =
        |investigate: Investigate, model: Option<&str>, synthesis: Option<Synthesis>, expected: AssessmentMode| {
            let mut made = made.clone();
            made.assessment.investigate = investigate;
            let investigated = synthesis.map(|synthesis| investigated(made.assessment.clone(), synthesis));
            let about = ReportContext { model: model.map(str::to_owned), ..ReportContext::default() };
            let report = RiskReport::new(&made.change, &made.assessment, investigated.as_ref(), about);
            assert_eq!(report.mode, expected, "{investigate:?} {model:?}");
            report
        };
    // Nobody was asked, so nothing failed.
    check(Investigate::Yes, None, None, AssessmentMode::Rules);
    check(Investigate::NothingHigh, None, None, AssessmentMode::Rules);
    check(Investigate::NothingHigh, Some("m"), None, AssessmentMode::Rules);
    check(Investigate::NothingThatRuns, Some("m"), None, AssessmentMode::Rules);
    check(Investigate::Yes, Some("m"), None, AssessmentMode::Degraded);
    let report = check(Investigate::Yes, Some("m"), Some(synthesis), AssessmentMode::Investigated);
    assert_eq!(report.model_confidence, Some(0.7));
    assert_eq!(report.key_evidence, [ReportSentence::foreign("it is imported widely")]);
    assert_eq!(report.reasoning, ReportSentence::foreign("Because so much depends on it."));
    // It advised nothing, so the rules do.
    assert_eq!(exact(&report.recommendations), ["run the tests of user.rs and the other 11 files that import a.rs"]);
    assert_eq!(report.investigation_trace[0].path.as_deref(), Some("a.rs"));
    assert_eq!(report.files[0].investigation_trace.len(), 1);
    assert_eq!(report.notes, ["a citation was none"]);
}

fn investigated(assessment: Assessment, synthesis: Synthesis) -> InvestigationEnd {
    let hop = Hop {
        hop: 1,
        offered: vec![HopAction::CalculateMetric, HopAction::Finalize],
        action: HopAction::CalculateMetric,
        by: HopChooser::Model,
        metric: Some("ownership_churn".to_owned()),
        file: Some(0),
        result: "bob leads".to_owned(),
        reasoning: "Who knows it?".to_owned(),
    };
    InvestigationEnd {
        assessment,
        synthesis: Some(synthesis),
        hops: vec![hop],
        exchanges: Vec::new(),
        notes: vec!["a citation was none".to_owned()],
    }
}

#[test]
fn what_was_assessed_is_said() {
    let base = made(Level::Low, &[("a.rs", vec![])]).change;
    let check = |change: Change, expected: &str| {
        let made = made(Level::Low, &[]);
        let report = RiskReport::new(&change, &made.assessment, None, about());
        assert_eq!(report.change.assessed.exact(), expected);
    };
    check(base.clone(), "commit aaaaaaaaaa against its parent bbbbbbbbbb");
    check(Change { is_merge: true, ..base.clone() }, "merge aaaaaaaaaa against its first parent bbbbbbbbbb");
    check(Change { base: None, ..base.clone() }, "commit aaaaaaaaaa, the root commit");
    let range = Change { kind: ChangeKind::Range, commits: 3, ..base.clone() };
    check(range.clone(), "3 commits up to aaaaaaaaaa against bbbbbbbbbb");
    check(Change { base: None, ..range }, "all 3 commits up to aaaaaaaaaa");
    let staged = Change { kind: ChangeKind::Staged, id: None, ..base.clone() };
    check(staged.clone(), "staged changes, against HEAD bbbbbbbbbb");
    check(Change { base: None, ..staged }, "staged changes for the first commit");
    let tree = Change { kind: ChangeKind::WorkTree, id: None, ..base };
    check(tree.clone(), "the work tree with untracked files, against HEAD bbbbbbbbbb");
    check(Change { base: None, ..tree }, "the work tree, before the first commit");
}

#[test]
fn rates_stand_beside_what_they_are_about() {
    let made = with_score(
        made(Level::High, &[("a.rs", vec![high(MetricName::Coupling), high(MetricName::TestRatio)])]),
        Feature::La,
    );
    let rate = Rate { count: 2, n: 31 };
    let false_positives = BTreeMap::from([(Meter::Coupling, rate), (Meter::Score, Rate { count: 1, n: 3 })]);
    let report = RiskReport::new(&made.change, &made.assessment, None, ReportContext { false_positives, ..about() });
    let metrics = &report.files[0].metrics;
    assert_eq!((metrics[0].false_positives, metrics[1].false_positives), (Some(rate), None));
    assert_eq!(report.score.false_positives, Some(Rate { count: 1, n: 3 }));
    assert_eq!(report.score.contributions[0].feature, "la");
}

#[test]
fn the_worst_files_reason_is_told_once() {
    let tier = LevelReason::Tier { high: 1, names: vec![MetricName::Coupling] };
    let mut made = made(Level::Medium, &[("a.rs", vec![high(MetricName::Coupling)]), ("b.rs", vec![])]);
    made.assessment.files[0].reasons = vec![tier.clone()];
    made.assessment.reasons = vec![LevelReason::WorstFile { file: 0 }, tier];
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!(exact(&report.reasons), ["a.rs: one signal is HIGH: coupling"]);
    assert_eq!(exact(&report.files[0].reasons), ["one signal is HIGH: coupling"]);
    assert_eq!(report.reasoning.exact(), "MEDIUM: a.rs: one signal is HIGH: coupling");
}

#[test]
fn lines_that_nobody_counted_are_not_none() {
    let mut made = made(Level::Low, &[("a.png", vec![])]);
    made.change.files[0].lines = None;
    let report = RiskReport::new(&made.change, &made.assessment, None, about());
    assert_eq!((report.change.lines_added, report.change.uncounted_files), (None, 1));
    assert_eq!(exact(&report.key_evidence), ["1 file whose lines are unknown; none of its files has a score"]);
}
