//! Laws about what people see of the queue.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionEvent, ActionState};
use proem_engine::run::Time;
use serde_json::json;

use super::actions::LawActions;
use super::samples::{Backend, LawSamples};
use crate::Store;
use crate::query::{ActionRow, ActionsWanted, LineDepth, QueueLine};
use crate::record::{NewAction, Project};

/// A line has what its action has, in the same order, and the decision exactly if it was asked for.
///
/// # Panics
///
/// If not.
pub async fn a_line_of_the_queue_says_what_its_action_says(backend: &impl Backend) {
    let store = backend.open().await;
    for signal in 1..=6 {
        let mut action = LawActions.action(signal);
        action.decision = json!({ "ruling": signal });
        LawActions.proposed(&store, &action).await;
        let due = Time(LawActions::NOW.0 + 60_000 * (7 - i64::try_from(signal).unwrap_or_default()));
        let event = match signal % 3 {
            0 => ActionEvent::Cancel,
            1 => ActionEvent::Hold { due },
            _ => continue,
        };
        LawActions.made(&store, LawActions.happens(&action, 0, event)).await;
    }
    let project = Some(LawSamples.project());
    let open = ActionsWanted { project: project.clone(), ..ActionsWanted::default() };
    let named = ActionsWanted { states: vec![ActionState::Cancelled, ActionState::Held], ..open.clone() };
    let nobodys = ActionsWanted { project: Some(Project("/nobody".to_owned())), ..ActionsWanted::default() };
    for (wanted, count) in [
        (open.clone(), 4),
        (ActionsWanted { most: Some(3), ..open }, 3),
        (ActionsWanted { project: None, ..named.clone() }, 4),
        (named, 4),
        (ActionsWanted::default(), 4),
        (nobodys, 0),
    ] {
        let Ok(rows) = store.actions(&wanted).await else { panic!("actions can be read") };
        assert_eq!(rows.len(), count, "{wanted:?}");
        for depth in [LineDepth::Standing, LineDepth::Target, LineDepth::Decision] {
            let lines = store.queue_lines(&wanted, depth).await.ok();
            assert_eq!(lines, Some(rows.iter().map(|row| expected_line(row, depth)).collect()), "{wanted:?}");
        }
    }
    let project = LawSamples.project();
    let Ok(ended) = store.ended_actions(&project, 1).await else { panic!("actions can be read") };
    assert_eq!(ended.iter().map(|row| row.state).collect::<Vec<_>>(), [ActionState::Cancelled]);
    for (since, expected) in [(LawActions::NOW, 6), (Time(LawActions::NOW.0 + 1), 0)] {
        let Ok(rows) = store.actions_since(&project, since, 100).await else { panic!("actions can be read") };
        assert_eq!(rows.len(), expected, "whatever they stand at");
    }
    store.close().await;
}

fn expected_line(row: &ActionRow, depth: LineDepth) -> QueueLine {
    let line = QueueLine::from(row);
    match depth {
        LineDepth::Standing => QueueLine { form: None, decision: None, ..line },
        LineDepth::Target => QueueLine { decision: None, ..line },
        LineDepth::Decision => line,
    }
}

/// The keys of a project's actions, in any state, that begin with the digits, in order and no more than wanted.
///
/// # Panics
///
/// If not.
pub async fn a_beginning_names_the_keys_that_begin_so(backend: &impl Backend) {
    let store = backend.open().await;
    let ours = [0x12_34_56_00, 0x12_34_56_ff, 0x12_34_57_00, 0x12_35_00_00, 0xff_ff_ff_ff, 0];
    for (start, signal) in ours.into_iter().zip(1..) {
        let action = NewAction { key: key_starting_with(start), ..LawActions.action(signal) };
        LawActions.proposed(&store, &action).await;
        if signal == 1 {
            LawActions.made(&store, LawActions.happens(&action, 0, ActionEvent::Cancel)).await;
        }
    }
    let elsewhere = Project("/home/ada/other".to_owned());
    let foreign =
        NewAction { key: key_starting_with(0x12_34_56_80), project: elsewhere.clone(), ..LawActions.action(9) };
    LawActions.proposed(&store, &foreign).await;
    let project = LawSamples.project();
    let whole = key_starting_with(ours[1]).to_string();
    check_keys_beginning(&store, &project, "123456", &ours[..2]).await;
    check_keys_beginning(&store, &project, "1234", &ours[..3]).await;
    check_keys_beginning(&store, &project, "123", &ours[..4]).await;
    check_keys_beginning(&store, &project, "ffff", &ours[4..5]).await;
    check_keys_beginning(&store, &project, "0000", &ours[5..]).await;
    check_keys_beginning(&store, &project, &whole, &ours[1..2]).await;
    check_keys_beginning(&store, &project, &format!("{whole}0"), &[]).await;
    for none in ["1236", "12345680", "FFFF", "g", "12%", "1_34"] {
        check_keys_beginning(&store, &project, none, &[]).await;
    }
    check_keys_beginning(&store, &elsewhere, "1234", &[0x12_34_56_80]).await;
    let two = store.keys_beginning(&project, "12", 2).await.ok();
    assert_eq!(two, Some(vec![key_starting_with(ours[0]), key_starting_with(ours[1])]));
    store.close().await;
}

/// A key with these first digits.
fn key_starting_with(start: u32) -> EffectKey {
    let mut bytes = [7; 32];
    bytes.iter_mut().zip(start.to_be_bytes()).for_each(|(byte, digits)| *byte = digits);
    EffectKey::of_bytes(bytes)
}

async fn check_keys_beginning(store: &Store, project: &Project, digits: &str, expected: &[u32]) {
    let found = store.keys_beginning(project, digits, 10).await.ok();
    assert_eq!(found, Some(expected.iter().copied().map(key_starting_with).collect()), "{digits}");
}
