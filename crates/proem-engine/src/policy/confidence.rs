//! How sure code is of an action, in thousandths, from four things that it counts itself.

use super::terms::ActionList;

/// Everything there is.
const FULL: u32 = 1_000;

/// The history of earlier actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActionPast {
    /// The number of actions of its type that were executed and not corrected. Actions that went because their hold
    /// ended do not count.
    pub executed: u32,
    /// How many with its name, recipient and type were approved in a row, at most one a day and none in bulk, since
    /// the last cancellation.
    pub approvals: u32,
}

impl ActionPast {
    /// More executed actions than these say no more.
    pub const MOST_EXECUTED: u32 = 3;
}

/// Whether the sources of an action contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceConflict {
    /// They don't.
    Absent,
    /// At least two do.
    Present,
}

/// How many sources say what an action rests on. One principal over two channels is one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceAgreement {
    /// How many say it.
    pub agreeing: u32,
    /// Whether another one says something else.
    pub conflict: SourceConflict,
}

/// Four dimensions, each from 0 to 1000 thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionConfidence {
    /// The agreeing sources of two, halved by a contradiction.
    pub sources: u32,
    /// How far the action's list is from its limits: 1000 auto, 700 hold, 500 approval, 0 never.
    pub boundary: u32,
    /// Whether it is what its schema says: 1000 or 0.
    pub schema: u32,
    /// The executed actions of its type, of three.
    pub precedent: u32,
}

impl ActionConfidence {
    pub(super) fn new(list: ActionList, is_valid: bool, sources: SourceAgreement, past: ActionPast) -> Self {
        let agreeing = sources.agreeing.min(2) * FULL / 2;
        Self {
            sources: if sources.conflict == SourceConflict::Present { agreeing / 2 } else { agreeing },
            boundary: match list {
                ActionList::Auto => FULL,
                ActionList::Hold(_) => 700,
                ActionList::Approval => 500,
                ActionList::Never => 0,
            },
            schema: if is_valid { FULL } else { 0 },
            precedent: past.executed.min(ActionPast::MOST_EXECUTED) * FULL / ActionPast::MOST_EXECUTED,
        }
    }

    /// The displayed value: the mean of the four, rounded down.
    #[must_use]
    pub const fn mean(&self) -> u32 {
        (self.sources + self.boundary + self.schema + self.precedent) / 4
    }

    /// Whether it is enough for an action to go at once.
    #[must_use]
    pub const fn is_automatic(&self) -> bool {
        self.boundary == FULL && self.schema == FULL && self.sources > 0 && self.precedent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_guard::check::HoldMinutes;

    #[test]
    fn confidence_is_counted_in_thousandths() {
        let check = |list, agreeing, conflict, executed, expected: [u32; 5], automatic: bool| {
            let past = ActionPast { executed, approvals: 0 };
            let got = ActionConfidence::new(list, true, SourceAgreement { agreeing, conflict }, past);
            assert_eq!([got.sources, got.boundary, got.schema, got.precedent, got.mean()], expected);
            assert_eq!(got.is_automatic(), automatic, "{got:?}");
        };
        let (none, some) = (SourceConflict::Absent, SourceConflict::Present);
        check(ActionList::Auto, 2, none, 3, [1000, 1000, 1000, 1000, 1000], true);
        check(ActionList::Auto, 9, none, 9, [1000, 1000, 1000, 1000, 1000], true);
        check(ActionList::Auto, 1, none, 1, [500, 1000, 1000, 333, 708], true);
        check(ActionList::Auto, 1, some, 1, [250, 1000, 1000, 333, 645], true);
        check(ActionList::Auto, 0, none, 3, [0, 1000, 1000, 1000, 750], false);
        check(ActionList::Auto, 2, none, 0, [1000, 1000, 1000, 0, 750], false);
        check(ActionList::Hold(HoldMinutes(5)), 2, none, 2, [1000, 700, 1000, 666, 841], false);
        check(ActionList::Approval, 2, none, 3, [1000, 500, 1000, 1000, 875], false);
        check(ActionList::Never, 2, none, 3, [1000, 0, 1000, 1000, 750], false);
    }
}
