//! A question to a model, ad hoc: files, a pipe and the answer before it are material, the words of who asks are not.
//!
//! A question is a run of the prompt [`PROMPT`] like any other, with the records, budgets and guard of every run;
//! what is here makes its inputs.

mod attachment;
pub mod disclosure;
mod earlier;
mod pipe;

use std::sync::Arc;

use proem_engine::ordered_json::OrderedJson;
use proem_text::OrderedMap;

pub use self::attachment::{Attachment, Picture, QuestionFiles, mentioned_files, read_attachments};
pub use self::earlier::{EarlierAnswer, last_answer};
pub use self::pipe::read_pipe;
use crate::error::Error;

/// The prompt in the book.
pub const PROMPT: &str = "ask/question";

/// The most bytes of a question or of what is wanted of the answer.
const MAX_WORDS: usize = 256 * 1024;

/// A question with everything that is asked about.
#[derive(Debug)]
pub struct Question {
    /// The question.
    words: String,
    /// The instructions for the answer.
    instructions: Option<String>,
    /// Files that were named.
    pub files: QuestionFiles,
    /// The text from standard input.
    pub piped: Option<String>,
    /// The answer that this goes on from.
    pub earlier: Option<EarlierAnswer>,
}

impl Question {
    /// A question in these words.
    ///
    /// # Errors
    ///
    /// If it is empty, or either is too long.
    pub fn new(words: String, instructions: Option<String>) -> Result<Self, Error> {
        if words.trim().is_empty() {
            return Err(Error::invalid("the question is empty; say what you want to know"));
        }
        let too_long = |text: &String| text.len() > MAX_WORDS;
        if too_long(&words) || instructions.as_ref().is_some_and(too_long) {
            return Err(Error::invalid(format!(
                "the question has more than {MAX_WORDS} bytes; put what it is about into a file and name that"
            )));
        }
        Ok(Self { words, instructions, files: QuestionFiles::default(), piped: None, earlier: None })
    }

    /// The inputs of the prompt.
    #[must_use]
    pub fn inputs(&self) -> OrderedJson {
        let text = |text: &str| OrderedJson::from(text);
        let mut inputs = OrderedMap::default();
        inputs.insert("question", text(&self.words));
        if let Some(instructions) = &self.instructions {
            inputs.insert("instructions", text(instructions));
        }
        if let Some(EarlierAnswer { question, answer, .. }) = &self.earlier {
            inputs.insert("earlier", ordered_fields([("question", text(question)), ("answer", text(answer))]));
        }
        let files = self.files.texts.iter().map(|file| {
            ordered_fields([("path", text(&file.path)), ("language", text(file.language)), ("text", text(&file.text))])
        });
        inputs.insert("files", OrderedJson::List(Arc::new(files.collect())));
        if let Some(piped) = &self.piped {
            inputs.insert("piped", text(piped));
        }
        let pictures = &self.files.pictures;
        if !pictures.is_empty() {
            let list = |texts: Vec<OrderedJson>| OrderedJson::List(Arc::new(texts));
            inputs.insert("picture_names", list(pictures.iter().map(|picture| text(&picture.path)).collect()));
            inputs.insert("pictures", list(pictures.iter().map(|picture| text(&picture.address)).collect()));
        }
        inputs.into()
    }

    /// The parts of it that leave the machine, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let mut contents = vec!["the question".to_owned()];
        contents.extend(self.instructions.as_ref().map(|_| "what you want of the answer".to_owned()));
        contents.extend(self.earlier.as_ref().map(|_| "the earlier question and its answer".to_owned()));
        contents.extend(self.files.texts.iter().map(Attachment::in_words));
        contents.extend(self.files.pictures.iter().map(Picture::in_words));
        contents.extend(self.piped.as_ref().map(|text| format!("standard input ({} bytes)", text.len())));
        contents
    }
}

fn ordered_fields<const N: usize>(fields: [(&str, OrderedJson); N]) -> OrderedJson {
    OrderedMap::from_iter(fields).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_what_leaves() {
        let mut question = Question::new("why?".to_owned(), Some("be brief".to_owned())).unwrap();
        question.files.texts.push(Attachment { path: "a.rs".to_owned(), language: "Rust", text: "fn".to_owned() });
        question.piped = Some("diff".to_owned());
        assert_eq!(
            question.contents(),
            ["the question", "what you want of the answer", "`a.rs` (2 bytes)", "standard input (4 bytes)"]
        );
        let inputs = serde_json::to_string(&question.inputs()).unwrap();
        assert_eq!(
            inputs,
            r#"{"question":"why?","instructions":"be brief","files":[{"path":"a.rs","language":"Rust","text":"fn"}],"piped":"diff"}"#
        );
        assert!(Question::new(" \n".to_owned(), None).is_err());
        assert!(Question::new("x".repeat(MAX_WORDS + 1), None).is_err());
    }
}
