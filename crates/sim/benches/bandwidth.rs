//! Time to simulate a machine.

use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Duration;
use tailback_sim::{Config, Era, Fibtest, Workload, simulate};

fn fibtest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fibtest for 5 s");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_secs(1));
    // The eras at the size of the published table, then larger machines to see how the cost
    // grows.
    let runs = [(64, Era::B), (64, Era::C), (64, Era::G), (256, Era::G), (1024, Era::G)];
    for (cpus, era) in runs {
        let config = Config::new(cpus, era);
        let load = Workload::Fibtest(Fibtest::new(cpus));
        group.bench_function(format!("{cpus} CPUs, era {era:?}"), |bench| {
            bench.iter(|| simulate(&config, &load).expect("a valid configuration"));
        });
    }
    group.finish();
}

criterion_group!(benches, fibtest);
criterion_main!(benches);
