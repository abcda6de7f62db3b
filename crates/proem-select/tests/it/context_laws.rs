//! The laws of any ranking of files.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::workers::Sequential;
use proem_select::context::words::distinct_words;
use proem_select::context::{
    CommentStyle, ContextTask, ContextWeights, Corpus, CorpusCommit, CorpusFile, FilePurpose, FileRanking, FileRecord,
    rank_files,
};
use proptest::prelude::*;

/// A file of a made repository.
#[derive(Debug, Clone)]
struct MadeFile {
    path: String,
    used_for: FilePurpose,
    record: FileRecord,
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "printer",
        "replace",
        "only_matching",
        "Basket",
        "discount",
        "applyDiscount",
        "invoice",
        "retry",
        "timeout",
        "the",
    ]);
    prop::collection::vec(word, 1..9).prop_map(|words| words.join(" "))
}

fn files() -> impl Strategy<Value = Vec<MadeFile>> {
    let purpose = prop::sample::select(vec![
        FilePurpose::Code,
        FilePurpose::Test,
        FilePurpose::Documentation,
        FilePurpose::Configuration,
        FilePurpose::Foreign,
    ]);
    let file = ("[ab]/(printer|basket|retry|x[0-9])\\.rs", purpose, words()).prop_map(|(path, used_for, text)| {
        let record = FileRecord::new(text.as_bytes(), CommentStyle::Slashes, Vec::new(), Vec::new());
        MadeFile { path, used_for, record }
    });
    prop::collection::vec(file, 0..14).prop_map(|mut files| {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        files
    })
}

fn corpus<'c>(files: &'c [MadeFile], commits: &'c [(String, Vec<usize>)]) -> Corpus<'c> {
    let file = |file: &'c MadeFile| CorpusFile {
        path: &file.path,
        used_for: file.used_for,
        record: Some(&file.record),
        changed: false,
    };
    let commit = |(subject, touched): &'c (String, Vec<usize>)| {
        let mut touched: Vec<u32> =
            touched.iter().filter(|at| **at < files.len()).map(|at| u32::try_from(*at).unwrap()).collect();
        touched.sort_unstable();
        touched.dedup();
        let is_own = subject.len() % 2 == 0;
        CorpusCommit { subject, terms: distinct_words(subject), files: touched, is_own }
    };
    Corpus { files: files.iter().map(file).collect(), commits: commits.iter().map(commit).collect(), meaning: None }
}

fn past_commits() -> impl Strategy<Value = Vec<(String, Vec<usize>)>> {
    prop::collection::vec((words(), prop::collection::vec(0_usize..14, 1..4)), 0..8)
}

fn listed(ranking: &FileRanking) -> Vec<usize> {
    ranking.code.iter().chain(&ranking.tests).chain(&ranking.documents).map(|file| file.file).collect()
}

proptest! {
    /// Each file once within its use, best first, no more than wanted. Foreign files are in no list.
    #[test]
    fn a_ranking_is_a_sorted_choice(files in files(), past in past_commits(), task in words(), most in 0_usize..20) {
        let corpus = corpus(&files, &past);
        let weights = ContextWeights::shipped().unwrap();
        let ranking = rank_files(&corpus, &ContextTask::new(&task), &weights, most, &Sequential);
        for (list, uses) in [
            (&ranking.code, &[FilePurpose::Code][..]),
            (&ranking.tests, &[FilePurpose::Test]),
            (&ranking.documents, &[FilePurpose::Documentation, FilePurpose::Configuration]),
        ] {
            prop_assert!(list.len() <= most);
            prop_assert!(list.is_sorted_by(|a, b| a.score >= b.score));
            prop_assert!(list.iter().all(|file| uses.contains(&files[file.file].used_for)));
            prop_assert!(list.iter().all(|file| file.score.is_finite() && (0.0..=1.0).contains(&file.probability)));
        }
        let mut all = listed(&ranking);
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), listed(&ranking).len());
    }

    /// More of a shorter list is the same list gone on with.
    #[test]
    fn a_longer_list_begins_like_a_shorter_one(files in files(), past in past_commits(), task in words(), most in 0_usize..9) {
        let corpus = corpus(&files, &past);
        let (task, weights) = (ContextTask::new(&task), ContextWeights::shipped().unwrap());
        let (short, long) = (rank_files(&corpus, &task, &weights, most, &Sequential), rank_files(&corpus, &task, &weights, most + 5, &Sequential));
        prop_assert_eq!(&short.code[..], &long.code[..short.code.len()]);
        prop_assert_eq!(rank_files(&corpus, &task, &weights, most, &Sequential), short);
    }

    /// A file that the task names with its path comes first.
    #[test]
    fn a_named_file_comes_first(files in files(), past in past_commits(), words in words(), chosen in any::<prop::sample::Index>()) {
        let code: Vec<usize> = (0..files.len()).filter(|at| files[*at].used_for == FilePurpose::Code).collect();
        prop_assume!(!code.is_empty());
        let named = code[chosen.index(code.len())];
        let corpus = corpus(&files, &past);
        let task = ContextTask::new(&format!("{words}\n  --> {}:3:1", files[named].path));
        let ranking = rank_files(&corpus, &task, &ContextWeights::shipped().unwrap(), 3, &Sequential);
        prop_assert_eq!(ranking.code[0].file, named);
    }
}
