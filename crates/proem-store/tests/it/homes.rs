//! The witness of effects beside a server: each machine has its own, and a database that was restored or copied sends
//! nothing before a person has looked.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use proem_engine::effect::{ActionEvent, BytesHash, PerformerEpoch};
use proem_store::laws::{Backend as _, LawActions, LawSamples};
use proem_store::record::NewAction;
use proem_store::{EffectIntent, EffectOutcome, Error, IntentRepetition, Store, StoreAccess};

use crate::postgres::{Descent, Postgres};

/// Takes an approved action up, lets it leave, and writes down that it did.
async fn send(store: &Store, action: &NewAction) {
    let approved = LawActions.approved(store, action).await;
    let epoch = LawActions.performer(store).await;
    let witness = store.open_witness(LawActions::NOW).await.unwrap();
    let taken = LawActions.made(store, LawActions.performs(action, approved, LawActions.take_up(action), epoch)).await;
    let intent = witness.intend(intent(action, taken, epoch)).await.unwrap();
    witness.settle(intent, EffectOutcome::Sent, LawActions::NOW).await.unwrap();
    let sent = LawActions.performs(action, taken, ActionEvent::Sent, epoch);
    LawActions.made(store, sent).await;
}

fn intent(action: &NewAction, version: u64, epoch: PerformerEpoch) -> EffectIntent {
    EffectIntent {
        key: action.key,
        version: proem_engine::effect::ActionVersion(version),
        epoch,
        bytes: BytesHash([3; 32]),
        at: LawActions::NOW,
        repetition: IntentRepetition::First,
    }
}

async fn is_parked(store: &Store, why: &str) {
    let parked = store.examine_witness().await.unwrap().unwrap_or_default();
    assert!(parked.contains(why), "{why}: {parked}");
    assert!(matches!(store.open_witness(LawActions::NOW).await, Err(Error::Parked(_))));
}

#[tokio::test]
async fn machines_that_share_a_database_have_a_witness_each() {
    let folder = tempfile::tempdir().unwrap();
    let Some(first) = Postgres::new(folder.path()) else { return };
    let second = first.on_another_machine(folder.path());
    let (here, there) = (first.open().await, second.open().await);
    send(&here, &LawActions.action(1)).await;
    assert_eq!(there.examine_witness().await.unwrap(), None, "another machine sent it");
    send(&there, &LawActions.action(2)).await;
    assert_eq!(here.examine_witness().await.unwrap(), None);
    // The one whose witness is gone can't know what it sent, and none sends until a person has looked.
    std::fs::remove_file(first.path.with_file_name("effects.witness")).unwrap();
    is_parked(&here, "their witness is gone").await;
    is_parked(&there, "their witness is gone").await;
    here.adopt(LawSamples.actor(), LawActions::NOW).await.unwrap();
    assert_eq!(here.examine_witness().await.unwrap(), None);
    assert_eq!(there.examine_witness().await.unwrap(), None);
    here.close().await;
    there.close().await;
}

#[tokio::test]
async fn a_restored_database_sends_nothing_before_a_person_has_looked() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let action = LawActions.action(1);
    LawActions.approved(&store, &action).await;
    LawActions.performer(&store).await;
    assert_eq!(store.examine_witness().await.unwrap(), None);
    let before = store.status().await.unwrap().id;
    store.close().await;
    let restored = postgres.restore_elsewhere();
    let store = restored.open().await;
    is_parked(&store, "the database was restored, copied or promoted").await;
    let counts = store.adopt(LawSamples.actor(), LawActions::NOW).await.unwrap();
    assert_eq!(counts.returned, 1, "the approval was of another time");
    assert_eq!(store.examine_witness().await.unwrap(), None);
    assert_ne!(store.status().await.unwrap().id, before, "so that effects are off");
    store.close().await;
    // The one that it was copied from goes on.
    let store = postgres.open().await;
    assert_eq!(store.examine_witness().await.unwrap(), None);
    store.close().await;
}

/// A standby is only read. One that is promoted, and a server that recovered, may lack what the first one sent.
#[tokio::test]
async fn a_promoted_or_recovered_server_sends_nothing_before_a_person_has_looked() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    LawActions.approved(&store, &LawActions.action(1)).await;
    LawActions.performer(&store).await;
    let (recovered, _server) = postgres.on_copied_server(Descent::Recovery);
    let (standby, _other_server) = postgres.on_copied_server(Descent::Standby);
    let refused = standby.try_open(StoreAccess::Write).await.unwrap_err().to_string();
    assert!(refused.contains("the server is a standby or read-only, so connect to the primary"), "{refused}");
    assert!(!standby.try_open(StoreAccess::Read).await.unwrap().is_blank, "it is read");
    standby.run("SELECT pg_promote()").unwrap();
    for moved in [recovered, standby] {
        let store = moved.open().await;
        is_parked(&store, "the database was restored, copied or promoted").await;
        assert_eq!(store.adopt(LawSamples.actor(), LawActions::NOW).await.unwrap().returned, 1);
        assert_eq!(store.examine_witness().await.unwrap(), None);
        store.close().await;
    }
    assert_eq!(store.examine_witness().await.unwrap(), None, "the first one goes on");
    store.close().await;
}

/// A disk that is put back under a server leaves no trace in it: the machine that sent since knows.
#[tokio::test]
async fn records_that_lack_what_this_machine_sent_are_parked() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let store = postgres.open().await;
    let action = LawActions.action(1);
    send(&store, &action).await;
    assert_eq!(store.examine_witness().await.unwrap(), None);
    postgres
        .run(
            "BEGIN; INSERT INTO meta VALUES ('purging', 'yes'); DELETE FROM transitions WHERE event IN ('take-up', 'sent'); \
             UPDATE actions SET state = 'approved', version = version - 2; DELETE FROM meta WHERE key = 'purging'; COMMIT",
        )
        .unwrap();
    postgres.run("UPDATE meta SET value = '0 none' WHERE key LIKE 'witness:%'").unwrap();
    is_parked(&store, "knows").await;
    let list = store.witness_list().await.unwrap();
    assert_eq!(list.extent, proem_store::query::WitnessExtent::Partial, "other machines may have sent more");
    let counts = store.adopt(LawSamples.actor(), LawActions::NOW).await.unwrap();
    assert_eq!((counts.learned, counts.doubted), (1, 1));
    store.close().await;
}

#[tokio::test]
async fn a_database_is_read_by_a_role_of_no_power() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postgres) = Postgres::new(folder.path()) else { return };
    let plain = postgres.as_owner("plain");
    let store = plain.open().await;
    send(&store, &LawActions.action(1)).await;
    assert_eq!(store.examine_witness().await.unwrap(), None);
    store.close().await;
    let opened = plain.try_open(StoreAccess::Read).await.unwrap();
    assert!(!opened.is_blank);
}
