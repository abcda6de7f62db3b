//! The rest of a policy under one that may only narrow it.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::check::HoldMinutes;

use super::terms::{ActionList, ActionTerms, FieldTerms, HoldSteps, Policy};

impl Policy {
    /// This policy where `other` allows the same or says nothing, and `other` where it allows less.
    ///
    /// Actions move towards `never`, holds grow, levels fall, permitted times and lists shrink. Names that `other` has
    /// and this policy lacks stay unknown.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let never: BTreeSet<String> = self.never.union(&other.never).cloned().collect();
        let denied: BTreeSet<String> = other.folded_denied.iter().cloned().collect();
        let actions = self.actions.iter().filter(|(name, _)| !denied.contains(&super::canonical::folded_name(name)));
        let actions = actions.map(|(name, terms)| {
            let terms = other.actions.get(name).map_or_else(|| terms.clone(), |other| narrowed_action(terms, other));
            (name.clone(), terms)
        });
        let allow = self.allow.iter().map(|(key, ours)| {
            let theirs = other.allow.get(key);
            (*key, theirs.map_or_else(|| ours.clone(), |theirs| ours.intersection(theirs).cloned().collect()))
        });
        let narrowed = Self {
            // The level of now is the lower one. A file that says none doesn't raise it.
            level: other.level.map_or(self.level, |theirs| Some(theirs.min(self.level()))),
            actions: actions.collect(),
            never,
            denylist: self.denylist.union(&other.denylist).cloned().collect(),
            recipients: common(self.recipients.as_ref(), other.recipients.as_ref()),
            domains: common(self.domains.as_ref(), other.domains.as_ref()),
            allow: allow.collect(),
            times: narrower_times(self, other),
            holds: match (&self.holds, &other.holds) {
                (ours, None) => ours.clone(),
                (_, Some(theirs)) => Some(longer_hold_steps(&self.hold_steps(), theirs)),
            },
            ..Self::default()
        };
        narrowed.finish()
    }
}

fn common<T: Ord + Clone>(ours: Option<&BTreeSet<T>>, theirs: Option<&BTreeSet<T>>) -> Option<BTreeSet<T>> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => Some(ours.intersection(theirs).cloned().collect()),
        (ours, _) => ours.cloned(),
    }
}

fn narrower_times(ours: &Policy, theirs: &Policy) -> BTreeMap<&'static str, u32> {
    let mut times = ours.times.clone();
    for (key, theirs) in &theirs.times {
        let default = super::terms::TIMES.iter().find(|(name, _)| name == key).map_or(0, |(_, minutes)| *minutes);
        let ours = ours.times.get(key).copied().unwrap_or(default);
        // A first hold grows. Every other time is one in which something is still good.
        times.insert(*key, if *key == "first_hold" { ours.max(*theirs) } else { ours.min(*theirs) });
    }
    times
}

/// At each number of approvals the longer of both.
fn longer_hold_steps(ours: &HoldSteps, theirs: &HoldSteps) -> HoldSteps {
    let counts: BTreeSet<u32> = ours.shorter.keys().chain(theirs.shorter.keys()).copied().collect();
    let longer = |count: u32| Some((count, ours.cap(count)?.max(theirs.cap(count)?)));
    HoldSteps {
        shorter: counts.into_iter().filter_map(longer).collect(),
        untrusted: ours.untrusted.max(theirs.untrusted),
    }
}

fn narrowed_action(ours: &ActionTerms, theirs: &ActionTerms) -> ActionTerms {
    let list = match (ours.list, theirs.list) {
        (ActionList::Hold(ours), ActionList::Hold(theirs)) => ActionList::Hold(HoldMinutes(ours.0.max(theirs.0))),
        (ours, theirs) => ours.max(theirs),
    };
    let fields = ours.fields.iter().map(|(name, terms)| {
        let terms = theirs.fields.get(name).map_or_else(|| terms.clone(), |theirs| narrowed_field(terms, theirs));
        (name.clone(), terms)
    });
    ActionTerms {
        list,
        level: ours.level.max(theirs.level),
        target: narrowed_field(&ours.target, &theirs.target),
        fields: fields.collect(),
        ..ours.clone()
    }
}

fn narrowed_field(ours: &FieldTerms, theirs: &FieldTerms) -> FieldTerms {
    // No word at all would mean any.
    let words = if theirs.one_of.is_empty() {
        ours.one_of.clone()
    } else if ours.one_of.is_empty() {
        theirs.one_of.clone()
    } else {
        let both: BTreeSet<String> = ours.one_of.intersection(&theirs.one_of).cloned().collect();
        if both.is_empty() { BTreeSet::from([String::new()]) } else { both }
    };
    FieldTerms {
        role: ours.role,
        is_required: ours.is_required || theirs.is_required,
        is_list: ours.is_list && theirs.is_list,
        max_bytes: ours.max_bytes.min(theirs.max_bytes),
        one_of: words,
        templates: ours.templates.intersection(&theirs.templates).cloned().collect(),
        attachment: ours.attachment.clone(),
    }
}
