//! Selection: broken embedders, broken input, caps, usage and languages.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::collections::BTreeSet;

use crate::hashed::{Hashed, Spoil, catalogue, rank, ranking_lines, selector};
use proem_engine::error::ErrorKind;
use proem_select::catalogue::{Approvals, Capability, Catalogue, parse_lines};
use proem_select::embedding::{Embedder as _, ModelId, Vector};
use proem_select::mode::Mode;
use proem_select::select::{
    BaseNames, CapabilityUsage, Caps, CatalogueIndex, FEATURES, MAX_BYTES, RankedEntry, Ranking, RejectionReason,
    Selector, TaskEmbedding, TranslationLexicon, UsageHistory, choose_capabilities, usage_key,
};
use serde_json::json;

const TOOLS: [(&str, &str); 6] = [
    ("create_invoice", "Creates an invoice for a customer and sends it by email."),
    ("weather", "The weather forecast for a city, for the next days."),
    ("translate", "Translates a text into another language."),
    ("find_flights", "Finds flights between two airports on a date."),
    ("run_query", "Runs a query on the database and returns the rows."),
    ("play_music", "Plays a song or a playlist."),
];

/// The shipped index is made of the lexicon's file.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "it reads the files that it compares, and writes one where it is asked to"
)]
fn the_index_of_the_lexicon_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lexicon-index.txt");
    let written = TranslationLexicon::parse(include_str!("../../data/lexicon.tsv")).unwrap();
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        // The index that this test was built with is the earlier file.
        return std::fs::write(file, written.index()).unwrap();
    }
    assert!(std::fs::read_to_string(file).unwrap() == written.index(), "repeat with PROEM_UPDATE_REFERENCE=1");
    assert!(Selector::shipped().unwrap().lexicon() == &written, "what is read is what was written");
}

fn names<'c>(catalogue: &'c Catalogue, ranking: &Ranking) -> Vec<&'c str> {
    ranking.ranked.iter().map(|ranked| catalogue.entries()[ranked.entry].name().as_str()).collect()
}

#[test]
fn a_broken_embedder_is_an_error_and_words_decide_then() {
    let (selector, tools) = (selector(&["m"]), catalogue(TOOLS));
    let query = selector.query("What is the weather in Porto? And translate this text into French, please.");
    let few: Spoil = |_, vectors| Ok(vectors.into_iter().skip(1).collect());
    let alien: Spoil = |_, mut vectors| {
        vectors[1] = Some(Vector::new(&ModelId::new("other")?, vec![1.0; 16])?);
        Ok(vectors)
    };
    let sizes: Spoil = |model, mut vectors| {
        vectors[1] = Some(Vector::new(model, vec![1.0; 3])?);
        Ok(vectors)
    };
    // The possible answers of a remote model: `Vector` takes finite numbers only.
    let infinite: Spoil = |model, _| Ok(vec![Some(Vector::new(model, vec![f32::NAN; 16])?)]);
    for (broken, kind, problem) in [
        (Hashed::asleep("m"), ErrorKind::Embedding, "the model is asleep"),
        (Hashed::spoiled("m", few), ErrorKind::InvalidVector, " vectors for "),
        (Hashed::spoiled("m", alien), ErrorKind::InvalidVector, "model `m` gave a vector of `other`"),
        (Hashed::spoiled("m", sizes), ErrorKind::InvalidVector, "model `m` gave vectors of 3 and of 16 dimensions"),
        (
            Hashed::spoiled("m", infinite),
            ErrorKind::InvalidVector,
            "model `m` gave a vector with a number that is not finite",
        ),
    ] {
        let mut index = CatalogueIndex::new(tools.entries(), &UsageHistory::default(), &selector);
        let error = index.embed(tools.entries(), &broken, None).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(problem), "{problem}: {error}");
        let error = selector.embed(&query, &broken).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(problem), "{problem}: {error}");
        assert_eq!(index.model(), None);
        let ranking = selector.rank(tools.entries(), &index, &query, None).unwrap();
        assert_eq!(ranking.degraded.as_deref(), Some("no embedding model: tools are chosen by shared words"));
        assert_eq!(ranking.ranked.len(), TOOLS.len());
        assert_eq!(BTreeSet::from_iter(&names(&tools, &ranking)[..2]), BTreeSet::from([&"translate", &"weather"]));
    }
}

#[test]
fn vectors_that_do_not_belong_together_never_meet() {
    let (selector, tools) = (selector(&["a", "b"]), catalogue(TOOLS));
    let (a, b, short) = (Hashed::new("a", 16), Hashed::new("b", 16), Hashed::new("a", 8));
    let query = selector.query("weather in Porto");
    let mut index = CatalogueIndex::new(tools.entries(), &UsageHistory::default(), &selector);
    let check = |index: &CatalogueIndex, result: Result<Ranking, _>, problem: &str| {
        let error: proem_engine::Error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::InvalidVector, problem.to_owned()),
            "{:?}",
            index.model()
        );
    };
    let none = "the catalogue has no vectors to compare the task with; refresh them";
    check(&index, ranking_lines(&selector, &tools, &index, &a, &query), none);
    index.embed(tools.entries(), &a, None).unwrap();
    let two = "the catalogue has vectors of `a` and the task of `b`; refresh them";
    check(&index, ranking_lines(&selector, &tools, &index, &b, &query), two);
    check(
        &index,
        ranking_lines(&selector, &tools, &index, &short, &query),
        "model `a` gave 8 dimensions for the task and 16 for the catalogue",
    );
    let of_b = selector.embed(&query, &b).unwrap();
    let lying = TaskEmbedding { model: a.model(), vectors: &of_b, pieces: None };
    check(
        &index,
        selector.rank(tools.entries(), &index, &query, Some(&lying)),
        "the catalogue has vectors of `a` and the task of `a`; refresh them",
    );
    let few = TaskEmbedding { model: a.model(), vectors: &[], pieces: None };
    check(&index, selector.rank(tools.entries(), &index, &query, Some(&few)), "0 vectors for 1 parts of the task");

    let mut used = CapabilityUsage::default();
    used.add(&query, Vector::new(a.model(), vec![1.0; 8]).ok().as_ref());
    let mut usage = UsageHistory::default();
    usage.add(usage_key(&tools.entries()[0]), &used);
    let error = CatalogueIndex::new(tools.entries(), &usage, &selector).embed(tools.entries(), &a, None).unwrap_err();
    assert_eq!(error.to_string(), "model `a` gave 8 dimensions for requests and 16 for the catalogue");
}

#[test]
fn a_model_without_weights_and_an_index_of_another_catalogue_are_named() {
    let (selector, tools) = (selector(&["a"]), catalogue(TOOLS));
    let ranking = rank(&selector, &tools, &UsageHistory::default(), Some(&Hashed::new("b", 16)), "weather in Porto");
    assert_eq!(ranking.degraded.as_deref(), Some("`b` is not calibrated: tools are chosen by shared words"));
    assert_eq!(names(&tools, &ranking)[0], "weather");
    let index = CatalogueIndex::new(&tools.entries()[1..], &UsageHistory::default(), &selector);
    let error = selector.rank(tools.entries(), &index, &selector.query("x"), None).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::InvalidInput, "the index has 5 entries, but the catalogue has 6")
    );
}

#[test]
fn strange_tasks_and_catalogues_are_ranked_or_abstained_from() {
    let (selector, tools, model) = (selector(&["m"]), catalogue(TOOLS), Hashed::new("m", 16));
    let check = |task: &str, catalogue: &Catalogue| {
        for embedder in [None, Some(&model)] {
            let ranking = rank(&selector, catalogue, &UsageHistory::default(), embedder, task);
            assert_eq!(ranking.ranked.len(), catalogue.entries().len());
            assert!(ranking.abstained(), "{:.40} {:?}", task, ranking.ranked.first());
            assert_eq!(ranking.cut, task.len() > MAX_BYTES);
        }
    };
    check("🎉🎉 🚀", &tools);
    check("", &tools);
    check("\u{202e}\u{0}\u{feff}", &tools);
    // Thai and Amharic: no column of the lexicon, no letter in common.
    check("ช่วยหาตั๋วเครื่องบินให้หน่อย", &tools);
    check("እባክህ የአየር ሁኔታን ንገረኝ", &tools);
    check("weather in Porto", &catalogue([]));
    check(&"bzzq ".repeat(420_000), &tools);
}

#[test]
fn ten_thousand_tools_of_one_name_and_without_description_are_ranked() {
    let selector = selector(&[]);
    // Equal ones would count once, so their parameters differ.
    let tool = |n: usize| json!({ "name": "same", "description": if n == 5000 { "weather" } else { "" }, "parameters": { "n": n } });
    let same: Vec<String> = (0..10_000).map(|n| format!("{}\n", tool(n))).collect();
    let tools = Catalogue::new(parse_lines("f", &same.concat()), &Approvals::default());
    assert_eq!(tools.entries().len(), 10_000, "{:?}", tools.problems());
    let ranking = rank(&selector, &tools, &UsageHistory::default(), None, "the weather in Porto, please");
    assert_eq!(ranking.ranked.len(), tools.entries().len());
    let first = &tools.entries()[ranking.ranked[0].entry];
    assert_eq!(first.definition().description.len(), "weather".len());
}

/// One capability, its kind and modes as JSON, its probability and what becomes of it.
type Row = (&'static str, &'static str, f32, Result<(), RejectionReason>);

fn check_choice(rows: &[Row], caps: &Caps, (tools, skills): (&[&'static str], &[&'static str]), abstained: bool) {
    let lines: String =
        rows.iter().map(|(name, more, ..)| format!("{{\"name\":\"{name}\",\"description\":\"d\"{more}}}\n")).collect();
    let all = Catalogue::new(parse_lines("f", &lines), &Approvals::default());
    assert_eq!(all.problems(), []);
    let place = |name: &str| all.entries().iter().position(|entry| entry.name().as_str() == name).unwrap();
    let ranked =
        |row: &Row| RankedEntry { entry: place(row.0), probability: row.2, features: [0.0; FEATURES], part: 0 };
    let ranking = Ranking { ranked: rows.iter().map(ranked).collect(), threshold: 0.5, degraded: None, cut: false };
    let names = |names: &[&'static str]| names.iter().copied().collect();
    let base = BaseNames { tools: names(tools), skills: names(skills) };
    let selection = choose_capabilities(all.entries(), &ranking, caps, &base);
    let mut found: Vec<(usize, &str, Result<(), RejectionReason>)> = Vec::new();
    let name = |entry: usize| -> &str { Capability::name(&all.entries()[entry]).as_str() };
    found.extend(selection.chosen.iter().map(|chosen| (chosen.rank, name(chosen.entry), Ok(()))));
    found.extend(selection.cut.iter().map(|cut| (cut.rank, name(cut.entry), Err(cut.reason))));
    found.sort_by_key(|(rank, ..)| *rank);
    let expected: Vec<_> = rows.iter().enumerate().map(|(rank, row)| (rank, row.0, row.3)).collect();
    assert_eq!(found, expected);
    assert_eq!(selection.abstained, abstained);
}

#[test]
fn caps_modes_and_thresholds_hold_and_say_why() {
    let caps = |tools, skills, results, min_score| Caps { mode: Mode::Plan, tools, skills, results, min_score };
    let (skill, act) = (r#","kind":"skill""#, r#","modes":["act"]"#);
    let rows = |verdicts: [Result<(), RejectionReason>; 5]| -> Vec<Row> {
        let of = [("a", "", 0.9), ("b", act, 0.8), ("c", skill, 0.7), ("d", "", 0.6), ("e", skill, 0.5)];
        of.into_iter().zip(verdicts).map(|((name, more, p), verdict)| (name, more, p, verdict)).collect()
    };
    let all = Ok(());
    let check = |caps: Caps, tools: &[&'static str], skills: &[&'static str], verdicts| {
        check_choice(&rows(verdicts), &caps, (tools, skills), false);
    };
    check(caps(9, 9, 9, None), &[], &[], [all, Err(RejectionReason::Mode), all, all, all]);
    check(Caps { mode: Mode::Act, ..caps(9, 9, 9, None) }, &[], &[], [all; 5]);
    check(
        caps(9, 9, 1, None),
        &[],
        &[],
        [all, Err(RejectionReason::Mode), all, Err(RejectionReason::Results), Err(RejectionReason::Results)],
    );
    check(
        caps(1, 0, 9, None),
        &[],
        &[],
        [
            all,
            Err(RejectionReason::Mode),
            Err(RejectionReason::Cap),
            Err(RejectionReason::Cap),
            Err(RejectionReason::Cap),
        ],
    );
    // A base tool takes its place among the tools, and a default skill among the skills.
    check(
        caps(2, 1, 9, None),
        &["a"],
        &["e"],
        [
            Err(RejectionReason::Named),
            Err(RejectionReason::Mode),
            Err(RejectionReason::Cap),
            all,
            Err(RejectionReason::Named),
        ],
    );
    check(
        caps(1, 9, 9, None),
        &["d"],
        &[],
        [Err(RejectionReason::Cap), Err(RejectionReason::Mode), all, Err(RejectionReason::Named), all],
    );
    // So does one that the catalogue doesn't have.
    check(
        caps(2, 1, 9, None),
        &["x"],
        &["y"],
        [
            all,
            Err(RejectionReason::Mode),
            Err(RejectionReason::Cap),
            Err(RejectionReason::Cap),
            Err(RejectionReason::Cap),
        ],
    );
    check(
        caps(1, 2, 9, None),
        &["x"],
        &["y"],
        [
            Err(RejectionReason::Cap),
            Err(RejectionReason::Mode),
            all,
            Err(RejectionReason::Cap),
            Err(RejectionReason::Cap),
        ],
    );
    let unlikely = Err(RejectionReason::Unlikely);
    check(caps(9, 9, 9, Some(0.65)), &[], &[], [all, Err(RejectionReason::Mode), all, unlikely, unlikely]);
    check_choice(&rows([unlikely; 5]), &caps(9, 9, 9, Some(0.95)), (&[], &[]), true);
    check_choice(&rows([unlikely; 5]), &caps(9, 9, 9, Some(f32::NAN)), (&[], &[]), true);
    check_choice(&[], &caps(9, 9, 9, None), (&[], &[]), true);
}

#[test]
fn at_most_ten_entries_that_were_cut_are_named() {
    let many: Vec<(String, String)> = (0..40).map(|n| (format!("tool_{n}"), "weather".to_owned())).collect();
    let tools = catalogue(many.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let ranking = rank(&selector(&[]), &tools, &UsageHistory::default(), None, "weather");
    let caps = Caps { mode: Mode::Act, tools: 40, skills: 0, results: 3, min_score: Some(0.0) };
    let selection = choose_capabilities(tools.entries(), &ranking, &caps, &BaseNames::default());
    assert_eq!((selection.chosen.len(), selection.cut.len()), (3, 10));
}

#[test]
fn a_broken_line_of_usage_is_named() {
    let hash = "0".repeat(64);
    assert_eq!(UsageHistory::parse(&format!("# made by hand\n{hash}\t3\ta:1 zz:2\tm\t7f81\n")).map(|_| ()), Ok(()));
    assert_eq!(UsageHistory::parse(&format!("{hash}\t3\t\t-\t\n")).map(|_| ()), Ok(()));
    for line in [
        "",
        "x",
        &format!("{hash}\t3\ta:1\tm"),
        &format!("{hash}\t3\ta:1\tm\t7f\tmore"),
        &format!("{hash}\t-3\ta:1\tm\t7f"),
        &format!("{hash}\t+3\ta:1\tm\t7f"),
        &format!("{hash}\t3\ta\tm\t7f"),
        &format!("{hash}\t3\ta:+1\tm\t7f"),
        &format!("{hash}\t3\té:1\tm\t7f"),
        &format!("{hash}\t3\ta:1\tm\t7f8"),
        &format!("{hash}\t3\ta:1\tm\t+f"),
        &format!("{hash}\t3\ta:1\tm\té1"),
        &format!("{hash}\t3\ta:1\ttwo words\t7f"),
        &format!("{hash}\t3\ta:1\tm\t"),
        &format!("{hash}\t3\ta:1\t-\t\u{0}"),
    ] {
        let error = UsageHistory::parse(&format!("# one\n{line}\n")).expect_err(line);
        assert_eq!(error.to_string(), "usage table: line 2 is not of its form", "{line}");
    }
    let error = UsageHistory::parse(&format!("{hash}\t3\t\t-\t\n").repeat(2)).unwrap_err();
    assert_eq!(error.to_string(), "usage table: line 2 has the key of an earlier one");
}

#[test]
fn usage_is_found_by_full_name_own_name_and_key() {
    let (selector, tools) = (selector(&[]), catalogue(TOOLS));
    let asked = selector.query("umbrella tomorrow");
    let place = tools.entries().iter().position(|entry| entry.name().as_str() == "weather").unwrap();
    let evidence = |usage: &UsageHistory| {
        selector.evidence(&CatalogueIndex::new(tools.entries(), usage, &selector), &asked, None)[place]
    };
    let mut by_name = UsageHistory::default();
    by_name.add_request("weather", &asked, None);
    let (mut used, mut by_key) = (CapabilityUsage::default(), UsageHistory::default());
    used.add(&asked, None);
    by_key.add(usage_key(&tools.entries()[place]), &used);
    assert_eq!(evidence(&by_name), evidence(&by_key));
    assert!(evidence(&by_name)[6] > 0.0 && evidence(&UsageHistory::default())[6] == 0.0);
}

#[test]
fn requests_in_five_languages_find_tools_described_in_english() {
    let (selector, tools) = (selector(&[]), catalogue(TOOLS));
    for (task, expected) in [
        ("Cria uma fatura para o cliente e envia-a por e-mail", "create_invoice"),
        ("Qual é a previsão do tempo para Lisboa?", "weather"),
        ("Traduz este texto para inglês", "translate"),
        ("Traduisez ce texte en anglais, s'il vous plaît", "translate"),
        ("Quel temps fera-t-il à Lyon demain ? Donne-moi la météo", "weather"),
        ("Busca vuelos de Madrid a Roma para el lunes", "find_flights"),
        ("Crea una factura para este cliente", "create_invoice"),
        ("Übersetze diesen Text bitte ins Französische", "translate"),
        ("Schreibe eine Rechnung für den Kunden", "create_invoice"),
        ("Wie wird das Wetter in Hamburg?", "weather"),
        ("Che tempo fa a Milano domani? Vorrei le previsioni", "weather"),
        ("Cerca un volo per Parigi", "find_flights"),
    ] {
        let ranking = rank(&selector, &tools, &UsageHistory::default(), None, task);
        assert_eq!(names(&tools, &ranking)[0], expected, "{task}");
    }
}

#[test]
fn what_speaks_for_an_entry_is_named_in_words_of_the_task() {
    let selector = Selector::shipped().unwrap();
    let lines =
        json!({ "name": "t", "description": "Secret marker invoice", "examples": ["play a song", "send the invoice"] });
    let tools = Catalogue::new(parse_lines("f", &format!("{lines}\n")), &Approvals::default());
    let query = selector.query("Envia a fatura ao cliente");
    let index = CatalogueIndex::new(tools.entries(), &UsageHistory::default(), &selector);
    let ranking = selector.rank(tools.entries(), &index, &query, None).unwrap();
    assert!(selector.shared_words(&index, &query, &ranking.ranked[0]).contains(&"fatura".to_owned()));
    assert_eq!(selector.nearest_example(&tools.entries()[0], &query), Some(1));
    assert_eq!(selector.nearest_example(&tools.entries()[0], &selector.query("🎉")), None);
}
