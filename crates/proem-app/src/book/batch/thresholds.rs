//! Thresholds of risk: what people said of alarms, and the change that it shows to be better.

use proem_agents::risk::feedback::{Meter, ThresholdEvidence};
use proem_engine::run::Time;
use proem_store::Store;

use super::{BatchScene, BatchSubject, Finding, last_decisions};
use crate::book::journal::Journal;
use crate::book::proposals::ProposedChange;
use crate::error::Error;
use crate::risk::feedback::{ThresholdChange, weigh_feedback};

/// The subjects with verdicts, and the changes that these show to be better, with an error of at most `error` together.
pub(super) async fn weigh_risk_thresholds(
    scene: &BatchScene,
    store: &Store,
    error: f64,
) -> Result<(Vec<BatchSubject>, Vec<Finding>), Error> {
    let last = last_decisions(&Journal::load(&scene.user.folder)?);
    let about = |meter: Meter| change_of(scene, meter, 0.0, 0.0).about();
    let since = |meter: Meter| last.get(&about(meter)).copied().unwrap_or(Time(i64::MIN));
    let evidence = weigh_feedback(store, scene.user.project(), error, since).await?;
    let subjects = evidence.iter().filter(|one| one.judged > 0).map(threshold_subject).collect();
    let findings = evidence.iter().filter_map(|one| threshold_finding(scene, one)).collect();
    Ok((subjects, findings))
}

fn change_of(scene: &BatchScene, meter: Meter, from: f64, to: f64) -> ProposedChange {
    let value = |number: f64| toml::Value::Float(number).to_string();
    ProposedChange::Threshold {
        setting: ThresholdChange::setting(meter),
        from: value(from),
        to: value(to),
        project: scene.mark.clone(),
    }
}

fn threshold_subject(evidence: &ThresholdEvidence) -> BatchSubject {
    let finding = match (&evidence.proven, evidence.missing) {
        (Some(suggestion), _) => {
            format!("{} instead of {} is shown to be better", suggestion.to.second, suggestion.from.second)
        }
        (None, Some(missing)) if missing > 0 => {
            format!("no change is shown to be better; about {missing} more verdicts may decide")
        }
        (None, _) => "no change is shown to be better".to_owned(),
    };
    BatchSubject {
        name: ThresholdChange::setting(evidence.meter),
        n: evidence.judged,
        is_shown: evidence.proven.is_some(),
        finding,
    }
}

fn threshold_finding(scene: &BatchScene, evidence: &ThresholdEvidence) -> Option<Finding> {
    let (suggestion, newest) = (evidence.proven.as_ref()?, evidence.newest?);
    let tally = &evidence.foresight;
    let all = tally.all();
    let silenced = tally.silenced_false.saturating_add(tally.silenced_right);
    let right = tally.silenced_right.saturating_add(tally.kept_right);
    Some(Finding {
        change: change_of(scene, evidence.meter, suggestion.from.second, suggestion.to.second),
        because: format!(
            "people called alarms of this signal false that a later threshold would not raise (n = {all})"
        ),
        evidence: vec![
            format!(
                "expected effect: {silenced} of {all} alarms of this signal would no longer be HIGH, among them {} of the \
                 {right} that people called right",
                tally.silenced_right
            ),
            format!(
                "each of these alarms was judged after the threshold that it is counted by was chosen: {} false and {} right \
                 ones would have been silent, {} false and {} right ones would have been raised",
                tally.silenced_false, tally.silenced_right, tally.kept_false, tally.kept_right
            ),
            format!("on all {} judged alarms: {}", evidence.judged, suggestion.because),
            "a silent alarm of one signal is not LOW: other signals and the score decide as before".to_owned(),
        ],
        newest: Time(newest),
    })
}
