//! The turns of a run as a conversation: what the model answered and what it was told.

use proem_guard::{LabelTree, LanguageFamily, Untrusted};
use proem_text::{Label, Source};

use super::facts::{OutsidePlace, WITHHELD};
use crate::screen::{Screen, Screening, ScreeningNote};

/// The most turns that are shown whole.
const WHOLE_TURNS: usize = 8;
/// How many of the oldest turns become lines at a time, so that most turns change nothing before them.
const FOLDED_AT_ONCE: usize = 4;
/// The most characters of an answer.
const ANSWER_CHARACTERS: usize = 16_000;

/// A turn that is over.
#[derive(Debug, Clone)]
pub struct TurnText {
    /// The model's answer, with its code block, as it is to be read again.
    pub answer: Untrusted<String>,
    /// The words to the model about it, in order.
    pub feedback: Vec<FeedbackPart>,
    /// The turn in a line of ours, such as `turn 1: type_error`.
    pub line: String,
}

/// A part of what a model is told about its answer.
#[derive(Debug, Clone)]
pub enum FeedbackPart {
    /// Words of ours.
    Ours(String),
    /// A text from outside, such as printed output or a message that quotes data.
    Outside(Untrusted<String>),
}

/// How many of the oldest turns are lines.
fn folded_turns(turns: usize) -> usize {
    turns.saturating_sub(WHOLE_TURNS).div_ceil(FOLDED_AT_ONCE).saturating_mul(FOLDED_AT_ONCE)
}

/// The turns as the engine's history. `None` if there are none.
pub(super) fn history_input(turns: &[TurnText], screening: Screening<'_>) -> (Option<LabelTree>, Vec<ScreeningNote>) {
    let folded = folded_turns(turns.len());
    let (mut entries, mut noted) = (Vec::new(), Vec::new());
    let lines: Vec<&str> = turns.iter().take(folded).map(|turn| turn.line.as_str()).collect();
    if !lines.is_empty() {
        entries.push(history_entry(
            "user",
            [LabelTree::Text(paragraph(&format!("Earlier turns:\n{}", lines.join("\n"))))],
        ));
    }
    for (number, turn) in turns.iter().enumerate().skip(folded) {
        // Each turn alone, so that a later one changes nothing of it.
        let mut screen = Screen::new(screening);
        entries.push(history_entry("model", [screened(&mut screen, 0, number, &turn_answer(turn))]));
        let parts = turn.feedback.iter().enumerate().map(|(at, part)| match part {
            FeedbackPart::Ours(text) => LabelTree::Text(paragraph(text)),
            FeedbackPart::Outside(text) => screened(&mut screen, at.saturating_add(1), number, text),
        });
        let parts: Vec<LabelTree> = parts.collect();
        if !parts.is_empty() {
            entries.push(history_entry("user", parts));
        }
        noted.extend(screen.into_noted());
    }
    ((!entries.is_empty()).then(|| LabelTree::list(entries)), noted)
}

/// Words of ours as they end wherever they are, so that the turn behind them changes nothing of them.
fn paragraph(text: &str) -> String {
    format!("{}\n\n", text.trim_end_matches('\n'))
}

fn history_entry(role: &str, parts: impl IntoIterator<Item = LabelTree>) -> LabelTree {
    let parts = parts.into_iter().map(|part| LabelTree::map([("type", LabelTree::from("text")), ("text", part)]));
    LabelTree::map([("role", LabelTree::from(role)), ("content", LabelTree::list(parts))])
}

/// The answer, its start if it is long. An empty one is named, as no turn of a conversation is empty.
fn turn_answer(turn: &TurnText) -> Untrusted<String> {
    turn.answer.clone().map(|text| {
        let start: String = text.chars().take(ANSWER_CHARACTERS).collect();
        match (text.trim().is_empty(), start.len() < text.len()) {
            (true, _) => "(an empty answer)".to_owned(),
            (_, true) => format!("{start}…"),
            _ => text,
        }
    })
}

fn screened(screen: &mut Screen<'_, OutsidePlace>, number: usize, turn: usize, text: &Untrusted<String>) -> LabelTree {
    let place = OutsidePlace { input: "history", number };
    let what = format!("turn {}", turn.saturating_add(1));
    screen.admit_source(place.clone(), &what, text, LanguageFamily::Code);
    let withheld =
        || LabelTree::Outside(Untrusted::new(WITHHELD.to_owned(), Label::from_source(Source::named("guard"))));
    screen.value(&place, |text| text).unwrap_or_else(withheld)
}
