//! Questions that people decide, each with two to five options.

use proem_engine::effect::key::{EffectKey, SignalRevision};
use proem_engine::policy::{Decision, ProposedAction, Ruling};
use proem_guard::{LabelTree, TreeName};
use proem_store::query::{ActionRow, EscalationRow};
use proem_store::record::{ApprovalBreadth, DecisionEffect, EscalationId, EscalationState, NewDecision};
use proem_store::{DecisionAnswer, ProposalAnswer};
use proem_triage::artefact::{AppliedChange, ArtefactItemId};

use super::desk::ActionDesk;
use super::propose::{NewProposal, Proposal};
use super::queue::{NOT_DISPLAYED, QueueVerdict};
use crate::error::Error;
use crate::message::Hint;
use crate::operator::{Displayed, Operator};
use crate::triage::{DecidedOption, is_change_offer};
use crate::when;

/// A decision that was written.
#[derive(Debug)]
pub struct MadeDecision {
    /// The consequence of the decision.
    pub result: DecisionResult,
    /// Its item in the decision log. `None` in a project that is not triaged.
    pub log: Option<ArtefactItemId>,
}

/// The consequence of a person's decision.
#[derive(Debug)]
pub enum DecisionResult {
    /// The option does nothing.
    Nothing,
    /// The action that the escalation is about was approved.
    Approved,
    /// The action that it is about was cancelled.
    Cancelled,
    /// The option's action went down the corridor.
    Proposed(Box<Proposal>),
    /// These items of artefacts changed as the option says.
    Changed(Vec<ArtefactItemId>),
}

impl ActionDesk<'_> {
    /// Escalations, the most pressing first, and of those the nearest deadline.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn escalations(&self, state: Option<EscalationState>) -> Result<Vec<EscalationRow>, Error> {
        let mut rows = self.store.escalations(&self.owner, state).await?;
        rows.sort_by_key(urgency);
        Ok(rows)
    }

    /// The one escalation whose id begins like that.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub async fn escalation(&self, id: &str) -> Result<EscalationRow, Error> {
        let mut found =
            self.escalations(None).await?.into_iter().filter(|row| !id.is_empty() && row.id.0.starts_with(id));
        let shown = proem_guard::show::terminal_str(id);
        match (found.next(), found.next()) {
            (Some(row), None) => Ok(row),
            (None, _) => {
                Err(Error::invalid(format!("no escalation has the id `{shown}`")).hinting(Hint::ListEscalations))
            }
            (Some(_), Some(_)) => {
                Err(Error::invalid(format!("several escalations have the id `{shown}…`; give more of it")))
            }
        }
    }

    /// Writes what a person decided, with his own words, lets the option's action go down the corridor, and enters it
    /// into the decision log of a project that is triaged.
    ///
    /// Decision, action and entry are written together: a process that ends leaves all of them or none, and an action
    /// that was not settled any more is a proposal, which the next sweep settles.
    ///
    /// # Errors
    ///
    /// If the option is none of its, somebody decided before, it was not shown to its end, or what follows can't be
    /// written.
    pub async fn decide(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        choice: OptionChoice<'_>,
    ) -> Result<MadeDecision, Error> {
        let OptionChoice { option, words, displayed } = choice;
        let chosen = escalation.options.iter().find(|known| known.id == option);
        let Some(chosen) = chosen else {
            let known: Vec<&str> = escalation.options.iter().map(|known| known.id.as_str()).collect();
            return Err(Error::invalid(format!(
                "`{}` is none of its options; choose one of `{}`",
                proem_guard::show::terminal_str(option),
                known.join("`, `")
            )));
        };
        let action = chosen.action.as_deref().map(|form| ProposedAction::stored(form, &self.policy)).transpose()?;
        require_displayed(escalation, &chosen.label, action.as_ref(), displayed)?;
        let is_offer = action.as_ref().is_some_and(is_change_offer);
        let (offer, action) = if is_offer { (action, None) } else { (None, action) };
        let (effect, mut following) = if is_offer {
            (DecisionEffect::Nothing, Following::Said(DecisionResult::Nothing))
        } else {
            self.following(operator, escalation, action, choice).await?
        };
        if let Following::Proposed { action, decision, .. } = &following
            && let Some(why) = self.still_refused(&escalation.id, action, decision)
        {
            return Err(Error::negative(format!("nothing was decided: the policy still refuses it ({why})")));
        }
        for _ in 0..TRIES {
            let mut made = Vec::new();
            if let Some(offer) = &offer {
                made = self.chosen_changes(operator, escalation, offer).await?;
                following = Following::Said(DecisionResult::Changed(changed_items(&made)));
            }
            let outcome = following.in_words();
            let chosen = DecidedOption { option, words, outcome: outcome.as_deref(), made: &made };
            let log = self.decision_log_entry(operator, escalation, chosen).await?;
            let mut artefacts = self.artefact_edits(operator, &made)?;
            let item = log.map(|(item, edit)| {
                // The entry follows a change of the log that the option makes.
                artefacts.push(edit);
                item
            });
            let decision = NewDecision {
                escalation: escalation.id.clone(),
                project: self.owner.clone(),
                actor: operator.actor().clone(),
                at: when::time_now(),
                option: option.to_owned(),
                words: words.to_owned(),
                effect: effect.clone(),
                artefacts,
            };
            match self.store.decide(decision).await? {
                DecisionAnswer::Done { proposal } => {
                    let result = self.follow(following, proposal).await?;
                    return Ok(MadeDecision { result, log: item });
                }
                DecisionAnswer::Stands(_) => {
                    return Err(Error::negative("somebody has decided it before; look at it again"));
                }
                DecisionAnswer::Refused(refused) => {
                    return Err(Error::negative(format!("nothing was decided: {refused}")));
                }
                DecisionAnswer::ArtefactMoved => {}
            }
        }
        Err(Error::negative("nothing was decided: another process keeps changing the artefacts; try again"))
    }

    /// The option's consequence for an action, and the work left after that is written.
    async fn following(
        &self,
        operator: &Operator,
        escalation: &EscalationRow,
        action: Option<ProposedAction>,
        OptionChoice { words, displayed, .. }: OptionChoice<'_>,
    ) -> Result<(DecisionEffect, Following), Error> {
        let about = match &escalation.action {
            Some(key) => Some(self.store.action(&self.owner, key).await?.row),
            None => None,
        };
        let says = |row: &ActionRow, verdict: QueueVerdict| {
            let said = self.spoken_of(operator, row, verdict, ApprovalBreadth::Single)?;
            Ok::<_, Error>(DecisionEffect::Transition(Box::new(said)))
        };
        Ok(match (about, action) {
            (Some(row), Some(action)) if row.content == action.content() => {
                (says(&row, QueueVerdict::Approve(displayed.clone()))?, Following::Said(DecisionResult::Approved))
            }
            (Some(row), None) if !row.state.is_end() => {
                let cancel = QueueVerdict::Cancel { why: words.to_owned() };
                (says(&row, cancel)?, Following::Said(DecisionResult::Cancelled))
            }
            (_, Some(action)) => {
                let decision = self.first_ruling(&action).await?;
                let new = self.new_action(&action, &decision)?;
                let (key, effect) = match new {
                    NewProposal::Written(new) => (Some(new.key), DecisionEffect::Proposal(new)),
                    NewProposal::Unwritten(key) => (key, DecisionEffect::Nothing),
                };
                (effect, Following::Proposed { key, action: Box::new(action), decision: Box::new(decision) })
            }
            (_, None) => (DecisionEffect::Nothing, Following::Said(DecisionResult::Nothing)),
        })
    }

    async fn follow(&self, following: Following, proposal: Option<ProposalAnswer>) -> Result<DecisionResult, Error> {
        let (key, action, decision) = match following {
            Following::Said(result) => return Ok(result),
            Following::Proposed { key, action, decision } => (key, *action, *decision),
        };
        let proposal = match (key, proposal) {
            (Some(key), Some(answer)) => self.taken_in(key, action, decision, answer).await?,
            (key, _) => self.unwritten(key, action, decision).await?,
        };
        Ok(DecisionResult::Proposed(Box::new(proposal)))
    }
}

/// An option that a person chose.
#[derive(Debug, Clone, Copy)]
pub struct OptionChoice<'c> {
    /// The option's id.
    pub option: &'c str,
    /// The person's own words.
    pub words: &'c str,
    /// The displayed page.
    pub displayed: &'c Displayed,
}

/// Refuses a choice whose case, label or action was not shown to its end.
fn require_displayed(
    escalation: &EscalationRow,
    label: &str,
    action: Option<&ProposedAction>,
    displayed: &Displayed,
) -> Result<(), Error> {
    let case = escalation_case(escalation);
    let texts = case.iter().flat_map(|case| [Some(&case.because), case.about.as_ref()]).flatten();
    let label = LabelTree::read(label).ok();
    for text in texts.chain(&label) {
        if !displayed.covers_tree(text)? {
            return Err(Error::negative(NOT_DISPLAYED));
        }
    }
    match action {
        Some(action) if !displayed.covers(&action.content().0) => Err(Error::negative(NOT_DISPLAYED)),
        _ => Ok(()),
    }
}

/// The work left after a decision is written.
enum Following {
    /// Nothing: this came of it.
    Said(DecisionResult),
    /// To settle the action that was proposed.
    Proposed {
        /// Its key, if it has one.
        key: Option<EffectKey>,
        action: Box<ProposedAction>,
        /// The policy's decision.
        decision: Box<Decision>,
    },
}

impl Following {
    /// The consequence of a decision, as the decision log words it.
    fn in_words(&self) -> Option<String> {
        match self {
            Self::Said(DecisionResult::Approved) => Some("The action was approved.".to_owned()),
            Self::Said(DecisionResult::Cancelled) => Some("The action was cancelled.".to_owned()),
            Self::Said(DecisionResult::Changed(items)) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                Some(format!("Changed: {}.", items.join(", ")))
            }
            Self::Said(DecisionResult::Nothing | DecisionResult::Proposed(_)) => None,
            Self::Proposed { action, decision, .. } => {
                let name = action.name().unwrap_or("its");
                let reasons: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
                Some(match &decision.ruling {
                    Ruling::Refusal(_) => {
                        format!("It did not happen: the policy refused the action `{name}` ({}).", reasons.join("; "))
                    }
                    Ruling::Hold(minutes) if minutes.0 > 0 => {
                        format!("The action `{name}` was proposed and is held for {} min.", minutes.0)
                    }
                    Ruling::Hold(_) | Ruling::Permit(_) => {
                        format!("The action `{name}` was proposed and goes by itself.")
                    }
                    Ruling::Approval | Ruling::Escalation => {
                        format!("The action `{name}` was proposed and waits for an approval.")
                    }
                    Ruling::Standstill => format!("The action `{name}` stays a proposal ({}).", reasons.join("; ")),
                })
            }
        }
    }
}

/// The items that changes of artefacts touch.
fn changed_items(changes: &[AppliedChange]) -> Vec<ArtefactItemId> {
    let mut items: Vec<ArtefactItemId> =
        changes.iter().flat_map(|change| &change.entry.changes).map(|change| change.item).collect();
    items.dedup();
    items
}

/// How often a decision is tried again because somebody else wrote into an artefact meanwhile.
const TRIES: usize = 5;

/// How soon something has to be decided, the soonest first.
const URGENCIES: [&str; 4] = ["immediate", "today", "this_week", "no_deadline"];

/// How pressing an escalation is: the lower, the sooner it has to be decided.
pub(crate) fn urgency(row: &EscalationRow) -> usize {
    URGENCIES.iter().position(|word| *word == row.sensitivity).unwrap_or(URGENCIES.len())
}

/// The name of the reasons in a written case.
pub(crate) const BECAUSE: &str = "because";
/// The name of the action in a written case.
pub(crate) const ABOUT: &str = "about";
/// The name of the signals that led to it in a written case, each with its id and revision.
pub(crate) const CAUSES: &str = "causes";
/// The name of what it is called in a written case.
pub(crate) const HEADING: &str = "heading";
/// The name of the id that all questions about one matter share in a written case.
pub(crate) const MATTER: &str = "matter";

/// Why a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct EscalationCase {
    /// Its subject, in a few words that may be somebody else's. `None` if nothing has a name.
    pub heading: Option<LabelTree>,
    /// The reasons.
    pub because: LabelTree,
    /// The content of an action that is written down nowhere else. `None` for one that is, and without an action.
    pub about: Option<LabelTree>,
    /// The signals that led to it, as far as they are written down with it.
    pub causes: Vec<SignalRevision>,
    /// The id that all questions about one matter share. `None` if it is its own.
    pub matter: Option<String>,
}

/// The case of an escalation. `None` once its text is gone.
#[must_use]
pub fn escalation_case(row: &EscalationRow) -> Option<EscalationCase> {
    let tree = LabelTree::read(&row.reason).ok()?;
    let bare = |because: &LabelTree| EscalationCase {
        heading: None,
        because: because.clone(),
        about: None,
        causes: Vec::new(),
        matter: None,
    };
    let LabelTree::Map(fields) = &tree else { return Some(bare(&tree)) };
    let Some(because) = fields.get(BECAUSE) else { return Some(bare(&tree)) };
    Some(EscalationCase {
        heading: fields.get(HEADING).filter(|heading| **heading != LabelTree::Null).cloned(),
        because: because.clone(),
        about: fields.get(ABOUT).cloned(),
        causes: cause_revisions(fields.get(CAUSES)),
        matter: our_words(fields.get(MATTER)),
    })
}

/// The content of a case without the arguments about the options of the rules, and those arguments by option.
#[must_use]
pub fn split_option_sides(about: &LabelTree) -> (Option<LabelTree>, Vec<(String, OptionSides)>) {
    let LabelTree::Map(map) = about else { return (Some(about.clone()), Vec::new()) };
    let Some(LabelTree::List(options)) = map.get(OPTIONS).filter(|_| map.label().is_trusted()) else {
        return (Some(about.clone()), Vec::new());
    };
    let sides = |tree: &LabelTree| {
        let LabelTree::Map(option) = tree else { return None };
        let Some(LabelTree::Text(id)) = option.get("option") else { return None };
        let of = |side: &'static str| match option.get(side) {
            Some(LabelTree::List(reasons)) => reasons.iter().map(|reason| (side, reason.clone())).collect(),
            _ => Vec::new(),
        };
        Some((id.clone(), ["for", "against"].into_iter().flat_map(of).collect()))
    };
    let rest: Vec<(&str, LabelTree)> = map
        .iter()
        .filter_map(|(name, part)| match name {
            TreeName::Ours(name) if name != OPTIONS => Some((name, part.clone())),
            _ => None,
        })
        .collect();
    let rest = (!rest.is_empty()).then(|| LabelTree::map(rest));
    (rest, options.iter().filter_map(sides).collect())
}

/// The arguments about an option, each with the word for its side.
pub type OptionSides = Vec<(&'static str, LabelTree)>;

/// The name of the options with their reasons in a written case.
const OPTIONS: &str = "options";

/// A text that is words of ours.
fn our_words(tree: Option<&LabelTree>) -> Option<String> {
    match tree {
        Some(LabelTree::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Ids and revisions, which are words of ours.
fn cause_revisions(tree: Option<&LabelTree>) -> Vec<SignalRevision> {
    let Some(LabelTree::List(causes)) = tree else { return Vec::new() };
    let cause = |tree: &LabelTree| {
        let LabelTree::Map(fields) = tree else { return None };
        Some(SignalRevision { id: our_words(fields.get("id"))?, revision: our_words(fields.get("revision"))? })
    };
    causes.iter().filter_map(cause).collect()
}

/// The id of an escalation as people write it.
#[must_use]
pub fn short_escalation_id(id: &EscalationId) -> &str {
    id.0.get(..8).unwrap_or(&id.0)
}
