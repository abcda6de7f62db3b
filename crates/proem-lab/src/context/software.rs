//! Learns how much a direction of meaning is one of software: subjects of commits and vague tasks beside what people ask
//! assistants for.

use std::path::Path;

use proem_embed::StaticModel;
use proem_score::linear::{Logistic, TrainingOptions, fit_logistic};
use proem_select::context::ContextTask;
use proem_select::embedding::Embedder as _;
use serde::Deserialize;

use super::abstention::{TrainAbstention, WrittenTask, read_json_lines};
use super::assistant::AssistantRequests;
use super::cases::{clone_name, git_stdout};
use super::train::eprint_line;
use crate::selection::public_sets::read_requests;

/// Requests with these words may be about software.
const TECHNICAL: &str =
    "api code coding debug deploy developer github plugin plugins program programming repo repository script sql";

/// The most subjects of one clone that say what words of software are.
const MOST_SUBJECTS: usize = 600;

/// The pull of weights towards 0, in examples.
const SOFTWARE_L2: f64 = 10.0;

/// A question in English has one of these words.
const ENGLISH: &str = "a how is of the to what who why";

/// The longest question, in bytes. A longer one is a document.
const LONGEST_QUESTION: usize = 300;

/// How much all vague tasks count beside all subjects: there are few, and they are how people speak of software.
const VAGUE_SHARE: f64 = 0.25;

/// A text of the guard's training data.
#[derive(Debug, Deserialize)]
struct GuardText {
    text: String,
    label: u8,
    source: String,
}

/// Texts of one kind.
#[derive(Debug)]
struct TextGroup {
    is_software: bool,
    /// How much all of them count.
    share: f64,
    /// Their directions, each with the clone that it is from.
    rows: Vec<(Vec<f32>, Option<usize>)>,
}

/// Texts about software, and about anything else.
#[derive(Debug)]
pub(super) struct SoftwareTexts(Vec<TextGroup>);

impl SoftwareTexts {
    pub(super) fn read(
        args: &TrainAbstention,
        assistant: &AssistantRequests,
        vague: &[WrittenTask],
    ) -> Result<Self, String> {
        let window = args.window.to_string();
        let mut subjects = Vec::new();
        for (clone, folder) in args.clones.iter().enumerate() {
            let log = git_stdout(folder, &["log", "--no-merges", "--format=%s", "-n", &window])?;
            let all: Vec<&str> = log.lines().collect();
            let step = all.len().div_ceil(MOST_SUBJECTS).max(1);
            subjects.extend(all.into_iter().step_by(step).map(|subject| (subject.to_owned(), Some(clone))));
        }
        let at = |name: &str| args.clones.iter().position(|folder| clone_name(folder) == name);
        let vague = vague.iter().map(|task| (task.task.clone(), at(&task.repo))).collect();
        let of_nobody = |texts: Vec<String>| texts.into_iter().map(|text| (text, None)).collect();
        let all =
            read_requests(&args.data.join("selection/metatool.train.jsonl"))?.into_iter().map(|request| request.query);
        let asked = all.filter(|query| !has(query, TECHNICAL)).collect();
        Ok(Self(vec![
            software_group(true, 1.0, subjects)?,
            software_group(true, VAGUE_SHARE, vague)?,
            software_group(false, 0.5, of_nobody(asked))?,
            software_group(false, 0.5, of_nobody(questions(&args.data.join("guard/train.jsonl"))?))?,
            software_group(false, 1.0, of_nobody(assistant.lessons()))?,
        ]))
    }

    /// Tells one from the other, learned without the clones that `is_left_out` names.
    pub(super) fn learned(&self, is_left_out: impl Fn(usize) -> bool) -> Result<Logistic, String> {
        let (mut rows, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for group in &self.0 {
            let of_group = group.rows.iter().filter(|(_, clone)| !clone.is_some_and(&is_left_out));
            let before = rows.len();
            rows.extend(of_group.map(|(row, _)| row.as_slice()));
            #[expect(clippy::cast_precision_loss, reason = "some thousands")]
            let weight = group.share / (rows.len() - before).max(1) as f64;
            labels.resize(rows.len(), group.is_software);
            weights.resize(rows.len(), weight);
        }
        let options = TrainingOptions { l2: SOFTWARE_L2, ..TrainingOptions::default() };
        let trained = fit_logistic(&rows, &labels, &balanced_label_weights(&labels, &weights), options)
            .map_err(|error| error.to_string())?;
        Ok(trained.model)
    }
}

fn has(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    let mut said = text.split(|c: char| !c.is_alphanumeric());
    said.any(|word| words.split(' ').any(|wanted| wanted == word))
}

/// Questions in English that are no attacks.
fn questions(path: &Path) -> Result<Vec<String>, String> {
    let texts: Vec<GuardText> = read_json_lines(path)?;
    let is_question = |text: &GuardText| {
        text.label == 0
            && text.source == "deepset"
            && text.text.len() < LONGEST_QUESTION
            && has(&text.text, ENGLISH)
            && !has(&text.text, TECHNICAL)
    };
    Ok(texts.into_iter().filter(is_question).map(|text| text.text).collect())
}

fn software_group(is_software: bool, share: f64, texts: Vec<(String, Option<usize>)>) -> Result<TextGroup, String> {
    eprint_line(&format!(
        "{} texts {} software",
        texts.len(),
        if is_software { "about" } else { "about anything but" }
    ));
    let model = StaticModel::built_in().map_err(|error| error.to_string())?;
    let contents: Vec<String> = texts.iter().map(|(text, _)| ContextTask::new(text).content).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    let vectors = model.embed(&contents).map_err(|error| error.to_string())?.into_iter();
    let rows = vectors.zip(texts).filter_map(|(vector, (_, clone))| Some((vector?.values().to_vec(), clone))).collect();
    Ok(TextGroup { is_software, share, rows })
}

/// Weights under which both labels count the same, on average 1.
fn balanced_label_weights(labels: &[bool], weights: &[f64]) -> Vec<f32> {
    let sum = |wanted: bool| -> f64 {
        labels.iter().zip(weights).filter(|(label, _)| **label == wanted).map(|(_, weight)| weight).sum()
    };
    let (yes, no) = (sum(true), sum(false));
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let half = labels.len() as f64 / 2.0;
    #[expect(clippy::cast_possible_truncation, reason = "a weight of moderate size")]
    let of = |(label, weight): (&bool, &f64)| (weight * half / if *label { yes } else { no }) as f32;
    labels.iter().zip(weights).map(of).collect()
}
