//! The evidence for a file, in words.

use proem_risk::history::History;
use proem_runtime::context::ContextCorpus;
use proem_select::context::{FileEvidence, FileRecord};

/// The sources of the words.
pub(super) struct EvidenceWords<'e, 't> {
    pub(super) corpus: &'e ContextCorpus<'t>,
    pub(super) history: Option<&'e History>,
    pub(super) record: Option<&'e FileRecord>,
}

/// How many digits of a commit's id are shown.
const SHOWN_DIGITS: usize = 8;

/// The most of a subject that is shown, in characters.
const SUBJECT: usize = 60;

/// The evidence, as text from outside.
pub(super) fn evidence_words(said: &FileEvidence, words: &EvidenceWords<'_, '_>) -> String {
    match said {
        FileEvidence::Named { line: Some(line) } => format!("named in the task at line {line}"),
        FileEvidence::Named { line: None } => "named in the task".to_owned(),
        FileEvidence::Defines { symbols } => {
            let defined = words.record.map(FileRecord::symbols).unwrap_or_default();
            let symbols = symbols.iter().filter_map(|at| defined.get(*at));
            let mut names: Vec<String> = symbols.map(|symbol| format!("`{}`", symbol.name)).collect();
            names.dedup();
            format!("defines {}, named in the task", names.join(", "))
        }
        FileEvidence::PathWords => "its path shares words with the task".to_owned(),
        FileEvidence::Words { matched, of } => format!("has {matched} of the {of} words and names of the task"),
        FileEvidence::Commits { commits } => {
            let about: Vec<String> = commits.iter().take(2).filter_map(|at| commit_words(*at, words)).collect();
            format!("touched by commits about the same: {}", about.join("; "))
        }
        FileEvidence::CoChange { with, together, of } => {
            let path = words.corpus.corpus.files.get(*with).map_or("", |file| file.path);
            format!("changed together with {path} in {together} of its {of} commits")
        }
        FileEvidence::Imports => "imports, or is imported by, one of the likeliest".to_owned(),
        FileEvidence::Own { commits: 0 } => "changed in the last commit, by whoever asks".to_owned(),
        FileEvidence::Own { commits: 1 } => "changed 1 commit ago by whoever asks".to_owned(),
        FileEvidence::Own { commits } => format!("changed {commits} commits ago by whoever asks"),
        FileEvidence::Recent { commits: 0 } => "changed in the last commit".to_owned(),
        FileEvidence::Recent { commits: 1 } => "changed 1 commit ago".to_owned(),
        FileEvidence::Recent { commits } => format!("changed {commits} commits ago"),
        FileEvidence::Changed => "changed in the work tree".to_owned(),
    }
}

fn commit_words(at: u32, words: &EvidenceWords<'_, '_>) -> Option<String> {
    let index = *usize::try_from(at).ok().and_then(|at| words.corpus.ids.get(at))?;
    let id: String = words.history?.commit(index)?.id.to_string().chars().take(SHOWN_DIGITS).collect();
    let subject: String = words.history?.subject(index).chars().take(SUBJECT).collect();
    Some(format!("{id} “{subject}”"))
}
