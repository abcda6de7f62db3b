use super::*;
use crate::assembly::{Assembly, PlacedSection, PromptId};
use crate::call::{AnswerForm, Arrival, ToolCall};
use crate::message::Role;
use crate::providers::Providers;
use crate::section::{CacheClass, Layer, SectionGroup, Trust};
use proem_text::{Label, Source, span::Span};
use proem_tokens::Vocabulary;
use proptest::prelude::*;

fn request(prompt: &str, output_tokens: usize) -> Request {
    let section = PlacedSection {
        part: None,
        name: "task".to_owned(),
        role: Role::User,
        trust: Trust::Trusted,
        cache: CacheClass::Static,
        layer: Layer::Context,
        rank: SectionGroup::TrustedStatic,
        text: prompt.to_owned(),
        label: Label::trusted(),
        tokens: 0,
        range: Span::new(0, 0),
    };
    let id = PromptId {
        agent: "reviews".to_owned(),
        name: "triage".to_owned(),
        version: "1.0.0".to_owned(),
        closure: String::new(),
    };
    Request {
        model: "any".to_owned(),
        assembly: Assembly { prompt: id, sections: vec![section], boundaries: Vec::new(), output_tokens },
        answer: AnswerForm::Text,
        sampling: Default::default(),
        arrival: Arrival::Whole,
        way: None,
        inquiry: None,
    }
}

fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("model")))
}

fn text(text: &str) -> ResponsePart {
    ResponsePart::Text { text: outside(text) }
}

/// The plausible usage for a prompt, sent to a model with 64,000 tokens of output, and an answer.
fn plausible(prompt: &str, cap: usize, answer: &[ResponsePart]) -> PlausibleUsage {
    let model = Providers::load().unwrap().model("claude-haiku-4-5").unwrap().clone();
    PlausibleUsage::new(prompt.len() + 200, &request(prompt, cap), &model, answer)
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input: Some(input), output: Some(output), ..Usage::default() }
}

/// Prose as people write it, of about so many bytes.
fn prose(bytes: usize) -> String {
    "The clock of the station stands still at noon, and nobody mends it. ".repeat(bytes / 68 + 1)
}

#[test]
fn one_token_for_ten_kilobytes_is_not_believed() {
    let judged = plausible(&prose(10_000), 4_000, &[text(&prose(2_000))]).judge(usage(1, 1));
    let Some(UsageDoubt::InputTooLow { reported: 1, least }) = judged.doubt else { panic!("{judged:?}") };
    assert!((400..600).contains(&least), "{least}");
    assert_eq!((judged.input, judged.output, judged.uncached()), (None, None, None));
    let words = judged.gap_in_words().unwrap();
    assert!(words.starts_with("the provider reports 1 tokens for a prompt of at least "), "{words}");
}

#[test]
fn impossible_figures_are_not_believed() {
    let (prompt, answer) = (prose(1_000), [text(&prose(1_000))]);
    let plausible = plausible(&prompt, 500, &answer);
    let check = |reported: Usage, is_believed: bool| {
        let judged = plausible.judge(reported.clone());
        assert_eq!(judged.doubt.is_none(), is_believed, "{reported:?} {judged:?}");
        assert_eq!(judged == reported, is_believed, "{reported:?}");
    };
    check(usage(230, 220), true);
    check(usage(1, 220), false);
    check(usage(230, 1), false);
    check(usage(230, 0), false);
    check(usage(0, 220), false);
    check(usage(u64::MAX, 220), false);
    check(usage(230, u64::MAX), false);
    // No token is shorter than a byte, and providers add their templates.
    check(usage(u64::try_from(prompt.len()).unwrap() + 2_320, 220), true);
    check(usage(u64::try_from(prompt.len()).unwrap() + 2_321, 220), false);
    // Thinking fills the cap. A server that ignores it can have written what is visible.
    check(usage(230, 500), true);
    check(usage(230, 1_000), true);
    check(usage(230, 2_000), false);
    // More cached than there is.
    check(Usage { cache_read: Some(231), ..usage(230, 220) }, false);
    check(Usage { cache_read: Some(230), ..usage(230, 220) }, true);
    // A missing figure is no lie.
    check(Usage { input: None, ..usage(230, 220) }, true);
    check(Usage::default(), true);
}

#[test]
fn an_answer_without_a_cap_is_bounded_too() {
    let model = Providers::load().unwrap().model("gpt-4o").unwrap().clone();
    assert_eq!(model.output_tokens, None);
    let plausible = PlausibleUsage::new(300, &request("hello", 0), &model, &[text("hi")]);
    assert_eq!(plausible.output, 1..=UNCAPPED_TOKENS + END_TOKENS);
    assert!(plausible.judge(usage(10, u64::MAX)).doubt.is_some());
}

#[test]
fn what_is_not_visible_is_no_reason_to_doubt() {
    let thinking = ResponsePart::Other { word: outside("thinking") };
    let plausible = plausible("hello", 500, &[thinking]);
    assert_eq!(plausible.output, 0..=516);
    let call = ToolCall { id: outside("1"), name: outside("search"), arguments: outside(&prose(4_000)) };
    let plausible = super::tests::plausible("hello", 500, &[ResponsePart::Call(call)]);
    assert!(*plausible.output.start() > 100, "{plausible:?}");
}

/// The bounds hold for the vocabularies that are shipped, whatever the text.
#[test]
fn no_token_of_a_shipped_vocabulary_covers_more() {
    for vocabulary in Vocabulary::ALL {
        let longest = (0..210_000)
            .filter_map(|rank| vocabulary.bytes(rank))
            .map(|bytes| word_tokens(&String::from_utf8_lossy(&bytes).replace('\u{fffd}', "?")))
            .max();
        assert_eq!(longest, Some(TOKEN_WORDS), "{vocabulary:?}");
    }
}

/// Tokenisers that an honest server may have: one token for each byte, for each character, or for each word.
fn counts(text: &str) -> [u64; 5] {
    let count = |count: usize| u64::try_from(count).unwrap();
    [
        count(Vocabulary::O200k.count(text)),
        count(Vocabulary::Cl100k.count(text)),
        count(text.len()),
        count(text.chars().count()),
        text.split_whitespace().map(|word| count(word.len().div_ceil(64))).sum(),
    ]
}

proptest! {
    /// Honest counts are believed, of ordinary text and of any other.
    #[test]
    fn every_honest_count_is_believed(
        pieces in prop::collection::vec(prop::sample::select(&[
            "the ", "clock", "\n", "    ", "\u{3000}", "--------------------------------", "=", "日本語", "नमस्ते ", "a b c d e f ",
            "0", "\u{1f44d}\u{1f3fd}", "fn main() {}\n", "{\"a\":[1,2,3]}", "AAAAAAAAAAAAAAAAAAAAAAAA", "\t", "\u{0}",
        ][..]), 0..60),
    ) {
        let text_of = pieces.concat();
        let answer = [text(&text_of)];
        for count in counts(&text_of) {
            let judged = plausible(&text_of, 8_000, &answer).judge(usage(count, count));
            prop_assert_eq!(judged.doubt, None, "{} {:?}", count, text_of);
        }
    }

    #[test]
    fn what_is_judged_twice_stays(input in prop::option::of(0..3_000_u64), output in prop::option::of(0..3_000_u64)) {
        let plausible = plausible(&prose(500), 100, &[text(&prose(200))]);
        let once = plausible.judge(Usage { input, output, ..Usage::default() });
        prop_assert_eq!(plausible.judge(once.clone()), once);
    }
}
