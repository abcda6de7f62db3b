//! Text → tokens → vector, with a model small enough to work out by hand.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use crate::small::{TOKENS, file};
use proem_embed::{MAX_TEXT_BYTES, MAX_TOKENS, StaticModel};
use proem_select::embedding::Embedder as _;

fn check(text: &str, expected: &[&str]) {
    let file = file();
    let model = StaticModel::load(&file).unwrap();
    let tokens: Vec<&str> = model.tokens(text).into_iter().map(|row| model.token(row).unwrap()).collect();
    assert_eq!(tokens, expected, "{text:?}");
}

#[test]
fn the_longest_token_is_taken_each_time() {
    check("ab", &["ab"]);
    check("abcd", &["abc", "##d"]);
    check("acd", &["a", "##cd"]);
    check("accd", &["a", "##c", "##cd"]);
    // Greedy: `abc` leaves nothing that covers the rest, and there is no second try.
    check("abce", &["abc", "##e"]);
    check("abcb", &[]);
    // A word is known to its end or not at all. Its neighbours stay.
    check("a q b", &["a", "b"]);
    check("aq b", &["b"]);
    // A token for the inside of words doesn't begin one.
    check("cd", &[]);
    check("##c", &[]);
}

#[test]
fn words_end_at_white_space_punctuation_and_ideographs() {
    check(" a\tb\r\na\u{a0}b\u{3000}a\u{2028}b ", &["a", "b", "a", "b", "a", "b"]);
    check("a.b-a", &["a", ".", "b", "-", "a"]);
    check("..", &[".", "."]);
    check("a中b文", &["a", "中", "b", "文"]);
    check("a«b»", &["a", "b"]);
    // Symbols outside ASCII and other scripts' letters are letters of their word.
    check("a🎉 b", &["b"]);
    check("aж b", &["b"]);
}

#[test]
fn case_accents_and_what_does_not_show_make_no_difference() {
    check("AB Ab aB", &["ab", "ab", "ab"]);
    check("Á ä\u{308} e\u{301}\u{327} \u{301}a", &["a", "a", "e", "a"]);
    check("ß ẞ SS aß", &["ß", "ß", "ss", "a", "##ß"]);
    check("a\0b a\u{200b}b a\u{ad}b a\u{7f}b a\u{fffd}b a\u{e000}b a\u{fe0f}b", &["ab"; 7]);
    // The Kelvin sign's neighbour: Å is A with a ring.
    check("\u{212b}", &["a"]);
    // A Greek question mark is a semicolon, an unknown word of its own.
    check("a\u{37e}b", &["a", "b"]);
}

#[test]
fn a_text_without_a_known_word_has_no_vector() {
    let file = file();
    let model = StaticModel::load(&file).unwrap();
    let mut vector = vec![1.0];
    for text in ["", " ", "\0", "🎉", "q", "\u{301}", "zero", "zero zero", "a minus"] {
        assert_eq!(model.embed(&[text]).unwrap(), [None], "{text:?}");
        assert!(!model.write_vector(text, &mut vector) && vector.is_empty(), "{text:?}");
    }
    assert_eq!(model.embed(&[]).unwrap(), []);
}

#[test]
fn a_vector_is_the_direction_of_the_sum() {
    let file = file();
    let model = StaticModel::load(&file).unwrap();
    // Rows [1, 4, −3, 127] and [2, 4, −3, −128].
    let vectors = model.embed(&["a q B", "🎉", "a"]).unwrap();
    let sum = [3.0, 8.0, -6.0, -1.0_f32];
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    let found = vectors[0].as_ref().unwrap();
    assert_eq!(found.model(), model.model());
    for (value, expected) in found.values().iter().zip(sum) {
        assert!((value - expected / length).abs() < 1e-6, "{found:?}");
    }
    assert!(vectors[1].is_none() && vectors[2].is_some());
}

#[test]
fn rows_are_given_as_they_are() {
    let file = file();
    let model = StaticModel::load(&file).unwrap();
    let row = model.row(1).unwrap();
    assert_eq!((row.integers().collect::<Vec<i8>>(), row.scale(), row.bytes().len()), (vec![2, 4, -3, -128], 0.5, 4));
    let length = f32::sqrt(4.0 + 16.0 + 9.0 + 16384.0);
    assert!((model.weight(1) - 0.5 * length).abs() < 1e-3);
    let place = |token: &str| u32::try_from(TOKENS.iter().position(|known| *known == token).unwrap()).unwrap();
    let (a, minus, zero, outside) = (place("a"), place("minus"), place("zero"), u32::MAX);
    assert!((model.similarity(a, minus) + 1.0).abs() < 1e-6 && (model.similarity(a, a) - 1.0).abs() < 1e-6);
    assert_eq!(
        (model.similarity(a, zero), model.similarity(zero, zero), model.similarity(outside, a)),
        (0.0, 0.0, 0.0)
    );
    assert_eq!(
        (model.weight(zero), model.weight(outside), model.row(outside), model.token(outside)),
        (0.0, 0.0, None, None)
    );
    let mut similarities = Vec::new();
    model.write_similarities(&[a], &[a, zero, minus, outside], &mut similarities);
    assert_eq!(similarities, [model.similarity(a, a), 0.0, model.similarity(a, minus), 0.0]);
    model.write_similarities(&[outside], &[a, zero], &mut similarities);
    assert_eq!(similarities, [0.0, 0.0]);
}

#[test]
fn only_the_beginning_of_a_long_text_counts() {
    let file = file();
    let model = StaticModel::load(&file).unwrap();
    let dots = ".".repeat(MAX_TOKENS);
    assert!(!model.is_cut(&dots) && model.is_cut(&format!("{dots}.")) && !model.is_cut(&format!("{dots} q")));
    assert_eq!(model.tokens(&format!("{dots}a")).len(), MAX_TOKENS);
    let (mut cut, mut whole) = (Vec::new(), Vec::new());
    assert!(model.write_vector(&format!("{dots}ab"), &mut cut) && model.write_vector(&dots, &mut whole));
    assert_eq!(cut, whole);
    // Bytes: the cut goes through no character, and what follows is as if it weren't there.
    let spaces = " ".repeat(MAX_TEXT_BYTES - 2);
    assert!(!model.is_cut(&format!("{spaces}ab")) && model.is_cut(&format!("{spaces}abc")));
    assert_eq!(model.tokens(&format!("{spaces}abc")), model.tokens("ab"));
    assert_eq!(model.tokens(&format!("{spaces}a中")), model.tokens("a"));
    let large = "a b ".repeat(500_000);
    assert_eq!(model.tokens(&large).len(), MAX_TOKENS);
}
