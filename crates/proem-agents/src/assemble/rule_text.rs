//! How a rule file that nobody approved gets shorter: its head, its headings, and the sections that bear on a task.
//!
//! A repository's advice to the people who work in it helps even if it binds nobody. The head does not depend on the
//! task, so a provider may cache it. The sections below it that share words with the task come apart.
//!
//! Invariants: what is cut is said on a line of its own. Texts are cut between lines. Nothing is shown twice.

use std::collections::BTreeSet;

use proem_text::words::search_words;

/// The bytes of a file that are shown whole. Of a longer one the head, in about as many.
const HEAD_BYTES: usize = 6 * 1024;

/// The bytes of a head that has to be shorter.
const SHORT_BYTES: usize = 1500;

/// The bytes of a beginning that has to be very short.
const LINE_BYTES: usize = 160;

/// The most bytes of one section that bears on the task.
const SECTION_BYTES: usize = 2 * 1024;

/// The most sections of one file.
const MAX_SECTIONS: usize = 6;

/// The shortest word that counts as shared, in characters.
const SHORTEST: usize = 4;

/// A file's text on each of its rungs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRenderings {
    /// All of it, if it is no longer than a head.
    pub full: Option<String>,
    /// Its head and the headings below it.
    pub parts: String,
    /// Its first lines and its headings.
    pub outline: String,
    /// Its beginning.
    pub named: String,
}

/// Cuts a text.
#[must_use]
pub fn rule_renderings(text: &str) -> RuleRenderings {
    let is_short = text.len() <= HEAD_BYTES;
    RuleRenderings {
        full: is_short.then(|| text.to_owned()),
        parts: if is_short { rule_text_head(text, text.len() / 2) } else { rule_text_head(text, HEAD_BYTES) },
        outline: rule_text_head(text, SHORT_BYTES.min(text.len() / 4)),
        named: first_lines_within(text, LINE_BYTES),
    }
}

/// Whole sections up to `bytes`, at least the first lines, and the headings of the others.
fn rule_text_head(text: &str, bytes: usize) -> String {
    let sections = rule_text_sections(text);
    let mut out = String::new();
    let mut rest = Vec::new();
    for section in &sections {
        if rest.is_empty() && out.len().saturating_add(section.text.len()) <= bytes {
            out.push_str(section.text);
        } else {
            rest.push(section);
        }
    }
    // A first section that is too long by itself is begun.
    if out.is_empty()
        && let Some(first) = rest.first()
    {
        for line in first.text.split_inclusive('\n') {
            if out.len().saturating_add(line.len()) > bytes {
                break;
            }
            out.push_str(line);
        }
    }
    let lines = text.lines().count().saturating_sub(out.lines().count());
    if lines == 0 {
        return out;
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let headings: Vec<&str> = rest.iter().filter_map(|section| section.heading).take(40).collect();
    let s = if lines == 1 { "" } else { "s" };
    let about = if headings.is_empty() { String::new() } else { format!(", about: {}", headings.join("; ")) };
    out.push_str(&format!("[{lines} more line{s}{about}]\n"));
    out
}

/// A stretch from one heading to the next.
#[derive(Debug)]
struct Section<'t> {
    heading: Option<&'t str>,
    text: &'t str,
    /// Its first line, from 1.
    line: usize,
}

fn rule_text_sections(text: &str) -> Vec<Section<'_>> {
    let mut starts: Vec<(usize, usize, Option<&str>)> = vec![(0, 1, None)];
    let (mut at, mut is_fenced) = (0usize, false);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            is_fenced = !is_fenced;
        }
        let heading = bare.strip_prefix('#').map(|rest| rest.trim_start_matches('#'));
        if let Some(heading) = heading.filter(|heading| !is_fenced && heading.starts_with(' ')) {
            starts.push((at, number, Some(heading.trim())));
        }
        at = at.saturating_add(line.len());
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(start, ..)| *start).chain([text.len()]).collect();
    let sections = starts.iter().zip(ends).map(|((start, line, heading), end)| Section {
        heading: *heading,
        text: text.get(*start..end).unwrap_or_default(),
        line: *line,
    });
    sections.filter(|section| !section.text.is_empty()).collect()
}

/// The sections below a text's head that share words with a task, those that share most first. Each begins with its
/// heading.
#[must_use]
pub fn sections_about(text: &str, task: &str) -> Vec<String> {
    if text.len() <= HEAD_BYTES {
        return Vec::new();
    }
    let wanted: BTreeSet<String> = telling_rule_words(task).collect();
    let mut ranked: Vec<(usize, usize, String)> = Vec::new();
    let (mut shown, mut is_head) = (0usize, true);
    for section in rule_text_sections(text) {
        is_head = is_head && shown.saturating_add(section.text.len()) <= HEAD_BYTES;
        shown = shown.saturating_add(section.text.len());
        let shared = telling_rule_words(section.text).collect::<BTreeSet<_>>().intersection(&wanted).count();
        if !is_head && shared > 0 {
            ranked.push((shared, section.line, first_lines_within(section.text, SECTION_BYTES)));
        }
    }
    ranked.sort_by(|(a, one, _), (b, other, _)| b.cmp(a).then(one.cmp(other)));
    ranked.into_iter().take(MAX_SECTIONS).map(|(.., section)| section).collect()
}

/// The first lines of a text, with a line that says how many are missing.
fn first_lines_within(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref() {
        if out.len().saturating_add(line.len()) > bytes {
            let more = lines.count().saturating_add(1);
            out.push_str(&format!("[{more} more line{}]\n", if more == 1 { "" } else { "s" }));
            break;
        }
        out.push_str(line);
    }
    out
}

fn telling_rule_words(text: &str) -> impl Iterator<Item = String> {
    search_words(text).filter(|word| word.chars().count() >= SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_rules() -> String {
        let section =
            |name: &str, word: &str| format!("## {name}\n{}\n", format!("Always {word} with care.\n").repeat(200));
        format!(
            "# Rules\nBe kind.\n{}{}{}",
            section("Style", "format"),
            section("Release", "publish"),
            section("Parser", "parse")
        )
    }

    #[test]
    fn a_short_file_is_whole_and_a_long_one_keeps_its_head_and_headings() {
        let short = rule_renderings("# Rules\nUse tabs.\n## Tests\nRun them.\n");
        assert_eq!(short.full.as_deref(), Some("# Rules\nUse tabs.\n## Tests\nRun them.\n"));
        assert_eq!(short.parts, "# Rules\nUse tabs.\n[2 more lines, about: Tests]\n");
        let long = rule_renderings(&long_rules());
        assert_eq!(long.full, None);
        assert!(long.parts.starts_with("# Rules\nBe kind.\n## Style\n"));
        assert!(long.parts.ends_with("[404 more lines, about: Release; Parser]\n"));
        assert!(long.outline.len() < long.parts.len());
    }

    #[test]
    fn a_text_without_headings_is_begun() {
        let text = "one rule\n".repeat(2000);
        let parts = rule_renderings(&text).parts;
        assert!(parts.len() < HEAD_BYTES + 40 && parts.ends_with(" more lines]\n"), "{parts}");
        assert_eq!(rule_renderings("").parts, "");
    }

    #[test]
    fn sections_below_the_head_that_bear_on_the_task_are_found() {
        let text = long_rules();
        let found = sections_about(&text, "make the parser parse numbers");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("## Parser\n") && found[0].len() < SECTION_BYTES + 40);
        assert_eq!(sections_about(&text, "format"), [""; 0], "the head is shown already");
        assert_eq!(sections_about("# A\nparser\n", "parser"), [""; 0], "a short file is whole");
    }
}
