//! Which mode a task is to be done in, and why.
//!
//! The order: what the caller says, what the caller hints, what the task's sentences ask, keywords,
//! meaning, `plan`. Nothing that was detected chooses: a dirty work tree says nothing about a task.

mod clauses;
mod examples;
mod keywords;
mod phrases;
mod pieces;
mod reading;
mod speech;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use examples::ModeExamples;
pub use keywords::Keywords;
pub use phrases::Phrases;
use speech::{InterpretedClause, Prohibition, SpeechAct, interpret_clauses};

/// How a task is to be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Find out and propose. Change nothing.
    Plan,
    /// Judge what is there. Change nothing.
    Review,
    /// Make the change.
    Act,
}

proem_text::word_table! {
    /// The word used on the command line and in files.
    pub Mode {
        // In the order in which modes win ties.
        Plan = "plan",
        Review = "review",
        Act = "act",
    }
}

/// Whether a caller works together with the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interaction {
    /// Nothing is known about it.
    #[default]
    Unknown,
    /// A person takes part.
    Interactive,
}

/// Whether there are uncommitted changes, as the caller says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitChanges {
    /// Nobody says, and the work tree doesn't either: what is changed in it may be anything.
    #[default]
    Auto,
    /// The caller says yes.
    Yes,
    /// The caller says no, which is no hint.
    No,
}

/// The hints from which the mode is inferred.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    /// The caller's request.
    pub explicit: Option<Mode>,
    /// Whether a person takes part.
    pub interaction: Interaction,
    /// Uncommitted changes.
    pub git_changes: GitChanges,
}

/// The words for reading a task.
#[derive(Debug, Clone, Copy)]
pub struct Wording<'w> {
    /// The phrases of questions, orders and prohibitions.
    pub phrases: &'w Phrases,
    /// Words that tell a mode where no sentence does.
    pub keywords: &'w Keywords,
}

/// The basis of a mode's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeBasis {
    /// The caller said which.
    Caller,
    /// The caller hinted.
    Hint,
    /// The task's sentences.
    Sentence,
    /// A keyword of the task.
    Keyword,
    /// The task's meaning.
    Meaning,
    /// Nothing: it is the mode that changes nothing.
    Default,
}

/// The mode, with the reason in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModeInference {
    /// How the task is to be worked on.
    pub mode: Mode,
    /// The basis of the choice.
    pub basis: ModeBasis,
    /// The deciding part of the task, in our words.
    pub reason: String,
}

impl ModeInference {
    fn new(mode: Mode, basis: ModeBasis, reason: impl Into<String>) -> Self {
        Self { mode, basis, reason: reason.into() }
    }
}

/// Infers the mode of a task, whose words choose nothing if they are somebody else's (`None`).
/// `nearest` is asked last, before `plan` is taken for want of a reason.
#[must_use]
pub fn infer(
    task: Option<&str>,
    hints: &Hints,
    wording: &Wording<'_>,
    nearest: Option<&dyn Fn() -> Option<ModeInference>>,
) -> ModeInference {
    if let Some(mode) = hints.explicit {
        return ModeInference::new(mode, ModeBasis::Caller, "the caller chose it");
    }
    if hints.interaction == Interaction::Interactive {
        return ModeInference::new(Mode::Plan, ModeBasis::Hint, "the session is interactive");
    }
    if hints.git_changes == GitChanges::Yes {
        return ModeInference::new(Mode::Act, ModeBasis::Hint, "the caller says that there are uncommitted changes");
    }
    let Some(task) = task else {
        return ModeInference::new(Mode::Plan, ModeBasis::Default, "untrusted text does not choose a mode");
    };
    let (parts, trace) = interpret_clauses(wording.phrases, task);
    if let Some(inferred) = mode_of_sentences(&parts, trace) {
        return inferred;
    }
    // If a sentence could be read, a keyword inside it is its subject.
    let read = parts.iter().any(|part| part.is_read);
    let words = if read { task.split_whitespace().next().unwrap_or_default() } else { task };
    if let Some((mode, word, language)) = wording.keywords.find(words) {
        return ModeInference::new(mode, ModeBasis::Keyword, format!("the task says `{word}` ({language})"));
    }
    if let Some(part) = parts.iter().find(|part| part.says == SpeechAct::Thing) {
        if let Some(words) = &part.words {
            let reason = format!("the task states a judgement, `{words}` ({})", part.language);
            return ModeInference::new(Mode::Review, ModeBasis::Sentence, reason);
        }
        return ModeInference::new(
            Mode::Act,
            ModeBasis::Sentence,
            format!("the task names what is wanted ({})", part.language),
        );
    }
    let nearest = nearest.and_then(|nearest| nearest());
    nearest
        .unwrap_or_else(|| ModeInference::new(Mode::Plan, ModeBasis::Default, "nothing in the task asks for a change"))
}

/// The mode that a task's sentences ask for, if they say.
///
/// That nothing is to change outweighs everything, an order for a change everything else. A question
/// outweighs what is said to be wrong or wanted. A judgement outweighs an answer, unless the task
/// begins by finding out.
fn mode_of_sentences(parts: &[InterpretedClause], trace: bool) -> Option<ModeInference> {
    let first = |says: SpeechAct| parts.iter().find(|part| part.says == says);
    let inferred = |mode, part: &InterpretedClause, what: &str| {
        let words = part.words.as_ref().map(|words| format!(", `{words}`")).unwrap_or_default();
        ModeInference::new(mode, ModeBasis::Sentence, format!("the task {what}{words} ({})", part.language))
    };
    let forbids = parts.iter().find(|part| part.forbids == Prohibition::Changes);
    if let Some(part) = first(SpeechAct::Order).filter(|_| forbids.is_none()) {
        return Some(inferred(Mode::Act, part, "orders a change"));
    }
    let asks = parts
        .iter()
        .find(|part| matches!(part.says, SpeechAct::Question | SpeechAct::Tell | SpeechAct::Find | SpeechAct::Judge));
    let finds = asks.filter(|part| part.says == SpeechAct::Find);
    if let Some(part) = first(SpeechAct::Judge).filter(|_| finds.is_none()) {
        return Some(inferred(Mode::Review, part, "asks for an assessment"));
    }
    if let Some(part) = forbids {
        return Some(ModeInference::new(
            Mode::Plan,
            ModeBasis::Sentence,
            format!("the task forbids changes ({})", part.language),
        ));
    }
    if let Some(part) = asks {
        let what = match part.says {
            SpeechAct::Question => "asks a question",
            SpeechAct::Tell => "asks for an answer",
            _ => "asks to find out",
        };
        return Some(inferred(Mode::Plan, part, what));
    }
    match first(SpeechAct::Want) {
        Some(part) => Some(inferred(Mode::Act, part, "says what is wrong or what is wanted")),
        None => trace.then(|| ModeInference::new(Mode::Act, ModeBasis::Sentence, "the task shows an error")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: &str = "[plan.it]\nwords = ['esplora']\n[review.en]\nwords = ['review', 'check']\n";
    const PHRASES: &str = "small = 'the, a, it, this, is, in, of, i, what, not'\nfiller = 'please, and, then, ok, just'\ndeterminer = 'the, a, it, this, why'\nrequest = 'could you, can you'\n\
                           question = 'what, why, how'\ninversion = 'is, does'\nwonder = 'not sure, thinking about'\nunsure = 'not sure'\ndoubt = 'i doubt'\n\
                           suppose = 'suppose'\ntag = 'or leave'\nindefinite = 'anything'\nwish = 'we should'\nchange = 'fix||ing, add||ing, update, touch, do'\nmake = 'write'\n\
                           judge = 'review, check'\ntell = 'tell me, explain'\nfind = 'investigate'\nplan-noun = 'plan'\n\
                           judgement = 'safe'\ndefinite = 'the'\nopinion = \"what's wrong with\"\ntrouble = 'crashes, fails'\nnot = \"don't, do not\"\n\
                           without = 'without'\nnothing = 'anything'\nexcept = 'else'\nhands-off = 'no changes'\nonly = 'just, only'\n\
                           how-to = 'how to, how do i'\nand = 'and, then'\narticle = 'the, a'\nfinite = 'is, fails'\n";

    fn told(
        task: Option<&str>,
        hints: &Hints,
        nearest: Option<&dyn Fn() -> Option<ModeInference>>,
    ) -> (Mode, ModeBasis, String) {
        let phrases = Phrases::parse(&[("en", PHRASES)]).unwrap();
        let keywords = Keywords::parse(KEYWORDS).unwrap();
        let inferred = infer(task, hints, &Wording { phrases: &phrases, keywords: &keywords }, nearest);
        (inferred.mode, inferred.basis, inferred.reason)
    }

    fn check(task: &str, mode: Mode, reason: &str) {
        let (told, _, why) = told(Some(task), &Hints::default(), None);
        assert_eq!((told, why.as_str()), (mode, reason), "{task:?}");
    }

    #[test]
    fn the_order_is_caller_hints_sentences_keywords_meaning_plan() {
        let meant = || Some(ModeInference::new(Mode::Review, ModeBasis::Meaning, "near"));
        let none = Hints::default();
        let yes = Hints { git_changes: GitChanges::Yes, ..none };
        let interactive = Hints { interaction: Interaction::Interactive, ..yes };
        let explicit = Hints { explicit: Some(Mode::Review), ..interactive };
        for (task, hints, mode, basis) in [
            ("fix it", explicit, Mode::Review, ModeBasis::Caller),
            ("fix it", interactive, Mode::Plan, ModeBasis::Hint),
            ("explain it", yes, Mode::Act, ModeBasis::Hint),
            ("esplora, fix it", none, Mode::Act, ModeBasis::Sentence),
            ("esplora", none, Mode::Plan, ModeBasis::Keyword),
            ("xyzzy", none, Mode::Review, ModeBasis::Meaning),
            ("fix it", Hints { git_changes: GitChanges::No, ..none }, Mode::Act, ModeBasis::Sentence),
        ] {
            let (told, by, _) = told(Some(task), &hints, Some(&meant));
            assert_eq!((told, by), (mode, basis), "{task:?}");
        }
        check("xyzzy", Mode::Plan, "nothing in the task asks for a change");
        check("", Mode::Plan, "nothing in the task asks for a change");
    }

    #[test]
    fn words_from_outside_choose_nothing() {
        let none = Hints::default();
        let outside = |hints: &Hints| {
            told(None, hints, Some(&|| Some(ModeInference::new(Mode::Act, ModeBasis::Meaning, "near"))))
        };
        assert_eq!(
            outside(&none),
            (Mode::Plan, ModeBasis::Default, "untrusted text does not choose a mode".to_owned())
        );
        assert_eq!(outside(&Hints { explicit: Some(Mode::Act), ..none }).0, Mode::Act);
        assert_eq!(outside(&Hints { git_changes: GitChanges::Yes, ..none }).0, Mode::Act);
    }

    #[test]
    fn what_a_sentence_asks_decides() {
        check("fix the parser", Mode::Act, "the task orders a change, `fix` (en)");
        check("could you please fix it?", Mode::Act, "the task orders a change, `fix` (en)");
        check("add a review section", Mode::Act, "the task orders a change, `add` (en)");
        check("why does it fail? fix it", Mode::Act, "the task orders a change, `fix` (en)");
        check("investigate and fix it", Mode::Act, "the task orders a change, `fix` (en)");
        check("what is a fix in this?", Mode::Plan, "the task asks a question (en)");
        check("how do i add a test and fix it?", Mode::Plan, "the task asks a question (en)");
        check("explain how to add a test and fix it", Mode::Plan, "the task asks for an answer, `explain` (en)");
        check("write a plan", Mode::Plan, "the task asks to find out, `plan` (en)");
        check("write a test", Mode::Act, "the task orders a change, `write` (en)");
        check("is this safe?", Mode::Review, "the task asks for an assessment, `safe` (en)");
        check("what's wrong with it", Mode::Review, "the task asks for an assessment, `what s wrong with` (en)");
        check("check why it fails", Mode::Plan, "the task asks to find out, `check` (en)");
        check("check this", Mode::Review, "the task asks for an assessment, `check` (en)");
        check("it crashes", Mode::Act, "the task says what is wrong or what is wanted, `crashes` (en)");
        check("it crashes. why?", Mode::Plan, "the task asks a question (en)");
        check("the check fails", Mode::Act, "the task says what is wrong or what is wanted, `fails` (en)");
        check("review of `fix`: what is this", Mode::Review, "the task asks for an assessment, `review` (en)");
    }

    #[test]
    fn what_is_doubted_is_judged() {
        check("i doubt this is in the cache", Mode::Review, "the task asks for an assessment, `i doubt` (en)");
        check("not sure this is safe", Mode::Review, "the task asks for an assessment, `safe` (en)");
        check("not sure how this is safe", Mode::Plan, "the task asks a question (en)");
        check("the cache in this is safe", Mode::Review, "the task states a judgement, `safe` (en)");
        check("the cache in this is safe. what is it?", Mode::Plan, "the task asks a question (en)");
        check("not sure what to add", Mode::Plan, "the task asks a question (en)");
    }

    #[test]
    fn what_is_imagined_or_named_is_not_ordered_where_something_is_asked() {
        check("suppose i add it, do the tests", Mode::Plan, "the task asks a question (en)");
        check("adding a replica: what is in the way", Mode::Plan, "the task asks a question (en)");
        check("add a replica: what is in the way", Mode::Plan, "the task asks a question (en)");
        check("add a replica or leave it", Mode::Plan, "the task asks a question (en)");
        check("adding a replica", Mode::Act, "the task says what is wrong or what is wanted, `adding` (en)");
        check("update on the parser: what is it", Mode::Plan, "the task asks a question (en)");
        check("update the parser. what is it?", Mode::Act, "the task orders a change, `update` (en)");
        check("we should add it", Mode::Act, "the task says what is wrong or what is wanted, `add` (en)");
        check("we should add it or leave it", Mode::Plan, "the task asks a question (en)");
        check("we should add it, why is it in this", Mode::Plan, "the task asks a question (en)");
    }

    #[test]
    fn a_statement_that_ends_with_what_it_asks_is_a_question() {
        check("it does what", Mode::Plan, "the task asks a question (en)");
        check("the parser reads anything", Mode::Plan, "the task asks a question (en)");
        check("fix load(), it crashes", Mode::Act, "the task orders a change, `fix` (en)");
        check("is load() fix", Mode::Plan, "the task asks a question (en)");
    }

    #[test]
    fn what_is_forbidden_is_not_ordered() {
        check("don't touch anything, fix it", Mode::Plan, "the task forbids changes (en)");
        check("no changes. is this safe?", Mode::Review, "the task asks for an assessment, `safe` (en)");
        check("just tell me", Mode::Plan, "the task forbids changes (en)");
        check("explain it without fixing anything", Mode::Plan, "the task forbids changes (en)");
        check("fix it, don't touch the parser", Mode::Act, "the task orders a change, `fix` (en)");
        check("fix it, don't touch anything else", Mode::Act, "the task orders a change, `fix` (en)");
        check("explain it, don't fix it", Mode::Plan, "the task asks for an answer, `explain` (en)");
    }

    #[test]
    fn a_trace_alone_is_to_be_mended() {
        check("Traceback (most recent call last):\n  File \"a.py\", line 1", Mode::Act, "the task shows an error");
        check("Traceback (most recent call last):\nwhy?", Mode::Plan, "the task asks a question (en)");
    }
}
