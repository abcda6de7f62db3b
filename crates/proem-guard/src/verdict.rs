//! The verdict on a text, by its findings and its source.
//!
//! The meaning of the verdicts is fixed (see [`Verdict`]); which severity leads to which is a
//! table by source and field, `data/verdicts.tsv`, that a user's own table may replace.
//!
//! Invariants: a worse finding never gives a milder verdict. The learned score and likeness alone never give more than
//! a flag; what was not looked at is never allowed.

use crate::{
    finding::{Finding, FindingKind, Severity},
    scan::{Scan, UnreadReason, UnreadSpan},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

/// The verdict on a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is read like any text from outside: contained.
    Allow,
    /// It is marked as data word by word, and what derives from it needs approval.
    Flag,
    /// It stays out of prompts and can be reviewed. The rest of its item goes on.
    Quarantine,
    /// It stays out, and the run has no effects.
    Block,
}

proem_text::word_table! {
    /// The word used in reports and files.
    pub Verdict {
        // The mildest first.
        Allow = "allow",
        Flag = "flag",
        Quarantine = "quarantine",
        Block = "block",
    }
}

/// The table of verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    rows: Vec<PolicyRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PolicyRow {
    source: NamePattern,
    field: NamePattern,
    /// By severity, mildest first.
    verdicts: [Verdict; Severity::ALL.len()],
}

/// A name, the start of names (`mail/*`), or all of them (`*`).
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamePattern {
    start: String,
    is_open: bool,
}

impl NamePattern {
    fn parse(text: &str) -> Self {
        text.strip_suffix('*').map_or_else(
            || Self { start: text.to_string(), is_open: false },
            |start| Self { start: start.to_string(), is_open: true },
        )
    }

    fn matches(&self, name: &str) -> bool {
        if self.is_open { name.starts_with(&self.start) } else { name == self.start }
    }

    /// A more precise entry comes first: a whole name before a start, a longer start before a shorter.
    fn precision(&self) -> (bool, usize) {
        (!self.is_open, self.start.len())
    }
}

impl Policy {
    /// The table that ships.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, PolicyError> {
        Self::parse(include_str!("../data/verdicts.tsv"))
    }

    /// A table from its file: lines of six columns with tabs between, the source, the field, and the verdict for `low`,
    /// `medium`, `high` and `critical` findings. `*` at the end of a name represents any rest. A line with a `#` first
    /// is a comment. Of several lines that match, the one with the more precise source counts, then the one with the
    /// more precise field.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] names the first line that has another number of columns, an unknown verdict,
    /// verdicts that get milder, or repeats an earlier one; and a table without a line for everything.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let mut rows: Vec<PolicyRow> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let row = parse_row(line).map_err(|problem| PolicyError { line: index.saturating_add(1), problem })?;
            if rows.iter().any(|other| (&other.source, &other.field) == (&row.source, &row.field)) {
                let problem = "repeats the source and field of an earlier line; remove one".to_string();
                return Err(PolicyError { line: index.saturating_add(1), problem });
            }
            rows.push(row);
        }
        let all = NamePattern::parse("*");
        if !rows.iter().any(|row| row.source == all && row.field == all) {
            let problem = "no line for every source and field; add one that begins with `*`, tab, `*`".to_string();
            return Err(PolicyError { line: text.lines().count().max(1), problem });
        }
        rows.sort_by_key(|row| core::cmp::Reverse((row.source.precision(), row.field.precision())));
        Ok(Self { rows })
    }

    /// The bar that a field of a source is held to.
    #[must_use]
    pub fn bar(&self, source: &str, field: &str) -> Bar {
        let row = self.rows.iter().find(|row| row.source.matches(source) && row.field.matches(field));
        // The table always has a line for everything.
        Bar { verdicts: row.map_or([Verdict::Block; 4], |row| row.verdicts) }
    }
}

/// The bar for one field of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// By severity, mildest first.
    verdicts: [Verdict; Severity::ALL.len()],
}

impl Bar {
    /// The verdict about a text: the worst of its findings' verdicts, of what was not looked at,
    /// and of the score.
    #[must_use]
    pub fn judge(&self, scan: &Scan) -> Verdict {
        let found = scan.findings.iter().map(|finding| self.of(finding)).max();
        let unread = scan.unread.iter().map(|unread| unread.verdict()).max();
        let score = if scan.score < 0.5 { Verdict::Allow } else { self.of_learned() };
        found.unwrap_or(Verdict::Allow).max(unread.unwrap_or(Verdict::Allow)).max(score)
    }

    /// The verdict that one finding alone gives.
    #[must_use]
    pub fn of(&self, finding: &Finding) -> Verdict {
        let [low, medium, high, critical] = self.verdicts;
        match finding.severity {
            // An order that drops a control outlives the task that brought it, so it counts for more than others.
            Severity::Low if finding.kind == FindingKind::StandingOrder && low > Verdict::Allow => high,
            Severity::Low => low,
            _ if matches!(finding.kind, FindingKind::Learned | FindingKind::Similar) => self.of_learned(),
            Severity::Medium => medium,
            Severity::High => high,
            Severity::Critical => critical,
        }
    }

    /// A learned score says "suspicious", and never more than that.
    fn of_learned(&self) -> Verdict {
        let [_, medium, _, _] = self.verdicts;
        medium.min(Verdict::Flag)
    }
}

impl UnreadSpan {
    /// The verdict that it gives: an unread part is flagged. If a scanner broke, nobody knows the text there.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self.reason {
            UnreadReason::DecodingLimit => Verdict::Flag,
            UnreadReason::Scanner { .. } => Verdict::Quarantine,
        }
    }
}

fn parse_row(line: &str) -> Result<PolicyRow, String> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [source, field, low, medium, high, critical] = columns.as_slice() else {
        let count = columns.len();
        return Err(format!("{count} columns; write source, field and four verdicts, separated by tabs"));
    };
    let verdict = |word: &str| {
        let remedy = "write allow, flag, quarantine or block";
        Verdict::parse(word).ok_or_else(|| format!("`{word}` is not a verdict; {remedy}"))
    };
    let verdicts = [verdict(low)?, verdict(medium)?, verdict(high)?, verdict(critical)?];
    if !verdicts.is_sorted() {
        return Err("a more severe finding has a milder verdict; order the verdicts from mild to strict".to_string());
    }
    Ok(PolicyRow { source: NamePattern::parse(source), field: NamePattern::parse(field), verdicts })
}

/// A table of verdicts is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The line, from 1.
    pub line: usize,
    problem: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl core::error::Error for PolicyError {}

#[cfg(test)]
mod tests;
