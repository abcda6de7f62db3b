//! Two requests side by side.

use jiff::tz::TimeZone;
use proem_guard::without_ids;

use crate::commands::trust::review::{Inside, unified_difference};
use crate::ui::{BOLD, DIM, GREEN, RED, YELLOW, cut_to_width, group_thousands, style_text, table_cell};
use proem_app::runs::diff::Pair;
use proem_app::runs::diff::run_call::{RunCall, call_prompt_name};
use proem_app::runs::diff::sections::{SectionChange, SectionPair, section_pairs, tools_state};
use proem_app::runs::diff::texts::{AnswerDifference, FirstDifference, Whole};
use proem_app::when;

/// The lines of a difference that are shown.
const LINES: usize = 60;

/// The cells of a line. Eighty is the narrowest terminal in common use.
const WIDTH: usize = 80;

/// The most cells of a section's name, so that its line fits.
const NAME: usize = 34;

/// Everything about two requests.
pub(super) fn run_diff_page(pair: &Pair<'_>, zone: &TimeZone) -> String {
    let mut out = heads(&pair.first, &pair.second, zone);
    out.push_str(&section_pair_table(&section_pairs(pair), tools_line(pair)));
    if let Some(texts) = &pair.texts {
        out.push_str(&changed_text_lines(texts));
    }
    out.push_str(&pair.answers.as_ref().map(answer_lines).unwrap_or_default());
    out.push_str(&format!("\n{}\n", pair.words()));
    if let Some(theirs) = pair.diagnosis() {
        out.push_str(&format!("{}'s own word, {}\n", cut_to_width(&pair.second.row.endpoint, 40), theirs.words));
    }
    out
}

/// The line of what is before all sections.
fn tools_line(pair: &Pair<'_>) -> Option<DiffLine> {
    Some(DiffLine {
        state: tools_state(pair)?,
        name: "(tools)".to_owned(),
        before: Some(pair.first.tokens_before()).filter(|tokens| *tokens > 0),
        after: Some(pair.second.tokens_before()).filter(|tokens| *tokens > 0),
        class: String::new(),
    })
}

/// One line for each request.
fn heads(first: &RunCall<'_>, second: &RunCall<'_>, zone: &TimeZone) -> String {
    let (labels, wide) = ((first.label(), second.label()), first.label().len().max(second.label().len()));
    let line = |sign: &str, label: &str, call: &RunCall<'_>| {
        let at = when::date_and_clock(call.at(), zone);
        let model = cut_to_width(&call.row.model, 20);
        // Two before the label, two between the parts.
        let taken = [wide, at.chars().count(), model.chars().count(), 8].iter().sum();
        let asked = format!("{} {}", call_prompt_name(call.row), call.row.prompt.version);
        let asked = cut_to_width(&asked, WIDTH.saturating_sub(taken));
        let gap = wide.saturating_sub(label.len());
        format!("{sign} {}{:gap$}  {at}  {asked}  {model}\n", style_text(BOLD, label), "")
    };
    format!("{}{}\n", line("-", &labels.0, first), line("+", &labels.1, second))
}

/// A line of the table.
struct DiffLine {
    state: SectionChange,
    name: String,
    before: Option<u64>,
    after: Option<u64>,
    class: String,
}

impl DiffLine {
    fn of(row: &SectionPair<'_>) -> Self {
        let section = row.either();
        Self {
            state: row.state(),
            name: section.map_or_else(String::new, |section| cut_to_width(&section.name, NAME)),
            before: row.first.map(|section| section.tokens),
            after: row.second.map(|section| section.tokens),
            class: section.map_or_else(String::new, |section| cut_to_width(&section.cache, 7)),
        }
    }

    fn drawn(&self, widest: usize) -> String {
        let tokens = |tokens: Option<u64>| match tokens {
            Some(tokens) => group_thousands(usize::try_from(tokens).unwrap_or(usize::MAX)),
            None => String::from("-"),
        };
        let (sign, style, word) = match self.state {
            SectionChange::Same => ("=", DIM, "same"),
            SectionChange::Changed => ("~", YELLOW, "changed"),
            SectionChange::OnlyFirst => ("-", RED, "only before"),
            SectionChange::OnlySecond => ("+", GREEN, "only after"),
        };
        let (name, before, after) = (table_cell(&self.name, widest), tokens(self.before), tokens(self.after));
        let line = format!("{sign} {name}  {before:>9}  {after:>9}  {word:11}  {}", self.class);
        format!("{}\n", style_text(style, line.trim_end()))
    }
}

/// All sections, with the boundary behind which nothing is cached.
fn section_pair_table(rows: &[SectionPair<'_>], tools: Option<DiffLine>) -> String {
    let heading = "section";
    let lines: Vec<DiffLine> = rows.iter().map(DiffLine::of).collect();
    let widest = lines.iter().map(|line| line.name.chars().count()).fold(heading.len(), usize::max);
    let boundary = |row: &SectionPair<'_>| row.second.is_some_and(|section| section.boundary);
    let last = rows.iter().rposition(boundary);
    let mut out = format!("{}\n", style_text(DIM, &format!("  {heading:widest$}  {:>9}  {:>9}", "before", "after")));
    out.extend(tools.map(|line| line.drawn(widest)));
    for (index, line) in lines.iter().enumerate() {
        out.push_str(&line.drawn(widest));
        if Some(index) == last {
            let rule = "─".repeat(widest.saturating_add(10));
            out.push_str(&format!("{}\n", style_text(DIM, &format!("{rule} at most cached up to here"))));
        }
    }
    out
}

/// The lines that differ in the answers.
fn answer_lines(answers: &AnswerDifference) -> String {
    if answers.is_same {
        return format!("\n{}\n", style_text(DIM, "both runs gave the same answer"));
    }
    let (Some(before), Some(after)) = (&answers.before, &answers.after) else {
        return format!("\n{}\n", style_text(DIM, "the answers differ; their texts are not kept"));
    };
    format!("\n{}\n{}", style_text(BOLD, "answer"), difference_lines(before, after, "proem runs show"))
}

/// The first lines of a difference, and which command shows all.
fn difference_lines(before: &str, after: &str, all: &str) -> String {
    let lines = unified_difference(before, after, Inside::Marked);
    let mut out: String = lines.iter().take(LINES).map(|line| format!("{line}\n")).collect();
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        let words = format!("and {more} more lines; `{all}` shows all");
        out.push_str(&format!("{}\n", style_text(DIM, &words)));
    }
    out
}

/// The lines that differ in the text that changed first.
fn changed_text_lines(texts: &FirstDifference) -> String {
    let what = cut_to_width(&texts.what, WIDTH);
    let (Some(before), Some(after)) = (&texts.before, &texts.after) else {
        let words = format!("{} changed; its text is not kept", cut_to_width(&texts.what, 40));
        return format!("\n{}\n", style_text(DIM, &words));
    };
    let out = format!("\n{}\n", style_text(BOLD, &what));
    // The ids of delimiters change with every word between them.
    let (before, after) = (without_ids(before), without_ids(after));
    if before == after {
        let words = "only the ids of its delimiters differ: they were made with another installation's key";
        return format!("\n{}\n{}\n", style_text(BOLD, &what), style_text(DIM, words));
    }
    let all = match texts.whole {
        Whole::Sections => "proem runs show --full",
        Whole::Body => "proem runs show --body",
    };
    out + &difference_lines(&before, &after, all)
}

#[cfg(test)]
mod tests {
    use proem_app::runs::diff::sections::pair_sections;
    use proem_store::record::SectionRow;

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

    /// Sections as `name=text`, with `|` behind a boundary. The table without colours.
    #[track_caller]
    fn check(first: &str, second: &str, expected: &str) {
        let sections = |text: &str| text.split(' ').map(section).collect::<Vec<_>>();
        let (first, second) = (sections(first), sections(second));
        let table = section_pair_table(&pair_sections(&first, &second), None);
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
             ───────────────── at most cached up to here\n\
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
