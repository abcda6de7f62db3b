//! Names from outside as aliases of ours, each the same one over a whole investigation.

use std::collections::BTreeSet;

use proem_risk::metric::{Sentence, SentencePart};
use serde::{Deserialize, Serialize};

use super::words::safe_on_one_line;

/// The most characters of a name that is put behind its alias.
const LONGEST: usize = 120;

/// Names that were met. A changed file's number is its place in the change, from 1; whatever is met
/// later is numbered behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aliases {
    paths: Vec<String>,
    persons: Vec<String>,
    incidents: Vec<String>,
}

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AliasKind {
    File,
    Person,
    Incident,
}

proem_text::word_table! {
    AliasKind {
        File = "file",
        Person = "person",
        Incident = "incident",
    }
}

impl Aliases {
    /// Aliases of a change's files, by their place in it.
    #[must_use]
    pub fn new(changed: &[String]) -> Self {
        Self { paths: changed.to_vec(), ..Self::default() }
    }

    pub(super) const fn writer(&mut self) -> AliasWriter<'_> {
        AliasWriter { aliases: self, used: BTreeSet::new() }
    }

    const fn list(&mut self, kind: AliasKind) -> &mut Vec<String> {
        match kind {
            AliasKind::File => &mut self.paths,
            AliasKind::Person => &mut self.persons,
            AliasKind::Incident => &mut self.incidents,
        }
    }

    /// A model's words with the name behind each alias that they use: `file 1 (src/auth.py)`. Text that only looks like
    /// an alias stays as it is. The result is from outside.
    #[must_use]
    pub fn named(&self, words: &str) -> String {
        let mut out = String::with_capacity(words.len());
        let mut rest = words;
        while let Some((at, kind)) = first_kind(rest) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (word, after) = from.split_at(kind.as_str().len());
            out.push_str(word);
            rest = after;
            let starts = !out.strip_suffix(word).unwrap_or_default().ends_with(char::is_alphanumeric);
            let Some(digits) = after.strip_prefix(' ').filter(|_| starts) else { continue };
            let length = digits.bytes().take_while(u8::is_ascii_digit).count();
            let (number, behind) = digits.split_at(length);
            let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let Some(name) = place.and_then(|place| self.of(kind).get(place)) else { continue };
            if behind.starts_with(char::is_alphanumeric) {
                continue;
            }
            let name: String = name.chars().take(LONGEST).collect();
            out.push_str(&format!(" {number} ({name})"));
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// The names of a kind.
    fn of(&self, kind: AliasKind) -> &[String] {
        match kind {
            AliasKind::File => &self.paths,
            AliasKind::Person => &self.persons,
            AliasKind::Incident => &self.incidents,
        }
    }

    /// The place of a changed file that a model names: by its path, or by its alias. `None` if it is none
    /// of the first `changed` files, or if the words are the path of one and the alias of another.
    #[must_use]
    pub fn changed(&self, changed: usize, words: &str) -> Option<u32> {
        let by_path = self.paths.iter().take(changed).position(|path| path == words);
        let by_alias = words.strip_prefix("file ").and_then(|number| number.parse::<usize>().ok());
        let by_alias = by_alias.and_then(|number| number.checked_sub(1)).filter(|place| *place < changed);
        let place = match (by_path, by_alias) {
            (Some(path), Some(alias)) if path != alias => return None,
            (path, alias) => path.or(alias)?,
        };
        u32::try_from(place).ok()
    }
}

/// The first word in a text that an alias begins with.
fn first_kind(text: &str) -> Option<(usize, AliasKind)> {
    let kinds = [AliasKind::File, AliasKind::Person, AliasKind::Incident];
    kinds.into_iter().filter_map(|kind| Some((text.find(kind.as_str())?, kind))).min()
}

/// Writes names as aliases, and knows which it wrote.
#[derive(Debug)]
pub(super) struct AliasWriter<'a> {
    aliases: &'a mut Aliases,
    used: BTreeSet<(AliasKind, usize)>,
}

impl AliasWriter<'_> {
    /// A changed file's alias.
    pub(super) fn changed(&mut self, index: u32) -> String {
        self.alias(AliasKind::File, usize::try_from(index).unwrap_or(usize::MAX))
    }

    /// The alias of any path.
    pub(super) fn path(&mut self, path: &str) -> String {
        self.name(AliasKind::File, path)
    }

    /// A sentence in our words.
    pub(super) fn sentence(&mut self, sentence: &Sentence) -> String {
        let pieces = sentence.0.iter().map(|piece| match piece {
            SentencePart::Ours(words) => safe_on_one_line(words),
            SentencePart::Path(path) => self.name(AliasKind::File, path),
            SentencePart::Person(person) => self.name(AliasKind::Person, person),
            SentencePart::Message(message) => {
                self.name(AliasKind::Incident, message.lines().next().unwrap_or_default())
            }
        });
        pieces.collect()
    }

    fn name(&mut self, kind: AliasKind, name: &str) -> String {
        let known = self.aliases.list(kind);
        let place = known.iter().position(|known| known == name).unwrap_or_else(|| {
            known.push(name.to_owned());
            known.len().saturating_sub(1)
        });
        self.alias(kind, place)
    }

    fn alias(&mut self, kind: AliasKind, place: usize) -> String {
        self.used.insert((kind, place));
        format!("{} {}", kind.as_str(), place.saturating_add(1))
    }

    /// The names behind the used aliases, each on one line, in quotes.
    pub(super) fn names(self) -> Vec<String> {
        let Self { aliases, used } = self;
        let mut names = Vec::new();
        for (kind, place) in used {
            if let Some(name) = aliases.list(kind).get(place) {
                names.push(format!(
                    "{} {}: \"{}\"",
                    kind.as_str(),
                    place.saturating_add(1),
                    safe_on_one_line(name).replace('"', "\\\"")
                ));
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_the_aliases_that_a_model_uses() {
        let mut aliases = Aliases::new(&["a.py".to_owned(), "b.py".to_owned()]);
        aliases.persons.push("ann@example.org".to_owned());
        let check = |words: &str, expected: &str| assert_eq!(aliases.named(words), expected);
        check("", "");
        check("file 1 changed", "file 1 (a.py) changed");
        check(
            "12 files import file 2, which person 1 owns.",
            "12 files import file 2 (b.py), which person 1 (ann@example.org) owns.",
        );
        check("profile 1, file 3, file 1x, file, file 12", "profile 1, file 3, file 1x, file, file 12");
        check("file 1file 2, filefile 1", "file 1file 2, filefile 1");
        check("(file 1)", "(file 1 (a.py))");
        check("incident 1 é file 0", "incident 1 é file 0");
    }
}
