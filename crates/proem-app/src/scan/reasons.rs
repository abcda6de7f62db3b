//! Why each finding was made, with the words themselves.

use proem_guard::{Finding, FindingReasons, Guard, Untrusted, WindowReason};
use proem_text::Span;

use super::place::copy_spans;

/// Why a finding was made.
#[derive(Debug)]
pub struct PlacedReasons {
    /// The words that name a concept of a rule, with the concepts.
    pub concepts: Vec<(Untrusted<String>, Vec<&'static str>)>,
    /// The sentences that the learned scorer read there, the highest score first.
    pub windows: Vec<PlacedWindow>,
}

/// One or two sentences as the learned scorer read them.
#[derive(Debug)]
pub struct PlacedWindow {
    /// Its place, in bytes of the field.
    pub span: Span,
    /// The text.
    pub text: Untrusted<String>,
    /// The log-odds that it is an attack.
    pub log_odds: f32,
    /// The words that made it, the strongest first: each with what the log-odds lose without it.
    pub words: Vec<(Untrusted<String>, f32)>,
}

impl PlacedReasons {
    pub(super) fn of_finding(guard: &Guard, text: &Untrusted<String>, finding: &Finding) -> Self {
        let FindingReasons { concepts, windows } = guard.reasons(text, finding);
        let spans: Vec<Span> = concepts.iter().map(|reason| reason.span).collect();
        let words = copy_spans(text, &spans).into_iter();
        let concepts = words.zip(concepts).map(|(word, reason)| (word, reason.concepts)).collect();
        let windows = windows.into_iter().map(|window| PlacedWindow::read(text, &window)).collect();
        Self { concepts, windows }
    }
}

impl PlacedWindow {
    fn read(text: &Untrusted<String>, window: &WindowReason) -> Self {
        let spans: Vec<Span> = window.words.iter().map(|(span, _)| *span).collect();
        let words = copy_spans(text, &spans).into_iter().zip(&window.words).map(|(word, (_, weight))| (word, *weight));
        let whole = copy_spans(text, &[window.span]).into_iter().next();
        Self {
            span: window.span,
            text: whole.unwrap_or_else(|| Untrusted::new(String::new(), text.label().clone())),
            log_odds: window.score,
            words: words.collect(),
        }
    }
}
