//! The laws of every investigation, whatever a model says.

use proem_agents::risk::investigation::{EXPAND, InvestigationLimits, NeighbourFiles};
use proem_engine::run::Effect;
use proem_risk::metric::{MetricName, Signal};
use proptest::prelude::*;

use crate::risk::scene::{comes_back, decides, drive, metric, says, subject, wide};

/// Answers of a model, good ones and bad ones.
fn answer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(decides("CALCULATE_METRIC", Some("ownership_churn"), Some("file 1"))),
        Just(decides("CALCULATE_METRIC", Some("incident_similarity"), Some("b.py"))),
        Just(decides("EXPAND_GRAPH", None, Some("file 1"))),
        Just(decides("FINALIZE", None, None)),
        Just(says("LOW", &["E1"])),
        Just(says("HIGH", &["E1", "E50"])),
        Just("no JSON".to_owned()),
        Just("! server".to_owned()),
        Just("! no-key".to_owned()),
        Just("deadline".to_owned()),
    ]
}

/// The result of a measurement.
fn measurement(what: &str, of: &serde_json::Value) -> String {
    if what == EXPAND {
        let found = NeighbourFiles { direct: 31, transitive: 4, mean_distance: None, names: Vec::new() };
        return serde_json::to_string(&found).unwrap();
    }
    let name: MetricName = serde_json::from_value(of["metric"].clone()).unwrap();
    comes_back(&metric(name, 40.0, Signal::Medium))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The level never falls, no more is asked than may be, and a state that is read back goes on alike,
    /// which [`drive`] checks at every step.
    #[test]
    fn an_investigation_ends_within_its_limits(answers in proptest::collection::vec(answer(), 8)) {
        let subject = subject("Go", &[("a.py", wide(31.0)), ("b.py", wide(12.0))]);
        let rules = subject.assessment.level;
        let mut answers = answers.iter().cycle();
        let ran = drive(subject, InvestigationLimits::default(), &mut |effect| match effect {
            Effect::Measure { what, of } => measurement(what, of),
            _ => answers.next().cloned().unwrap(),
        });
        prop_assert!(ran.end.assessment.level >= rules);
        prop_assert!(ran.end.hops.len() <= 3);
        prop_assert!(ran.asked.len() <= 6, "two decisions and a synthesis, each asked twice at most");
        for request in &ran.asked {
            prop_assert!(request.assembly.tokens() + request.assembly.output_tokens <= 4_000);
        }
        let numbers: Vec<u32> = (0..).take(ran.effects.len()).collect();
        prop_assert_eq!(&ran.effects, &numbers);
        for hop in &ran.end.hops {
            prop_assert!(hop.offered.contains(&hop.action), "{:?}", hop);
        }
    }
}
