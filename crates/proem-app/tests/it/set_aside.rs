//! Signals that take too long to be read.

use std::time::Duration;

use proem_app::triage::TriageDesk;
use proem_app::triage::normalise::NormaliseOptions;
use proem_app::{records, when};
use proem_store::StoreAccess;
use proem_store::record::EscalationState;
use serde_json::json;

use crate::Home;
use crate::triage_signals::charter_text;

#[test]
fn a_signal_that_takes_too_long_is_set_aside_asked_about_and_not_read_again() {
    let home = Home::with("");
    home.triage().trust_charter(&charter_text("artefact"));
    let project = home.project();
    let signal = json!({
        "timestamp": 1_795_500_000_000_u64,
        "webhookEvent": "jira:issue_updated", "issue_event_type_name": "issue_generic",
        "issue": { "id": "1", "key": "TES-1", "fields": { "project": { "key": "TES" }, "summary": "Refunds" } },
    });
    records::runtime().unwrap().block_on(async {
        let desk = TriageDesk::open(&project, StoreAccess::Write).await.unwrap().value;
        let options = NormaliseOptions { now: when::time_now(), mail_servers: Vec::new(), audiences: Vec::new() };
        desk.take_in(&options.read_stream(signal.to_string().as_bytes()).unwrap()).await.unwrap();
        let hurried = desk.with_reading_limit(Duration::ZERO);
        let report = hurried.work(&mut |_| {}).await.unwrap();
        assert_eq!((report.outcomes.len(), report.changes.len(), report.questions.len()), (0, 0, 1));
        assert!(report.problems.iter().any(|problem| problem.ends_with("and was set aside")), "{:?}", report.problems);

        let patient = hurried.with_reading_limit(Duration::from_secs(120));
        let report = patient.work(&mut |_| {}).await.unwrap();
        assert_eq!((report.outcomes.len(), report.questions.len(), report.problems.len()), (0, 0, 0));
        let open = patient.desk.escalations(Some(EscalationState::Open)).await.unwrap();
        assert_eq!(open.len(), 1);
        patient.close().await;
    });
}
