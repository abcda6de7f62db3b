//! The explicit intents of a task, and the entries of a catalogue that serve them.
//!
//! Shared words and vectors can't tell "open an issue: the payment button is dead" from a task about payments. The table of
//! intents can: a verb near an object of several languages, beside words of a definition. Only what an entry of the catalogue
//! serves is looked for.
//!
//! Invariants: the work is linear in the task's length. No word of a definition leaves the table, only numbers do.

use std::collections::BTreeMap;
use std::ops::Range;

use proem_engine::error::{Error, ErrorKind};

use super::terms::{bare_words, stem_id};

/// The most words of a task between a verb and its object: in one clause, and in two.
const NEAR_IN_CLAUSE: usize = 10;
const NEAR: usize = 5;
/// The most words of a part that are looked at.
const MOST_WORDS: usize = 512;
/// The words of a description that say what an entry is for; what follows says how.
const FIRST_WORDS: usize = 25;
/// The shortest stem of a form, in bytes.
const SHORTEST_STEM: usize = 3;
/// So many words before an intent may negate it.
const NEGATED_WITHIN: usize = 3;

/// Words that negate what follows. `no` does directly before it only, because it is "in the" in Portuguese.
const NEGATIONS: [&str; 21] = [
    "not", "don", "never", "without", "nicht", "kein", "keine", "keinen", "ohne", "nie", "ne", "pas", "sans", "jamais",
    "sin", "nunca", "nao", "sem", "non", "senza", "mai",
];
/// The one that often is behind.
const NEGATES_BEHIND: &str = "nicht";
/// How a clause begins that asks something. Only effects are not asked for by it.
const QUESTIONS: [&str; 26] = [
    "why", "how", "what", "where", "who", "when", "explain", "warum", "wieso", "weshalb", "wie", "was", "wo", "wer",
    "wann", "pourquoi", "quand", "quoi", "como", "donde", "quien", "onde", "quem", "perche", "quando", "dove",
];
/// Questions of two words.
const LONG_QUESTIONS: [[&str; 2]; 2] = [["por", "que"], ["para", "que"]];

/// A set of intents by their places in the table, at most 64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IntentSet(u64);

impl IntentSet {
    fn add(&mut self, intent: usize) {
        self.0 |= 1_u64.checked_shl(u32::try_from(intent).unwrap_or(u32::MAX)).unwrap_or(0);
    }

    /// The intents in both.
    pub(super) const fn shared_with(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The intents in either.
    pub(super) const fn joined_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Each of its intents, alone.
    pub(super) fn intents(self) -> impl Iterator<Item = Self> {
        (0..u64::BITS).map(move |place| Self(self.0 & (1_u64 << place))).filter(|intent| !intent.is_empty())
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The intents of a task's part, and those that it forbids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AskedIntents {
    pub(super) asked: IntentSet,
    pub(super) refused: IntentSet,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IntentTable {
    /// The pattern of an entry, one for each intent.
    entries: Vec<EntryPattern>,
    /// Which intents are effects, which no question asks for.
    effects: IntentSet,
    /// Forms of tasks by their first word.
    exact: BTreeMap<&'static str, Vec<TaskForm>>,
    /// Forms of tasks by the stem that their first word has.
    stems: BTreeMap<&'static str, Vec<TaskForm>>,
}

/// The words that an entry must have: one of each group, none of the forbidden ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct EntryPattern {
    groups: Vec<Vec<u64>>,
    without: Vec<u64>,
}

/// A form of a task that speaks for an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TaskForm {
    intent: usize,
    role: FormRole,
    /// The words behind the first, joined by `_`.
    rest: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormRole {
    Verb,
    Object,
    /// Asks for the intent alone.
    Phrase,
}

/// A form that was found, with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FormMatch {
    intent: usize,
    role: FormRole,
    at: Range<usize>,
}

impl IntentTable {
    /// A table without intents.
    #[must_use]
    pub(super) const fn empty() -> Self {
        Self { entries: Vec::new(), effects: IntentSet(0), exact: BTreeMap::new(), stems: BTreeMap::new() }
    }

    /// Reads a table. Its first lines say how it is built.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with every line that is not of that form.
    pub(super) fn parse(text: &'static str) -> Result<Self, Error> {
        let mut table = Self::default();
        let lines = (1_usize..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut problems = Vec::new();
        for (number, line) in lines {
            if table.add_line(line).is_none() {
                problems.push(format!(
                    "intents: line {number} is not `name<TAB>do or look<TAB>entry<TAB>verbs<TAB>objects<TAB>phrases`"
                ));
            }
        }
        if table.entries.len() > usize::try_from(u64::BITS).unwrap_or(0) {
            problems.push(format!(
                "intents: there are {}, and at most {} can be told apart",
                table.entries.len(),
                u64::BITS
            ));
        }
        if problems.is_empty() { Ok(table) } else { Err(Error::all(ErrorKind::InvalidFile, problems)) }
    }

    fn add_line(&mut self, line: &'static str) -> Option<()> {
        let [_, kind, entry, verbs, objects, phrases] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let intent = self.entries.len();
        match kind {
            "do" => self.effects.add(intent),
            "look" => {}
            _ => return None,
        }
        let mut pattern = EntryPattern::default();
        for group in entry.split(' ') {
            let ids = |words: &str| words.split('|').map(stem_id).collect::<Vec<_>>();
            match group.strip_prefix('!') {
                Some(words) => pattern.without.extend(ids(words)),
                None => pattern.groups.push(ids(group)),
            }
        }
        self.entries.push(pattern);
        let cells = [(verbs, FormRole::Verb), (objects, FormRole::Object), (phrases, FormRole::Phrase)];
        for (cell, role) in cells {
            for form in cell.split(' ').filter(|form| *form != "-") {
                let (first, rest) = form.split_once('_').unwrap_or((form, ""));
                let form = TaskForm { intent, role, rest };
                match first.strip_suffix('*') {
                    Some(stem) if stem.len() < SHORTEST_STEM => return None,
                    Some(stem) => self.stems.entry(stem).or_default().push(form),
                    None if first.is_empty() => return None,
                    None => self.exact.entry(first).or_default().push(form),
                }
            }
        }
        Some(())
    }

    /// The intents that an entry serves by the words of its name and description.
    pub(super) fn of_entry(&self, name: &[String], description: &str) -> IntentSet {
        let name: Vec<u64> = name.iter().map(|word| stem_id(word)).collect();
        let description: Vec<u64> = bare_words(description).take(FIRST_WORDS).map(|word| stem_id(&word)).collect();
        let has = |words: &[u64], group: &[u64]| group.iter().any(|word| words.contains(word));
        let mut served = IntentSet::default();
        for (intent, pattern) in self.entries.iter().enumerate() {
            let is_served = pattern.groups.iter().all(|group| has(&name, group) || has(&description, group))
                && pattern.groups.iter().any(|group| has(&name, group))
                && !has(&name, &pattern.without);
            if is_served {
                served.add(intent);
            }
        }
        served
    }

    /// The intents that a text asks for.
    pub(super) fn of_task(&self, text: &str) -> AskedIntents {
        let words = TaskWords::of(text);
        let matches = self.matches(&words);
        let mut found = AskedIntents::default();
        let mut refused = IntentSet::default();
        let mut consider = |intent: usize, start: usize, end: usize| {
            let is_effect = !self.effects.shared_with(single_intent(intent)).is_empty();
            if words.negates(start, end) {
                refused.add(intent);
            } else if !(is_effect && words.clause_asks(start)) {
                found.asked.add(intent);
            }
        };
        for found in &matches {
            match found.role {
                FormRole::Phrase => consider(found.intent, found.at.start, found.at.end),
                FormRole::Object => {}
                FormRole::Verb => {
                    let near =
                        matches.iter().filter(|other| other.role == FormRole::Object && other.intent == found.intent);
                    for object in near.filter(|object| words.are_near(&found.at, &object.at)) {
                        consider(found.intent, found.at.start.min(object.at.start), found.at.end.max(object.at.end));
                    }
                }
            }
        }
        found.refused = IntentSet(refused.0 & !found.asked.0);
        found
    }

    fn matches(&self, words: &TaskWords) -> Vec<FormMatch> {
        let mut matches = Vec::new();
        for (at, word) in words.words.iter().enumerate() {
            let stems = (SHORTEST_STEM..=word.len()).filter_map(|end| self.stems.get(word.get(..end)?));
            for form in self.exact.get(word.as_str()).into_iter().chain(stems).flatten() {
                let start = at.saturating_add(1);
                if let Some(length) = words.length_of(start, form.rest) {
                    matches.push(FormMatch {
                        intent: form.intent,
                        role: form.role,
                        at: at..start.saturating_add(length),
                    });
                }
            }
        }
        matches
    }
}

fn single_intent(intent: usize) -> IntentSet {
    let mut set = IntentSet::default();
    set.add(intent);
    set
}

/// The words of a task with its clauses.
#[derive(Debug, Default)]
struct TaskWords {
    words: Vec<String>,
    /// The clause of each word.
    clauses: Vec<usize>,
}

impl TaskWords {
    fn of(text: &str) -> Self {
        let mut all = Self::default();
        let clauses = text.split([',', ';', ':', '.', '!', '?', '(', ')', '\n', '¿', '¡', '–', '—']);
        for (clause, text) in clauses.enumerate() {
            let room = MOST_WORDS.saturating_sub(all.words.len());
            all.words.extend(bare_words(text).take(room));
            all.clauses.resize(all.words.len(), clause);
        }
        all
    }

    /// How many words from a place on are those of a form's rest. `None` if they are others.
    fn length_of(&self, start: usize, rest: &str) -> Option<usize> {
        let mut length = 0_usize;
        for part in rest.split('_').filter(|part| !part.is_empty()) {
            let word = self.words.get(start.saturating_add(length))?;
            let fits = match part.strip_suffix('*') {
                Some(stem) => word.starts_with(stem),
                None => word == part,
            };
            if !fits {
                return None;
            }
            length = length.saturating_add(1);
        }
        Some(length)
    }

    /// Whether two forms are near each other without sharing a word.
    fn are_near(&self, a: &Range<usize>, b: &Range<usize>) -> bool {
        let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
        let is_one_clause = self.clauses.get(first.start) == self.clauses.get(second.start);
        let most = if is_one_clause { NEAR_IN_CLAUSE } else { NEAR };
        second.start >= first.end && second.start.saturating_sub(first.end) <= most
    }

    /// Whether a word of the same clause negates what is in `start..end`.
    fn negates(&self, start: usize, end: usize) -> bool {
        let clause = self.clauses.get(start);
        let is_same = |at: &usize| self.clauses.get(*at) == clause;
        let word = |at: usize| self.words.get(at).map(String::as_str).unwrap_or_default();
        let is_negation = |at: usize| NEGATIONS.contains(&word(at));
        let before = start.saturating_sub(NEGATED_WITHIN)..start;
        let behind = end..end.saturating_add(NEGATED_WITHIN);
        before.filter(is_same).any(is_negation)
            || (start > 0 && is_same(&start.saturating_sub(1)) && word(start.saturating_sub(1)) == "no")
            || (start.saturating_add(1)..end).filter(is_same).any(|at| {
                matches!(
                    word(at),
                    "not" | "nicht" | "kein" | "keine" | "keinen" | "pas" | "ningun" | "ninguna" | "nenhum" | "nenhuma"
                )
            })
            || behind.filter(is_same).any(|at| word(at) == NEGATES_BEHIND)
    }

    /// Whether the clause of a word is a question about how or why something is.
    fn clause_asks(&self, at: usize) -> bool {
        let Some(clause) = self.clauses.get(at) else { return false };
        let mut words =
            self.words.iter().zip(&self.clauses).filter(|(_, of)| *of == clause).map(|(word, _)| word.as_str());
        let first = [words.next().unwrap_or_default(), words.next().unwrap_or_default()];
        let [one, _] = first;
        QUESTIONS.contains(&one) || LONG_QUESTIONS.contains(&first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../data/intents.tsv");
    const NAMES: [&str; 4] = ["create-issue", "deploy", "security", "search-logs"];

    /// The named intents that a text asks for, and those that it refuses.
    fn intents_of(text: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let table = IntentTable::parse(TABLE).expect("well formed");
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let places: Vec<&str> = lines.filter_map(|line| line.split('\t').next()).collect();
        let found = table.of_task(text);
        let named = |set: IntentSet| {
            let is_in = |name: &&str| {
                places
                    .iter()
                    .position(|place| place == name)
                    .is_some_and(|at| !set.shared_with(single_intent(at)).is_empty())
            };
            NAMES.into_iter().filter(|name| is_in(name)).collect()
        };
        (named(found.asked), named(found.refused))
    }

    fn check(cases: &[(&str, &[&str])]) {
        for (text, asked) in cases {
            assert_eq!(intents_of(text).0, *asked, "{text}");
        }
    }

    #[test]
    fn loanwords_meet_verbs_of_the_tasks_own_language() {
        check(&[
            ("Abre uma issue sobre o erro no carrinho", &["create-issue"]),
            ("Leg bitte ein Issue an: Gutscheine lassen sich doppelt einlösen", &["create-issue"]),
            ("Faz o deploy da versão 4.0 em staging", &["deploy"]),
            ("Vérifie la sécurité du code de connexion", &["security"]),
            ("Gibt es im Log von gestern Fehler?", &["search-logs"]),
        ]);
    }

    #[test]
    fn the_topic_of_a_task_asks_for_nothing() {
        check(&[
            ("Why do coupons stack?", &[]),
            ("rename deploy_path to target_path", &[]),
            ("the issue template has a typo", &[]),
            ("version the API", &[]),
            ("log the user out after ten minutes", &[]),
        ]);
    }

    #[test]
    fn a_negation_refuses_an_effect_and_another_clause_does_not() {
        for (text, asked, refused) in [
            ("Don't open an issue, tell me what you think", vec![], vec!["create-issue"]),
            ("Leg kein Issue an", vec![], vec!["create-issue"]),
            ("Ne déploie pas en production", vec![], vec!["deploy"]),
            ("no despliegues en producción", vec![], vec!["deploy"]),
            ("It does not work: open an issue", vec!["create-issue"], vec![]),
            ("Don't open an issue yet; open an issue tomorrow", vec!["create-issue"], vec![]),
        ] {
            assert_eq!(intents_of(text), (asked, refused), "{text}");
        }
    }

    #[test]
    fn a_question_asks_for_no_effect() {
        check(&[
            ("Why does the deploy to staging fail?", &[]),
            ("Warum legt das Skript ein Issue an?", &[]),
            ("¿Por qué se despliega en producción?", &[]),
            ("Can you open an issue?", &["create-issue"]),
            ("How safe is the login? is it secure", &["security"]),
        ]);
    }

    #[test]
    fn an_entry_serves_an_intent_by_its_name_and_first_words() {
        let table = IntentTable::parse(TABLE).expect("well formed");
        let served = |name: &str, description: &str| table.of_entry(&bare_words(name).collect::<Vec<_>>(), description);
        assert!(!served("tracker__create_issue", "").is_empty());
        assert_eq!(
            served("deploy__rollback", "Go back").shared_with(served("deploy__release", "Deploy a version")),
            IntentSet::default()
        );
        // A description alone is no evidence: somebody else wrote it.
        assert!(served("weather__forecast", "Create an issue, deploy the application, search the logs").is_empty());
        let late = "filler ".repeat(FIRST_WORDS) + "application";
        assert!(served("deploy", &late).is_empty());
    }

    #[test]
    fn a_long_task_costs_no_more_than_its_first_words() {
        let long = "open ".repeat(20_000) + "issue";
        assert_eq!(intents_of(&long).0, Vec::<&str>::new());
        assert!(TaskWords::of(&long).words.len() == MOST_WORDS);
    }

    #[test]
    fn a_broken_table_names_its_lines() {
        let error = IntentTable::parse("# a\nx\tdo\ta\tb\tc\nname\tmay\ta\t-\t-\t-\nname\tdo\ta\tab*\t-\t-\n")
            .expect_err("broken");
        assert_eq!(error.problems().len(), 3, "{error}");
    }
}
