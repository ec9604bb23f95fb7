//! Properties of every run.
//!
//! Tests are built with overflow checks, so a negative time or balance would make them fail.

use proptest::prelude::*;
use tailback_sim::*;

const MS: u64 = 1_000_000;

fn fibtest() -> impl Strategy<Value = Workload> {
    (1u32..40, 0u32..8, 500u64..200_000, 100_000u64..20 * MS).prop_map(
        |(threads, fast, slow_burst_ns, sleep_ns)| {
            let fast = fast.min(threads);
            let load = Fibtest { fast, slow_burst_ns, sleep_ns, ..Fibtest::new(threads) };
            Workload::Fibtest(load)
        },
    )
}

fn arrivals() -> impl Strategy<Value = Workload> {
    let service = prop_oneof![
        (1_000u64..5 * MS).prop_map(Service::Fixed),
        (1_000u64..5 * MS).prop_map(|mean_ns| Service::Exponential { mean_ns }),
        (1_000u64..2 * MS, 0.0..2.0)
            .prop_map(|(median_ns, sigma)| Service::LogNormal { median_ns, sigma }),
    ];
    let bursts = prop::option::of(
        (20 * MS..200 * MS, 1u32..40).prop_map(|(mean_gap_ns, size)| Bursts { mean_gap_ns, size }),
    );
    (200_000u64..20 * MS, bursts, service, 1u32..20).prop_map(
        |(mean_gap_ns, bursts, service, workers)| {
            Workload::Arrivals(Arrivals { mean_gap_ns, bursts, service, workers })
        },
    )
}

fn periodic() -> impl Strategy<Value = Workload> {
    let task =
        (MS..50 * MS, 1_000u64..20 * MS, 0..MS).prop_map(|(period_ns, cost_ns, offset_ns)| {
            Periodic { period_ns, cost_ns, offset_ns, cpu: 0 }
        });
    prop::collection::vec(task, 1..6).prop_map(Workload::Periodic)
}

fn load() -> impl Strategy<Value = Workload> {
    prop_oneof![fibtest(), arrivals(), periodic()]
}

prop_compose! {
    fn config()(
        (cpus, era, hz, skewed) in
            (1u32..24, 0usize..7, prop::sample::select(vec![24, 100, 250, 300, 1000, 10_000]), any::<bool>()),
        (quota, period, burst) in (MS..60 * MS, MS..200 * MS, 0..100u64),
        (slice, seed, duration) in (100_000u64..20 * MS, any::<u64>(), 1..700 * MS),
        (step, to_user) in (0u64..50_000, 0u64..20_000),
    ) -> Config {
        let era = Era::ALL[era];
        Config {
            hz,
            tick_layout: if skewed { TickLayout::Skewed } else { TickLayout::Aligned },
            quota_ns: Some(quota),
            period_ns: period,
            burst_ns: if era.rules().burst { quota * burst / 100 } else { 0 },
            slice_ns: slice,
            seed,
            duration_ns: duration,
            distribution_step_ns: step,
            return_to_user_ns: to_user,
            ..Config::new(cpus, era)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_same_seed_gives_the_same_outcome(config in config(), load in load()) {
        prop_assert_eq!(simulate(&config, &load), simulate(&config, &load));
    }

    #[test]
    fn no_runtime_is_lost_or_made(config in config(), load in load()) {
        let seen = simulate(&config, &load).unwrap();
        let quota = seen.quota;
        prop_assert_eq!(
            quota.granted_ns + quota.overdrawn_ns + quota.owed_at_end_ns,
            quota.used_ns + quota.expired_ns + quota.unused_ns + quota.pool_at_end_ns
                + quota.held_at_end_ns
        );
        prop_assert_eq!(seen.usage_ns, seen.threads.iter().map(|thread| thread.used_ns).sum::<u64>());
        prop_assert_eq!(seen.usage_ns, quota.used_ns);
    }

    #[test]
    fn usage_is_bounded_by_the_quota(config in config(), load in load()) {
        let seen = simulate(&config, &load).unwrap();
        let limit = config.quota_ns.unwrap() * (seen.nr_periods + 1) + config.burst_ns;
        prop_assert!(seen.quota.granted_ns <= limit);
        prop_assert!(seen.quota.owed_at_end_ns <= config.overrun_ns()
            // Each task that wakes on a throttled CPU may run until it reaches user mode.
            + seen.threads.iter().map(|t| t.bursts + 1).sum::<u64>() * config.return_to_user_ns);
        if config.era >= Era::D {
            prop_assert_eq!(seen.quota.overdrawn_ns, 0);
        }
        if config.return_to_user_ns == 0 || config.era < Era::G {
            prop_assert!(seen.usage_ns <= limit + seen.quota.overdrawn_ns + config.overrun_ns());
        }
    }

    #[test]
    fn only_era_b_expires_and_a_cpu_strands_no_more_than_a_millisecond(
        config in config(), load in load(),
    ) {
        let quota = simulate(&config, &load).unwrap().quota;
        prop_assert!(quota.stranded.most_ns <= MS * u64::from(config.cpus));
        prop_assert!(quota.stranded.mean_ns <= quota.stranded.most_ns);
        prop_assert!(quota.stranded.most_at_period_end_ns <= quota.stranded.most_ns);
        if config.era != Era::B {
            prop_assert_eq!(quota.expired_ns, 0);
        }
    }

    #[test]
    fn nobody_runs_or_waits_longer_than_the_run(config in config(), load in load()) {
        let seen = simulate(&config, &load).unwrap();
        let machine = config.duration_ns * u64::from(config.cpus);
        prop_assert!(seen.usage_ns <= machine && seen.throttled_ns <= machine);
        prop_assert!(seen.threads.iter().all(|thread| thread.used_ns <= config.duration_ns));
        prop_assert!(seen.nr_throttled <= seen.nr_periods);
        prop_assert!(seen.longest_throttled <= seen.nr_throttled);
        let most_latency = seen.latency.as_ref().map_or(0, |latency| latency.max());
        // A histogram with three digits rounds up by at most a thousandth.
        prop_assert!(most_latency <= config.duration_ns + config.duration_ns / 1000 + 1);
    }

    #[test]
    fn more_quota_never_gives_a_saturating_load_less(
        config in config(), more in 0u64..40 * MS,
    ) {
        let fast = config.cpus;
        let load = Workload::Fibtest(Fibtest { fast, ..Fibtest::new(fast) });
        let quota = config.quota_ns.unwrap();
        // With more quota than the CPUs can use, large slices decide when a CPU gets none.
        prop_assume!(quota + more <= config.period_ns * u64::from(config.cpus));
        let usage = |quota| {
            let config = Config { quota_ns: Some(quota), burst_ns: 0, ..config.clone() };
            let seen = simulate(&config, &load).unwrap();
            // Runtime that the race gives out beyond the quota does not count.
            (seen.usage_ns, seen.quota.overdrawn_ns)
        };
        let ((less, beyond), (most, _)) = (usage(quota), usage(quota + more));
        prop_assert!(most + config.overrun_ns() + beyond >= less, "{less} {most}");
    }

    #[test]
    fn without_a_quota_nobody_is_throttled(config in config(), load in load()) {
        let config = Config { quota_ns: None, burst_ns: 0, ..config };
        let seen = simulate(&config, &load).unwrap();
        prop_assert_eq!((seen.nr_periods, seen.throttled_ns), (0, 0));
    }

    #[test]
    fn every_request_is_done_or_counted(config in config(), gaps in prop::collection::vec((0..20 * MS, 0..4 * MS), 1..60)) {
        let mut at_ns = 0;
        let requests: Vec<_> = gaps.iter().map(|(gap, service_ns)| {
            at_ns += gap;
            Request { at_ns, service_ns: *service_ns }
        }).collect();
        let count = requests.len() as u64;
        let seen = simulate(&config, &Workload::Trace { requests, workers: 3 }).unwrap();
        let done = seen.latency.as_ref().map_or(0, |latency| latency.len());
        prop_assert_eq!(done + seen.unfinished, count);
        prop_assert_eq!(done, seen.threads.iter().map(|thread| thread.bursts).sum::<u64>());
    }
}

#[test]
fn with_enough_quota_a_lone_request_takes_its_service_time() {
    let config = Config { quota_ns: Some(100 * MS), ..Config::new(4, Era::G) };
    let requests = (0..40).map(|i| Request { at_ns: i * 100 * MS, service_ns: 3 * MS }).collect();
    let seen = simulate(&config, &Workload::Trace { requests, workers: 2 }).unwrap();
    assert_eq!(seen.unfinished, 0);
    let latency = seen.latency.unwrap();
    assert!(latency.equivalent(latency.min(), 3 * MS) && latency.equivalent(latency.max(), 3 * MS));
}

#[test]
fn two_free_cpus_serve_two_requests_at_once() {
    let config = Config { quota_ns: None, ..Config::new(2, Era::G) };
    let requests = vec![Request { at_ns: 0, service_ns: 50 * MS }; 2];
    let seen = simulate(&config, &Workload::Trace { requests, workers: 2 }).unwrap();
    assert!(seen.latency_ns(100.0).unwrap() < 51 * MS);
}

#[test]
fn a_job_that_misses_its_period_is_late_by_what_it_waited() {
    let config = Config { quota_ns: None, duration_ns: 100 * MS, ..Config::new(1, Era::G) };
    let task = Periodic { period_ns: 10 * MS, cost_ns: 20 * MS, offset_ns: 0, cpu: 0 };
    let seen = simulate(&config, &Workload::Periodic(vec![task])).unwrap();
    // Job k is released at 10 k ms and finished at 20 (k + 1) ms: five jobs, 20 to 60 ms late.
    let latency = seen.latency.unwrap();
    assert_eq!(latency.len(), 5);
    assert!(latency.equivalent(latency.max(), 60 * MS), "{}", latency.max());
}
