//! The fuzzer's inputs, as ordinary tests.
#![expect(clippy::disallowed_methods, reason = "a test reads the corpus")]

use std::path::Path;

use proem_embed::StaticModel;

#[test]
fn a_table_is_refused_or_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/static_model");
    let built_in = StaticModel::built_in().unwrap();
    let (mut seen, mut loaded) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        seen += 1;
        check(&name, &built_in, &String::from_utf8_lossy(&input));
        for end in [input.len(), input.len().saturating_sub(16)] {
            let (file, text) = input.split_at(end);
            if let Ok(model) = StaticModel::load(file) {
                loaded += 1;
                check(&name, &model, &String::from_utf8_lossy(text));
                check(&name, &model, &String::from_utf8_lossy(&input));
            }
        }
    }
    assert!(seen >= 10 && loaded >= 5, "{seen} inputs, {loaded} tables");
}

fn check(name: &str, model: &StaticModel<'_>, text: &str) {
    let tokens = model.tokens(text);
    assert!(tokens.iter().all(|row| model.row(*row).is_some() && model.token(*row).is_some()), "{name}");
    let (mut vector, mut similarities) = (Vec::new(), Vec::new());
    let has_vector = model.write_vector(text, &mut vector);
    assert_eq!(vector.len(), if has_vector { model.dimension() } else { 0 }, "{name}");
    assert!(vector.iter().all(|value| value.is_finite()), "{name}");
    model.write_similarities(&[tokens.first().copied().unwrap_or(0)], &tokens, &mut similarities);
    assert!(similarities.iter().all(|similarity| (-1.0..=1.0).contains(similarity)), "{name}");
}
