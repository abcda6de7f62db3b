//! The files of a repository that a colleague would bring for a task, ranked, each with its evidence.
//!
//! [`FileRecord`] is what a file is made of, kept from run to run. [`Corpus`] puts files and commits together.
//! [`ContextTask`] reads what is asked for. [`rank_files`] joins weak signals by learned [`ContextWeights`].
//! Invariants: the same corpus and task give the same ranking. No text of a repository is in it but paths, names and
//! subjects. A task without words or places to look for gets nothing.

mod abstain;
mod corpus;
mod definitions;
mod document;
mod familiar;
mod language;
mod late;
mod place;
mod rank;
mod record;
mod scores;
mod signals;
mod symbol;
mod task;
mod translation;
mod weights;
pub mod words;

pub use abstain::TASK_SIGNAL_NAMES;
pub use corpus::{Corpus, CorpusCommit, CorpusFile, FilePurpose, MOST_TOUCHED, SubjectModel};
pub use definitions::{
    DEFINITION_SIGNAL_NAMES, DefinitionLook, DefinitionSignals, DefinitionSource, RankedDefinition, definition_looks,
    rank_definitions,
};
pub use document::{CommentStyle, MOST_BYTES, TermCount, import_terms};
pub use language::TaskLanguage;
pub use place::{PlaceMention, is_named_by, named_places};
pub use rank::{FileEvidence, FileRanking, RankedFile, file_signals, likeliest_files, rank_files, signals_of_task};
pub use record::{FileRecord, SharedSlice};
pub use signals::{FIRST_LATE, FileSignals, SIGNAL_NAMES, SIGNALS};
pub use symbol::{CodeSymbol, LineSpan, SymbolKind};
pub use task::{ContextTask, MOST_TERMS, Naming, QueryTerm};
pub use translation::words_to_count;
pub use weights::{AbstentionWeights, ContextWeights, DEFINITION_SIGNALS, TASK_SIGNALS, TaskSignals};
