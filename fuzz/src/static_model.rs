//! A table of vectors is refused, or every token, row and vector it gives is valid.
//!
//! The input is the table and, at its end, a text. The built-in model reads all of it as a text.

use std::sync::LazyLock;

use proem_embed::StaticModel;

static BUILT_IN: LazyLock<StaticModel<'static>> = LazyLock::new(|| StaticModel::built_in().unwrap());

/// Holds one input to the laws.
pub fn feed(input: &[u8]) {
    check(&BUILT_IN, &String::from_utf8_lossy(input));
    for end in [input.len(), input.len().saturating_sub(16)] {
        let (file, text) = input.split_at(end);
        if let Ok(model) = StaticModel::load(file) {
            check(&model, &String::from_utf8_lossy(text));
            check(&model, &String::from_utf8_lossy(input));
        }
    }
}

fn check(model: &StaticModel<'_>, text: &str) {
    let tokens = model.tokens(text);
    assert!(tokens.iter().all(|row| model.row(*row).is_some() && model.token(*row).is_some()));
    let (mut vector, mut similarities) = (Vec::new(), Vec::new());
    let has_vector = model.write_vector(text, &mut vector);
    assert_eq!(vector.len(), if has_vector { model.dimension() } else { 0 });
    assert!(vector.iter().all(|value| value.is_finite()));
    model.write_similarities(&[tokens.first().copied().unwrap_or(0)], &tokens, &mut similarities);
    assert!(similarities.iter().all(|similarity| (-1.0..=1.0).contains(similarity)));
}
