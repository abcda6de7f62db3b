//! Whether a task is about code at all is told by words that the repository knows and by what they mean.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::Error;
use proem_engine::workers::Sequential;
use proem_select::context::words::distinct_words;
use proem_select::context::{
    ContextTask, ContextWeights, Corpus, CorpusCommit, CorpusFile, FilePurpose, SubjectModel, TASK_SIGNAL_NAMES,
    rank_files, signals_of_task,
};
use proem_select::embedding::{Embedder, ModelId, Vector};
use proptest::prelude::*;

/// A model to which every text means the same: what software is, or the opposite.
struct OneMeaning {
    id: ModelId,
    is_software: bool,
}

impl OneMeaning {
    fn new(is_software: bool) -> Self {
        Self { id: ModelId::new("one-meaning").unwrap(), is_software }
    }
}

impl Embedder for OneMeaning {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        let sign = if self.is_software { 1.0 } else { -1.0 };
        let software = ContextWeights::shipped().unwrap().abstention.software;
        let direction: Vec<f32> = software.iter().map(|weight| sign * weight).collect();
        texts.iter().map(|_| Vector::new(&self.id, direction.clone()).map(Some)).collect()
    }
}

/// A model that can't be asked.
struct Broken(ModelId);

impl Embedder for Broken {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        Err(Error::new(proem_engine::ErrorKind::Embedding, "gone"))
    }
}

/// So many files that the repository isn't small.
fn many_paths() -> Vec<String> {
    let others = (0..250).map(|number| format!("src/part{number}/mod.rs"));
    ["src/order.rs", "src/bean_counter.rs", "src/table.rs"].map(str::to_owned).into_iter().chain(others).collect()
}

fn corpus<'c>(paths: &'c [String], subjects: &[&'c str], model: Option<&'c (dyn Embedder + Sync)>) -> Corpus<'c> {
    let file = |path: &'c String| CorpusFile { path, used_for: FilePurpose::Code, record: None, changed: false };
    let commit =
        |subject: &&'c str| CorpusCommit { subject, terms: distinct_words(subject), files: vec![0], is_own: false };
    Corpus {
        files: paths.iter().map(file).collect(),
        commits: subjects.iter().map(commit).collect(),
        meaning: model.map(SubjectModel),
    }
}

fn about_code(corpus: &Corpus<'_>, task: &str) -> f32 {
    rank_files(corpus, &ContextTask::new(task), &ContextWeights::shipped().unwrap(), 10, &Sequential).about_code
}

#[test]
fn words_that_are_known_and_words_of_software_speak_for_code() {
    let (software, everyday, paths) = (OneMeaning::new(true), OneMeaning::new(false), many_paths());
    let task = "order coffee beans tomorrow";
    let weights = ContextWeights::shipped().unwrap().abstention;
    let least = weights.least;
    assert!(least > 0.0 && least < weights.doubtful && weights.doubtful < 0.5);
    assert!(about_code(&corpus(&paths, &[], Some(&everyday)), task) < least);
    assert!(about_code(&corpus(&paths, &[], Some(&software)), task) > least);
    let known = corpus(&paths, &["order coffee", "coffee beans of tomorrow"], Some(&everyday));
    assert!(about_code(&known, task) > about_code(&corpus(&paths, &[], Some(&everyday)), task));
}

/// Nothing is held back where nothing can be said against it.
#[test]
fn what_is_named_and_what_is_unknown_counts_as_code() {
    let (everyday, paths) = (OneMeaning::new(false), many_paths());
    let task = "order coffee beans tomorrow";
    let without_model = corpus(&paths, &[], None);
    let broken = Broken(ModelId::new("broken").unwrap());
    let with_broken = corpus(&paths, &[], Some(&broken));
    let with_model = corpus(&paths, &[], Some(&everyday));
    // A small repository is about what its files are called by.
    let few = &paths[..5];
    let small = corpus(few, &[], Some(&everyday));
    for (corpus, task) in [
        (&without_model, task),
        (&with_broken, task),
        (&with_model, "order coffee beans tomorrow, see src/table.rs:12"),
        (&with_model, ""),
        (&with_model, "???"),
        (&with_model, "coffee tomorrow"),
        (&small, task),
    ] {
        assert!((about_code(corpus, task) - 1.0).abs() < f32::EPSILON, "{task}");
        assert_eq!(signals_of_task(corpus, &ContextTask::new(task), &ContextWeights::shipped().unwrap()), None);
    }
}

#[test]
fn signals_say_what_their_names_say() {
    let (everyday, paths) = (OneMeaning::new(false), many_paths());
    let corpus = corpus(&paths, &["order tea"], Some(&everyday));
    let weights = ContextWeights::shipped().unwrap();
    let signals = signals_of_task(&corpus, &ContextTask::new("order coffee beans tomorrow"), &weights).unwrap();
    let signal = |name: &str| signals[TASK_SIGNAL_NAMES.iter().position(|known| *known == name).unwrap()];
    assert_eq!(signal("words"), 4.0);
    assert_eq!(signal("share that files have"), 0.5, "order and bean");
    assert_eq!(signal("words that no file has"), 2.0);
    assert!(signal("words in a path") > 0.0);
    assert!(signal("share that commits have") > 0.0 && signal("share that commits have") < 0.5);
    assert_eq!(signal("commits"), 2.0_f32.ln());
    // Two of four words, each in one of 253 files. One in the only commit.
    assert!((signal("common among files") - 0.5 * 2.0_f32.ln() / 254.0_f32.ln()).abs() < 1e-5);
    assert!((signal("common among commits") - 0.25).abs() < 1e-5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// For any task, all of it is a number, and the probability one from 0 to 1.
    #[test]
    fn a_task_of_any_kind_has_a_probability(
        task in "\\PC{0,200}",
        words in prop::collection::vec("[a-z]{1,9}", 0..90),
        subjects in prop::collection::vec("[a-z ]{0,30}", 0..5),
        is_software in any::<bool>(),
    ) {
        let (model, paths) = (OneMeaning::new(is_software), many_paths());
        let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
        let corpus = corpus(&paths, &subjects, Some(&model));
        for task in [task, words.join(" ")] {
            prop_assert!((0.0..=1.0).contains(&about_code(&corpus, &task)));
            let signals = signals_of_task(&corpus, &ContextTask::new(&task), &ContextWeights::shipped().unwrap());
            prop_assert!(signals.is_none_or(|signals| signals.iter().all(|signal| signal.is_finite())));
        }
    }
}
