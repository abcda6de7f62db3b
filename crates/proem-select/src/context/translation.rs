//! Puts a task in another language into the English words that code is written in.
//!
//! Invariants: an English task stays as it is, byte for byte; what the repository's code has itself is not replaced.
//! Names, paths and whatever is quoted as code stay. The work is linear in the task's length.

use std::collections::{BTreeMap, BTreeSet};

use proem_text::first_bytes;

use super::corpus::{Corpus, WordPlace};
use super::language::{
    EnglishForms, MOST_WORDS, TaskLanguage, TermColumn, fold_word, is_written_unspaced, language_of,
};
use super::task::{ContextTask, MOST_BYTES, MOST_TERMS, QueryTerm};
use super::words::{Term, WordForm, distinct_words, each_word, term_of_name};

/// How much the usual English word for a foreign one counts, and any further one, where a word that the repository has
/// itself counts 1.
const USUAL: f32 = 0.7;
const FURTHER: f32 = 0.35;

/// The signs that join words to one form: `mot de passe`, `file d'attente`, `time-out`.
const JOINTS: [char; 4] = [' ', '\'', '’', '-'];

/// A task in the words of a repository.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Translation {
    text: String,
    /// The English words for each word of the task, the usual ones first, with their weights.
    english: Vec<Vec<(Term, f32)>>,
    /// How many words are neither in the table nor in the repository.
    unknown: usize,
    /// How many words say something.
    told: usize,
}

impl ContextTask {
    /// Reads a task in the words of a repository: words of another language that its code does not have are put into
    /// English ones, which count less than words that it has.
    #[must_use]
    pub fn in_words_of(corpus: &Corpus<'_>, text: &str) -> Self {
        let head = first_bytes(text, MOST_BYTES);
        let pieces = task_pieces(head);
        let folded: Vec<String> = pieces.iter().filter(|piece| piece.is_word).map(|p| fold_word(p.text)).collect();
        let Some(language) = language_of(head, &folded) else { return Self::new(text) };
        let terms = terms_of(&pieces);
        let known = KnownWords {
            code: corpus.words_among(&terms, WordPlace::Code),
            anywhere: corpus.words_among(&terms, WordPlace::Anywhere),
        };
        let translation = translate_pieces(&pieces, language, &known);
        let original = Self::new(text);
        let mut task = Self {
            places: original.places,
            names: original.names,
            written: original.written,
            ..Self::new(&translation.text)
        };
        let (english, missing) = translation.english_in(corpus);
        task.terms.retain(|query| !missing.contains(&query.term));
        // A word that the task writes itself and the code has keeps its weight, though another word leads to it, too.
        let less = |term: Term| english.get(&term).copied().filter(|_| !known.code.contains(&term));
        for query in &mut task.terms {
            query.weight *= less(query.term).unwrap_or(1.0);
        }
        let asked: BTreeSet<Term> = task.terms.iter().map(|query| query.term).collect();
        let further = english.iter().filter(|(term, _)| !asked.contains(term) && !Self::is_silent(**term));
        task.terms.extend(further.map(|(term, weight)| QueryTerm {
            term: *term,
            weight: *weight,
            form: WordForm::Part,
        }));
        let is_own = |query: &QueryTerm| less(query.term).is_none();
        // Own words are kept first where there are too many.
        task.terms
            .sort_by(|a, b| is_own(b).cmp(&is_own(a)).then(b.weight.total_cmp(&a.weight)).then(a.term.cmp(&b.term)));
        task.terms.truncate(MOST_TERMS);
        task.terms.sort_by_key(|query| query.term);
        task.language = Some(language);
        task.is_hardly_understood = translation.is_hardly_understood();
        task
    }
}

/// The numbers of all words that [`ContextTask::in_words_of`] may look for or ask a corpus for, sorted, as far as they can be
/// known before the corpus is: pairs of words beside each other depend on which of them stay.
#[must_use]
pub fn words_to_count(text: &str) -> Vec<Term> {
    let mut found: BTreeSet<Term> = ContextTask::new(text).terms.iter().map(|query| query.term).collect();
    let head = first_bytes(text, MOST_BYTES);
    let pieces = task_pieces(head);
    let folded: Vec<String> = pieces.iter().filter(|piece| piece.is_word).map(|p| fold_word(p.text)).collect();
    if let Some(language) = language_of(head, &folded) {
        let translation = translate_pieces(&pieces, language, &KnownWords::default());
        found.extend(terms_of(&pieces));
        found.extend(translation.english.iter().flatten().map(|(term, _)| *term));
        found.extend(ContextTask::new(&translation.text).terms.iter().map(|query| query.term));
    }
    found.into_iter().collect()
}

/// Words of a task that a repository has.
#[derive(Debug, Default)]
struct KnownWords {
    /// In its code: these stay.
    code: BTreeSet<Term>,
    /// In any file.
    anywhere: BTreeSet<Term>,
}

/// A word of a task, or what is between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TaskPiece<'t> {
    text: &'t str,
    is_word: bool,
}

/// A task's words and what is between them; whatever is written as code is does is between words.
fn task_pieces(text: &str) -> Vec<TaskPiece<'_>> {
    let mut pieces: Vec<TaskPiece<'_>> = Vec::new();
    let mut is_quoted = false;
    for token in text.split_inclusive(char::is_whitespace) {
        let ticks = token.matches('`').count();
        if is_quoted || ticks > 0 || is_code_token(token) {
            is_quoted ^= ticks % 2 == 1;
            pieces.push(TaskPiece { text: token, is_word: false });
            continue;
        }
        pieces.extend(words_within(token));
    }
    pieces
}

/// Whether a token is a path, a name, a call or a flag.
fn is_code_token(token: &str) -> bool {
    let core = token.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '(' | ')' | '/' | '-' | '@'));
    let inner_dot = core.char_indices().any(|(at, c)| {
        let next = core.get(at.saturating_add(1)..).and_then(|rest| rest.chars().next());
        c == '.' && at > 0 && next.is_some_and(|next| next.is_ascii_alphanumeric())
    });
    let cased = core.chars().zip(core.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let has_unspaced = core.chars().any(is_written_unspaced);
    !has_unspaced
        && (inner_dot
            || cased
            || core.starts_with("--")
            || ["_", "/", "::", "()", "@"].iter().any(|m| core.contains(m)))
}

/// The words of one token. Characters that are written without spaces are runs of their own.
fn words_within(token: &str) -> Vec<TaskPiece<'_>> {
    let class = |c: char| match c {
        _ if is_written_unspaced(c) => 2_u8,
        // Marks belong to the letter before.
        _ if c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}') => 1,
        _ => 0,
    };
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, None);
    for (at, c) in token.char_indices() {
        let next = class(c);
        if before.is_some_and(|before| before != next) {
            pieces.push(TaskPiece { text: token.get(start..at).unwrap_or_default(), is_word: before != Some(0) });
            start = at;
        }
        before = Some(next);
    }
    if let Some(last) = token.get(start..).filter(|last| !last.is_empty()) {
        pieces.push(TaskPiece { text: last, is_word: before != Some(0) });
    }
    pieces
}

/// The numbers of a task's words, sorted and distinct.
fn terms_of(pieces: &[TaskPiece<'_>]) -> Vec<Term> {
    let mut terms: Vec<Term> =
        pieces.iter().filter(|piece| piece.is_word).flat_map(|piece| distinct_words(piece.text)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Puts pieces into English, but for words that the code has.
fn translate_pieces(pieces: &[TaskPiece<'_>], language: TaskLanguage, known: &KnownWords) -> Translation {
    let column = TermColumn::new(language);
    let mut translation = Translation { text: String::new(), english: Vec::new(), unknown: 0, told: 0 };
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let rest = pieces.get(at..).unwrap_or_default();
        at = at.saturating_add(1);
        if !piece.is_word {
            translation.text.push_str(piece.text);
        } else if language.is_unspaced() && piece.text.starts_with(is_written_unspaced) {
            translation.add_run(piece.text, &column, known);
        } else if let Some((entries, length)) = several_words(rest, &column) {
            translation.add_entries(&entries);
            at = at.saturating_add(length).saturating_sub(1);
        } else {
            translation.add_word(piece.text, &column, known);
        }
    }
    translation
}

/// A form of several words that the pieces begin with, and how many pieces it has.
fn several_words(pieces: &[TaskPiece<'_>], column: &TermColumn) -> Option<(Vec<EnglishForms>, usize)> {
    (2..=MOST_WORDS).rev().find_map(|count| {
        let length = count.saturating_mul(2).saturating_sub(1);
        let parts = pieces.get(..length)?;
        let is_joint = |piece: &TaskPiece<'_>| piece.text.chars().count() == 1 && piece.text.starts_with(JOINTS);
        let fits = parts.iter().enumerate().all(|(at, piece)| match at % 2 {
            0 => piece.is_word,
            _ => !piece.is_word && is_joint(piece),
        });
        if !fits {
            return None;
        }
        let words: Vec<String> = parts.iter().step_by(2).map(|piece| fold_word(piece.text)).collect();
        let entries = column.entries_of_several(&words.join("_"));
        (!entries.is_empty()).then_some((entries, length))
    })
}

/// At most one of so many words is understood where a task is hardly understood.
const HARDLY: usize = 3;

impl Translation {
    /// Whether hardly a word is in the table or in the code.
    const fn is_hardly_understood(&self) -> bool {
        let understood = self.told.saturating_sub(self.unknown);
        understood.saturating_mul(HARDLY) <= self.told
    }

    /// The English words that a repository has, with their weights, and those that it has not. Of a word for which it has
    /// none, the usual English one stays: that no file has it tells something.
    fn english_in(&self, corpus: &Corpus<'_>) -> (BTreeMap<Term, f32>, BTreeSet<Term>) {
        let all: BTreeSet<Term> = self.english.iter().flatten().map(|(term, _)| *term).collect();
        let known = corpus.words_among(&all.iter().copied().collect::<Vec<_>>(), WordPlace::Anywhere);
        let mut english: BTreeMap<Term, f32> = BTreeMap::new();
        for terms in &self.english {
            let is_any_known = terms.iter().any(|(term, _)| known.contains(term));
            let kept = terms.iter().enumerate();
            let kept = kept.filter(|(at, (term, _))| known.contains(term) || (!is_any_known && *at == 0));
            for (_, (term, weight)) in kept {
                let slot = english.entry(*term).or_default();
                *slot = slot.max(*weight);
            }
        }
        let missing = all.into_iter().filter(|term| !english.contains_key(term)).collect();
        (english, missing)
    }

    /// Adds a word: as it is if the code has it or nothing is known of it, else in English, and not at all if it says
    /// nothing.
    fn add_word(&mut self, word: &str, column: &TermColumn, known: &KnownWords) {
        let folded = fold_word(word);
        if column.is_function_word(&folded) {
            return;
        }
        let is_of_code = is_known_word(word, &known.code);
        let entries = if is_of_code { Vec::new() } else { column.entries(&folded) };
        if entries.is_empty() {
            self.text.push_str(word);
            self.told = self.told.saturating_add(1);
            self.unknown = self.unknown.saturating_add(usize::from(!is_known_word(word, &known.anywhere)));
        } else {
            self.add_entries(&entries);
        }
    }

    /// Adds a run of a text without spaces, form by form.
    fn add_run(&mut self, run: &str, column: &TermColumn, known: &KnownWords) {
        let mut rest = run;
        let mut between = String::new();
        while let Some(c) = rest.chars().next() {
            let found = column.first_of_run(rest);
            let end = found.map_or(c.len_utf8(), |(_, end)| end);
            let (form, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
            match found {
                Some(([], _)) => self.add_between(&mut between, known),
                Some((entries, _)) if !is_known_word(form, &known.code) => {
                    self.add_between(&mut between, known);
                    self.add_entries(entries);
                }
                _ => between.push_str(form),
            }
            rest = tail;
        }
        self.add_between(&mut between, known);
    }

    /// Adds what is between forms of a run. Endings in hiragana and single signs say nothing.
    fn add_between(&mut self, between: &mut String, known: &KnownWords) {
        let is_ending = between.chars().all(|c| matches!(c, '\u{3041}'..='\u{309f}')) || between.chars().count() < 2;
        self.text.push(' ');
        if !is_ending {
            self.text.push_str(between);
            self.text.push(' ');
            self.told = self.told.saturating_add(1);
            self.unknown = self.unknown.saturating_add(usize::from(!is_known_word(between, &known.anywhere)));
        }
        between.clear();
    }

    /// Adds the English words of a word's entries: the usual ones to the text, all as what is looked for.
    fn add_entries(&mut self, entries: &[EnglishForms]) {
        self.told = self.told.saturating_add(1);
        let (mut usual, mut terms): (Vec<&str>, Vec<(Term, f32)>) = (Vec::new(), Vec::new());
        for forms in entries {
            for (place, form) in forms.split(',').enumerate() {
                let weight = if place == 0 { USUAL } else { FURTHER };
                let Some(term) = term_of_name(form) else { continue };
                terms.push((term, weight));
                if place == 0 && !usual.contains(&form) {
                    usual.push(form);
                }
            }
        }
        terms.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.english.push(terms);
        let is_apart = self.text.ends_with(|c: char| c.is_whitespace()) || self.text.is_empty();
        self.text.push_str(if is_apart { "" } else { " " });
        self.text.push_str(&usual.join(" "));
    }
}

/// Whether all of a word's parts are known.
fn is_known_word(word: &str, known: &BTreeSet<Term>) -> bool {
    let (mut any, mut all) = (false, true);
    each_word(word.as_bytes(), &mut |term, form| {
        if form == WordForm::Part {
            any = true;
            all &= known.contains(&term);
        }
    });
    any && all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::corpus::{CorpusFile, FilePurpose};
    use crate::context::words::term_of_word;

    /// The language of a task and the English words that are looked for, where the code has only `known`.
    fn looked_for(text: &str, known: &str) -> Option<(TaskLanguage, String)> {
        let pieces = task_pieces(text);
        let folded: Vec<String> = pieces.iter().filter(|piece| piece.is_word).map(|p| fold_word(p.text)).collect();
        let language = language_of(text, &folded)?;
        let text = translate_pieces(
            &pieces,
            language,
            &KnownWords { code: distinct_words(known).into_iter().collect(), ..KnownWords::default() },
        )
        .text;
        Some((language, text.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    fn check(text: &str, language: TaskLanguage, english: &str) {
        assert_eq!(looked_for(text, ""), Some((language, english.to_owned())), "{text}");
    }

    #[test]
    fn stems_find_inflected_words_of_every_language() {
        use TaskLanguage::*;
        for (text, language, english) in [
            ("Wo wird der Pfad mit Platzhaltern zerlegt?", German, "path placeholder wildcard parse?"),
            ("Où est analysé le chemin de la requête ?", French, "parse path query request ?"),
            ("¿Dónde se analizan las rutas?", Spanish, "¿ parse path?"),
            ("Onde as senhas são codificadas?", Portuguese, "as password encode?"),
            ("Dove vengono ordinate le colonne?", Italian, "sort column?"),
            ("Waar worden de wachtwoorden versleuteld?", Dutch, "password encrypt?"),
            ("Gdzie są szyfrowane hasła?", Polish, "encrypt password?"),
            ("Где проверяется пароль?", Russian, "validate password?"),
            ("パスワードはどこで検証されますか", Japanese, "password validate"),
            ("密码在哪里验证？", Chinese, "password validate ？"),
        ] {
            check(text, language, english);
        }
    }

    #[test]
    fn accents_and_their_absence_are_the_same() {
        for text in ["la file d'attente est vidée", "la file d’attente est videe", "LA FILE D'ATTENTE EST VIDE\u{301}E"]
        {
            check(text, TaskLanguage::French, "queue reset");
        }
    }

    #[test]
    fn compounds_are_found_by_their_parts() {
        for (text, english) in [
            ("die Warteschlangenlänge ist falsch", "queue length"),
            ("die Befehlszeile wird nicht gelesen", "command line row read"),
            ("der Benutzername fehlt", "user name missing"),
            ("das Passwortfeld ist leer", "password field empty"),
        ] {
            check(text, TaskLanguage::German, english);
        }
        check("de wachtrijlengte is onjuist", TaskLanguage::Dutch, "queue length");
    }

    #[test]
    fn several_words_are_one_term() {
        check("el tiempo de espera se ignora", TaskLanguage::Spanish, "timeout skip");
        check("le mot de passe est affiché", TaskLanguage::French, "password display output render");
        check("a base de dados não é criada", TaskLanguage::Portuguese, "a database create");
    }

    #[test]
    fn false_friends_in_an_english_task_tell_nothing() {
        for text in [
            "the worker should die if the war file is missing",
            "red border around the chat window",
            "pour the rest of the data into the file",
            "die handler leaks memory",
            "en passant move is wrong in the board",
            "los angeles timezone is wrong",
            "red chat",
            "rat die war",
            "de facto standard for la carte menus",
            "the German text `Wo wird der Pfad mit Platzhaltern zerlegt` is cut",
            "the string 日本語 wraps at the wrong column",
            "support the locale ru with Привет in the title of the page",
            "Fehler beim Lesen der Datei: Zugriff verweigert\nwhere does the server print this, and how should it be handled?",
            "fix(parser): skip BOM",
            "",
        ] {
            assert_eq!(looked_for(text, ""), None, "{text}");
        }
    }

    #[test]
    fn a_word_that_the_code_has_stays() {
        let (_, text) = looked_for("Der Warenkorb zeigt den Rabatt", "fn warenkorb").unwrap();
        assert_eq!(text, "Warenkorb zeigt discount");
    }

    #[test]
    fn names_and_paths_stay_as_they_are() {
        let text = "Die Datei src/datei.rs ruft `Pfad zerlegen` und parse_datei() mit --datei in PfadListe auf";
        let (_, english) = looked_for(text, "").unwrap();
        assert_eq!(english, "file src/datei.rs ruft `Pfad zerlegen` parse_datei() --datei PfadListe");
    }

    #[test]
    fn code_in_the_language_of_the_task_is_looked_for_by_its_own_words() {
        let corpus = files(&["src/rechnung.rs", "src/warenkorb.rs", "src/invoice.rs"]);
        let task = ContextTask::in_words_of(&corpus, "Die Rechnung im Warenkorb wird falsch gerundet");
        assert_eq!((weight(&task, "rechnung"), weight(&task, "warenkorb")), (Some(1.0), Some(1.0)));
        assert_eq!(weight(&task, "invoice"), None);
    }

    #[test]
    fn names_between_signs_without_spaces_stay() {
        let (_, text) = looked_for("修复 cmd-kill-session 的崩溃和gin.Context的超时", "").unwrap();
        assert!(text.contains("cmd-kill-session") && text.contains("gin.Context"), "{text}");
        assert!(text.contains("crash") && text.contains("timeout"), "{text}");
    }

    #[test]
    fn few_words_without_grammar_are_enough_if_two_are_foreign() {
        assert_eq!(
            looked_for("Warteschlange leeren", ""),
            Some((TaskLanguage::German, "queue empty reset".to_owned()))
        );
        assert_eq!(looked_for("Warteschlange", ""), None);
    }

    /// Files of code without contents.
    fn files<'c>(paths: &[&'c str]) -> Corpus<'c> {
        let file = |path: &&'c str| CorpusFile { path, used_for: FilePurpose::Code, record: None, changed: false };
        Corpus { files: paths.iter().map(file).collect(), ..Corpus::default() }
    }

    fn weight(task: &ContextTask, word: &str) -> Option<f32> {
        let term = term_of_word(word);
        task.terms.iter().find(|query| query.term == term).map(|query| query.weight)
    }

    #[test]
    fn an_english_word_for_a_foreign_one_counts_less_than_an_own_word() {
        let corpus = files(&["src/glob.rs", "src/placeholder.rs", "src/rechnung.rs"]);
        let task = ContextTask::in_words_of(&corpus, "Wo wird der Platzhalter der Rechnung vom Router zerlegt?");
        let own = weight(&task, "router");
        let (usual, further) = (weight(&task, "placeholder"), weight(&task, "glob"));
        assert!(own > usual && usual > further && further > Some(0.0), "{own:?} {usual:?} {further:?}");
        assert_eq!(weight(&task, "rechnung"), own, "the code has it");
        let both = ContextTask::in_words_of(&corpus, "Wo wird das Glob zum Platzhalter?");
        assert_eq!(weight(&both, "glob"), own, "the task writes it");
        for word in ["wo", "platzhalter", "wildcard", "invoice"] {
            assert_eq!(weight(&task, word), None, "{word}");
        }
        assert!(weight(&task, "parse").is_some(), "that no file has it tells something");
        assert_eq!(task.language, Some(TaskLanguage::German));
        assert!(task.terms.is_sorted_by_key(|query| query.term));
    }

    #[test]
    fn a_task_that_is_hardly_understood_says_so() {
        let about = |text: &str| ContextTask::in_words_of(&Corpus::default(), text).is_hardly_understood;
        assert!(about("Der Hund von Frau Meier bellt nicht und die Katze schnurrt"));
        assert!(!about("Wo wird der Pfad mit Platzhaltern zerlegt?"));
        assert!(!about("the dog barks at the cat"));
    }

    proptest! {
        #[test]
        fn an_english_task_is_read_as_ever(words in "(the|of|fix|parser|die|red|chat|pour|war|rat|\\.| |`|a_b|é){0,12}") {
            let text = format!("where is the {words} and the");
            prop_assert_eq!(ContextTask::in_words_of(&Corpus::default(), &text), ContextTask::new(&text));
        }

        #[test]
        fn any_text_is_read_the_same_twice(text in "(der |wird |Pfad|zerlegt |ü|ß|`|\u{301}|パス|を|路径|где |путь|\\PC| ){0,40}") {
            let read = || ContextTask::in_words_of(&Corpus::default(), &text);
            prop_assert_eq!(read(), read());
            prop_assert!(read().terms.len() <= MOST_TERMS);
            let joined: String = task_pieces(&text).iter().map(|piece| piece.text).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
