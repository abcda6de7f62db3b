//! Evidence within its budget, and what is counted instead of shown.

use proem_agents::risk::investigation::Subject;
use proem_risk::assess::Partner;
use proem_risk::metric::{Fraction, Metric, MetricName, Sentence, SentencePart, Signal};
use proem_risk::path::FileRole;

use crate::risk::scene::{decides, metric, run, says, section, subject, wide};

/// A change of many files with everything that there can be of each.
fn crowded(files: usize) -> Subject {
    let long = "x".repeat(400);
    let paths: Vec<String> = (0..files).map(|n| format!("src/{n}/{long}.py")).collect();
    let detailed = |n: usize| {
        let signal = if n == 0 { Signal::High } else { Signal::Medium };
        let mut coupling = metric(MetricName::Coupling, 15.0, signal);
        let names = (0..20).map(|k| Sentence::default().then(SentencePart::Path(format!("importer/{n}/{k}/{long}"))));
        coupling.details = names.collect();
        vec![
            coupling,
            metric(MetricName::CoChange, 0.5, Signal::Medium),
            metric(MetricName::TestRatio, 0.9, Signal::Low),
        ]
    };
    let all: Vec<(&str, Vec<Metric>)> =
        paths.iter().enumerate().map(|(n, path)| (path.as_str(), detailed(n))).collect();
    let mut subject = subject(&long, &all);
    subject.assessment.gaps = (0..9).map(|n| format!("the {n}th thing is not known")).collect();
    subject.assessment.partners = (0..8)
        .map(|n| Partner {
            path: format!("partner/{n}"),
            of: 0,
            together: Fraction { numerator: 15, denominator: 20 },
            low: 0.5,
            imported: Some(false),
        })
        .collect();
    subject
}

#[test]
fn every_call_keeps_its_budget() {
    for files in [1, 8, 60] {
        let ran = run(crowded(files), &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
        let [decision, synthesis] = ran.asked.as_slice() else { panic!("{}", ran.asked.len()) };
        let tokens = [decision.assembly.tokens(), synthesis.assembly.tokens()];
        assert!(tokens[0] <= 2_600 && tokens[1] <= 3_400, "{files} files: {tokens:?}");
        assert_eq!((decision.assembly.output_tokens, synthesis.assembly.output_tokens), (200, 500));
        assert!(ran.end.synthesis.is_some(), "{:?}", ran.end.notes);
    }
}

#[test]
fn what_is_not_shown_is_counted() {
    let ran = run(crowded(60), &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
    let assembly = &ran.asked[0].assembly;
    let left_out = section(assembly, "left-out");
    for words in [
        "160 further signals are not shown: 96 MEDIUM, 61 LOW",
        "5 further usual partners are missing",
        "unknown: the 0th thing is not known",
        "unknown: 5 things more",
    ] {
        assert!(left_out.contains(words), "`{words}` is not in\n{left_out}");
    }
    assert!(section(assembly, "change").contains("50 further files, less risky by the rules"));
}

#[test]
fn high_is_detailed_and_medium_and_low_are_brief() {
    let ran = run(
        subject("Go", &[("src/auth.py", wide(15.0))]),
        &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])],
    );
    let assembly = &ran.asked[0].assembly;
    let signals = section(assembly, "signals");
    assert!(signals.contains("- E1 HIGH coupling of file 1: 15 files; file 2 and others import it\n"), "{signals}");
    assert!(signals.contains("- E2 MEDIUM co_change of file 1: 0.4\n"), "{signals}");
    assert!(signals.contains("- E4 LOW test_ratio of file 1: 0.9\n"), "{signals}");
    assert!(section(assembly, "details").contains("- E1: file 2"));
    assert!(
        section(assembly, "change").contains("1 file, 40 lines added, 3 lines removed; MEDIUM by the rules so far")
    );
    assert!(section(assembly, "change").contains("file 1: modified, Python, 250 lines"));
    assert_eq!(section(assembly, "neighbours"), "", "the files around are shown once they are asked for");
}

#[test]
fn incidents_are_shown_in_bands() {
    let titled = |signal: Signal| {
        let mut incidents = metric(MetricName::IncidentSimilarity, 97.0, signal);
        incidents.details =
            (1..=9).map(|n| Sentence::default().then(SentencePart::Message(format!("incident no. {n}")))).collect();
        incidents
    };
    for (signal, shown, more) in [(Signal::High, 9, None), (Signal::Medium, 3, Some("and 6 more"))] {
        let mut metrics = wide(15.0);
        metrics.push(titled(signal));
        let subject = subject("Go", &[("a.py", metrics)]);
        let last = says("MEDIUM", &["E1"]);
        let end = decides("FINALIZE", None, None);
        let script: &[&str] = if signal == Signal::High { &[&last] } else { &[&end, &last] };
        let ran = run(subject, script);
        let details = section(&ran.asked[0].assembly, "details");
        assert_eq!(details.matches("incident ").count(), shown, "{details}");
        assert!(more.is_none_or(|more| details.contains(more)), "{details}");
    }
}

#[test]
fn tests_and_generated_files_decide_nothing() {
    let mut subject = subject("Go", &[("src/auth.py", wide(15.0)), ("tests/test_auth.py", wide(90.0))]);
    let test = subject.assessment.files.iter_mut().find(|file| file.index == 1).unwrap();
    test.class.role = FileRole::Test;
    let ran = run(subject, &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
    let assembly = &ran.asked[0].assembly;
    assert!(!section(assembly, "signals").contains("of file 2:"), "{}", section(assembly, "signals"));
    assert!(
        section(assembly, "left-out").contains("1 file is tests, documentation, generated or foreign, and not judged")
    );
}

#[test]
fn what_no_rule_speaks_of_stands_beside() {
    let mut metrics = wide(15.0);
    metrics.push(metric(MetricName::PriorFixes, 4.0, Signal::None));
    metrics.push(metric(MetricName::MinorContributors, 1.0, Signal::None));
    let mut subject = subject("Go", &[("a.py", metrics)]);
    subject.assessment.score.signal = Signal::Unknown;
    subject.assessment.score.rank = None;
    let ran = run(subject, &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
    let assembly = &ran.asked[0].assembly;
    let details = section(assembly, "details");
    assert!(details.contains("file 1 besides: earlier fixes 4 commits, minor contributors 1 person"), "{details}");
    let signals = section(assembly, "signals");
    assert!(signals.contains("UNKNOWN score of the change: it could not be placed among past commits"), "{signals}");
}
