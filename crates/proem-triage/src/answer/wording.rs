//! How a drafted mail has to be worded: rules over words, from a data file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proem_engine::error::{Error, ErrorKind};
use serde::Deserialize;

/// Why a drafted mail may not go out before a person has read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DraftFault {
    /// It speaks of itself: a draft is nobody's word.
    FirstPerson,
    /// It promises something on somebody's behalf.
    Commitment,
    /// It is not spelt as in Britain.
    Spelling,
    /// It begins with what follows instead of with what is.
    ConsequenceFirst,
    /// It holds an address of the web.
    Link,
    /// It is no plain text.
    Markup,
    /// It doesn't say how things go on.
    NoNextStep,
}

impl DraftFault {
    /// The fault in words of ours.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::FirstPerson => "it is written in the first person",
            Self::Commitment => "it makes a commitment",
            Self::Spelling => "its spelling is not British",
            Self::ConsequenceFirst => "consequences come before facts",
            Self::Link => "it holds a web address",
            Self::Markup => "it is not plain text",
            Self::NoNextStep => "it proposes no next step",
        }
    }
}

/// The words by which drafts are judged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftRules {
    first_person: Vec<String>,
    commitments: Vec<String>,
    consequences: Vec<String>,
    next_steps: Vec<String>,
    spelling: BTreeMap<String, String>,
}

impl DraftRules {
    /// The rules that ship.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, Error> {
        Self::parse(include_str!("../../data/drafts.toml"))
    }

    /// Rules from their file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if it is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |problem: &str| Error::new(ErrorKind::InvalidFile, format!("rules for drafts: {problem}"));
        toml::from_str(text).map_err(|error: toml::de::Error| invalid(error.to_string().trim_end()))
    }

    /// The faults in the wording of a draft. Web addresses are searched for once more, in every spelling, before
    /// anything leaves.
    #[must_use]
    pub fn faults(&self, subject: &str, body: &str) -> BTreeSet<DraftFault> {
        let whole = format!("{subject}\n{body}");
        let words = spaced_lower_case(&whole);
        let has = |phrases: &[String]| phrases.iter().any(|phrase| words.contains(&format!(" {phrase} ")));
        let is_american = || words.split(' ').any(|word| self.spelling.contains_key(word));
        let first = spaced_lower_case(first_sentence(body));
        let begins = || self.consequences.iter().any(|phrase| first.contains(&format!(" {phrase} ")));
        let mut faults = BTreeSet::new();
        let mut say = |fault, holds: bool| _ = holds.then(|| faults.insert(fault));
        say(DraftFault::FirstPerson, has(&self.first_person));
        say(DraftFault::Commitment, has(&self.commitments));
        say(DraftFault::Spelling, is_american());
        say(DraftFault::ConsequenceFirst, begins());
        say(DraftFault::Link, has_link(&whole));
        say(DraftFault::Markup, has_markup(&whole));
        say(DraftFault::NoNextStep, !has(&self.next_steps));
        faults
    }
}

/// The words of a text in lower case, each between single spaces.
fn spaced_lower_case(text: &str) -> String {
    let mut words = String::from(" ");
    let text = without_country(text);
    for c in text.chars() {
        match c {
            '’' | 'ʼ' => words.push('\''),
            c if c.is_alphanumeric() || matches!(c, '\'' | '-') => words.extend(c.to_lowercase()),
            _ if words.ends_with(' ') => {}
            _ => words.push(' '),
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// The text with `USA` for the country `US`, which in small letters is another word. In a line that is all capitals, `US`
/// may be that word.
fn without_country(text: &str) -> Cow<'_, str> {
    if !text.contains("US") {
        return Cow::Borrowed(text);
    }
    let of_word = |word: &str| match word.strip_prefix("US") {
        Some(rest) if !rest.starts_with(char::is_alphanumeric) => format!("USA{rest}"),
        _ => word.to_owned(),
    };
    let of_line = |line: &str| match line.chars().any(char::is_lowercase) {
        true => line.split_inclusive(|c: char| !c.is_alphanumeric()).map(of_word).collect(),
        false => line.to_owned(),
    };
    Cow::Owned(text.split_inclusive('\n').map(of_line).collect())
}

/// The first sentence behind a line that greets.
fn first_sentence(body: &str) -> &str {
    let body = body.trim();
    let rest = match body.split_once('\n') {
        Some((greeting, rest)) if greeting.trim_end().ends_with(',') => rest.trim_start(),
        _ => body,
    };
    rest.split_inclusive(['.', '!', '?', '\n']).next().unwrap_or_default()
}

fn has_link(text: &str) -> bool {
    let text = text.to_lowercase();
    ["://", "www.", "mailto:", "](", "href="].iter().any(|mark| text.contains(mark))
}

/// Whether there is markup: a tag, an entity, or a code that draws something.
fn has_markup(text: &str) -> bool {
    let is_tag = |rest: &str| {
        let name = rest.strip_prefix('/').unwrap_or(rest);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!') && rest.contains('>')
    };
    let is_entity = |rest: &str| rest.split_once(';').is_some_and(|(name, _)| name.len() <= 8 && is_rule_name(name));
    text.split('<').skip(1).any(is_tag)
        || text.split('&').skip(1).any(is_entity)
        || text.contains("```")
        || text.contains('\u{1b}')
}

fn is_rule_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
}
