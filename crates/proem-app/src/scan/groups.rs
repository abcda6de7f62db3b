//! Findings that share a place: most attacks break several rules at once.

use proem_guard::Severity;

use super::examine::{ExaminedField, FileScan, PlacedFinding};

/// Findings that share a place.
#[derive(Debug)]
pub struct FindingGroup<'a> {
    /// The field that they are in.
    pub field: &'a ExaminedField,
    /// The field's number in the file.
    pub number: usize,
    /// The worst of them, which the group is shown as. Its id is the group's.
    pub worst: &'a PlacedFinding,
    /// The other rules, in the order of their findings.
    pub also: Vec<&'static str>,
    /// The ids of all of them, the worst first.
    pub ids: Vec<&'a str>,
}

impl FindingGroup<'_> {
    /// Whether somebody should look at it. The others only count towards the score.
    #[must_use]
    pub fn is_worth_showing(&self) -> bool {
        self.worst.finding.severity > Severity::Low
    }
}

/// The findings of a file, those of one place together, in their order.
#[must_use]
pub fn finding_groups(file: &FileScan) -> Vec<FindingGroup<'_>> {
    let mut all = Vec::new();
    for (number, field) in file.fields.iter().enumerate() {
        let mut findings: Vec<&PlacedFinding> = field.findings.iter().collect();
        findings.sort_by_key(|found| std::cmp::Reverse(finding_rank(found)));
        let mut groups: Vec<FindingGroup<'_>> = Vec::new();
        for found in findings {
            let rule = found.finding.rule;
            let same = groups.iter_mut().find(|group| group.worst.spot.span.overlaps(found.spot.span));
            let Some(group) = same else {
                groups.push(FindingGroup { field, number, worst: found, also: Vec::new(), ids: vec![&found.id] });
                continue;
            };
            group.ids.push(&found.id);
            if group.worst.finding.rule != rule && !group.also.contains(&rule) {
                group.also.push(rule);
            }
        }
        groups.sort_by_key(|group| group.worst.spot.span);
        all.append(&mut groups);
    }
    all
}

/// The order when not all findings are shown. Of equal ones the hidden, then the sure.
#[must_use]
pub fn finding_rank(found: &PlacedFinding) -> (Severity, bool, u32) {
    // Scores are positive, so their bits are in their order.
    (found.finding.severity, found.finding.hidden, found.finding.score.max(0.0).to_bits())
}
