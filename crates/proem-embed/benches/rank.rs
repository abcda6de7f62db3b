//! Ranking 4,000 tools, beside what one would use instead: the cosines of all vectors with a full
//! sort, and the search engine of the crate `bm25`.
//!
//! `cargo bench -p proem-embed --bench rank`
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may stop at what it didn't expect")]

use std::fmt::Write as _;
use std::hint::black_box;

use bm25::{Document, SearchEngineBuilder, Tokenizer};
use criterion::{Criterion, criterion_group, criterion_main};
use proem_embed::StaticModel;
use proem_select::catalogue::{Approvals, Catalogue, parse_lines};
use proem_select::embedding::{Embedder as _, Vector};
use proem_select::select::{CatalogueIndex, Selector, TaskEmbedding, UsageHistory};

const TOOLS: usize = 4000;
const WORDS: &str = "account add address agenda alert analyse annotate archive article assign attach audio backup \
    balance bill book branch build calendar cancel card change chart check city close code comment commit company \
    compare contact convert copy create currency customer customs data date delete deploy describe design detect \
    discount document download draft edit email event expense export extract fetch file filter find flight folder \
    forecast game generate graph group health hotel image import invoice issue job key label language layer lead \
    link list location log map market match measure meeting member merge message metric model monitor movie music \
    name news note notify number offer open order page password patient pay person phone photo plan podcast point \
    police port post price print product profile project publish query rate read receipt recipe record refund \
    release remind remove rename rent reply report request reset review route rule run salary schedule score search \
    send server share ship show sign sort split stock store stream student summary sync table tag task tax team \
    test text ticket time track train transfer translate travel update upload user vehicle verify video vote \
    warehouse weather website";
const TWELVE: &str = "please find all unpaid invoices of one customer and email a reminder";
const SIXTY: &str = "We are moving to another warehouse next month, and I have to plan the transfer of our whole stock. \
    Please list every product with its location and its balance, compare it with the orders that are still open, \
    and write a summary for the team. Then schedule a meeting with the shipping company and attach the \
    report to the calendar.";

/// Names and descriptions of about twelve words, the same on every machine.
fn catalogue() -> Catalogue {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        words[usize::try_from(state >> 33).unwrap() % words.len()]
    };
    let mut lines = String::new();
    for number in 0..TOOLS {
        let description: Vec<&str> = (0..12).map(|_| word()).collect();
        let name = format!("{}_{}_{number}", word(), word());
        writeln!(lines, r#"{{"name":"{name}","description":"{}"}}"#, description.join(" ")).unwrap();
    }
    Catalogue::new(parse_lines("tools.jsonl", &lines), &Approvals::default())
}

/// The first version that a user of that crate writes: lower case, split at signs that are no letter or digit.
#[derive(Debug, Clone, Default)]
struct Plain;

impl Tokenizer for Plain {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    }
}

fn bench(criterion: &mut Criterion) {
    let model = StaticModel::built_in().unwrap();
    let (selector, usage) = (Selector::shipped().unwrap(), UsageHistory::default());
    let catalogue = catalogue();
    let entries = catalogue.entries();
    assert_eq!(entries.len(), TOOLS);
    criterion.bench_function("index 4,000 tools", |bencher| {
        bencher.iter(|| CatalogueIndex::new(entries, &usage, &selector));
    });
    let mut index = CatalogueIndex::new(entries, &usage, &selector);
    index.embed(entries, &model, None).unwrap();

    let mut texts: Vec<String> = Vec::new();
    for entry in entries {
        let mut text = String::new();
        entry.own_name().measure(|name| text.push_str(name));
        entry.definition().description.measure(|description| _ = write!(text, ": {description}"));
        texts.push(text);
    }
    let vectors: Vec<Vector> =
        texts.iter().map(|text| model.embed(&[text.as_str()]).unwrap().pop().flatten().unwrap()).collect();
    let documents: Vec<Document<u32>> = (0..).zip(&texts).map(|(id, text)| Document::new(id, text)).collect();
    let peer = SearchEngineBuilder::<u32, u32, Plain>::with_tokenizer_and_documents(Plain, documents).build();

    for (words, task) in [("12", TWELVE), ("60", SIXTY)] {
        assert_eq!(task.split_whitespace().count().to_string(), words);
        let query = selector.query(task);
        let vectors_of_task = selector.embed(&query, &model).unwrap();
        let meant = TaskEmbedding { model: model.model(), vectors: &vectors_of_task, pieces: model.pieces() };
        criterion.bench_function(&format!("prepare a task of {words} words"), |bencher| {
            bencher.iter(|| selector.embed(&selector.query(black_box(task)), &model).unwrap());
        });
        criterion.bench_function(&format!("rank for {words} words, by words only"), |bencher| {
            bencher.iter(|| selector.rank(entries, &index, black_box(&query), None).unwrap());
        });
        criterion.bench_function(&format!("rank for {words} words, with meaning"), |bencher| {
            bencher.iter(|| selector.rank(entries, &index, black_box(&query), Some(&meant)).unwrap());
        });
        let asked = vectors_of_task[0].clone().unwrap();
        criterion.bench_function(&format!("peer: cosines and a sort for {words} words"), |bencher| {
            bencher.iter(|| {
                let cosines = vectors.iter().map(|vector| black_box(&asked).cosine(vector).unwrap());
                let mut ranked: Vec<(f32, usize)> = cosines.zip(0..).collect();
                ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
                ranked
            });
        });
        criterion.bench_function(&format!("peer: crate bm25 for {words} words"), |bencher| {
            bencher.iter(|| peer.search(black_box(task), None));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
