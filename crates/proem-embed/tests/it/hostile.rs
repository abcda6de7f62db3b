//! Files that are not what they should be: an error, never a panic, now or later.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at what it didn't expect"
)]

use crate::small::{TOKENS, file};
use proem_embed::{ErrorKind, StaticModel, StaticModelParts, pack, table::MAX_TOKEN_BYTES};
use proem_select::embedding::Embedder as _;
use proptest::prelude::*;

const SLOTS: usize = 64;
const ENDS: usize = 64 + 4 * SLOTS;
const TEXT: usize = ENDS + 4 * TOKENS.len();

/// The small file with some of its bytes replaced.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

fn check(file: &[u8], kind: ErrorKind, problem: &str) {
    let error = StaticModel::load(file).expect_err(problem);
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, problem));
}

#[test]
fn a_header_that_cannot_be_is_refused() {
    let number = |at: usize, number: u32| with(at, &number.to_le_bytes());
    check(b"", ErrorKind::Format, "not a table of vectors: the file doesn't begin with `PROEMVEC`");
    check(&with(0, b"X"), ErrorKind::Format, "not a table of vectors: the file doesn't begin with `PROEMVEC`");
    check(&number(8, 2), ErrorKind::Format, "the layout has version 2; this program reads version 1");
    check(&number(12, 0), ErrorKind::Size, "the dimension is 0, not 1 to 4096");
    check(&number(12, u32::MAX), ErrorKind::Size, "the dimension is 4294967295, not 1 to 4096");
    check(&number(12, 3), ErrorKind::Size, "19 bytes follow the rows");
    check(&number(12, 5), ErrorKind::Size, "the file ends within the rows: 95 bytes are expected, 76 are left");
    check(&number(16, 0), ErrorKind::Size, "the number of rows is 0, not 1 to 16777216");
    check(&number(16, u32::MAX), ErrorKind::Size, "the number of rows is 4294967295, not 1 to 16777216");
    let slots = |slots: u32| format!("{slots} slots for 19 rows: a power of two, at least twice the rows, is needed");
    for count in [32, 63, 1 << 4] {
        check(&number(20, count), ErrorKind::Size, &slots(count));
    }
    check(&number(20, u32::MAX), ErrorKind::Size, "the number of slots is 4294967295, not 2 to 1073741824");
    let problem = "the file ends within the hash table: 4294967296 bytes are expected, 609 are left";
    check(&number(20, 1 << 30), ErrorKind::Size, problem);
    let problem = "the file ends within the tokens: 4294967295 bytes are expected, 277 are left";
    check(&number(24, u32::MAX), ErrorKind::Size, problem);
    check(&number(28, 1), ErrorKind::Size, "the reserved field is 1, not 0 to 0");
}

#[test]
fn a_file_cut_anywhere_or_grown_is_refused() {
    let whole = file();
    for length in 0..whole.len() {
        let kind = StaticModel::load(&whole[..length]).expect_err("a cut file").kind();
        assert_eq!(kind, if length < 8 { ErrorKind::Format } else { ErrorKind::Size }, "{length}");
    }
    check(&[whole, vec![0]].concat(), ErrorKind::Size, "1 bytes follow the rows");
}

#[test]
fn content_that_cannot_be_is_refused() {
    let word = |at: usize| u32::from_le_bytes(file()[at..at + 4].try_into().unwrap());
    let put = |at: usize, number: u32| with(at, &number.to_le_bytes());
    let place = |row: usize| format!("the token of row {row} is not 1 to 64 bytes of the tokens, in their order");
    check(&put(ENDS, 0), ErrorKind::Content, &place(0));
    check(&put(ENDS + 4, 0), ErrorKind::Content, &place(1));
    check(&put(ENDS + 4, u32::MAX), ErrorKind::Content, &place(1));
    let last = ENDS + 4 * (TOKENS.len() - 1);
    let end = word(last);
    check(&put(last, end - 1), ErrorKind::Content, "the hash table doesn't lead from the token of row 18 to this row");
    // Within `中`, and a byte that no UTF-8 has.
    let ideograph = TOKENS.iter().position(|token| *token == "中").unwrap();
    let at = ENDS + 4 * ideograph;
    check(&put(at, word(at) - 1), ErrorKind::Content, &place(ideograph));
    let problem = "the tokens are not UTF-8: invalid utf-8 sequence of 1 bytes from index 0";
    check(&with(TEXT, &[0xff]), ErrorKind::Content, problem);
    // Two tokens alike, slots that lead nowhere, to a wrong row or to one row twice.
    check(&with(TEXT + 1, b"a"), ErrorKind::Content, "the hash table doesn't lead from the token of row 1 to this row");
    let taken: Vec<usize> = (0..SLOTS).map(|slot| 64 + 4 * slot).filter(|at| word(*at) != 0).collect();
    let free = (0..SLOTS).map(|slot| 64 + 4 * slot).find(|at| word(*at) == 0).unwrap();
    for number in [0, u32::MAX] {
        let row = word(taken[0]) - 1;
        let problem = format!("the hash table doesn't lead from the token of row {row} to this row");
        check(&put(taken[0], number), ErrorKind::Content, &problem);
    }
    check(&put(free, 1), ErrorKind::Content, "20 slots are taken by 19 rows");
    // Numbers that would spread.
    let scales = TEXT + usize::try_from(end).unwrap();
    for number in [f32::NAN, f32::INFINITY, -1.0] {
        let bytes = number.to_le_bytes();
        check(
            &with(scales + 8, &bytes),
            ErrorKind::Content,
            "the scale of row 2 is not a number from 0 to 3.4028235e38",
        );
        let inverses = scales + 4 * TOKENS.len();
        check(&with(inverses, &bytes), ErrorKind::Content, "the inverse length of row 0 is not a number from 0 to 1e0");
    }
}

#[test]
fn a_changed_table_is_found_on_request() {
    let whole = file();
    StaticModel::load(&whole).unwrap().verify().unwrap();
    let changed = with(whole.len() - 1, &[1]);
    let model = StaticModel::load(&changed).unwrap();
    let error = model.verify().expect_err("another table");
    let problem = format!("the vector table of `{}` was modified; install it again", model.model());
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Checksum, problem));
    // Another digest is another model, whose vectors don't meet those of the first.
    let renamed = with(32, &[0xab, 0xcd]);
    assert!(StaticModel::load(&renamed).unwrap().model().as_str().starts_with("proem-static-1-abcd"));
}

#[test]
fn parts_that_do_not_belong_together_are_not_packed() {
    let check = |dimension: usize, tokens: &[&str], scales: &[f32], values: &[i8], problem: &str| {
        let error = pack(&StaticModelParts { dimension, tokens, scales, values }).expect_err(problem);
        assert_eq!(error.to_string(), problem);
    };
    check(0, &["a"], &[1.0], &[], "a dimension of 0, not 1 to 4096");
    check(4097, &["a"], &[1.0], &[], "a dimension of 4097, not 1 to 4096");
    check(1, &[], &[], &[], "0 tokens, not 1 to 16777216");
    check(1, &["a"], &[], &[1], "1 tokens, 0 scales and 1 values don't belong together");
    check(2, &["a"], &[1.0], &[1], "1 tokens, 1 scales and 1 values don't belong together");
    check(1, &["a", ""], &[1.0; 2], &[1; 2], "the token of row 1 is not 1 to 64 bytes long");
    let long = "x".repeat(MAX_TOKEN_BYTES + 1);
    check(1, &[&long], &[1.0], &[1], "the token of row 0 is not 1 to 64 bytes long");
    check(1, &["a", "b", "a"], &[1.0; 3], &[1; 3], "rows 0 and 2 have the same token `a`");
    check(1, &["a"], &[f32::NAN], &[1], "the scale of row 0 is not a number from 0 to 3.4028235e38");
    let longest = "x".repeat(MAX_TOKEN_BYTES);
    let file = pack(&StaticModelParts { dimension: 1, tokens: &[&longest], scales: &[1.0], values: &[1] }).unwrap();
    assert_eq!(StaticModel::load(&file).unwrap().tokens(&longest), [0]);
}

/// Uses everything a model offers.
fn exercise(model: &StaticModel<'_>, text: &str) {
    let rows = u32::try_from(model.rows()).unwrap();
    let tokens = model.tokens(text);
    assert!(tokens.iter().all(|row| *row < rows));
    let (mut vector, mut similarities) = (Vec::new(), Vec::new());
    let has_vector = model.write_vector(text, &mut vector);
    assert_eq!(vector.len(), if has_vector { model.dimension() } else { 0 });
    assert!(vector.iter().all(|value| value.is_finite()));
    model.write_similarities(&[0], &tokens, &mut similarities);
    assert!(similarities.iter().all(|similarity| (-1.0..=1.0).contains(similarity)));
    assert!((0..rows).all(|row| model.row(row).is_some() && model.token(row).is_some()));
    _ = model.verify();
}

proptest! {
    #[test]
    fn a_mutated_file_is_refused_or_works(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), text in "[abcdeß. 中]{0,20}",
    ) {
        let mut file = file();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(model) = StaticModel::load(&file) {
            exercise(&model, &text);
        }
    }

    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(StaticModel::load(&noise).is_err());
        prop_assert!(StaticModel::load(&[b"PROEMVEC\x01\0\0\0", noise.as_slice()].concat()).is_err());
    }

    #[test]
    fn what_was_packed_is_what_is_read(
        tokens in prop::collection::btree_set("(##)?[a-zß中]{1,6}", 1..200), dimension in 1_usize..9, seed in any::<i8>(),
    ) {
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let values: Vec<i8> = (0..tokens.len() * dimension).map(|at| seed.wrapping_mul(at.to_le_bytes()[0].cast_signed())).collect();
        let scales: Vec<f32> = (0_u8..).take(tokens.len()).map(f32::from).collect();
        let file = pack(&StaticModelParts { dimension, tokens: &tokens, scales: &scales, values: &values }).unwrap();
        prop_assert_eq!(pack(&StaticModelParts { dimension, tokens: &tokens, scales: &scales, values: &values }).unwrap(), file.clone());
        let model = StaticModel::load(&file).unwrap();
        prop_assert!(model.verify().is_ok());
        for (row, token) in (0..).zip(&tokens) {
            prop_assert_eq!(model.token(row), Some(*token));
            let whole = !token.starts_with("##") && token.chars().filter(|c| *c == '中').count() == 0;
            prop_assert!(!whole || model.tokens(token) == [row], "{}", token);
            let at = usize::try_from(row).unwrap();
            let found = model.row(row).unwrap();
            prop_assert!(found.integers().eq(values[at * dimension..][..dimension].iter().copied()));
            prop_assert!((found.scale() - scales[at]).abs() < f32::EPSILON);
        }
    }

    #[test]
    fn any_text_has_a_unit_vector_or_none(text in any::<String>()) {
        let model = StaticModel::built_in().unwrap();
        let (mut first, mut again) = (Vec::new(), Vec::new());
        let has_vector = model.write_vector(&text, &mut first);
        prop_assert_eq!(model.write_vector(&text, &mut again), has_vector);
        prop_assert_eq!(&first, &again);
        let embedded = model.embed(&[&text]).unwrap().remove(0);
        prop_assert_eq!(embedded.as_ref().map(|vector| vector.values()), has_vector.then_some(first.as_slice()));
        let length: f64 = first.iter().map(|value| f64::from(*value).powi(2)).sum();
        prop_assert!(!has_vector || (length - 1.0).abs() < 1e-5);
        prop_assert!(!model.is_cut(&text));
        prop_assert!(model.tokens(&text).into_iter().all(|row| model.token(row).is_some()));
    }
}
