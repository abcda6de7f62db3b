//! Loading the built-in model, cutting text into tokens and making vectors.
//!
//! `cargo bench -p proem-embed --bench embed`
#![expect(clippy::unwrap_used, reason = "a bench may stop at what it didn't expect")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proem_embed::StaticModel;

const TWENTY: &str = "Find the flaky integration test in our payment service, explain why it fails on \
                      Mondays and open a pull request";

fn bench(criterion: &mut Criterion) {
    let model = StaticModel::built_in().unwrap();
    assert_eq!(TWENTY.split(' ').count(), 20);
    let two_hundred = [TWENTY; 10].join(" ");
    let accents = TWENTY.replace('e', "é");
    let mut vector = Vec::new();
    let mut tokens = Vec::new();
    let mut similarities = Vec::new();

    criterion.bench_function("load", |bencher| bencher.iter(|| StaticModel::built_in().unwrap()));
    criterion.bench_function("verify", |bencher| bencher.iter(|| model.verify().unwrap()));
    criterion.bench_function("tokens of 20 words", |bencher| {
        bencher.iter(|| model.write_tokens(black_box(TWENTY), &mut tokens));
    });
    criterion.bench_function("tokens of 20 words with accents", |bencher| {
        bencher.iter(|| model.write_tokens(black_box(&accents), &mut tokens));
    });
    criterion.bench_function("vector of 20 words", |bencher| {
        bencher.iter(|| model.write_vector(black_box(TWENTY), &mut vector));
    });
    criterion.bench_function("vector of 200 words", |bencher| {
        bencher.iter(|| model.write_vector(black_box(&two_hundred), &mut vector));
    });
    let others: Vec<u32> = (0..4000).map(|index| index * 6).collect();
    criterion.bench_function("similarity of one token to 4,000", |bencher| {
        bencher.iter(|| model.write_similarities(&[black_box(2000)], &others, &mut similarities));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
