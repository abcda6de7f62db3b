//! The facts around an action, and the policy's ruling on it.

use proem_engine::effect::key::EffectKey;
use proem_engine::policy::{
    ActionEvidence, ActionPast, AutonomyLevel, CauseVerdict, Decision, DecisionMoment, DecisionRequest, EffectSwitch,
    ProposedAction, SourceAgreement, SourceConflict, VerdictBasis, decide,
};
use proem_guard::check::{ConfidentialPrompt, TrustedExcerpt};
use proem_guard::{Bar, FindingKind, LabelTree, Scan, Untrusted, Verdict};
use proem_store::query::{EvidenceWanted, StoredEvidence};
use proem_store::record::CreditScope;

use super::desk::{ActionDesk, EffectsObstacle};
use crate::error::Error;

/// The terms that decide beside the action itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct RulingTerms {
    /// The level of autonomy.
    pub(super) level: AutonomyLevel,
    /// The moment at which the policy decides.
    pub(super) moment: DecisionMoment,
    /// How many principals are behind the action, and whether one contradicts. `None` if nobody has counted.
    pub(super) sources: Option<SourceAgreement>,
}

impl RulingTerms {
    /// Those of a proposal whose sources nobody has counted.
    pub(super) const fn proposal(level: AutonomyLevel) -> Self {
        Self { level, moment: DecisionMoment::Proposal, sources: None }
    }
}

/// The facts about an action that hold before the records are asked, whatever happens meanwhile.
#[derive(Debug)]
pub(super) struct ActionReading {
    /// The texts in it that a person typed.
    typed: Vec<String>,
    /// The worst verdict of its own texts.
    verdict: CauseVerdict,
}

/// An action with what can be said of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAction<'a> {
    pub(super) action: &'a ProposedAction,
    pub(super) reading: &'a ActionReading,
}

impl ActionDesk<'_> {
    /// The current policy's ruling on an action.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(super) async fn ruling(
        &self,
        action: &ProposedAction,
        key: EffectKey,
        terms: RulingTerms,
    ) -> Result<Decision, Error> {
        let evidence = self.store.evidence(self.evidence_wanted(action)).await?;
        let read = ReadAction { action, reading: &self.read_action(action)? };
        Ok(self.ruled(read, key, terms, &evidence))
    }

    /// The question to the records about an action.
    pub(super) fn evidence_wanted(&self, action: &ProposedAction) -> EvidenceWanted {
        EvidenceWanted {
            project: self.owner.clone(),
            scope: self.scope(action),
            signals: action.signals(),
            most: u64::from(ActionPast::MOST_EXECUTED),
        }
    }

    /// Reads an action without the records.
    ///
    /// Behind this door nobody has looked at the signals that an action names, so its own texts represent them: they
    /// are put before the guard, and the worst verdict counts.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(super) fn read_action(&self, action: &ProposedAction) -> Result<ActionReading, Error> {
        let bar = self.guarding.policy.bar("action", "text");
        let texts = outside_texts(action.tree());
        let guard = self.guarding.guard()?;
        let judged = texts.into_iter().map(|text| cause_verdict(&bar, &guard.scan(text)));
        let verdict = judged.max_by_key(|found| (found.worst, found.basis)).unwrap_or(CLEAN);
        Ok(ActionReading { typed: typed_texts(action.tree()), verdict })
    }

    /// The policy's ruling on an action with this evidence. Quarantined parts of its signals count, too.
    pub(super) fn ruled(
        &self,
        read: ReadAction<'_>,
        key: EffectKey,
        terms: RulingTerms,
        evidence: &StoredEvidence,
    ) -> Decision {
        let ReadAction { action, reading: ActionReading { typed, verdict } } = read;
        let past = ActionPast {
            executed: saturate_to_u32(evidence.precedents),
            approvals: saturate_to_u32(evidence.credit.approvals),
        };
        let trusted: Vec<TrustedExcerpt<'_>> =
            typed.iter().map(|text| TrustedExcerpt::whole("what a person typed", text)).collect();
        let quarantined = evidence.quarantine.filter(|worst| *worst > verdict.worst);
        let verdict = quarantined.map_or(*verdict, |worst| CauseVerdict { worst, basis: VerdictBasis::Rule });
        // An action that is on two sources says so by two signals of different origin, which only whoever read them can
        // count; without that nobody vouches for more than one.
        let uncounted =
            || SourceAgreement { agreeing: u32::from(!action.causes().is_empty()), conflict: SourceConflict::Absent };
        let sources = terms.sources.unwrap_or_else(uncounted);
        let label = action.tree().label();
        decide(&DecisionRequest {
            action,
            key,
            policy: &self.policy,
            level: terms.level,
            verdict,
            evidence: ActionEvidence {
                trusted: &trusted,
                untrusted: &[],
                request: &label,
                prompt: ConfidentialPrompt::default(),
            },
            past,
            sources,
            switch: self.switch(),
            moment: terms.moment,
        })
    }

    /// The scope of an action's credit and precedents.
    pub(super) fn scope(&self, action: &ProposedAction) -> CreditScope {
        CreditScope {
            name: action.name().unwrap_or_default().to_owned(),
            recipient: action.referent(&self.policy).map(|target| *target.digest()),
            kind: String::new(),
        }
    }

    fn switch(&self) -> EffectSwitch {
        match self.obstacles().as_slice() {
            [] => EffectSwitch::On,
            [EffectsObstacle::SwitchedOff] if self.status.switch.is_some() => EffectSwitch::Killed,
            _ => EffectSwitch::Off,
        }
    }
}

/// A verdict that nothing speaks against.
const CLEAN: CauseVerdict = CauseVerdict { worst: Verdict::Allow, basis: VerdictBasis::ScoreAlone };

/// The verdict of a scan, and whether a rule or an unread part is behind it, or the learned score alone.
fn cause_verdict(bar: &Bar, scan: &Scan) -> CauseVerdict {
    let worst = bar.judge(scan);
    let of_rule = scan.findings.iter().any(|finding| {
        !matches!(finding.kind, FindingKind::Learned | FindingKind::Similar) && bar.of(finding) > Verdict::Allow
    });
    let basis = if of_rule || !scan.unread.is_empty() { VerdictBasis::Rule } else { VerdictBasis::ScoreAlone };
    CauseVerdict { worst, basis }
}

fn saturate_to_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The texts of an action that a person typed, which vouch for the things they name.
fn typed_texts(tree: &LabelTree) -> Vec<String> {
    match tree {
        LabelTree::Map(fields) => match fields.get("fields") {
            Some(LabelTree::Map(fields)) => fields.iter().flat_map(|(_, field)| trusted_leaves(field)).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn trusted_leaves(tree: &LabelTree) -> Vec<String> {
    match tree {
        LabelTree::Text(text) => vec![text.clone()],
        LabelTree::List(list) => list.iter().flat_map(trusted_leaves).collect(),
        _ => Vec::new(),
    }
}

/// Every text from outside of a tree, with its place in words.
fn outside_texts(tree: &LabelTree) -> Vec<&Untrusted<String>> {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) => vec![text],
        LabelTree::List(list) => list.iter().flat_map(outside_texts).collect(),
        LabelTree::Map(fields) => fields.iter().flat_map(|(_, field)| outside_texts(field)).collect(),
        _ => Vec::new(),
    }
}
