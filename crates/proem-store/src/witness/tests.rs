//! Lines that a witness takes, and lines that it refuses.

use std::fs::OpenOptions;

use super::*;
use crate::laws::LawActions;
use crate::record::NewAction;
use crate::sql::Tables;

const AT: Time = Time(1_800_000_000_000);

fn key() -> InstallationKey {
    InstallationKey::new([7; 32])
}

/// A witness in a folder of its own, for records that are not there.
struct Scene {
    _folder: tempfile::TempDir,
    database: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("records.db");
        make_if_absent(&database, &key(), &WitnessOwner { store: "00aa", at: AT }).unwrap();
        Self { _folder: folder, database }
    }

    fn open(&self) -> OpenWitness {
        OpenWitness::open(&self.database, key(), "00aa".to_owned()).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(witness_path(&self.database)).unwrap()
    }

    fn account(&self) -> Box<WitnessAccount> {
        match WitnessSighting::of(&self.database, &key()).unwrap() {
            WitnessSighting::Found(account, _) => account,
            WitnessSighting::Absent | WitnessSighting::Unfit(_) => panic!("there is a witness"),
        }
    }
}

fn intent(action: &NewAction, version: u64, repetition: IntentRepetition) -> EffectIntent {
    let (version, epoch, bytes) = (ActionVersion(version), PerformerEpoch(1), BytesHash([4; 32]));
    EffectIntent { key: action.key, version, epoch, bytes, at: AT, repetition }
}

fn claims(action: &NewAction) -> Vec<String> {
    action.claims.iter().map(|claim| proem_text::hex::encode_hex(claim.as_bytes())).collect()
}

/// Has an effect witnessed, with what became of it.
fn perform(open: &mut OpenWitness, action: &NewAction, intent: &EffectIntent, outcome: EffectOutcome) {
    open.intend(intent, claims(action)).unwrap();
    let witnessed = WitnessedIntent { key: intent.key, version: intent.version, epoch: intent.epoch };
    open.settle(&witnessed, outcome, AT).unwrap();
}

#[test]
fn no_key_leaves_twice_unless_a_person_asked_or_nothing_left() {
    let action = LawActions.action(1);
    for (outcome, again_by_itself) in [
        (EffectOutcome::Sent, false),
        (EffectOutcome::Failed, false),
        (EffectOutcome::Unknown, false),
        (EffectOutcome::NotSent, true),
    ] {
        let scene = Scene::new();
        let mut open = scene.open();
        perform(&mut open, &action, &intent(&action, 3, IntentRepetition::First), outcome);
        let again = open.intend(&intent(&action, 7, IntentRepetition::First), claims(&action));
        assert_eq!(again.is_ok(), again_by_itself, "{outcome:?}");
        let mut open = scene.open();
        open.intend(&intent(&action, 9, IntentRepetition::Again), claims(&action)).unwrap();
    }
}

#[test]
fn another_action_for_a_signal_that_left_is_refused() {
    let scene = Scene::new();
    let (first, both) = (LawActions.action(1), LawActions.caused(&[LawActions.signal(1, 1), LawActions.signal(2, 1)]));
    let mut open = scene.open();
    perform(&mut open, &first, &intent(&first, 3, IntentRepetition::First), EffectOutcome::Sent);
    let refused = open.intend(&intent(&both, 3, IntentRepetition::First), claims(&both)).unwrap_err();
    assert!(matches!(refused, Error::Parked(_)), "{refused}");
    let other = LawActions.action(3);
    open.intend(&intent(&other, 3, IntentRepetition::First), claims(&other)).unwrap();
}

#[test]
fn two_performers_see_each_others_lines() {
    let scene = Scene::new();
    let actions = [LawActions.action(1), LawActions.action(2)];
    let (mut one, mut other) = (scene.open(), scene.open());
    perform(&mut one, &actions[0], &intent(&actions[0], 3, IntentRepetition::First), EffectOutcome::Sent);
    perform(&mut other, &actions[1], &intent(&actions[1], 3, IntentRepetition::First), EffectOutcome::Sent);
    assert!(other.intend(&intent(&actions[0], 9, IntentRepetition::First), Vec::new()).is_err());
    assert!(one.intend(&intent(&actions[1], 9, IntentRepetition::First), Vec::new()).is_err());
    let account = scene.account();
    assert_eq!((account.effects.len(), account.damaged, account.torn.clone()), (2, None, None));
}

#[test]
fn a_line_that_broke_off_is_taken_away_by_the_next() {
    let action = LawActions.action(1);
    let scene = Scene::new();
    let whole = scene.text();
    let file = || OpenOptions::new().append(true).open(witness_path(&scene.database)).unwrap();
    let beginning: String = action.key.to_string().chars().take(9).collect();
    file().write_all(format!("{{\"action\":\"{beginning}").as_bytes()).unwrap();
    assert_eq!(scene.account().torn.as_deref(), Some(&*beginning));
    perform(&mut scene.open(), &action, &intent(&action, 3, IntentRepetition::First), EffectOutcome::Sent);
    let text = scene.text();
    assert!(text.starts_with(&whole) && text.lines().count() == 3, "{text}");
    assert_eq!((scene.account().torn.clone(), scene.account().damaged), (None, None));
}

#[test]
fn a_line_that_broke_off_counts_unless_the_records_are_in_doubt_about_it() {
    let action = LawActions.action(1);
    let key_text = action.key.to_string();
    let database = Tables::new(rusqlite::Connection::open_in_memory().unwrap(), "memory".into());
    let tables = "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('store_id', '00aa');
                  CREATE TABLE witnessed (action, version); CREATE TABLE actions (key, version, purged, state);
                  CREATE TABLE transitions (action, version, event)";
    database.script(tables).unwrap();
    let check = |torn: &str, expected: Option<WitnessTrouble>| {
        let recorded = RecordedEffects::read(&database, &InstallationKey::new([7; 32]), Path::new("memory")).unwrap();
        let mut account = WitnessAccount::default();
        account.store.push_str("00aa");
        account.torn = Some(torn.to_owned());
        let found = comparison::compare_effects(Some(&FoundWitness { account: &account, place: "" }), &recorded);
        assert_eq!(found, expected, "{torn}");
    };
    // Records from before it was taken up: it may have left.
    check(&key_text, Some(WitnessTrouble::KnowsMore(1)));
    check("", Some(WitnessTrouble::KnowsMore(1)));
    database.execute("INSERT INTO transitions VALUES (?, 3, 'take-up')", [&key_text]).unwrap();
    check(&key_text, None);
    check("", None);
    check(&LawActions.action(2).key.to_string(), Some(WitnessTrouble::KnowsMore(1)));
    database.execute("INSERT INTO transitions VALUES (?, 4, 'sent')", [&key_text]).unwrap();
    check(&key_text, Some(WitnessTrouble::KnowsMore(1)));
}
