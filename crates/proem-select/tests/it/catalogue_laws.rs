//! Laws of the catalogue: what holds for any files, in any order.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::collections::BTreeMap;

use proem_engine::error::{Error, ErrorKind};
use proem_select::catalogue::{
    Approvals, Catalogue, CatalogueContents, CatalogueName, EmbeddingScope, EmbeddingTally, Manifest, Sha256Hash,
    SourceFile, SourceTrust, embedded_texts, lines, own, servers, skill, text_hash, tools_list, vectorise,
};
use proem_select::embedding::{Embedder, ModelId, Vector};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Names that meet often, and names of any characters.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[ab](__[ab])?",
        1 => any::<String>(),
        1 => "[a-z_]{60,90}",
    ]
}

fn tool() -> impl Strategy<Value = Json> {
    (name(), "[a ]{0,1}", proptest::option::of("[x]")).prop_map(|(name, description, parameter)| {
        let schema = parameter.map(|parameter| json!({ "properties": { parameter: { "type": "string" } } }));
        json!({ "name": name, "description": description, "inputSchema": schema })
    })
}

/// One file of any kind.
fn part() -> impl Strategy<Value = (u8, SourceTrust, Vec<Json>, String)> {
    let standing =
        prop_oneof![3 => Just(SourceTrust::Outside), 1 => Just(SourceTrust::Trusted), 1 => Just(SourceTrust::Own)];
    (0u8..4, standing, proptest::collection::vec(tool(), 0..5), name())
}

fn parse(index: usize, (kind, standing, tools, server): &(u8, SourceTrust, Vec<Json>, String)) -> CatalogueContents {
    let file = |text: String| SourceFile { path: format!("f{index}"), standing: *standing, text };
    match kind {
        0 => tools_list::parse_tools_list(&file(json!(tools).to_string()), server),
        1 => lines::parse_json_lines(&file(tools.iter().map(|tool| format!("{tool}\n")).collect())),
        2 => {
            let overlay = format!("[capability.a]\nmodes = ['act']\ntags = ['t{index}']\n");
            own::parse_own_catalogue(&file(overlay))
        }
        _ => skill::parse_skill(&file(format!("---\nname: {}\ndescription: d\n---\n{index}", json!(server))), "folder"),
    }
}

fn lay(parts: impl IntoIterator<Item = CatalogueContents>) -> Catalogue {
    let mut all = CatalogueContents::default();
    parts.into_iter().for_each(|part| all.add(part));
    Catalogue::new(all, &Approvals::default())
}

proptest! {
    #[test]
    fn the_order_of_files_does_not_matter(parts in proptest::collection::vec(part(), 0..6), seed in any::<prop::sample::Index>()) {
        let parsed: Vec<CatalogueContents> = parts.iter().enumerate().map(|(index, part)| parse(index, part)).collect();
        let mut turned = parsed.clone();
        let by = seed.index(turned.len().max(1)).min(turned.len());
        turned.rotate_left(by);
        turned.reverse();
        prop_assert_eq!(lay(parsed), lay(turned));
    }

    #[test]
    fn names_are_unique_match_the_rule_and_sorted(parts in proptest::collection::vec(part(), 0..6)) {
        let all = lay(parts.iter().enumerate().map(|(index, part)| parse(index, part)));
        let names: Vec<&str> = all.entries().iter().map(|entry| entry.name().as_str()).collect();
        prop_assert!(names.is_sorted_by(|a, b| a < b), "{:?}", names);
        prop_assert!(names.iter().all(|name| CatalogueName::new(name).is_some()), "{:?}", names);
        prop_assert!(names.iter().all(|name| all.get(name).is_some()));
    }

    #[test]
    fn an_outsider_never_takes_a_trusted_name(trusted in tool(), others in proptest::collection::vec(part(), 0..5)) {
        let text = json!(trusted).to_string();
        let file = SourceFile { path: "own".into(), standing: SourceTrust::Own, text };
        let alone = lay([lines::parse_json_lines(&file)]);
        let outside = others.iter().map(|(kind, _, tools, server)| (*kind, SourceTrust::Outside, tools.clone(), server.clone()));
        let parsed: Vec<CatalogueContents> = outside.enumerate().map(|(index, part)| parse(index, &part)).collect();
        let all = lay([lines::parse_json_lines(&file)].into_iter().chain(parsed));
        for entry in alone.entries() {
            let kept = all.get(entry.name().as_str());
            prop_assert_eq!(kept.map(|kept| (kept.hash(), kept.standing())), Some((entry.hash(), SourceTrust::Own)));
        }
    }

    #[test]
    fn the_hash_changes_exactly_with_the_content(a in tool(), b in tool()) {
        let hash = |tool: &Json| {
            let file = SourceFile { path: "f".into(), standing: SourceTrust::Outside, text: json!([tool]).to_string() };
            let all = lay([tools_list::parse_tools_list(&file, "s")]);
            all.entries().first().map(|entry| *entry.hash())
        };
        // A name without anything in it is no entry.
        if let (Some(first), Some(second)) = (hash(&a), hash(&b)) {
            prop_assert_eq!(first == second, a == b);
        }
    }

    #[test]
    fn no_text_stops_a_reader(text in any::<String>(), server in any::<String>()) {
        let file = SourceFile { path: "f".into(), standing: SourceTrust::Outside, text };
        let parts = [tools_list::parse_tools_list(&file, &server), lines::parse_json_lines(&file), own::parse_own_catalogue(&file), skill::parse_skill(&file, &server)];
        for part in &parts {
            prop_assert!(part.problems.len() <= 21);
        }
        lay(parts);
    }

    #[test]
    fn a_manifest_reads_back_as_it_was(parts in proptest::collection::vec(part(), 0..4)) {
        let all = lay(parts.iter().enumerate().map(|(index, part)| parse(index, part)));
        let mut manifest = Manifest::default();
        manifest.update(&all);
        vectorise(&mut manifest, &all, &Letters::new("letters-1"), EmbeddingScope::Missing, &mut |_, _| {}).unwrap();
        let text = manifest.write();
        let read = Manifest::read(&text).unwrap();
        prop_assert_eq!(&read, &manifest);
        prop_assert_eq!(read.write(), text);
    }

    #[test]
    fn a_broken_manifest_is_an_error_and_nothing_else(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let all = lay([parse(0, &(0, SourceTrust::Outside, vec![json!({ "name": "a", "description": "b" })], "s".into()))]);
        let mut manifest = Manifest::default();
        manifest.update(&all);
        vectorise(&mut manifest, &all, &Letters::new("letters-1"), EmbeddingScope::Missing, &mut |_, _| {}).unwrap();
        let mut bytes = manifest.write().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Err(error) = Manifest::read(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(error.kind(), ErrorKind::InvalidFile);
        }
    }
}

/// A model of one dimension for each of four letters.
struct Letters {
    model: ModelId,
}

impl Letters {
    fn new(id: &str) -> Self {
        Self { model: ModelId::new(id).unwrap() }
    }
}

impl Embedder for Letters {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        let count = |text: &str, letter: char| f32::from(u8::try_from(text.matches(letter).count()).unwrap_or(u8::MAX));
        Ok(texts
            .iter()
            .map(|text| Vector::new(&self.model, "abcx".chars().map(|letter| count(text, letter)).collect()).ok())
            .collect())
    }
}

/// An embedder that answers wrongly.
struct Wrong {
    model: ModelId,
    answer: fn(&ModelId, &[&str]) -> Vec<Option<Vector>>,
}

impl Embedder for Wrong {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        Ok((self.answer)(&self.model, texts))
    }
}

fn three() -> Catalogue {
    let text = "{\"name\": \"aTool\", \"description\": \"b\", \"examples\": [\"ab\", \"zzz\"]}\n{\"name\": \"b_c\"}\n";
    lay([lines::parse_json_lines(&SourceFile { path: "f".into(), standing: SourceTrust::Outside, text: text.into() })])
}

#[test]
fn texts_are_embedded_once_and_forgotten_with_their_entry() {
    let all = three();
    let said: Vec<String> = all
        .entries()
        .iter()
        .flat_map(embedded_texts)
        .map(|text| proem_guard::show::terminal_text(&text).into_string())
        .collect();
    assert_eq!(said, ["a tool: b", "ab", "zzz", "b c"]);
    let mut manifest = Manifest::default();
    let letters = Letters::new("letters-1");
    let run = |manifest: &mut Manifest, all: &Catalogue, embed| {
        vectorise(manifest, all, &letters, embed, &mut |_, _| {}).unwrap()
    };
    assert_eq!(
        run(&mut manifest, &all, EmbeddingScope::Missing),
        EmbeddingTally { made: 4, kept: 0, silent: 1, removed: 0 }
    );
    assert_eq!(
        run(&mut manifest, &all, EmbeddingScope::Missing),
        EmbeddingTally { made: 0, kept: 4, silent: 1, removed: 0 }
    );
    assert_eq!(
        run(&mut manifest, &all, EmbeddingScope::All),
        EmbeddingTally { made: 4, kept: 0, silent: 1, removed: 0 }
    );
    let vectors = manifest.vectors(&letters.model).unwrap();
    let about = vectors[&text_hash(&embedded_texts(&all.entries()[0])[0])].as_ref().unwrap();
    assert_eq!(about.values, [127, 127, 0, 0]);
    assert!((about.coordinates()[0] - 0.5f32.sqrt()).abs() < 1e-6);
    // Models don't share vectors, and an entry's go with it.
    assert!(manifest.vectors(&ModelId::new("letters-2").unwrap()).is_none());
    let none = lay([]);
    assert_eq!(
        run(&mut manifest, &none, EmbeddingScope::Missing),
        EmbeddingTally { made: 0, kept: 0, silent: 0, removed: 4 }
    );
}

#[test]
fn a_wrong_answer_leaves_the_manifest_as_it_was() {
    let all = three();
    for (why, answer) in [
        (
            "3 vectors for 4 texts",
            (|_, texts| vec![None; texts.len() - 1]) as fn(&ModelId, &[&str]) -> Vec<Option<Vector>>,
        ),
        ("gave a vector of `other`", |_, texts| {
            let other = ModelId::new("other").unwrap();
            vec![Vector::new(&other, vec![1.0]).ok(); texts.len()]
        }),
        ("gave vectors of 1 and of 4 dimensions", |model, texts| {
            (0..texts.len()).map(|index| Vector::new(model, vec![1.0; index + 1]).ok()).collect()
        }),
    ] {
        let mut manifest = Manifest::default();
        manifest.update(&all);
        let before = manifest.clone();
        let wrong = Wrong { model: ModelId::new("m").unwrap(), answer };
        let error = vectorise(&mut manifest, &all, &wrong, EmbeddingScope::All, &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!((error.kind(), manifest), (ErrorKind::InvalidVector, before));
    }
}

#[test]
fn what_changed_since_the_last_look() {
    let of = |text: &str| {
        lay([lines::parse_json_lines(&SourceFile {
            path: "f".into(),
            standing: SourceTrust::Outside,
            text: text.into(),
        })])
    };
    let mut manifest = Manifest::default();
    manifest.update(&of("{\"name\": \"a\"}\n{\"name\": \"b\"}\n{\"name\": \"c\"}"));
    let changes =
        manifest.update(&of("{\"name\": \"a\"}\n{\"name\": \"b\", \"description\": \"x\"}\n{\"name\": \"d\"}"));
    let names = |names: &[CatalogueName]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(
        (names(&changes.new), names(&changes.changed), names(&changes.gone)),
        ("d".into(), "b".into(), "c".into())
    );
}

#[test]
fn a_manifest_of_another_form_is_made_anew() {
    let hash = Sha256Hash::of(b"").to_string();
    let entry = json!({ "kind": "tool", "hash": hash, "modes": [], "tags": [], "examples": [], "origin": "f" });
    let with = |key: &str, value: Json| {
        let mut entry = entry.clone();
        entry[key] = value;
        json!({ "version": 1, "entries": { "a": entry }, "vectors": {} })
    };
    let vectors = |vectors: Json| json!({ "version": 1, "entries": {}, "vectors": vectors });
    let good = BTreeMap::from([
        ("entry", with("kind", json!("skill"))),
        ("vector", vectors(json!({ "m": { &hash: "0000803f7f81" } }))),
    ]);
    for (what, json) in good {
        assert!(Manifest::read(&json.to_string()).is_ok(), "{what}");
    }
    for (why, json) in [
        ("another version", json!({ "version": 2, "entries": {}, "vectors": {} })),
        ("another version", json!([])),
        ("damaged", json!({ "version": 1 })),
        ("damaged", json!({ "version": 1, "entries": { "a b": entry }, "vectors": {} })),
        ("damaged", with("kind", json!("spell"))),
        ("damaged", with("hash", json!("00"))),
        ("damaged", with("modes", json!(["dance"]))),
        ("damaged", with("tags", json!(["a b"]))),
        ("damaged", with("examples", json!(["x".repeat(1025)]))),
        ("damaged", vectors(json!({ "two words": {} }))),
        ("damaged", vectors(json!({ "m": { "00": null } }))),
        ("damaged", vectors(json!({ "m": { &hash: "0000803f" } }))),
        ("damaged", vectors(json!({ "m": { &hash: "0000c07f01" } }))),
        ("damaged", vectors(json!({ "m": { &hash: "0000803fzz" } }))),
        ("damaged", vectors(json!({ "m": { &hash: "0000803f01", Sha256Hash::of(b"x").to_string(): "0000803f0101" } }))),
    ] {
        let error = Manifest::read(&json.to_string()).unwrap_err().to_string();
        assert!(error.contains(why) && error.ends_with("it is rebuilt"), "{json}: {error}");
    }
    assert!(Manifest::read("{").unwrap_err().to_string().contains("not valid JSON"));
}

/// The fuzzer's inputs, as an ordinary test. The first character says which kind of file it is.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the corpus")]
fn the_corpus_is_read_or_refused() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/catalogue");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
        let (kind, text) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
        let file = SourceFile { path: "f".into(), standing: SourceTrust::Outside, text: text.into() };
        let parsed = match kind {
            "j" => servers::parse_server_names(&file, servers::ConfigSyntax::Json, "mcpServers"),
            "x" => servers::parse_server_names(&file, servers::ConfigSyntax::Toml, "mcp_servers"),
            "o" => own::parse_own_catalogue(&file),
            "s" => skill::parse_skill(&file, "folder"),
            "l" => lines::parse_json_lines(&file),
            "m" => {
                if let Ok(manifest) = Manifest::read(&file.text) {
                    assert_eq!(Manifest::read(&manifest.write()).unwrap(), manifest, "{path:?}");
                }
                CatalogueContents::default()
            }
            _ => tools_list::parse_tools_list(&file, "server"),
        };
        let all = lay([parsed]);
        assert!(all.entries().iter().all(|entry| entry.approved().is_none()), "{path:?}");
        let mut manifest = Manifest::default();
        manifest.update(&all);
        assert_eq!(Manifest::read(&manifest.write()).unwrap(), manifest, "{path:?}");
        files += 1;
    }
    assert!(files >= 12, "{files} inputs");
}
