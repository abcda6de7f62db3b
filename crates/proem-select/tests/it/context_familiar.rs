//! The asker's own files have evidence only if they are known.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::Error;
use proem_engine::workers::Sequential;
use proem_select::context::words::distinct_words;
use proem_select::context::{
    ContextTask, ContextWeights, Corpus, CorpusCommit, CorpusFile, FileEvidence, FilePurpose, RankedFile, SIGNAL_NAMES,
    SubjectModel, file_signals, rank_files,
};
use proem_select::embedding::{Embedder, ModelId, Vector};

const PATHS: [&str; 4] = ["a/list_export.rs", "a/report.rs", "b/list_export.rs", "b/table.rs"];

fn file(path: &str) -> CorpusFile<'_> {
    CorpusFile { path, used_for: FilePurpose::Code, record: None, changed: false }
}

fn commit<'s>(subject: &'s str, files: &[u32], is_own: bool) -> CorpusCommit<'s> {
    CorpusCommit { subject, terms: distinct_words(subject), files: files.to_vec(), is_own }
}

/// Commits behind so many of others, so that it makes little difference which of them is newer.
fn behind<'s>(others: usize, commits: [CorpusCommit<'s>; 2]) -> Vec<CorpusCommit<'s>> {
    std::iter::repeat_n(commit("fmt", &[0, 1, 2, 3], false), others).chain(commits).collect()
}

fn corpus(commits: Vec<CorpusCommit<'_>>) -> Corpus<'_> {
    Corpus { files: PATHS.into_iter().map(file).collect(), commits, meaning: None }
}

fn code_candidates(corpus: &Corpus<'_>, task: &str) -> Vec<RankedFile> {
    rank_files(corpus, &ContextTask::new(task), &ContextWeights::shipped().unwrap(), 10, &Sequential).code
}

fn signal(corpus: &Corpus<'_>, task: &str, name: &str) -> Vec<f32> {
    let at = SIGNAL_NAMES.iter().position(|known| *known == name).unwrap();
    let signals = file_signals(corpus, &ContextTask::new(task), &ContextWeights::shipped().unwrap());
    signals.iter().map(|row| row[at]).collect()
}

/// Texts about an end are alike, whatever their words, and so are texts about a beginning.
struct Ends(ModelId);

impl Ends {
    fn new() -> Self {
        Self(ModelId::new("ends-1").unwrap())
    }
}

impl Embedder for Ends {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        let vector = |text: &&str| {
            let about = |words: [&str; 2]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
            let values = vec![about(["close", "shut"]), about(["open", "start"])];
            if values.iter().all(|value| *value == 0.0) { Ok(None) } else { Vector::new(&self.0, values).map(Some) }
        };
        texts.iter().map(vector).collect()
    }
}

#[test]
fn of_two_files_alike_the_one_comes_first_that_whoever_asks_changed() {
    let commits = |is_own| behind(20, [commit("tidy", &[0], false), commit("tidy", &[2], is_own)]);
    let said = |file: &RankedFile| file.evidence.contains(&FileEvidence::Own { commits: 21 });
    let known = code_candidates(&corpus(commits(true)), "list export is slow");
    assert_eq!((known[0].file, said(&known[0])), (2, true));
    let unknown = code_candidates(&corpus(commits(false)), "list export is slow");
    let score = |files: &[RankedFile], file: usize| files.iter().find(|ranked| ranked.file == file).unwrap().score;
    let ahead = |files: &[RankedFile]| score(files, 2) - score(files, 0);
    assert!(ahead(&known) > ahead(&unknown) + 0.5, "{} {}", ahead(&known), ahead(&unknown));
    assert!(unknown.iter().all(|file| !said(file)));
    for name in ["own files", "own folders", "own recency"] {
        assert!(signal(&corpus(commits(false)), "list export", name).iter().all(|value| *value == 0.0), "{name}");
        let own = signal(&corpus(commits(true)), "list export", name);
        assert!(own[2] > own[0], "{name}");
    }
    assert_eq!(signal(&corpus(commits(true)), "list export", "own folders"), [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn commits_alike_in_meaning_speak_for_their_files() {
    let commits = behind(20, [commit("start the session", &[1], false), commit("shut the session down", &[3], false)]);
    let ends = Ends::new();
    let with = Corpus { meaning: Some(SubjectModel(&ends)), ..corpus(commits.clone()) };
    assert_eq!(signal(&with, "session does not close", "commit alike in meaning"), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(signal(&corpus(commits), "session does not close", "commit alike in meaning"), [0.0; 4]);
    assert_eq!(signal(&with, "the session", "commit alike in meaning"), [0.0; 4], "a task without a vector");
    let first = code_candidates(&with, "session does not close").remove(0);
    assert_eq!(first.file, 3);
    assert!(first.evidence.contains(&FileEvidence::Commits { commits: vec![21] }));
}

#[test]
fn neighbours_in_the_task_are_looked_for_side_by_side_in_paths() {
    let paths = ["gh/release/list.rs", "gh/release/upload/list.rs", "gh/list_release.rs"];
    let corpus = Corpus { files: paths.into_iter().map(file).collect(), ..Corpus::default() };
    assert_eq!(signal(&corpus, "a release list", "neighbours in the path"), [1.0, 0.0, 1.0]);
    assert_eq!(signal(&corpus, "release\nlist", "neighbours in the path"), [0.0; 3], "of two lines");
    assert_eq!(signal(&corpus, "release of the list", "neighbours in the path"), [1.0, 0.0, 1.0]);
}
