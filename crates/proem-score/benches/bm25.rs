//! Scoring 4,000 documents of 40 terms for a query of 20 terms.
//!
//! `cargo bench -p proem-score --bench bm25`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proem_score::bm25::{Bm25Parameters, Index, IndexBuilder};

/// Pseudo-random numbers by a multiplicative congruence, with the skew that words have.
fn random_index() -> Index {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 12_000
    };
    let mut builder = IndexBuilder::new(Bm25Parameters::default());
    for _ in 0..4000 {
        let terms: Vec<(u64, f32)> = (0..40).map(|_| (next().min(next()).min(next()), 1.0)).collect();
        builder.add(&terms);
    }
    builder.build()
}

fn bench(criterion: &mut Criterion) {
    let index = random_index();
    let query: Vec<(u64, f32)> = (0..20).map(|term| (term * 37, 1.0)).collect();
    let mut scores = Vec::new();
    criterion.bench_function("bm25: 20 terms, 4,000 documents", |bencher| {
        bencher.iter(|| index.score_into(black_box(&query), &mut scores));
    });
    criterion.bench_function("bm25: build 4,000 documents of 40 terms", |bencher| bencher.iter(random_index));
}

criterion_group!(benches, bench);
criterion_main!(benches);
