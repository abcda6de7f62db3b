//! A text with its label, what it is worth and where it came from.

use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted, show};
use proem_text::{Audience, Label, Source};

use crate::signal::ProjectSignal;

impl From<&ProjectSignal> for SignalRevision {
    fn from(signal: &ProjectSignal) -> Self {
        Self { id: signal.id.clone(), revision: signal.revision.clone() }
    }
}

/// The signal or person behind the words of a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementOrigin {
    /// A revision of a signal said it, or it was inferred from that.
    Signal(SignalRevision),
    /// A person typed or approved it: the person's id.
    Person(String),
}

impl StatementOrigin {
    /// The signal. `None` for a person.
    #[must_use]
    pub const fn signal(&self) -> Option<&SignalRevision> {
        match self {
            Self::Signal(signal) => Some(signal),
            Self::Person(_) => None,
        }
    }
}

/// The certainty of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A signal or a person says so.
    Fact,
    /// Somebody concludes it.
    Inference,
}

proem_text::word_table! {
    pub Certainty {
        Fact = "fact",
        Inference = "inference",
    }
}

/// A text of an artefact.
///
/// It is trusted exactly if a person alone is its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtefactStatement {
    /// A text, with its label if it is from outside.
    words: LabelTree,
    certainty: Certainty,
    origins: Vec<StatementOrigin>,
}

impl ArtefactStatement {
    /// The most origins of a statement that are kept.
    pub const MAX_ORIGINS: usize = 32;

    /// A text that a person typed or approved.
    #[must_use]
    pub fn by_person(text: &str, person: &str) -> Self {
        Self {
            words: text.into(),
            certainty: Certainty::Fact,
            origins: vec![StatementOrigin::Person(person.to_owned())],
        }
    }

    /// A signal's statement, in its words.
    #[must_use]
    pub fn fact(text: Untrusted<String>, signal: SignalRevision) -> Self {
        Self::derived(LabelTree::Outside(text), Certainty::Fact, vec![signal])
    }

    /// A conclusion of a model or a rule from signals.
    #[must_use]
    pub fn inference(text: Untrusted<String>, signals: Vec<SignalRevision>) -> Self {
        Self::derived(LabelTree::Outside(text), Certainty::Inference, signals)
    }

    /// The same statement, whose text the guard flagged: it is contained with a mark at each word.
    #[must_use]
    pub fn flagged(mut self) -> Self {
        if let LabelTree::Outside(text) = self.words {
            self.words = LabelTree::Flagged(text);
        }
        self
    }

    /// The same with words of ours behind it.
    #[must_use]
    pub(crate) fn followed_by(mut self, more: &str) -> Self {
        self.words = match self.words {
            LabelTree::Outside(text) => LabelTree::Outside(text.map(|text| text + more)),
            LabelTree::Flagged(text) => LabelTree::Flagged(text.map(|text| text + more)),
            LabelTree::Text(text) => LabelTree::Text(text + more),
            other => other,
        };
        self
    }

    /// From outside, whatever label the text came with.
    fn derived(words: LabelTree, certainty: Certainty, signals: Vec<SignalRevision>) -> Self {
        let raised = |text: Untrusted<String>| {
            let label = text.label().clone();
            if !label.is_trusted() {
                return text;
            }
            let unnamed = Label::from_source(Source::named("signal/other")).narrowed_to(Audience::Internal);
            let label = label.join(&unnamed);
            let exact = show::exact_json(&text).as_str().unwrap_or_default().to_owned();
            Untrusted::new(exact, label)
        };
        let words = match words {
            LabelTree::Outside(text) => LabelTree::Outside(raised(text)),
            LabelTree::Flagged(text) => LabelTree::Flagged(raised(text)),
            other => other,
        };
        let mut origins: Vec<StatementOrigin> = signals.into_iter().map(StatementOrigin::Signal).collect();
        origins.sort_unstable();
        origins.dedup();
        origins.truncate(Self::MAX_ORIGINS);
        Self { words, certainty, origins }
    }

    /// A statement as it was written. `None` if its label and its origins don't fit together.
    pub(super) fn restored(words: LabelTree, certainty: Certainty, origins: Vec<StatementOrigin>) -> Option<Self> {
        let by_persons =
            !origins.is_empty() && origins.iter().all(|origin| matches!(origin, StatementOrigin::Person(_)));
        let fits = match &words {
            LabelTree::Text(_) => by_persons,
            LabelTree::Outside(text) | LabelTree::Flagged(text) => !text.label().is_trusted() && !by_persons,
            _ => false,
        };
        fits.then_some(Self { words, certainty, origins })
    }

    /// The text with its label.
    #[must_use]
    pub const fn words(&self) -> &LabelTree {
        &self.words
    }

    /// A fact, or something inferred.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// Its origins, sorted.
    #[must_use]
    pub fn origins(&self) -> &[StatementOrigin] {
        &self.origins
    }

    /// The person whose words it is. `None` if it is not a person's.
    #[must_use]
    pub fn person(&self) -> Option<&str> {
        match self.origins.as_slice() {
            [StatementOrigin::Person(person)] => Some(person),
            _ => None,
        }
    }

    /// How many characters it has.
    #[must_use]
    pub fn characters(&self) -> usize {
        self.ask(|text| text.chars().count()).unwrap_or_default()
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.ask(|text| text.trim().is_empty()).unwrap_or(true)
    }

    /// Whether both say the same, whoever says it.
    #[must_use]
    pub fn says_what(&self, other: &Self) -> bool {
        self.ask(|text| other.ask(|other| text == other).unwrap_or_default()).unwrap_or_default()
    }

    /// A question whose answer can't carry the text.
    pub(crate) fn ask<M: proem_guard::Measurement>(&self, question: impl FnOnce(&str) -> M) -> Option<M> {
        match &self.words {
            LabelTree::Text(text) => Some(question(text)),
            LabelTree::Outside(text) | LabelTree::Flagged(text) => Some(text.measure(|text| question(text))),
            _ => None,
        }
    }
}
