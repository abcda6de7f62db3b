//! The laws for any operations in any order.

use std::collections::BTreeSet;

use proem_triage::artefact::{
    Artefact, ArtefactField as F, ArtefactItemId, ArtefactItemKind as K, ArtefactKind, ArtefactLogEntry,
    ArtefactOperation, ArtefactValue, BacklogExtent, EscalationNeed, Figure, FigurePlaces, FigureSources, FigureValue,
    ItemStatus, count_figures,
};
use proptest::prelude::*;

use super::{NOW, Project, with};

/// An operation on one of two artefacts: what it does, to which item, with which word.
fn operation(project: &Project, (what, number, word): (u8, u32, usize)) -> (ArtefactKind, ArtefactOperation) {
    const RAID: [K; 4] = [K::Risk, K::Assumption, K::Issue, K::Dependency];
    let kind = RAID[word % 4];
    let raid = ArtefactItemId { kind, number };
    let blocker = ArtefactItemId { kind: K::Blocker, number };
    let to = ItemStatus::ALL[word % ItemStatus::ALL.len()];
    let reason = project.says("The ticket says so.");
    let text = project.text(["a", "b", "c"][word % 3]);
    match what % 8 {
        0 => (ArtefactKind::RaidLog, project.raid(kind, "A new one")),
        1 => (ArtefactKind::RaidLog, with(project.raid(kind, "Nobody's"), F::Owner, None)),
        2 => (ArtefactKind::RaidLog, ArtefactOperation::ChangeStatus { id: raid, to, reason }),
        3 => (ArtefactKind::RaidLog, ArtefactOperation::Close { id: raid, reason }),
        4 => {
            let changes = [(F::Title, text)].into();
            (ArtefactKind::RaidLog, ArtefactOperation::Modify { id: raid, changes, reason })
        }
        5 => {
            let linked = ArtefactValue::RaidItems(vec![raid]);
            (ArtefactKind::DeliveryState, with(project.blocker("I001"), F::RaidItem, Some(linked)))
        }
        6 => (ArtefactKind::DeliveryState, ArtefactOperation::Close { id: blocker, reason }),
        _ => {
            let to = if word % 2 == 0 { ItemStatus::Mitigating } else { to };
            (ArtefactKind::RaidLog, ArtefactOperation::ChangeStatus { id: raid, to, reason })
        }
    }
}

/// All ids of an artefact.
fn ids(artefact: &Artefact) -> BTreeSet<ArtefactItemId> {
    artefact.items().map(|(id, _)| id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_what_was_there_and_what_agrees(
        script in prop::collection::vec((any::<u8>(), 1..4_u32, any::<u8>()), 1..40),
    ) {
        let mut project = Project::running();
        let (mut given, mut accepted) = (BTreeSet::new(), 0);
        for artefact in &project.artefacts {
            given.extend(ids(artefact));
        }
        for (what, number, word) in script {
            let (kind, operation) = operation(&project, (what, number, usize::from(word)));
            let before = project.artefact(kind).clone();
            let applied = project.try_apply(kind, std::slice::from_ref(&operation));
            prop_assert_eq!(&applied, &project.try_apply(kind, std::slice::from_ref(&operation)), "deterministic");
            let Ok(applied) = applied else { continue };
            accepted += 1;
            // Nothing is lost, and what is new was never there.
            let (old, new) = (ids(&before), ids(&applied.artefact));
            prop_assert!(old.is_subset(&new));
            for id in new.difference(&old) {
                prop_assert!(given.insert(*id), "{id} was given twice");
            }
            prop_assert_eq!(applied.artefact.version(), before.version() + 1);
            // A written artefact is read again, with all labels.
            let read = Artefact::read(&applied.artefact.write().unwrap());
            prop_assert_eq!(read.as_ref(), Ok(&applied.artefact));
            let entry = ArtefactLogEntry::read(&applied.entry.write().unwrap());
            prop_assert_eq!(entry.as_ref(), Ok(&applied.entry));
            let asked: BTreeSet<EscalationNeed> = applied.asks.iter().copied().collect();
            for (id, item) in applied.artefact.items() {
                for (_, statement) in item.statements() {
                    prop_assert!(!statement.words().label().is_trusted());
                }
                let is_raid = matches!(id.kind, K::Risk | K::Assumption | K::Issue | K::Dependency);
                if is_raid && item.status.is_open() {
                    prop_assert!(item.text(F::Mitigation).is_some());
                    prop_assert!(item.text(F::Owner).is_some() || asked.contains(&EscalationNeed::Owner(id)));
                }
            }
            *project.artefacts.iter_mut().find(|artefact| artefact.kind() == kind).unwrap() = applied.artefact;
            let raid = project.artefact(ArtefactKind::RaidLog);
            // The counts are those of the artefacts.
            let artefacts: Vec<&Artefact> = project.artefacts.iter().collect();
            let (coverage, places) = (BacklogExtent::Whole, FigurePlaces::default());
            let sources = FigureSources { now: NOW, signals: &[], coverage, places: &places, artefacts: &artefacts };
            let counted = count_figures(&sources);
            let blockers = project.artefact(ArtefactKind::DeliveryState).open(K::Blocker).count();
            prop_assert_eq!(counted.get(Figure::OpenBlockers), FigureValue::count(blockers));
            prop_assert_eq!(counted.get(Figure::ActiveRisks), FigureValue::count(raid.open(K::Risk).count()));
            for (id, blocker) in project.artefact(ArtefactKind::DeliveryState).open(K::Blocker) {
                let linked = blocker.raid_items(F::RaidItem);
                let open = |id: &ArtefactItemId| raid.item(*id).is_some_and(|item| item.status.is_open());
                prop_assert!(!linked.is_empty() && linked.iter().all(open), "{id} blocks nothing");
            }
        }
        let versions: u64 = project.artefacts.iter().map(Artefact::version).sum();
        prop_assert_eq!(versions, 2 + accepted, "each change is one version");
    }
}
