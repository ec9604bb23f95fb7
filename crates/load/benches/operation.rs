//! The cost of timing and recording one operation, without the clock reads.

use criterion::{Criterion, criterion_group, criterion_main};
use os::time::now_ns;
use std::hint::black_box;
use tailback_load::child::mapper::Work;
use tailback_load::live::LivePage;

fn operation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one operation");
    group.bench_function("two clock reads alone", |bench| {
        bench.iter(|| (now_ns(), now_ns()));
    });
    // Latencies like those of an undisturbed mapper, spread over some hundred buckets.
    let latencies: Vec<u64> = (0..4096u64).map(|i| 900 + i * i % 7919).collect();
    let page = LivePage::create().expect("a live page");
    group.bench_function("recorded, without clock reads", |bench| {
        let mut work = Work::new();
        let mut next = 0;
        bench.iter(|| {
            next = (next + 1) % latencies.len();
            let took = black_box(latencies[next]);
            page.counters().begin(took);
            page.counters().end(took);
            work.note(next % 2 == 0, took, took);
        });
    });
    group.bench_function("timed and recorded", |bench| {
        let mut work = Work::new();
        bench.iter(|| {
            let before = now_ns();
            page.counters().begin(before);
            let took = now_ns() - before;
            page.counters().end(took);
            work.note(true, before, took);
        });
    });
    group.finish();
}

criterion_group!(benches, operation);
criterion_main!(benches);
