//! How long the simulation of a machine takes.

use criterion::{Criterion, criterion_group, criterion_main};
use tailback_sim::{Config, Era, Fibtest, Workload, simulate};

fn fibtest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fibtest for 5 s");
    group.sample_size(20);
    for cpus in [2, 16, 64, 256, 1024] {
        for era in [Era::B, Era::C, Era::G] {
            let config = Config::new(cpus, era);
            let load = Workload::Fibtest(Fibtest::new(cpus));
            group.bench_function(format!("{cpus} CPUs, era {era:?}"), |bench| {
                bench.iter(|| simulate(&config, &load).expect("a valid configuration"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, fibtest);
criterion_main!(benches);
