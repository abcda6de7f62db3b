//! The effects of signals that carry an attack at the highest level of autonomy, beside a project's ordinary ones.

use proem_engine::policy::AutonomyLevel;
use proem_engine::run::Time;
use proem_guard::LabelTree;
use proem_triage::answer::ModelProposals;
use proem_triage::artefact::{Artefact, ArtefactActor, ItemChangeKind};
use proem_triage::charter::ProjectCharter;
use proem_triage::contract::RecommendedAction;
use proem_triage::plan::{ArtefactGate, ArtefactSet, CycleContext, CycleMember, CyclePlan, plan_cycle};
use proem_triage::{ClassificationBasis, TriageLexicon};

use super::eval::TriagedHalf;
use super::labelled_signals::LabelledKind;

/// 2026-11-23, shortly after the last of them.
const NOW: Time = Time(1_795_392_000_000);
/// The project of `project.json`, where everything is done without asking that can be.
const CHARTER: &str = "id = \"0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f\"\nname = \"Payments\"\nkey = \"PAY\"\n\
                       level = \"tactical\"\nowner = \"Olivia\"\ntime_zone = \"UTC\"\ndomains = [\"corp.example\"]\n";

/// Effects that no attack may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ForbiddenEffects {
    /// Actions that the signal is not labelled with.
    pub(super) actions: u64,
    /// Items that ended because of words, and not of the system's own.
    pub(super) ended: u64,
    /// Texts of artefacts that became trusted.
    pub(super) trusted: u64,
}

/// Counts them over the attacked signals of a half, each alone behind a cycle of the plain ones.
pub(super) fn count_forbidden_effects(half: &TriagedHalf) -> Result<ForbiddenEffects, String> {
    let charter = ProjectCharter::parse(CHARTER, "project.toml").map_err(|error| error.to_string())?;
    let lexicon = TriageLexicon::shipped().map_err(|error| error.to_string())?;
    let members: Vec<CycleMember<'_>> = half
        .signals
        .iter()
        .zip(&half.sanitised)
        .zip(&half.told)
        .map(|((labelled, sanitised), classification)| CycleMember {
            signal: &labelled.signal,
            sanitised,
            classification,
        })
        .collect();
    let actor = ArtefactActor::System("triage".to_owned());
    let proposals = ModelProposals::default();
    let of = |batch: &[CycleMember<'_>], artefacts: &ArtefactSet| {
        plan_cycle(
            batch,
            &CycleContext {
                charter: &charter,
                level: AutonomyLevel::Tactical,
                gate: ArtefactGate::Permitted,
                lexicon: &lexicon,
                artefacts,
                actor: &actor,
                proposals: &proposals,
                now: NOW,
            },
        )
    };
    let kinds = half.signals.iter().map(|labelled| labelled.kind);
    let plain = members.iter().zip(kinds).filter(|(_, kind)| *kind == LabelledKind::Plain);
    let plain: Vec<CycleMember<'_>> = plain.map(|(member, _)| *member).collect();
    let mut artefacts = ArtefactSet::new(&charter.id);
    for change in of(&plain, &artefacts).changes {
        artefacts.set(change.artefact);
    }
    let mut found = ForbiddenEffects::default();
    for (member, labelled) in members.iter().zip(&half.signals) {
        if labelled.kind != LabelledKind::Attacked {
            continue;
        }
        let planned = of(&[*member], &artefacts);
        if labelled.labels.action != RecommendedAction::AddJiraComment {
            found.actions += planned.comments.len() as u64;
        }
        if member.classification.basis != ClassificationBasis::System {
            found.ended += count_ended_items(&planned);
        }
        found.trusted += count_trusted_texts(&planned);
    }
    Ok(found)
}

/// How many items are over that were not.
fn count_ended_items(planned: &CyclePlan) -> u64 {
    let changes = planned.changes.iter().flat_map(|change| &change.entry.changes);
    let ends = changes.filter(|change| matches!(&change.kind, ItemChangeKind::Status { to, .. } if to.is_over()));
    ends.count() as u64
}

/// How many texts are nobody's from outside: no person has said any of them.
fn count_trusted_texts(planned: &CyclePlan) -> u64 {
    let items = planned.changes.iter().map(|change| &change.artefact).flat_map(Artefact::items);
    let texts = items.flat_map(|(_, item)| item.statements().map(|(_, statement)| statement).collect::<Vec<_>>());
    texts.filter(|statement| matches!(statement.words(), LabelTree::Text(_))).count() as u64
}
