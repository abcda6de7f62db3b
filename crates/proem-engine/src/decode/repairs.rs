//! A bounded list of repairs.

use proem_text::Span;

use super::{MAX_REPAIRS, RepairKind};

/// A repair and where in the text it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpannedRepair {
    pub(super) kind: RepairKind,
    pub(super) span: Span,
}

/// Repairs in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub(super) struct Repairs {
    listed: Vec<SpannedRepair>,
    /// The span of all repairs beyond the list.
    rest: Option<Span>,
    count: usize,
}

impl Repairs {
    /// Adds one. Neighbours of one kind count as one.
    pub(super) fn push(&mut self, kind: RepairKind, span: Span) {
        if let Some(last) = self.listed.last_mut()
            && last.kind == kind
            && last.span.end == span.start
            && matches!(kind, RepairKind::ExtraComma | RepairKind::Stray | RepairKind::ControlCharacter)
        {
            last.span.end = span.end;
            return;
        }
        self.count = self.count.saturating_add(1);
        if self.listed.len() < MAX_REPAIRS {
            self.listed.push(SpannedRepair { kind, span });
        } else {
            self.widen(span);
        }
    }

    /// Adds all of `other`.
    pub(super) fn extend(&mut self, other: Self) {
        let unlisted = other.count.saturating_sub(other.listed.len());
        for repair in other.listed {
            self.push(repair.kind, repair.span);
        }
        if let Some(rest) = other.rest {
            self.widen(rest);
            self.count = self.count.saturating_add(unlisted);
        }
    }

    /// Forgets what is behind `offset`.
    pub(super) fn forget_from(&mut self, offset: usize) {
        let before = self.listed.len();
        self.listed.retain(|repair| repair.span.start < offset);
        self.count = self.count.saturating_sub(before.saturating_sub(self.listed.len()));
        if let Some(last) = self.listed.last_mut() {
            last.span.end = last.span.end.min(offset);
        }
    }

    /// The same repairs, all at one place.
    pub(super) fn all_at(mut self, span: Span) -> Self {
        self.listed.iter_mut().for_each(|repair| repair.span = span);
        self.rest = self.rest.map(|_| span);
        self
    }

    fn widen(&mut self, span: Span) {
        let rest = self.rest.get_or_insert(span);
        *rest = Span::new(rest.start.min(span.start), rest.end.max(span.end));
    }

    /// Whether one of the listed ones left something of the answer out.
    pub(super) fn has_loss(&self) -> bool {
        self.has(RepairKind::is_loss)
    }

    /// Whether one of the listed ones is of a kind that `is_kind` names.
    pub(super) fn has(&self, is_kind: impl Fn(RepairKind) -> bool) -> bool {
        self.listed.iter().any(|repair| is_kind(repair.kind))
    }

    /// The list in the order of the text, at its end what represents the others.
    pub(super) fn into_sorted(mut self) -> Vec<SpannedRepair> {
        self.listed.sort_by_key(|repair| repair.span);
        self.listed.extend(self.rest.map(|span| SpannedRepair { kind: RepairKind::More, span }));
        self.listed
    }
}
