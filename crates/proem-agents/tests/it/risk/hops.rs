//! The steps of an investigation.

use proem_agents::risk::investigation::{HopAction, Investigation, InvestigationLimits, NeighbourFiles, Subject};
use proem_engine::profile::Profile;
use proem_engine::run::{Effect, EffectId, EffectResult, Event, EventKind, Machine, Step, Time};
use proem_risk::assess::Investigate;
use proem_risk::level::Level;
use proem_risk::metric::{MetricName, Signal};
use serde_json::json;

use crate::risk::scene::{
    BENCH, NOBODY, comes_back, decides, hops, medium, metric, performed, ranked, run, run_within, says, section,
    subject, unknown, wide,
};

fn ownership(days: f64, signal: Signal) -> String {
    comes_back(&metric(MetricName::OwnershipChurn, days, signal))
}

fn asks_for(metric: &str) -> String {
    decides("CALCULATE_METRIC", Some(metric), Some("src/auth.py"))
}

#[test]
fn a_metric_that_settles_the_level_is_the_last() {
    let ran = run(medium(), &[&asks_for("ownership_churn"), &ownership(14.0, Signal::High), &says("HIGH", &["E1"])]);
    assert_eq!(hops(&ran.end), ["CALCULATE_METRIC ownership_churn 0 by model", "FINALIZE by rules"]);
    assert_eq!(ran.end.hops[0].offered, [HopAction::CalculateMetric, HopAction::Finalize]);
    assert_eq!(
        (ran.end.hops[0].result.as_str(), ran.end.hops[1].result.as_str()),
        ("HIGH (14 days), change of owner", "the level is HIGH already")
    );
    assert_eq!(ran.end.assessment.level, Level::High);
    assert_eq!(ran.measured, [json!(["risk/metric", { "metric": "ownership_churn", "file": 0 }])]);
    assert_eq!(ran.effects, [0, 1, 2]);
    let attempts = ran.end.outcome().unwrap().attempts;
    assert_eq!(attempts.iter().map(|attempt| attempt.effect.0).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(ran.end.usage().unwrap().input, Some(100));
    let prompts: Vec<&str> = ran.end.exchanges.iter().map(|exchange| exchange.prompt.as_str()).collect();
    assert_eq!(prompts, ["risk/decision", "risk/synthesis"]);
    let synthesis = &ran.asked[1].assembly;
    assert!(section(synthesis, "chain").contains("hop 1: CALCULATE_METRIC ownership_churn of file 1: HIGH (14 days)"));
    assert!(section(synthesis, "reasons").contains("hop 1: It would make the risk clearer."));
}

#[test]
fn the_third_hop_is_the_end_without_a_call() {
    let low = comes_back(&metric(MetricName::IncidentSimilarity, 20.0, Signal::Low));
    let script = [
        asks_for("ownership_churn"),
        ownership(200.0, Signal::Low),
        asks_for("incident_similarity"),
        low,
        says("MEDIUM", &["E1"]),
    ];
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let ran = run(medium(), &script);
    assert_eq!(ran.asked.len(), 3, "two decisions and the synthesis");
    assert_eq!(
        hops(&ran.end),
        [
            "CALCULATE_METRIC ownership_churn 0 by model",
            "CALCULATE_METRIC incident_similarity 0 by model",
            "FINALIZE by rules"
        ]
    );
    let second = &ran.asked[1].assembly;
    assert!(section(second, "step").contains("hop 2 of at most 3"));
    assert!(!section(second, "step").contains("ownership_churn"), "what is known is not offered again");
}

#[test]
fn where_nothing_is_high_nobody_is_asked() {
    let low = vec![
        metric(MetricName::Coupling, 3.0, Signal::Low),
        metric(MetricName::CoChange, 0.15, Signal::Low),
        metric(MetricName::TestRatio, 0.9, Signal::Low),
    ];
    let ran = run(subject("Tidy", &[("utils.py", low)]), &[]);
    assert_eq!((hops(&ran.end), ran.end.outcome()), (vec!["FINALIZE by rules".to_owned()], None));
    let mut docs = medium();
    docs.assessment.investigate = Investigate::NothingThatRuns;
    let ran = run(docs, &[]);
    assert_eq!(ran.end.hops[0].result, "only documentation or generated files change");
}

#[test]
fn what_is_high_already_is_only_explained() {
    let high = vec![metric(MetricName::Coupling, 20.0, Signal::High), metric(MetricName::CoChange, 0.8, Signal::High)];
    let ran = run(subject("Go", &[("a.py", high)]), &[&says("HIGH", &["E1", "E2"])]);
    assert_eq!((hops(&ran.end), ran.asked.len()), (vec!["FINALIZE by rules".to_owned()], 1));
    assert_eq!(
        ran.end.synthesis.unwrap().key_evidence,
        ["It is used widely [E1: coupling of a.py]", "It is used widely [E2: co_change of a.py]"]
    );
}

#[test]
fn three_high_signals_are_enough() {
    let files = [("a.py", wide(15.0)), ("b.py", wide(16.0)), ("c.py", wide(17.0))];
    let ran = run(subject("Go", &files), &[&says("MEDIUM", &["E1"])]);
    assert_eq!(ran.end.hops[0].result, "three pieces of evidence are HIGH");
}

#[test]
fn neighbours_are_offered_above_20_importers_and_once() {
    for (importers, offered) in [(20.0, false), (21.0, true)] {
        let subject = subject("Go", &[("src/auth.py", wide(importers))]);
        let ran = run(subject, &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
        assert_eq!(ran.end.hops[0].offered.contains(&HopAction::ExpandGraph), offered, "{importers}");
    }
    let found =
        NeighbourFiles { direct: 31, transitive: 47, mean_distance: Some(1.7), names: vec!["src/far.py".to_owned()] };
    let found = serde_json::to_string(&found).unwrap();
    let expand = decides("EXPAND_GRAPH", None, Some("file 1"));
    let subject = subject("Go", &[("src/auth.py", wide(31.0))]);
    let ran = run(subject, &[&expand, &found, &expand, &decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
    assert_eq!(ran.measured, [json!(["risk/neighbours", { "file": 0 }])]);
    let second = &ran.asked[1].assembly;
    let around = section(second, "neighbours");
    assert!(
        around.contains(
            "file 1: imported by 31 files, and those by 47 more, 1.7 imports away on average; nearest: file 3"
        ),
        "{around}"
    );
    assert!(section(second, "names").contains("file 3: \"src/far.py\""));
    assert!(section(&ran.asked[2].assembly, "wrong").contains("`EXPAND_GRAPH` is not offered"));
}

#[test]
fn an_answer_that_can_not_be_used_is_asked_for_once_more() {
    let check = |wrong: &str, told: &str| {
        let ran = run(medium(), &[wrong, wrong, &says("MEDIUM", &["E1"])]);
        assert_eq!(hops(&ran.end), ["FINALIZE by fallback"], "{wrong}");
        assert!(ran.asked[1].assembly.text().contains(told), "{wrong}: {}", ran.asked[1].assembly.text());
        assert!(
            ran.end.notes[0].starts_with("hop 1: the prompt's fallback ends the search for evidence"),
            "{:?}",
            ran.end.notes
        );
        assert!(ran.end.synthesis.is_some(), "the synthesis does not depend on it");
    };
    check("it looks fine", "The last answer broke its contract");
    check(&decides("EXPAND_GRAPH", None, Some("src/auth.py")), "`EXPAND_GRAPH` is not offered");
    check(&decides("CALCULATE_METRIC", None, Some("src/auth.py")), "needs a `target.metric_name`");
    check(&decides("CALCULATE_METRIC", Some("ownership_churn"), None), "needs a `target.file_path`");
    check(
        &decides("CALCULATE_METRIC", Some("ownership_churn"), Some("../../etc/passwd")),
        "is not a file of this change",
    );
    check(&decides("CALCULATE_METRIC", Some("ownership_churn"), Some("file 2")), "is not a file of this change");
}

#[test]
fn the_same_metric_twice_is_refused() {
    let twice = asks_for("ownership_churn");
    let known = ownership(200.0, Signal::Low);
    let ran = run(medium(), &[&twice, &known, &twice, &twice, &says("MEDIUM", &["E1"])]);
    assert_eq!(hops(&ran.end), ["CALCULATE_METRIC ownership_churn 0 by model", "FINALIZE by fallback"]);
    assert!(section(&ran.asked[2].assembly, "wrong").contains("`ownership_churn` of this file is known already"));
    assert_eq!(ran.measured.len(), 1);
}

#[test]
fn a_file_may_be_named_by_its_alias_unless_that_is_ambiguous() {
    let by_alias = decides("CALCULATE_METRIC", Some("ownership_churn"), Some("file 2"));
    let end = decides("FINALIZE", None, None);
    let known = ownership(200.0, Signal::Low);
    let files = [("a.py", wide(15.0)), ("b.py", wide(16.0))];
    let ran = run(subject("Go", &files), &[&by_alias, &known, &end, &says("MEDIUM", &["E1"])]);
    assert_eq!(ran.end.hops[0].file, Some(1));
    let files = [("file 2", wide(15.0)), ("b.py", wide(16.0))];
    let ran = run(subject("Go", &files), &[&by_alias, &by_alias, &says("MEDIUM", &["E1"])]);
    assert_eq!(hops(&ran.end), ["FINALIZE by fallback"]);
}

#[test]
fn a_measurement_that_fails_is_noted_and_not_asked_for_again() {
    let asks = asks_for("ownership_churn");
    let ran = run(medium(), &[&asks, "! timed-out", &decides("FINALIZE", None, None), &says("MEDIUM", &["E1"])]);
    assert!(ran.end.notes[0].contains("ownership_churn could not be measured: it went wrong"), "{:?}", ran.end.notes);
    let step = section(&ran.asked[1].assembly, "step");
    assert!(!step.contains("ownership_churn") && step.contains("incident_similarity"), "{step}");
}

#[test]
fn an_unknown_is_a_reason_to_go_on() {
    let all = [MetricName::Coupling, MetricName::CoChange, MetricName::TestRatio].map(unknown).to_vec();
    let subject = subject("Go", &[("src/auth.py", all)]);
    assert_eq!(subject.assessment.level, Level::Medium);
    let ran = run(subject, &[&decides("FINALIZE", None, None), &says("MEDIUM", &["E2"])]);
    assert!(section(&ran.asked[0].assembly, "signals").contains("UNKNOWN coupling of file 1: no parser reads it"));
}

#[test]
fn where_the_rank_decides_signals_offer_hops_and_a_model_may_raise() {
    let files = [("src/auth.py", wide(15.0))];
    let by_rules = ranked("Go", &files).assessment;
    assert_eq!((by_rules.level, by_rules.investigate), (Level::Low, Investigate::Yes));
    let script = |said: &str| {
        [asks_for("ownership_churn"), ownership(14.0, Signal::High), decides("FINALIZE", None, None), said.to_owned()]
    };
    let end = |said: &str| {
        let script = script(said);
        let script: Vec<&str> = script.iter().map(String::as_str).collect();
        run(ranked("Go", &files), &script).end
    };
    // A finding is evidence: by itself it raises nothing.
    assert_eq!(end(&says("LOW", &["E1"])).assessment.level, Level::Low);
    assert_eq!(end(&says("HIGH", &["E1"])).assessment.level, Level::High);
}

#[test]
fn a_hop_out_of_time_ends_that_hop_and_not_the_investigation() {
    let known = ownership(14.0, Signal::High);
    let ran = run(medium(), &["! timed-out", &asks_for("ownership_churn"), &known, &says("HIGH", &["E1"])]);
    assert_eq!(
        hops(&ran.end),
        ["TIMED_OUT by fallback", "CALCULATE_METRIC ownership_churn 0 by model", "FINALIZE by rules"]
    );
    assert_eq!(ran.end.hops[0].result, "the call took longer than a hop may");
    assert!(ran.end.synthesis.is_some());
    assert_eq!(ran.end.notes, ["hop 1 timed out and brought no evidence; the investigation goes on without it"]);
    let second = &ran.asked[1].assembly;
    assert!(section(second, "step").contains("hop 2 of at most 3"));
    assert!(section(second, "chain").contains("hop 1: TIMED_OUT: the call took longer than a hop may"));
}

#[test]
fn hops_that_all_time_out_end_in_a_summary() {
    let ran = run(medium(), &["! timed-out", "! timed-out", &says("MEDIUM", &["E1"])]);
    assert_eq!(hops(&ran.end), ["TIMED_OUT by fallback", "TIMED_OUT by fallback", "FINALIZE by rules"]);
    assert!(ran.end.synthesis.is_some());
    // Slow hops leave the time of one call for the summary.
    let slow = |ms: i64| format!("@{ms} ! timed-out");
    let ran = run(medium(), &[&slow(10_000), &slow(20_000), &says("MEDIUM", &["E1"])]);
    assert!(ran.end.synthesis.is_some(), "{:?}", ran.end.notes);
}

#[test]
fn a_model_cannot_choose_to_have_timed_out() {
    let wrong = decides("TIMED_OUT", None, None);
    let ran = run(medium(), &[&wrong, &wrong, &says("MEDIUM", &["E1"])]);
    assert_eq!(hops(&ran.end), ["FINALIZE by fallback"]);
}

#[test]
fn a_record_without_measures_makes_the_same_requests_as_before() {
    let before = || Subject { yardsticks: None, ..medium() };
    let ran = run(before(), &["! timed-out", &says("MEDIUM", &["E1"])]);
    assert_eq!(hops(&ran.end), ["FINALIZE by fallback"]);
    let note = "hop 1 timed out; the summary uses the evidence collected until then";
    assert!(ran.end.notes.iter().any(|found| found == note), "{:?}", ran.end.notes);
    let synthesis = &ran.asked[1].assembly;
    assert!(section(synthesis, "chain").contains("hop 1: FINALIZE: the call failed (timed-out)"));
    assert!(section(synthesis, "left-out").contains("1 further metric is LOW"));
    assert_eq!(section(synthesis, "measures"), "");
}

#[test]
fn failures_end_with_what_is_known() {
    let check = |script: &[&str], calls: usize, note: &str| {
        let ran = run(medium(), script);
        assert_eq!(ran.asked.len(), calls, "{script:?}");
        assert_eq!(ran.end.assessment.level, Level::Medium);
        assert!(ran.end.synthesis.is_none());
        assert!(ran.end.notes.iter().any(|found| found.contains(note)), "{script:?}: {:?}", ran.end.notes);
    };
    check(&["! no-key"], 1, "the call failed (no-key)");
    check(&["! server", "! server"], 2, "no summary by the model: the call failed (server)");
    check(&["cancel"], 1, "it was cancelled");
    check(&["deadline"], 1, "its time was up");
    check(&[&asks_for("ownership_churn"), "cancel"], 1, "it was cancelled");
    check(&[&decides("FINALIZE", None, None), "deadline"], 2, "its time was up");
    check(
        &[&decides("FINALIZE", None, None), "no JSON", "none"],
        3,
        "no summary by the model: no answer met the contract",
    );
}

#[test]
fn the_time_is_kept() {
    let (asks, known) = (asks_for("ownership_churn"), ownership(200.0, Signal::Low));
    let within = |total_ms: u32, script: &[&str]| {
        run_within(medium(), script, InvestigationLimits { total_ms, ..InvestigationLimits::default() })
    };
    let (asks, late) = (format!("@9000 {asks}"), format!("@19000 {known}"));
    let ran = within(28_999, &[&asks, &late, &says("MEDIUM", &["E1"])]);
    assert_eq!(ran.end.hops[1].result, "less than a hop's time is left");
    let ran = within(19_000, &[&asks, &late]);
    assert!(ran.end.synthesis.is_none());
    assert!(ran.end.notes.iter().any(|note| note.contains("no time for a summary")), "{:?}", ran.end.notes);
}

#[test]
fn an_interruption_counts_as_a_hops_time_at_most() {
    let known = ownership(200.0, Signal::Low);
    let script = |ms: i64| [asks_for("ownership_churn"), format!("@{ms} {known}"), says("MEDIUM", &["E1"])];
    let hops_after = |ms: i64, total_ms: u32| {
        let script = script(ms);
        let script: Vec<&str> = script.iter().map(String::as_str).collect();
        hops(&run_within(medium(), &script, InvestigationLimits { total_ms, ..InvestigationLimits::default() }).end)
    };
    // A day later, in another process, it ends as it would have after a hop's time.
    assert_eq!(hops_after(86_400_000, 19_999), hops_after(10_000, 19_999));
    assert_eq!(hops_after(86_400_000, 19_999).len(), 2);
}

#[test]
fn a_call_that_would_be_too_large_is_not_made() {
    let limits = InvestigationLimits { call_tokens: 600, ..InvestigationLimits::default() };
    let ran = run_within(medium(), &[], limits);
    assert_eq!(hops(&ran.end), ["FINALIZE by fallback"]);
    assert!(
        ran.end.notes.iter().any(|note| note.starts_with("no summary by the model: no model could be asked")),
        "{:?}",
        ran.end.notes
    );
    let one = InvestigationLimits { hops: 1, ..InvestigationLimits::default() };
    let ran = run_within(medium(), &[&says("MEDIUM", &["E1"])], one);
    assert_eq!(ran.end.hops[0].result, "this is the last hop");
}

#[test]
fn what_nobody_asked_for_is_refused_and_changes_nothing() {
    let mut machine = Investigation::new(BENCH.terms(InvestigationLimits::default()), medium());
    let at = |what| Event { now: Time(0), what };
    let before = machine.state().unwrap();
    let nobody = || vec![(NOBODY, EffectResult::Measured { value: json!(1) })];
    assert!(machine.step(at(EventKind::Performed { results: nobody() })).is_err());
    assert!(machine.step(at(EventKind::Woken)).is_err());
    assert_eq!(machine.state().unwrap(), before);
    machine.step(at(EventKind::Started)).unwrap();
    let before = machine.state().unwrap();
    let restored = Investigation::restore(BENCH.terms(InvestigationLimits::default()), &before).unwrap();
    for machine in [&machine, &restored] {
        assert_eq!(machine.account(EffectId(0)).unwrap()["prompt"]["name"], "risk/decision");
        assert_eq!(machine.account(NOBODY), None);
    }
    for results in [nobody(), Vec::new()] {
        assert!(machine.step(at(EventKind::Performed { results })).is_err());
    }
    assert_eq!(machine.state().unwrap(), before);
    assert!(Investigation::restore(BENCH.terms(InvestigationLimits::default()), &json!({ "exchange": null })).is_err());
}

#[test]
fn what_was_learned_about_a_prompt_stands_in_it_and_in_no_other() {
    let profile = |line: &str| Profile { constraints: vec![line.to_owned()], ..Profile::default() };
    let profiles = [profile("Keep to what is offered."), profile("Keep to the schema.")];
    let mut terms = BENCH.terms(InvestigationLimits::default());
    (terms.decision.profile, terms.synthesis.profile) = (Some(&profiles[0]), Some(&profiles[1]));
    let mut machine = Investigation::new(terms, medium());
    let mut what = EventKind::Started;
    let answers = [decides("FINALIZE", None, None), says("MEDIUM", &["E1"])];
    for (answer, profile) in answers.into_iter().zip(&profiles) {
        let Step::Do(effects) = machine.step(Event { now: Time(0), what }).unwrap() else {
            panic!("no model is asked")
        };
        let [(id, effect @ Effect::Call { request })] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(section(&request.assembly, "profile").trim_end(), profile.text().trim_end());
        what = EventKind::Performed { results: vec![(*id, performed(&answer, effect))] };
    }
    assert!(matches!(machine.step(Event { now: Time(0), what }).unwrap(), Step::Done(_)));
}
