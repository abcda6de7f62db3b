//! Two requests side by side.

use jiff::tz::TimeZone;
use proem_store::query::RunDetail;
use proem_store::record::SectionRow;
use serde_json::{Value as Json, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::seen::shown;
use crate::ui::{BOLD, DIM, GREEN, RED, YELLOW, grouped, styled};
use crate::when;

/// The lines of a difference that are shown.
const LINES: usize = 60;

/// A section of one request, of the other, or of both.
pub(super) struct Row<'r> {
    first: Option<&'r SectionRow>,
    second: Option<&'r SectionRow>,
}

/// What became of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Same,
    Changed,
    OnlyFirst,
    OnlySecond,
}

impl Row<'_> {
    fn state(&self) -> State {
        match (self.first, self.second) {
            (Some(first), Some(second)) if first.text == second.text => State::Same,
            (Some(_), None) => State::OnlyFirst,
            (None, Some(_)) => State::OnlySecond,
            _ => State::Changed,
        }
    }

    /// The section as it is in the later request, or as it was.
    fn either(&self) -> Option<&SectionRow> {
        self.second.or(self.first)
    }

    pub(super) fn json(&self) -> Json {
        let side = |section: Option<&SectionRow>| {
            section
                .map(|section| json!({ "tokens": section.tokens, "hash": section.text, "boundary": section.boundary }))
        };
        json!({
            "name": self.either().map(|section| &section.name),
            "state": match self.state() {
                State::Same => "same",
                State::Changed => "changed",
                State::OnlyFirst => "only-first",
                State::OnlySecond => "only-second",
            },
            "first": side(self.first),
            "second": side(self.second),
        })
    }
}

/// The sections of both, those of the same name in one row where their order allows it.
pub(super) fn rows<'r>(first: &'r [SectionRow], second: &'r [SectionRow]) -> Vec<Row<'r>> {
    let names = |sections: &'r [SectionRow]| sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>();
    let mut rows = Vec::new();
    let only_first = |index: usize| Row { first: first.get(index), second: None };
    let only_second = |index: usize| Row { first: None, second: second.get(index) };
    for op in capture_diff_slices(Algorithm::Myers, &names(first), &names(second)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => rows.extend((0..len).map(|at| Row {
                first: first.get(old_index.saturating_add(at)),
                second: second.get(new_index.saturating_add(at)),
            })),
            DiffOp::Delete { old_index, old_len, .. } => {
                rows.extend((old_index..old_index.saturating_add(old_len)).map(only_first));
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                rows.extend((new_index..new_index.saturating_add(new_len)).map(only_second));
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                rows.extend((old_index..old_index.saturating_add(old_len)).map(only_first));
                rows.extend((new_index..new_index.saturating_add(new_len)).map(only_second));
            }
        }
    }
    rows
}

/// One line for each run.
pub(super) fn heads(first: &RunDetail, second: &RunDetail, zone: &TimeZone) -> String {
    let line = |sign: &str, detail: &RunDetail| {
        let row = &detail.row;
        let prompt = format!("{}/{} {}", row.prompt.agent, row.prompt.name, row.prompt.version);
        format!(
            "{sign} {}  {}  {}  {}\n",
            styled(BOLD, row.id.short()),
            when::clock(row.started, zone),
            shown(&prompt),
            shown(&row.model)
        )
    };
    format!("{}{}\n", line("-", first), line("+", second))
}

/// All sections, with the boundary behind which nothing is cached.
pub(super) fn table(rows: &[Row<'_>]) -> String {
    let name = |row: &Row<'_>| row.either().map_or_else(String::new, |section| shown(&section.name));
    let heading = "section";
    let widest = rows.iter().map(|row| name(row).chars().count()).fold(heading.len(), usize::max);
    let boundary = |row: &Row<'_>| row.second.is_some_and(|section| section.boundary);
    let last = rows.iter().rposition(boundary);
    let tokens = |section: Option<&SectionRow>| match section {
        Some(section) => grouped(usize::try_from(section.tokens).unwrap_or(usize::MAX)),
        None => String::from("-"),
    };
    let mut out = format!("{}\n", styled(DIM, &format!("  {heading:widest$}  {:>9}  {:>9}", "before", "after")));
    for (index, row) in rows.iter().enumerate() {
        let (sign, style, word) = match row.state() {
            State::Same => ("=", DIM, "same"),
            State::Changed => ("~", YELLOW, "changed"),
            State::OnlyFirst => ("-", RED, "only before"),
            State::OnlySecond => ("+", GREEN, "only after"),
        };
        let class = row.either().map_or("", |section| section.cache.as_str());
        let (before, after) = (tokens(row.first), tokens(row.second));
        let line = format!("{sign} {:widest$}  {before:>9}  {after:>9}  {word:11}  {class}", name(row));
        out.push_str(&format!("{}\n", styled(style, line.trim_end())));
        if Some(index) == last {
            let rule = "─".repeat(widest.saturating_add(10));
            out.push_str(&format!("{}\n", styled(DIM, &format!("{rule} cached up to here at most"))));
        }
    }
    out
}

/// The lines that differ in a section's text, already made safe to show.
pub(super) fn difference(name: &str, lines: &[String]) -> String {
    let mut out = format!("\n{}\n", styled(BOLD, &format!("section {}", shown(name))));
    for line in lines.iter().take(LINES) {
        out.push_str(line);
        out.push('\n');
    }
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        out.push_str(&format!(
            "{}\n",
            styled(DIM, &format!("and {more} more lines; `proem runs show --full` has all"))
        ));
    }
    out
}

/// Why no difference is shown.
pub(super) fn no_text(name: &str) -> String {
    let words = format!("section {} changed; its text is not kept", shown(name));
    format!("\n{}\n", styled(DIM, &words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> SectionRow {
        let (name, rest) = text.split_once('=').unwrap();
        SectionRow {
            name: name.to_owned(),
            role: "user".to_owned(),
            trust: "trusted".to_owned(),
            cache: "static".to_owned(),
            rank: "trusted-static".to_owned(),
            sources: None,
            tokens: 1_200,
            text: rest.trim_end_matches('|').to_owned(),
            boundary: rest.ends_with('|'),
        }
    }

    /// Sections as `name=text`, with `|` behind a boundary; the table without colours.
    #[track_caller]
    fn check(first: &str, second: &str, expected: &str) {
        let sections = |text: &str| text.split(' ').map(section).collect::<Vec<_>>();
        let (first, second) = (sections(first), sections(second));
        let table = table(&rows(&first, &second));
        assert_eq!(anstream::adapter::strip_str(&table).to_string(), expected);
    }

    #[test]
    fn sections_stand_side_by_side() {
        check(
            "role=a rules=b| task=c",
            "role=a rules=x| profile=d task=c",
            "  section     before      after\n\
             = role         1,200      1,200  same         static\n\
             ~ rules        1,200      1,200  changed      static\n\
             ───────────────── cached up to here at most\n\
             + profile          -      1,200  only after   static\n\
             = task         1,200      1,200  same         static\n",
        );
        check(
            "role=a old=b task=c",
            "role=a new=b task=c",
            "  section     before      after\n\
             = role         1,200      1,200  same         static\n\
             - old          1,200          -  only before  static\n\
             + new              -      1,200  only after   static\n\
             = task         1,200      1,200  same         static\n",
        );
    }
}
