//! Any task is read within bounds, any stored record is refused or reads back, any patterns match or don't, and a ranking
//! has each file once with a finite score.

use proem_engine::workers::Sequential;
use proem_runtime::context::IgnorePatterns;
use proem_select::context::words::distinct_words;
use proem_select::context::{
    CommentStyle, ContextTask, ContextWeights, Corpus, CorpusCommit, CorpusFile, FilePurpose, FileRecord, MOST_TERMS,
    is_named_by, rank_files,
};

const STYLES: [CommentStyle; 4] =
    [CommentStyle::Slashes, CommentStyle::Hash, CommentStyle::Dashes, CommentStyle::Prose];

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if let Some(record) = FileRecord::from_bytes(rest.to_vec().into()) {
        assert_eq!(record.as_bytes(), rest);
        assert!(record.terms().count() + record.imports().count() + record.symbols().len() <= rest.len());
        assert!(record.count(7).is_none_or(|count| count.term == 7));
    }
    let (head, source) = rest.split_at(rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len() / 2));
    let text = String::from_utf8_lossy(head);
    let record = FileRecord::new(source, STYLES[usize::from(choice) % STYLES.len()], Vec::new(), Vec::new());
    assert_eq!(FileRecord::from_bytes(record.as_bytes().to_vec().into()), Some(record.clone()));
    let paths = ["a/printer.rs", "a/printer_test.rs", "docs/printer.md"];
    let purposes = [FilePurpose::Code, FilePurpose::Test, FilePurpose::Documentation];
    let file = |(path, used_for)| CorpusFile { path, used_for, record: Some(&record), changed: choice & 8 > 0 };
    let corpus = Corpus {
        files: paths.into_iter().zip(purposes).map(file).collect(),
        commits: vec![CorpusCommit {
            subject: &text,
            terms: distinct_words(&text),
            files: vec![0, 2],
            is_own: choice & 16 > 0,
        }],
        meaning: None,
    };
    let task = ContextTask::in_words_of(&corpus, &text);
    for task in [&task, &ContextTask::new(&text)] {
        assert!(task.terms.len() <= MOST_TERMS && task.places.len() <= 64);
        assert!(task.terms.is_sorted_by(|a, b| a.term < b.term) && task.terms.iter().all(|term| term.weight > 0.0));
    }
    for place in &task.places {
        assert!(paths.into_iter().all(|path| !is_named_by(path, place) || place.path.contains('.')));
    }
    let ranking = rank_files(&corpus, &task, &ContextWeights::shipped().unwrap(), 10, &Sequential);
    let ranked = ranking.code.iter().chain(&ranking.tests).chain(&ranking.documents);
    let ranked: Vec<_> = ranked.collect();
    assert!(ranked.iter().all(|file| file.score.is_finite() && (0.0..=1.0).contains(&file.probability)));
    assert_eq!(ranked.len(), if task.is_empty() { 0 } else { paths.len() });
    let patterns = IgnorePatterns::parse(head);
    let _ = patterns.matches(source);
}
