//! Words that tell a mode by themselves, where no sentence does.
//!
//! A keyword matches whole words only, so `checkout` is not `check`.

use std::collections::BTreeMap;

use proem_text::{LineTable, character::is_mark, normalise::normalise_text};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as NameError;

use super::Mode;
use proem_engine::error::{Error, ErrorKind};

/// The keywords of each mode and language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keywords {
    /// By folded word: its mode, and behind a tab its languages.
    words: LineTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeywordSet {
    words: Vec<String>,
}

impl Keywords {
    /// Reads a keyword file: `[mode.language] words = […]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: BTreeMap<Mode, BTreeMap<String, KeywordSet>> = toml::from_str(text)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("keywords: {}", e.to_string().trim_end())))?;
        let mut words = BTreeMap::new();
        for (mode, languages) in file {
            for (language, list) in languages {
                for word in list.words {
                    if word.is_empty() || !word.chars().all(is_keyword_character) {
                        let problem = format!("keywords: `{word}` ({language}) is not one word and would never match");
                        return Err(Error::new(ErrorKind::InvalidFile, problem));
                    }
                    // The first mode in order keeps a word that two modes claim.
                    let (owner, languages): &mut (Mode, String) =
                        words.entry(fold_keyword_text(&word)).or_insert((mode, String::new()));
                    if *owner == mode && !languages.split(", ").any(|known| known == language) {
                        let comma = if languages.is_empty() { "" } else { ", " };
                        languages.push_str(&format!("{comma}{language}"));
                    }
                }
            }
        }
        let rows = words.into_iter().map(|(word, (mode, languages))| (word, format!("{}\t{languages}", mode.as_str())));
        Ok(Self { words: LineTable::new(&rows.collect()) })
    }

    /// Reads the output of [`Self::index`], without looking at the keywords themselves.
    #[must_use]
    pub const fn of_index(index: &'static str) -> Self {
        Self { words: LineTable::of_lines(index) }
    }

    /// The keywords as they are looked up, for [`Self::of_index`].
    #[must_use]
    pub fn index(&self) -> &str {
        self.words.lines()
    }

    /// The first keyword of the mode that wins, with the languages it belongs to.
    pub(super) fn find(&self, task: &str) -> Option<(Mode, String, &str)> {
        let task = fold_keyword_text(task);
        let hits = task.split(|c: char| !is_keyword_character(c)).filter_map(|word| {
            let (mode, languages) = self.words.get(word)?.split_once('\t')?;
            let mode: Result<_, NameError> = Mode::deserialize(mode.into_deserializer());
            let mode = mode.ok()?;
            Some((mode, word.to_owned(), languages))
        });
        hits.reduce(|best, hit| if hit.0 < best.0 { hit } else { best })
    }
}

fn is_keyword_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

fn fold_keyword_text(text: &str) -> String {
    normalise_text(text).text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: &str = "[plan.en]\nwords = ['research', 'explore']\n[review.en]\nwords = ['review', 'check']\n\
                            [review.pt]\nwords = ['verifique', 'revisão']\n[act.en]\nwords = ['fix']\n";

    #[test]
    fn keywords_are_whole_words_in_any_case_and_form() {
        let keywords = Keywords::parse(KEYWORDS).unwrap();
        for (task, expected) in [
            ("checkout the branch", None),
            ("CHECK the branch", Some((Mode::Review, "check", "en"))),
            ("fazer a revisa\u{303}o do código", Some((Mode::Review, "revisão", "pt"))),
            ("\u{915}\u{94d}\u{937}check", None),
            ("\u{937}\u{94d}check it", None),
            ("fix, then review, then explore", Some((Mode::Plan, "explore", "en"))),
        ] {
            let found = keywords.find(task);
            let found = found.as_ref().map(|(mode, word, language)| (*mode, word.as_str(), *language));
            assert_eq!(found, expected, "{task:?}");
        }
    }

    #[test]
    fn a_file_of_another_form_is_an_error() {
        assert_eq!(Keywords::parse("[dance.en]\nwords = []").unwrap_err().kind(), ErrorKind::InvalidFile);
        let phrase = Keywords::parse("[plan.en]\nwords = ['look into']").unwrap_err();
        assert_eq!(phrase.to_string(), "keywords: `look into` (en) is not one word and would never match");
    }
}
