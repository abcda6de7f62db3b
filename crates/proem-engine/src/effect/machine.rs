//! One transition: what an action is, what happens to it, and what it is afterwards.

use core::fmt;

use super::{
    ActionVersion, PerformerEpoch,
    action_standing::{ActionStanding, Surroundings},
    event::{ActionEvent, ActionEventKind, Authority, EpochRule},
    requirement::{TransitionRequirement, approval},
    state::ActionState,
    table::{ApprovalChange, TransitionRule, transition},
};

/// A requested transition of an action, as the requester saw the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRequest {
    /// The event.
    pub event: ActionEvent,
    /// On whose word.
    pub by: Authority,
    /// The version that it was decided on.
    pub version: ActionVersion,
    /// The epoch of whoever holds the performer's lock. `None` for everybody else.
    pub epoch: Option<PerformerEpoch>,
}

/// A transition that may be written, if the action still has the version that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The line of the table.
    pub rule: &'static TransitionRule,
    /// The action afterwards.
    pub after: ActionStanding,
}

/// Why a transition is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalRule {
    /// Only this authority may cause it.
    Authority(Authority),
    /// The action has changed since.
    Version,
    /// It comes from the wrong epoch.
    Epoch(EpochRule),
    /// Nothing leads from this state by this event.
    NoTransition,
    /// A requirement of the transition does not hold.
    Requirement(TransitionRequirement),
}

/// A transition that is refused. The action stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionRefused {
    /// The rule that it breaks.
    pub rule: RefusalRule,
    /// The action's state.
    pub state: ActionState,
    /// The requested event.
    pub event: ActionEventKind,
}

impl fmt::Display for TransitionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, event) = (self.state.as_str(), self.event.as_str());
        write!(f, "`{event}` is refused for an action that is `{state}`: ")?;
        match self.rule {
            RefusalRule::Authority(Authority::Operator) => {
                f.write_str("only an operator may cause it; do it at a terminal")
            }
            RefusalRule::Authority(_) => f.write_str("only Proem itself may cause it; leave it to the next sweep"),
            RefusalRule::Version => f.write_str("it has changed since it was looked at; look at it again"),
            RefusalRule::Epoch(EpochRule::TakenHere) => {
                f.write_str("another performer has taken over; stop, and leave it to that one")
            }
            RefusalRule::Epoch(EpochRule::TakenElsewhere) => {
                f.write_str("its performer is alive; wait until that one is done")
            }
            RefusalRule::Epoch(EpochRule::Any | EpochRule::InForce) => {
                f.write_str("only the performer in force may cause it; take its lock first")
            }
            RefusalRule::NoTransition if self.state.is_end() => {
                f.write_str("it has ended; have it proposed anew from a newer signal")
            }
            RefusalRule::NoTransition => f.write_str("nothing leads there from here; look at what it waits for"),
            RefusalRule::Requirement(requirement) => f.write_str(requirement.remedy()),
        }
    }
}

impl core::error::Error for TransitionRefused {}

/// Lets something happen to an action.
///
/// # Errors
///
/// [`TransitionRefused`] with the first rule that is broken: authority, version, the table, epoch, then the line's
/// requirements in their order.
pub fn step(
    standing: &ActionStanding,
    request: &TransitionRequest,
    around: &Surroundings,
) -> Result<Transition, TransitionRefused> {
    let event = request.event.kind();
    let refused = |rule| TransitionRefused { rule, state: standing.state, event };
    if request.by != event.authority() {
        return Err(refused(RefusalRule::Authority(event.authority())));
    }
    if request.version != standing.version {
        return Err(refused(RefusalRule::Version));
    }
    let Some(rule) = transition(standing.state, event) else { return Err(refused(RefusalRule::NoTransition)) };
    if !is_from(event.epoch(), standing, request, around) {
        return Err(refused(RefusalRule::Epoch(event.epoch())));
    }
    let broken = rule.requires.iter().find(|requirement| !requirement.holds(standing, &request.event, around));
    if let Some(requirement) = broken {
        return Err(refused(RefusalRule::Requirement(*requirement)));
    }
    Ok(Transition { rule, after: after(standing, request, rule) })
}

/// Whether the request comes from the epoch that the rule asks for.
fn is_from(rule: EpochRule, standing: &ActionStanding, request: &TransitionRequest, around: &Surroundings) -> bool {
    let in_force = request.epoch == Some(around.epoch);
    let taken_here = standing.performer == Some(around.epoch);
    match rule {
        EpochRule::Any => true,
        EpochRule::InForce => in_force,
        EpochRule::TakenHere => in_force && taken_here,
        EpochRule::TakenElsewhere => in_force && !taken_here,
    }
}

/// The action after the transition.
fn after(standing: &ActionStanding, request: &TransitionRequest, rule: &TransitionRule) -> ActionStanding {
    let mut after = ActionStanding {
        state: rule.to,
        version: ActionVersion(standing.version.0.saturating_add(1)),
        due: None,
        performer: None,
        approval: (rule.approval == ApprovalChange::Given).then(|| approval(standing, &request.event)).flatten(),
        ..standing.clone()
    };
    match &request.event {
        ActionEvent::Hold { due } => after.due = Some(*due),
        ActionEvent::Edit { content } => after.content = *content,
        ActionEvent::TakeUp(taken) => {
            after.performer = request.epoch;
            after.bytes = Some(taken.bytes);
        }
        // Nobody has the bytes, so that what goes another time may be others.
        ActionEvent::NotSent if rule.to == ActionState::Waiting => after.bytes = None,
        _ => {}
    }
    after
}
