//! Counts of tokens as a document for programs.

use std::collections::BTreeMap;

use proem_engine::tokens::Exactness;
use schemars::JsonSchema;
use serde::Serialize;

use super::TokenColumn;

/// The tokens of texts, by each counter.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensOutput {
    /// Each text that was counted, in the order given.
    pub files: Vec<CountedText>,
    /// The sums, by counter.
    totals: BTreeMap<String, usize>,
    /// The counters by their names.
    counters: BTreeMap<String, CounterOut>,
    /// The texts that could not be read, a sentence each.
    unread: Vec<String>,
}

/// One text, or all of a folder.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountedText {
    /// Its name as it was given. `-` is a text that was handed over.
    file: String,
    /// Its length in UTF-8.
    bytes: usize,
    /// Its tokens, by counter.
    tokens: BTreeMap<String, usize>,
    /// How many files of a folder were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    /// How many paths of a folder were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// The tokeniser behind a count, and how far it can be relied on.
#[derive(Debug, Serialize, JsonSchema)]
struct CounterOut {
    /// Its name, with its factor if it estimates.
    counter: String,
    /// Whether its counts are exact.
    exactness: Exactness,
}

impl TokensOutput {
    /// The document of what was counted with these counters.
    #[must_use]
    pub fn new(columns: &[TokenColumn], files: Vec<CountedText>, unread: Vec<String>) -> Self {
        let total =
            |column: &TokenColumn| files.iter().filter_map(|file| file.tokens.get(&column.title)).sum::<usize>();
        let counter = |column: &TokenColumn| CounterOut { counter: column.counter(), exactness: column.exactness };
        Self {
            totals: columns.iter().map(|column| (column.title.clone(), total(column))).collect(),
            counters: columns.iter().map(|column| (column.title.clone(), counter(column))).collect(),
            files,
            unread,
        }
    }

    /// The document of one text that was handed over.
    #[must_use]
    pub fn of_text(columns: &[TokenColumn], text: &str) -> Self {
        let tokens: Vec<usize> = columns.iter().map(|column| column.count(text)).collect();
        Self::new(columns, vec![CountedText::new(columns, "-".to_owned(), text.len(), &tokens)], Vec::new())
    }

    /// The sums by counter, in the order of their names.
    pub fn totals(&self) -> impl Iterator<Item = (&str, usize)> {
        self.totals.iter().map(|(name, tokens)| (name.as_str(), *tokens))
    }
}

impl CountedText {
    /// A text of so many bytes, with its tokens in the order of the counters.
    #[must_use]
    pub fn new(columns: &[TokenColumn], file: String, bytes: usize, tokens: &[usize]) -> Self {
        let tokens = columns.iter().zip(tokens).map(|(column, tokens)| (column.title.clone(), *tokens)).collect();
        Self { file, bytes, tokens, files: None, left_out: None }
    }

    /// The same for a folder: how many of its files were counted, and how many paths were not.
    #[must_use]
    pub fn of_folder(self, files: usize, left_out: usize) -> Self {
        Self { files: Some(files), left_out: Some(left_out), ..self }
    }
}
