//! The admissible part of a synthesis.

use proem_agents::risk::investigation::InvestigationEnd;
use proem_risk::level::{Level, LevelReason};
use proem_risk::metric::MetricName;

use crate::risk::scene::{decides, medium, run, says, unknown};

fn ends(level: &str, cites: &[&str]) -> InvestigationEnd {
    run(medium(), &[&decides("FINALIZE", None, None), &says(level, cites)]).end
}

#[test]
fn the_level_is_never_lowered() {
    let end = ends("LOW", &["E1"]);
    assert_eq!(end.assessment.level, Level::Medium);
    assert_eq!(end.notes, ["the model says LOW, the rules say MEDIUM; the level of the rules applies"]);
    assert_eq!(end.synthesis.unwrap().risk_level, Level::Low, "what it said is kept beside");
}

#[test]
fn it_rises_with_cited_evidence() {
    let end = ends("HIGH", &["E2", "e1"]);
    assert_eq!((end.assessment.level, end.notes.len()), (Level::High, 0));
    assert_eq!(end.assessment.reasons[0], LevelReason::Raised { from: Level::Medium });
}

#[test]
fn it_does_not_rise_on_what_is_low() {
    // The third piece is the score, which is LOW.
    let end = ends("HIGH", &["E3"]);
    assert_eq!(end.assessment.level, Level::Medium);
    assert_eq!(
        end.notes,
        ["the model says HIGH but cites no measured evidence above LOW for it; the level MEDIUM of the rules applies"]
    );
}

#[test]
fn it_does_not_rise_on_what_is_unknown() {
    let mut subject = medium();
    subject.assessment = subject.assessment.with(0, unknown(MetricName::TestRatio));
    let end = run(subject, &[&decides("FINALIZE", None, None), &says("HIGH", &["E4"])]).end;
    assert_eq!(end.synthesis.unwrap().key_evidence, ["It is used widely [E4: test_ratio of src/auth.py]"]);
    assert_eq!(end.assessment.level, Level::Medium);
}

#[test]
fn what_was_not_given_can_not_be_cited() {
    let end = ends("HIGH", &["E1", "E99", "the log"]);
    assert_eq!(end.synthesis.unwrap().key_evidence, ["It is used widely [E1: coupling of src/auth.py]"]);
    assert_eq!(
        end.notes,
        [
            "a statement of the model cites E99, which its request did not contain, and is left out",
            "a statement of the model cites no evidence and is left out",
        ]
    );
    let end = ends("HIGH", &["E99", "E", "E-1"]);
    assert!(end.synthesis.is_none());
    assert_eq!(end.assessment.level, Level::Medium);
    assert!(end.notes.iter().any(|note| note.starts_with("no summary by the model: it cites only evidence")));
}
