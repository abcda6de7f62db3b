//! Past incidents: from a file, or the fixes and reverts of the repository itself.

mod date;
mod incident_files;
mod terms;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use proem_score::bm25;

use crate::Error;
use crate::history::{Commit, CommitIndex, History, Mends, Past};

/// The most incidents that are searched.
pub const MOST_INCIDENTS: usize = 50_000;

/// The most bytes of an incident's body that are searched: 8 KiB.
pub const LONGEST_BODY: usize = 8 * 1024;

/// The most bytes of a title.
const LONGEST_TITLE: usize = 1024;

/// The most paths of an incident.
const MOST_PATHS: usize = 200;

/// How many hexadecimal digits of a commit's id name it, as GitHub and most of git's own output do in large
/// repositories.
const DIGITS: usize = 12;

/// An incident. Everything in it is from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Its id: a number of an issue, or the beginning of a commit's id.
    pub id: String,
    /// One line, as the tracker has it.
    pub title: String,
    /// More about it. May be empty.
    pub body: String,
    /// The paths that it names or touched.
    pub paths: Vec<String>,
    /// When, in seconds since 1970.
    pub at: Option<i64>,
}

/// The number of incidents that were left out or cut, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorpusTruncation {
    /// Incidents after the first [`MOST_INCIDENTS`].
    pub incidents: usize,
    /// Incidents of which only the beginning is searched: the first [`LONGEST_BODY`] bytes of the body, the
    /// first 1,024 of the title, the first 200 paths.
    pub shortened: usize,
}

/// An incident, cut to what is searched, with its terms.
#[derive(Debug)]
struct IncidentEntry {
    incident: Incident,
    terms: Vec<(u64, f32)>,
    is_shortened: bool,
}

impl IncidentEntry {
    fn new(mut incident: Incident) -> Self {
        let is_shortened = shorten_incident(&mut incident);
        let texts = [&incident.title, &incident.body].into_iter().chain(&incident.paths);
        let terms = terms::count_terms(texts.map(String::as_str));
        Self { incident, terms, is_shortened }
    }

    /// A commit that mended something.
    fn of(history: &History, index: CommitIndex, commit: &Commit) -> Self {
        let touches = history.touches(index).iter().take(MOST_PATHS);
        let mut id = alloc::format!("{}", commit.id);
        id.truncate(DIGITS);
        Self::new(Incident {
            id,
            title: history.subject(index).into(),
            body: String::new(),
            paths: touches.map(|touch| history.path(touch.path).to_text()).collect(),
            at: Some(commit.at),
        })
    }
}

/// The fixes and reverts of one history as incidents: what several pasts have in common is read once.
#[derive(Debug, Default)]
pub struct MendIncidents {
    entries: BTreeMap<CommitIndex, Arc<IncidentEntry>>,
}

impl MendIncidents {
    /// The fixes and reverts of a past of that history, newest first, at most `most`.
    pub fn corpus(&mut self, past: &Past<'_>, most: usize) -> Corpus {
        let history = past.history();
        // Newest first and then cut, so that a long history keeps what is most like the code as it is.
        let mends = past.commits().filter(|(_, commit)| commit.mends != Mends::Nothing);
        let mends = mends.filter(|(index, _)| says_what(history.subject(*index)));
        let entries = mends.take(most.min(MOST_INCIDENTS)).map(|(index, commit)| {
            self.entries.entry(index).or_insert_with(|| Arc::new(IncidentEntry::of(history, index, commit))).clone()
        });
        Corpus::of(entries.collect(), 0)
    }
}

/// Words that say that something was mended, and not what.
const GENERIC: [&str; 24] = [
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "fixup",
    "hotfix",
    "bug",
    "bugs",
    "bugfix",
    "bugfixes",
    "issue",
    "issues",
    "error",
    "errors",
    "crash",
    "crashes",
    "regression",
    "regressions",
    "some",
    "another",
    "small",
    "minor",
    "more",
    "again",
];

/// Whether a title says what was wrong: `Fix.` and `fix bug #12` don't.
fn says_what(title: &str) -> bool {
    let mut words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.any(|word| word.chars().any(char::is_alphabetic) && !GENERIC.contains(&word.to_lowercase().as_str()))
}

/// Incidents that can be searched.
#[derive(Debug)]
pub struct Corpus {
    entries: Vec<Arc<IncidentEntry>>,
    index: bm25::Index,
    cut: CorpusTruncation,
}

impl Corpus {
    /// Reads incidents from a file: JSON Lines or a JSON array of objects with `id`, `title`, `body`,
    /// `paths`, `date`, an export of GitHub or Jira issues, or CSV with a header.
    ///
    /// An incident without an id has its number in the file. Dates are `2024-01-31`,
    /// `2024-01-31T12:00:00Z` or seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Unreadable`] with the line, or the number of the incident in an array, and what is
    /// expected.
    pub fn read(text: &[u8]) -> Result<Vec<Incident>, Error> {
        incident_files::read_incidents(text)
    }

    /// Makes incidents searchable: BM25 over words with camel and snake case taken apart.
    ///
    /// The parameters are k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009). Title, body and paths weigh the same.
    /// [`Self::cut`] says what is too much.
    #[must_use]
    pub fn new(mut incidents: Vec<Incident>) -> Self {
        let cut = incidents.len().saturating_sub(MOST_INCIDENTS);
        incidents.truncate(MOST_INCIDENTS);
        Self::of(incidents.into_iter().map(|incident| Arc::new(IncidentEntry::new(incident))).collect(), cut)
    }

    fn of(entries: Vec<Arc<IncidentEntry>>, cut: usize) -> Self {
        let mut builder = bm25::IndexBuilder::new(bm25::Bm25Parameters::default());
        for entry in &entries {
            builder.add(&entry.terms);
        }
        let shortened = entries.iter().filter(|entry| entry.is_shortened).count();
        Self { entries, index: builder.build(), cut: CorpusTruncation { incidents: cut, shortened } }
    }

    /// The incidents in order.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.entries.iter().map(|entry| &entry.incident)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The truncation.
    #[must_use]
    pub const fn cut(&self) -> CorpusTruncation {
        self.cut
    }

    /// The incidents that are most like a text, best first, with their scores. At most `most`. Of equal ones the first
    /// in the corpus goes first. An incident without a word of the query is not like it.
    #[must_use]
    pub fn like(&self, query: &IncidentQuery<'_>, most: usize) -> Vec<(&Incident, f32)> {
        let texts = [query.subject].into_iter().chain(query.paths.iter().copied());
        let texts = texts.chain(query.identifiers.iter().map(String::as_str));
        // Each term counts once, however often a diff repeats a name.
        let terms: Vec<(u64, f32)> = terms::count_terms(texts).into_iter().map(|(term, _)| (term, 1.0)).collect();
        let scores = self.index.score(&terms);
        let mut scored: Vec<(&Incident, f32, usize)> =
            self.incidents().zip(scores).zip(0..).map(|((incident, score), at)| (incident, score, at)).collect();
        scored.retain(|(_, score, _)| *score > 0.0);
        let better = |a: &(_, f32, usize), b: &(_, f32, usize)| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2));
        if most < scored.len() {
            // The order among the rest doesn't matter: most of a corpus may score, and few are asked for.
            scored.select_nth_unstable_by(most, better);
            scored.truncate(most);
        }
        scored.sort_unstable_by(better);
        scored.into_iter().map(|(incident, score, _)| (incident, score)).collect()
    }
}

/// Cuts an incident to what is searched. Says whether it was too long.
fn shorten_incident(incident: &mut Incident) -> bool {
    let shorten = |text: &mut String, longest: usize| {
        let is_long = text.len() > longest;
        text.truncate(text.floor_char_boundary(longest));
        is_long
    };
    let title = shorten(&mut incident.title, LONGEST_TITLE);
    let body = shorten(&mut incident.body, LONGEST_BODY);
    let paths = incident.paths.len() > MOST_PATHS;
    incident.paths.truncate(MOST_PATHS);
    title || body || paths
}

/// The words and files by which similar incidents are looked for.
#[derive(Debug, Clone, Copy)]
pub struct IncidentQuery<'q> {
    /// The first line of a message.
    pub subject: &'q str,
    /// The paths that the change touches.
    pub paths: &'q [&'q str],
    /// Names from changed lines.
    pub identifiers: &'q [String],
}

#[cfg(test)]
mod tests;
