//! A run's question to a person, and the person's answer.
//!
//! Invariants: a question is in our words, and what somebody else wrote is beside them as [`Question::content`], with
//! its labels. An answer is bound to all that was shown by a hash of it, so that nobody's yes to one thing counts for
//! another. Of an answer only the option's number and the person's own words are the person's.

use std::fmt;

use proem_guard::LabelTree;
use proem_text::hex;
use proem_text::json::compact;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind};

/// The form of the hashed bytes. Raised when a byte changes.
const SHOWN_FORM: &[u8] = b"proem question 2\n";

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question, in our words.
    pub text: String,
    /// The possible answers, in our words.
    pub options: Vec<String>,
    /// Its subject, with the labels of the authors. [`LabelTree::Null`] if our words say all.
    #[serde(default = "nothing", with = "written", skip_serializing_if = "is_nothing")]
    pub content: LabelTree,
    /// Whom it reaches if the person says so, as code computed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// The consequence, in our words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consequence: Option<String>,
}

/// A person's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// The index of the option. `None` if nobody could be asked.
    pub option: Option<usize>,
    /// The hash of what was shown. `None` only where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ShownHash>,
    /// The person's comment. It is the person's own, and therefore trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// The hash of everything that a question shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShownHash([u8; 32]);

impl Question {
    /// A question that our words say all of.
    pub fn new(text: impl Into<String>, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            text: text.into(),
            options: options.into_iter().map(Into::into).collect(),
            content: LabelTree::Null,
            recipients: Vec::new(),
            consequence: None,
        }
    }

    /// An answer to this question, as it is shown.
    ///
    /// # Errors
    ///
    /// Those of [`question_hash`].
    pub fn answered(&self, option: usize, words: Option<String>) -> Result<QuestionAnswer, Error> {
        Ok(QuestionAnswer { option: Some(option), shown: Some(question_hash(self)?), words })
    }
}

/// The hash of what a question shows: its words, options, content with labels, recipients and consequence, as
/// canonical JSON.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] if the content is too large to be written down.
pub fn question_hash(question: &Question) -> Result<ShownHash, Error> {
    let Question { text, options, content, recipients, consequence } = question;
    let content = content.write().map_err(|error| Error::new(ErrorKind::InvalidInput, error.to_string()))?;
    let all = json!({
        "text": text, "options": options, "content": content, "recipients": recipients, "consequence": consequence,
    });
    let hashed = Sha256::new().chain_update(SHOWN_FORM).chain_update(compact(&all)).finalize();
    Ok(ShownHash(hashed.into()))
}

/// Whether these are answers to these questions: one for each, by one of its options, given to what it shows. An
/// answer of nobody chooses none.
///
/// # Errors
///
/// [`ErrorKind::OutOfStep`] if they are not; what was asked is then to be asked again.
pub fn check_answers(questions: &[Question], answers: &[QuestionAnswer]) -> Result<(), Error> {
    let refused = |problem: String| Err(Error::new(ErrorKind::OutOfStep, problem));
    if questions.len() != answers.len() {
        return refused(format!(
            "{} questions were asked and {} answered; ask each of them",
            questions.len(),
            answers.len()
        ));
    }
    for (number, (question, answer)) in (1_usize..).zip(questions.iter().zip(answers)) {
        let Some(option) = answer.option else { continue };
        if option >= question.options.len() {
            let options = question.options.len();
            return refused(format!("answer {number} is option {option} of {options}, counted from 0; ask again"));
        }
        if answer.shown != Some(question_hash(question)?) {
            return refused(format!("answer {number} was given to something else than what is asked; ask again"));
        }
    }
    Ok(())
}

impl ShownHash {
    /// The hash as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ShownHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode_hex(self.0))
    }
}

impl fmt::Debug for ShownHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShownHash({self})")
    }
}

impl Serialize for ShownHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShownHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = hex::decode_hex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| de::Error::custom("a hash is 64 lower-case hexadecimal digits"))
    }
}

const fn nothing() -> LabelTree {
    LabelTree::Null
}

const fn is_nothing(content: &LabelTree) -> bool {
    matches!(content, LabelTree::Null)
}

/// A tree as the text that it is written down as, for a state.
mod written {
    use proem_guard::LabelTree;
    use serde::{Deserialize as _, Deserializer, Serializer, de, ser};

    pub(super) fn serialize<S: Serializer>(tree: &LabelTree, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&tree.write().map_err(ser::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LabelTree, D::Error> {
        LabelTree::read(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proem_guard::Untrusted;
    use proem_text::{Label, Source};
    use proptest::prelude::*;
    use serde_json::{from_value, to_value};

    use super::*;

    fn outside(text: &str) -> LabelTree {
        let label = Label::from_source(Source::parse("mail").unwrap());
        LabelTree::Outside(Untrusted::new(text.to_owned(), label))
    }

    fn full() -> Question {
        Question {
            content: LabelTree::map([("body", outside("Approve? [y/N]"))]),
            recipients: vec!["a@corp.com".to_owned()],
            consequence: Some("A mail is sent.".to_owned()),
            ..Question::new("May it?", ["no", "yes"])
        }
    }

    #[test]
    fn what_was_written_by_an_earlier_version_is_read() {
        let question: Question = from_value(json!({ "text": "Go on?", "options": ["no", "yes"] })).unwrap();
        assert_eq!(question, Question::new("Go on?", ["no", "yes"]));
        let answer: QuestionAnswer = from_value(json!({ "option": 1 })).unwrap();
        assert_eq!(answer, QuestionAnswer { option: Some(1), shown: None, words: None });
        assert_eq!(to_value(&question).unwrap(), json!({ "text": "Go on?", "options": ["no", "yes"] }));
    }

    #[test]
    fn what_is_written_is_read_with_its_labels() {
        let question = full();
        let read: Question = from_value(to_value(&question).unwrap()).unwrap();
        assert_eq!(read, question);
        assert!(!read.content.label().is_trusted());
        let answer = question.answered(1, Some("it is late".to_owned())).unwrap();
        assert_eq!(from_value::<QuestionAnswer>(to_value(&answer).unwrap()).unwrap(), answer);
    }

    #[test]
    fn whatever_is_shown_is_in_the_hash() {
        let question = full();
        let with = |change: &dyn Fn(&mut Question)| {
            let mut other = question.clone();
            change(&mut other);
            question_hash(&other).unwrap()
        };
        let same = with(&|_| ());
        assert_eq!(same, question_hash(&question).unwrap());
        let changes: [&dyn Fn(&mut Question); 7] = [
            &|other| other.text.push('!'),
            &|other| other.options.swap(0, 1),
            &|other| other.content = LabelTree::map([("body", outside("Approve? [Y/n]"))]),
            &|other| other.content = LabelTree::map([("body", LabelTree::from("Approve? [y/N]"))]),
            &|other| other.recipients.push("b@corp.com".to_owned()),
            &|other| other.consequence = None,
            &|other| other.recipients = vec!["a@corp.com, b@corp.com".to_owned()],
        ];
        for (place, change) in changes.into_iter().enumerate() {
            assert_ne!(with(change), same, "{place}");
        }
        assert_eq!(
            same.to_string(),
            "3b7a1fa7410ffc17e617bdcb79044fddf4978ec909766c96044af8ab628afe59",
            "a change of the form needs another number"
        );
    }

    #[test]
    fn only_an_answer_to_what_is_asked_is_one() {
        let check = |answers: &[QuestionAnswer], expected: Result<(), &str>| {
            let checked = check_answers(&[full(), Question::new("And?", ["end"])], answers);
            let problem = checked.map_err(|error| {
                assert_eq!(error.kind(), ErrorKind::OutOfStep);
                error.to_string()
            });
            assert_eq!(problem.as_ref().copied().map_err(String::as_str), expected, "{answers:?}");
        };
        let (first, second) = (full().answered(1, None).unwrap(), Question::new("And?", ["end"]).answered(0, None));
        let second = second.unwrap();
        let nobody = QuestionAnswer::default();
        check(&[first.clone(), second.clone()], Ok(()));
        check(&[nobody.clone(), nobody.clone()], Ok(()));
        check(&[QuestionAnswer { words: Some("yes".to_owned()), ..first.clone() }, second.clone()], Ok(()));
        check(std::slice::from_ref(&first), Err("2 questions were asked and 1 answered; ask each of them"));
        let other = "answer 1 was given to something else than what is asked; ask again";
        check(&[QuestionAnswer { shown: None, ..first.clone() }, second.clone()], Err(other));
        check(&[second.clone(), second.clone()], Err(other));
        let edited = Question { recipients: vec!["b@corp.com".to_owned()], ..full() };
        check(&[edited.answered(1, None).unwrap(), second.clone()], Err(other));
        check(
            &[QuestionAnswer { option: Some(2), ..first }, second],
            Err("answer 1 is option 2 of 2, counted from 0; ask again"),
        );
    }

    proptest! {
        #[test]
        fn a_question_that_is_read_back_shows_the_same(text: String, option: String, from_outside: String) {
            let question = Question { content: outside(&from_outside), ..Question::new(text, [option]) };
            let read: Question = from_value(to_value(&question).unwrap()).unwrap();
            prop_assert_eq!(question_hash(&read).unwrap(), question_hash(&question).unwrap());
        }
    }
}
