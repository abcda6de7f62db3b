//! Two versions of a prompt side by side: tokens per section, and the lines that differ.
//!
//! The count covers a section's own text, partials included, by one tokeniser that is the same on every machine. Inputs
//! are unknown here, so the inputs that a section shows are compared by name.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::Section;
use proem_engine::section::CacheClass;
use proem_engine::tokens::{OpenAi, TokenCounter};

use crate::error::Error;

/// Two versions of a prompt.
#[derive(Debug)]
pub struct BookDifference {
    /// The first, as `agent/name@version`.
    pub first: String,
    /// The newer side of the comparison.
    pub second: String,
    /// The second version's own list of changes.
    pub changes: Option<String>,
    /// The sections of both, in the second's order, those that only the first has behind the one they followed.
    pub sections: Vec<SectionDifference>,
    /// The files of both closures whose texts differ, by the name that they have in either.
    pub files: Vec<FileDifference>,
}

/// A section of one version, of the other, or of both.
#[derive(Debug)]
pub struct SectionDifference {
    /// As the prompt file names it.
    pub name: String,
    /// As the first has it.
    pub first: Option<SectionSide>,
    /// As the second has it.
    pub second: Option<SectionSide>,
}

/// A section as one version has it.
#[derive(Debug, PartialEq, Eq)]
pub struct SectionSide {
    /// The tokens of its own text.
    pub tokens: usize,
    /// How much its text may bind a model.
    pub trust: &'static str,
    /// For how long its bytes stay the same.
    pub cache: &'static str,
    /// The inputs that it shows.
    pub inputs: BTreeSet<String>,
    text: String,
}

/// The effect of a change on the part of a provider's cache that a section is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheEffect {
    /// It is never in a cached prefix.
    Never,
    /// Prefixes that are cached stay valid up to its end.
    Kept,
    /// The first call with each prefix writes it anew: it, or something before it, differs.
    Anew,
}

proem_text::word_table! {
    /// The words used in tables.
    pub CacheEffect {
        Never = "not cached",
        Kept = "stays cached",
        Anew = "cached anew",
    }
}

impl BookDifference {
    /// The tokens of all sections' own text, in the first version and in the second.
    #[must_use]
    pub fn own_tokens(&self) -> (usize, usize) {
        let sum = |side: fn(&SectionDifference) -> &Option<SectionSide>| {
            let sides = self.sections.iter().filter_map(|row| side(row).as_ref());
            sides.fold(0_usize, |sum, side| sum.saturating_add(side.tokens))
        };
        (sum(|row| &row.first), sum(|row| &row.second))
    }

    /// The effect on the cache, section by section. A prefix is valid up to the first difference.
    #[must_use]
    pub fn cache_effects(&self) -> Vec<CacheEffect> {
        let mut is_same = true;
        let effect = |row: &SectionDifference| {
            is_same &= row.is_same();
            match row.second.as_ref().or(row.first.as_ref()) {
                Some(side) if side.cache != CacheClass::Never.as_str() => {
                    if is_same {
                        CacheEffect::Kept
                    } else {
                        CacheEffect::Anew
                    }
                }
                _ => CacheEffect::Never,
            }
        };
        self.sections.iter().map(effect).collect()
    }
}

impl SectionDifference {
    /// Whether both versions have it, with the same text, inputs, trust and cache class.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.first.is_some() && self.first == self.second
    }
}

/// A file that differs.
#[derive(Debug)]
pub struct FileDifference {
    /// Its name, without the version.
    pub name: String,
    /// The first version's text. `None` if it has none.
    pub first: Option<String>,
    /// The second's.
    pub second: Option<String>,
}

/// Compares two versions: `agent/name@version`, or `agent/name` for the one that is used. `@version` is another version
/// of the first's prompt.
///
/// # Errors
///
/// If one is not there, or is unreadable.
pub fn compare_versions(book: &Book, first: &str, second: &str) -> Result<BookDifference, Error> {
    let (first_prompt, first_version) = prompt_and_version(book, first, first)?;
    let (second_prompt, second_version) = prompt_and_version(book, second, &first_prompt)?;
    let before = book.as_it_is(&first_prompt, &first_version)?;
    let after = book.as_it_is(&second_prompt, &second_version)?;
    let files = file_differences(book, (&before, &first_prompt), (&after, &second_prompt));
    Ok(BookDifference {
        first: format!("{first_prompt}@{first_version}"),
        second: format!("{second_prompt}@{second_version}"),
        changes: after.file.strict.changes.clone(),
        sections: section_differences(&before, &after),
        files,
    })
}

/// A prompt and its version, of what somebody wrote.
fn prompt_and_version(book: &Book, written: &str, otherwise: &str) -> Result<(String, String), Error> {
    let (prompt, version) = match written.split_once('@') {
        Some(("", version)) => (otherwise, Some(version)),
        Some((prompt, version)) => (prompt, Some(version)),
        None => (written, None),
    };
    let version = match version {
        Some(version) => version.to_owned(),
        None => book.current(prompt)?,
    };
    Ok((prompt.to_owned(), version))
}

fn section_differences(before: &Prompt, after: &Prompt) -> Vec<SectionDifference> {
    let counter = OpenAi::O200k;
    let side = |prompt: &Prompt, section: &Section| {
        let text = prompt.own_text(section);
        SectionSide {
            tokens: counter.count(&text),
            trust: section.spec.trust.as_str(),
            cache: section.spec.cache.as_str(),
            inputs: section.inputs.clone(),
            text,
        }
    };
    let mut rows: Vec<SectionDifference> = after
        .file
        .sections
        .iter()
        .map(|section| SectionDifference {
            name: section.spec.name.clone(),
            first: None,
            second: Some(side(after, section)),
        })
        .collect();
    let mut at = 0_usize;
    for section in &before.file.sections {
        let first = Some(side(before, section));
        match rows.iter().position(|row| row.name == section.spec.name) {
            Some(found) => {
                if let Some(row) = rows.get_mut(found) {
                    row.first = first;
                }
                at = found.saturating_add(1);
            }
            None => {
                rows.insert(
                    at.min(rows.len()),
                    SectionDifference { name: section.spec.name.clone(), first, second: None },
                );
                at = at.saturating_add(1);
            }
        }
    }
    rows
}

/// The files that differ, the prompt's own first.
fn file_differences(book: &Book, before: (&Prompt, &str), after: (&Prompt, &str)) -> Vec<FileDifference> {
    let texts = |(prompt, name): (&Prompt, &str)| -> BTreeMap<String, String> {
        let files = prompt.files.iter().filter_map(|(path, _)| {
            let (text, _) = book.file(path)?;
            Some((common_name(path, name, &prompt.id.version), text.as_str().to_owned()))
        });
        files.collect()
    };
    let (mut first, second) = (texts(before), texts(after));
    let mut found: Vec<FileDifference> = Vec::new();
    for (name, text) in second {
        let old = first.remove(&name);
        if old.as_ref() != Some(&text) {
            found.push(FileDifference { name, first: old, second: Some(text) });
        }
    }
    found.extend(first.into_iter().map(|(name, text)| FileDifference { name, first: Some(text), second: None }));
    found.sort_by(|a, b| (!a.name.ends_with(OWN), &a.name).cmp(&(!b.name.ends_with(OWN), &b.name)));
    found
}

/// The placeholder for the version in the name of a prompt's own file.
const OWN: &str = "VERSION.prompt";

/// A file's name where the version does not count.
fn common_name(path: &str, prompt: &str, version: &str) -> String {
    let own = version.split_once('+').map_or(version, |(version, _)| version);
    if path == format!("{prompt}/{own}.prompt") { format!("{prompt}/{OWN}") } else { path.to_owned() }
}
