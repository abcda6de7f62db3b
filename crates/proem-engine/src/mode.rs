//! Which mode a task is to be done in, and why.
//!
//! The order: what the caller says, what the caller hints, keywords, what was detected, `act`.
//! Keywords match whole words only, so `checkout` is not `check`.

use std::collections::BTreeMap;

use proem_text::{character::is_mark, normalise::normalise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embedding::Vector;
use crate::error::{Error, ErrorKind};

/// How a task is to be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Find out and propose; change nothing.
    Plan,
    /// Judge what is there; change nothing.
    Review,
    /// Make the change.
    Act,
}

impl Mode {
    /// All modes in the order in which they win ties.
    pub const ALL: [Self; 3] = [Self::Plan, Self::Review, Self::Act];

    /// The word used on the command line and in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Act => "act",
        }
    }
}

/// Whether a caller works together with the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interaction {
    /// Nothing is known about it.
    #[default]
    Unknown,
    /// A person takes part.
    Interactive,
}

/// Whether there are uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitChanges {
    /// Nobody says; what was detected counts, after the keywords.
    #[default]
    Auto,
    /// The caller says yes.
    Yes,
    /// The caller says no; what was detected doesn't count.
    No,
}

/// What the mode is inferred from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    /// What the caller asks for.
    pub explicit: Option<Mode>,
    /// Whether a person takes part.
    pub interaction: Interaction,
    /// Uncommitted changes, as the caller says.
    pub git_changes: GitChanges,
    /// Uncommitted changes, as they were found; `None` is unknown.
    pub detected: Option<usize>,
}

/// The keywords of each mode and language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keywords {
    words: BTreeMap<String, (Mode, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    words: Vec<String>,
}

impl Keywords {
    /// Reads a keyword file: `[mode.language] words = […]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: BTreeMap<Mode, BTreeMap<String, Language>> = toml::from_str(text)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("keywords: {}", e.to_string().trim_end())))?;
        let mut words = BTreeMap::new();
        for (mode, languages) in file {
            for (language, list) in languages {
                for word in list.words {
                    if word.is_empty() || !word.chars().all(in_word) {
                        let problem = format!("keywords: `{word}` ({language}) is not one word and would never match");
                        return Err(Error::new(ErrorKind::InvalidFile, problem));
                    }
                    // The first mode in order keeps a word that two modes claim.
                    let (owner, languages): &mut (Mode, String) =
                        words.entry(fold(&word)).or_insert((mode, String::new()));
                    if *owner == mode && !languages.split(", ").any(|known| known == language) {
                        let comma = if languages.is_empty() { "" } else { ", " };
                        languages.push_str(&format!("{comma}{language}"));
                    }
                }
            }
        }
        Ok(Self { words })
    }

    /// The first keyword of the mode that wins, with the languages it belongs to.
    fn find(&self, task: &str) -> Option<(Mode, String, &str)> {
        let task = fold(task);
        let hits = task.split(|c: char| !in_word(c)).filter_map(|word| {
            self.words.get(word).map(|(mode, language)| (*mode, word.to_owned(), language.as_str()))
        });
        hits.reduce(|best, hit| if hit.0 < best.0 { hit } else { best })
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

fn fold(text: &str) -> String {
    normalise(text).text.to_lowercase()
}

/// The mode, with the reason in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inferred {
    /// How the task is to be worked on.
    pub mode: Mode,
    /// Why.
    pub reason: String,
}

/// Infers the mode of a task. `nearest` is asked last, before `act` is taken for want of a reason.
#[must_use]
pub fn infer(
    task: &str,
    hints: &Hints,
    keywords: &Keywords,
    nearest: Option<&dyn Fn() -> Option<Inferred>>,
) -> Inferred {
    let inferred = |mode, reason: String| Inferred { mode, reason };
    if let Some(mode) = hints.explicit {
        return inferred(mode, "the caller says so".into());
    }
    if hints.interaction == Interaction::Interactive {
        return inferred(Mode::Plan, "the session is interactive".into());
    }
    if hints.git_changes == GitChanges::Yes {
        return inferred(Mode::Act, "the caller says that there are uncommitted changes".into());
    }
    if let Some((mode, word, language)) = keywords.find(task) {
        return inferred(mode, format!("the task says `{word}` ({language})"));
    }
    match (hints.git_changes, hints.detected) {
        (GitChanges::Auto, Some(files @ 1..)) => {
            let s = if files == 1 { "" } else { "s" };
            inferred(Mode::Act, format!("{files} uncommitted file{s}"))
        }
        _ => nearest
            .and_then(|nearest| nearest())
            .unwrap_or_else(|| inferred(Mode::Act, "nothing says otherwise".into())),
    }
}

/// Sentences that show what each mode is about, as vectors of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Examples(BTreeMap<Mode, Vec<Vector>>);

/// How many of a mode's nearest examples count.
const NEAREST: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFile {
    examples: Vec<String>,
}

impl Examples {
    /// The sentences of an example file, `[mode.language] examples = […]`, with their modes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file is not of that form.
    pub fn sentences(text: &str) -> Result<Vec<(Mode, String)>, Error> {
        let file: BTreeMap<Mode, BTreeMap<String, ExampleFile>> = toml::from_str(text)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("mode examples: {}", e.to_string().trim_end())))?;
        let languages = file.into_iter().flat_map(|(mode, languages)| languages.into_values().map(move |l| (mode, l)));
        Ok(languages.flat_map(|(mode, language)| language.examples.into_iter().map(move |text| (mode, text))).collect())
    }

    /// Adds an example.
    pub fn add(&mut self, mode: Mode, vector: Vector) {
        self.0.entry(mode).or_default().push(vector);
    }

    /// The mode whose three nearest examples are nearest in the mean, if they are at least as near
    /// as `least`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidVector`] if the task's vector is of another model.
    pub fn nearest(&self, task: &Vector, least: f32) -> Result<Option<Inferred>, Error> {
        let mut best: Option<(f32, Mode)> = None;
        for mode in Mode::ALL {
            let vectors = self.0.get(&mode).into_iter().flatten();
            let mut cosines = vectors.map(|vector| vector.cosine(task)).collect::<Result<Vec<f32>, Error>>()?;
            cosines.sort_by(|a, b| b.total_cmp(a));
            cosines.truncate(NEAREST);
            #[expect(clippy::cast_precision_loss, reason = "at most three")]
            let mean = cosines.iter().sum::<f32>() / cosines.len().max(1) as f32;
            if best.is_none_or(|(most, _)| mean > most) {
                best = Some((mean, mode));
            }
        }
        Ok(best.filter(|(mean, _)| *mean >= least).map(|(mean, mode)| Inferred {
            mode,
            reason: format!("examples of {} are nearest in meaning ({mean:.2})", mode.as_str()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: &str = "[plan.en]\nwords = ['research', 'explore']\n[review.en]\nwords = ['review', 'check']\n\
                            [review.pt]\nwords = ['verifique', 'revisão']\n[act.en]\nwords = ['fix']\n";

    fn check(task: &str, hints: Hints, mode: Mode, reason: &str) {
        let keywords = Keywords::parse(KEYWORDS).unwrap();
        assert_eq!(infer(task, &hints, &keywords, None), Inferred { mode, reason: reason.into() }, "{task:?}");
    }

    #[test]
    fn the_order_is_caller_hints_keywords_detection_act() {
        let none = Hints::default();
        let dirty = Hints { detected: Some(2), ..none };
        check("review it", Hints { explicit: Some(Mode::Act), ..dirty }, Mode::Act, "the caller says so");
        let interactive = Hints { interaction: Interaction::Interactive, ..dirty };
        check("review it", interactive, Mode::Plan, "the session is interactive");
        let yes = Hints { git_changes: GitChanges::Yes, ..none };
        check("review it", yes, Mode::Act, "the caller says that there are uncommitted changes");
        check("review this diff", dirty, Mode::Review, "the task says `review` (en)");
        check("tidy up", dirty, Mode::Act, "2 uncommitted files");
        check("tidy up", Hints { git_changes: GitChanges::No, ..dirty }, Mode::Act, "nothing says otherwise");
        check("", none, Mode::Act, "nothing says otherwise");
    }

    #[test]
    fn keywords_are_whole_words_in_any_case_and_form() {
        let none = Hints::default();
        check("checkout the branch", none, Mode::Act, "nothing says otherwise");
        check("CHECK the branch", none, Mode::Review, "the task says `check` (en)");
        check("fazer a revisa\u{303}o do código", none, Mode::Review, "the task says `revisão` (pt)");
        check("\u{915}\u{94d}\u{937}check", none, Mode::Act, "nothing says otherwise");
        check("\u{937}\u{94d}check it", none, Mode::Act, "nothing says otherwise");
        check("fix it, then review, then explore", none, Mode::Plan, "the task says `explore` (en)");
    }

    #[test]
    fn a_file_of_another_form_is_an_error() {
        assert_eq!(Keywords::parse("[dance.en]\nwords = []").unwrap_err().kind(), ErrorKind::InvalidFile);
        let phrase = Keywords::parse("[plan.en]\nwords = ['look into']").unwrap_err();
        assert_eq!(phrase.to_string(), "keywords: `look into` (en) is not one word and would never match");
    }
}
