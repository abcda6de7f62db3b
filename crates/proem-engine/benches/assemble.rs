//! Assembling 64 sections of together about 20,000 tokens, and the same text through plain
//! `handlebars` with the same counter, counted anew each time.
//!
//! `cargo bench -p proem-engine --bench assemble`
#![expect(clippy::unwrap_used, reason = "a bench may stop at what it didn't expect")]

mod large;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use handlebars::{Context, Handlebars};
use large::{Large, OURS, OUTSIDE, TRUSTED, prose};
use proem_engine::tokens::{CachingCounter, OpenAi, TokenCounter as _};
use serde_json::{Map, Value as Json, json};

/// The same content as plain templates and values.
fn peer() -> (Vec<String>, Json) {
    let mut templates: Vec<String> = (0..OURS).map(|n| format!("{}\n", prose(n, 300))).collect();
    let facts = |n: usize| format!("Facts:\n{{{{#each t{n}}}}}\n- {{{{name}}}}: {{{{text}}}}\n{{{{/each}}}}\n");
    templates.extend((0..TRUSTED).map(facts));
    templates.extend((0..OUTSIDE).map(|n| format!("Found:\n{{{{#each u{n}}}}}\n- {{{{this}}}}\n{{{{/each}}}}\n")));
    templates.push("{{task}}\n".into());
    let mut values = Map::new();
    for n in 0..TRUSTED {
        let item = |at: usize| json!({ "name": prose(at, 2), "text": prose(n * 100 + at, 25) });
        values.insert(format!("t{n}"), (0..11).map(item).collect());
    }
    for n in 0..OUTSIDE {
        values.insert(format!("u{n}"), (0..11).map(|at| Json::from(prose(n * 1000 + at, 28))).collect());
    }
    values.insert("task".into(), Large::task(1).into());
    (templates, Json::Object(values))
}

fn assembly(criterion: &mut Criterion) {
    let mut large = Large::new();
    let mut group = criterion.benchmark_group("64 sections, 20,000 tokens");
    let mut counts = CachingCounter::new(&OpenAi::O200k);
    large.assemble(&mut counts);
    group.bench_function("proem, one task after another", |bencher| {
        let mut task = 0usize;
        bencher.iter(|| {
            task += 1;
            large.set_task(task);
            black_box(large.assemble(&mut counts))
        });
    });
    group.bench_function("proem, nothing counted before", |bencher| {
        bencher.iter_batched(
            || CachingCounter::new(&OpenAi::O200k),
            |mut counts| black_box(large.assemble(&mut counts)),
            BatchSize::SmallInput,
        );
    });
    let (templates, values) = peer();
    // Made once: a caller who renders many templates needn't pass the values through again.
    let values = Context::wraps(&values).unwrap();
    let mut registry = Handlebars::new();
    registry.register_escape_fn(handlebars::no_escape);
    for (index, template) in templates.iter().enumerate() {
        registry.register_template_string(&index.to_string(), template).unwrap();
    }
    let names: Vec<String> = (0..templates.len()).map(|index| index.to_string()).collect();
    group.bench_function("handlebars, counted", |bencher| {
        bencher.iter(|| {
            let mut tokens = 0usize;
            for name in &names {
                let text = registry.render_with_context(name, &values).unwrap();
                tokens += OpenAi::O200k.count(&text);
            }
            black_box(tokens)
        });
    });
    group.bench_function("handlebars alone", |bencher| {
        bencher.iter(|| {
            names.iter().map(|name| registry.render_with_context(name, &values).unwrap().len()).sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, assembly);
criterion_main!(benches);
