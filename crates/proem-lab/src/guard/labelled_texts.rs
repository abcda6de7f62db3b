//! The labelled texts: reading, keeping what belongs together apart, splicing into mails.

use std::collections::BTreeMap;
use std::path::Path;

use proem_guard::sentence_scorer::scored_sentences;
use serde::Deserialize;

use crate::selection::public_sets::{Dice, read_data_file};

/// The source of texts that were written for Proem.
pub(crate) const OWN: &str = "own";

/// The source of whole documents that were written for Proem.
pub(crate) const DOCUMENTS: &str = "documents";

#[derive(Debug, Deserialize)]
struct CorpusDocument {
    text: String,
}

/// A labelled text.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct LabelledText {
    pub(crate) text: String,
    /// 1 for an attack, 0 for a benign text.
    pub(crate) label: u8,
    pub(crate) source: String,
    /// Its language, where the source says.
    #[serde(default)]
    pub(crate) lang: String,
    /// Texts of one group are versions of each other. Empty for none.
    #[serde(default)]
    pub(crate) group: String,
}

impl LabelledText {
    pub(crate) const fn is_attack(&self) -> bool {
        self.label == 1
    }

    /// Whether it is a benign mail, for splicing into.
    pub(crate) fn is_mail(&self) -> bool {
        !self.is_attack() && matches!(self.source.as_str(), "llmail" | "bipia-email")
    }
}

/// Reads a file with one JSON object on each line.
pub(crate) fn read_labelled_texts(path: &Path) -> Result<Vec<LabelledText>, String> {
    let read = |(number, line): (usize, &str)| {
        let row: LabelledText =
            serde_json::from_str(line).map_err(|error| format!("`{}`, line {number}: {error}", path.display()))?;
        if row.label > 1 {
            return Err(format!("`{}`, line {number}: the label is {}, not 0 or 1", path.display(), row.label));
        }
        Ok(row)
    };
    (1..).zip(read_data_file(path)?.lines()).filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

/// Reads the texts that were written for Proem: lines, and whole documents.
pub(crate) fn read_own_texts(folder: &Path) -> Result<Vec<LabelledText>, String> {
    let mut rows = Vec::new();
    for (name, label) in [("benign.txt", 0), ("benign-languages.txt", 0), ("attacks.txt", 1)] {
        let row = |line: &str| LabelledText {
            text: line.to_owned(),
            label,
            source: OWN.to_owned(),
            ..LabelledText::default()
        };
        rows.extend(read_data_file(&folder.join(name))?.lines().filter(|line| !line.trim().is_empty()).map(row));
    }
    for name in ["benign-documents-1.jsonl", "benign-documents-2.jsonl"] {
        let path = folder.join(name);
        for (number, line) in (1..).zip(read_data_file(&path)?.lines()) {
            let document: CorpusDocument =
                serde_json::from_str(line).map_err(|error| format!("`{}`, line {number}: {error}", path.display()))?;
            rows.push(LabelledText {
                text: document.text,
                label: 0,
                source: DOCUMENTS.to_owned(),
                ..LabelledText::default()
            });
        }
    }
    Ok(rows)
}

/// Deals rows into `count` folds of about the same size for each source and label. A group stays in one fold. Gives the
/// fold of each row.
pub(crate) fn folds(rows: &[LabelledText], count: usize, seed: u64) -> Vec<usize> {
    let mut dice = Dice(seed);
    let mut order: Vec<(usize, &LabelledText)> = (0..).zip(rows).collect();
    dice.shuffle(&mut order);
    let mut of_group: BTreeMap<&str, usize> = BTreeMap::new();
    let mut dealt: BTreeMap<(&str, u8), usize> = BTreeMap::new();
    let mut folds = vec![0; rows.len()];
    for (index, row) in order {
        let next = dealt.entry((&row.source, row.label)).or_default();
        let mut deal = || {
            *next += 1;
            *next % count.max(1)
        };
        let fold = if row.group.is_empty() { deal() } else { *of_group.entry(&row.group).or_insert_with(deal) };
        if let Some(place) = folds.get_mut(index) {
            *place = fold;
        }
    }
    folds
}

/// Puts an attack between two sentences of a mail, as one more sentence.
pub(crate) fn splice(attack: &str, mail: &str, dice: &mut Dice) -> String {
    let sentences = scored_sentences(mail);
    let inner = sentences.len().saturating_sub(1);
    let before = sentences.get(dice.below(inner)).map_or(mail.len(), |sentence| sentence.end);
    let (head, tail) = mail.split_at_checked(before).unwrap_or((mail, ""));
    format!("{} {attack} {}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source: &str, label: u8, group: &str) -> LabelledText {
        LabelledText { label, source: source.to_owned(), group: group.to_owned(), ..LabelledText::default() }
    }

    #[test]
    fn groups_stay_together_and_folds_are_even() {
        let mut rows: Vec<LabelledText> = (0..30).map(|_| row("mails", 0, "")).collect();
        rows.extend((0..40).map(|index| row(if index % 2 == 0 { "a" } else { "b" }, 1, &format!("g{}", index / 4))));
        let dealt = folds(&rows, 3, 7);
        assert_eq!(dealt, folds(&rows, 3, 7));
        let of_mails = |fold| dealt.iter().take(30).filter(|other| **other == fold).count();
        assert_eq!([of_mails(0), of_mails(1), of_mails(2)], [10, 10, 10]);
        assert!(dealt[30..].chunks(4).all(|group| group.iter().all(|fold| *fold == group[0])));
    }

    #[test]
    fn an_attack_is_spliced_between_sentences() {
        let mail = "The first sentence stands here. The second sentence follows it.\n\nThe third is the last.";
        let spliced: Vec<String> = (0..8).map(|seed| splice("Obey me.", mail, &mut Dice(seed))).collect();
        assert!(spliced.iter().all(|text| text.starts_with("The first") && text.ends_with("is the last.")));
        assert!(
            spliced.contains(
                &"The first sentence stands here. Obey me. The second sentence follows it.\n\nThe third is the last."
                    .into()
            )
        );
        assert_eq!(
            splice("Obey me.", "One sentence without a stop", &mut Dice(1)),
            "One sentence without a stop Obey me. "
        );
    }

    #[test]
    fn rows_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        let check = |content: &str, expected: &str| {
            std::fs::write(&path, content).unwrap();
            let error = read_labelled_texts(&path).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        };
        check("\n{\"text\": \"a\", \"label\": 2, \"source\": \"s\"}\n", "line 2: the label is 2, not 0 or 1");
        check("{", "line 1: EOF while parsing an object at line 1 column 1");
    }
}
