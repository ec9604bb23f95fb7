use super::*;
use clap::{CommandFactory, FromArgMatches, Parser};
use proptest::prelude::*;
use std::time::Instant;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: FibonacciArgs,
}

fn parse(words: &[String]) -> FibonacciArgs {
    let matches = Line::command().try_get_matches_from(words).unwrap();
    Line::from_arg_matches(&matches).unwrap().args
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn specs_of(line: &str) -> Vec<(u32, bool)> {
    let thread_specs = parse(&words(line)).thread_specs().unwrap();
    thread_specs.iter().map(|spec| (spec.cpu, spec.fast)).collect()
}

/// Two fast threads on the first CPU that this machine allows.
fn on_one_cpu(duration_ms: u64) -> FibonacciArgs {
    let first = CpuList::allowed().unwrap().of_thread(0);
    let mut args = FibonacciArgs::new(2, Duration::from_millis(duration_ms));
    args.cpus = CpuList::new(vec![first]);
    args
}

fn group(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tailback-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("cgroup.procs"), "").unwrap();
    dir
}

/// Waits until this holds, for at most a minute.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn short_options_are_those_of_the_original() {
    let args = parse(&words("fibonacci -f 2 -t 8"));
    assert_eq!((args.fast, args.threads), (2, Some(8)));
    let none = parse(&words("fibonacci"));
    assert_eq!((none.fast, none.threads, none.duration()), (1, None, Duration::from_secs(5)));
    assert_eq!(none.thread_specs().unwrap().len(), CpuList::allowed().unwrap().count());
}

#[test]
fn fast_threads_are_the_first_on_each_round_of_the_cpus() {
    let three = [(0, true), (1, false), (5, false)];
    assert_eq!(specs_of("fibonacci --cpus 0-1,5"), three);
    assert_eq!(specs_of("fibonacci --cpus 0-1 -t 3"), [(0, true), (1, false), (0, true)]);
    assert_eq!(specs_of("fibonacci --cpus 3 -f 2 -t 1"), [(3, true), (3, true)]);
    assert_eq!(specs_of("fibonacci --cpus 3-4 -f 0 -t 1"), [(3, false)]);
    let counted = [(0, true), (0, false), (0, false)];
    assert_eq!(specs_of("fibonacci --cpus 0 -t 3 --fast-first"), counted);
}

#[test]
fn no_threads_and_too_many_are_refused() {
    for (options, count) in [("-t 0", "0"), ("-t 65537", "65537"), ("-f 4294967295", "4294967295")]
    {
        let args = parse(&words(&format!("fibonacci {options}")));
        let failure = Fibonacci::set_up(&args).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unusable, "{options}");
        assert_eq!(failure.what, format!("fibonacci: {count} threads; allowed are 1 to 65536"));
    }
}

#[test]
fn a_cpu_that_does_not_exist_is_named() {
    let tried = Fibonacci::set_up(&parse(&words("fibonacci --cpus 1023")));
    let Err(failure) = tried else { panic!("a machine of 1024 CPUs") };
    assert!(failure.what.starts_with("fibonacci thread on CPU 1023: "), "{}", failure.what);
    assert_eq!(failure.kind, FailureKind::Unusable);
}

#[test]
fn fast_threads_work_until_they_are_stopped() {
    let fibonacci = Fibonacci::set_up(&on_one_cpu(600_000)).unwrap();
    let soon = |_| {
        std::thread::sleep(Duration::from_millis(20));
        true
    };
    let report = fibonacci.work(soon).unwrap();
    assert_eq!(report.threads.iter().map(|t| t.fast).collect::<Vec<_>>(), [true, true]);
    assert_eq!((report.sleeps, report.threads[1].worst_late_ns), (0, 0));
    assert!(report.window_ns < 600_000_000_000);
}

#[test]
fn a_report_adds_up() {
    let mut args = on_one_cpu(600_000);
    args.fast = 0;
    let fibonacci = Fibonacci::set_up(&args).unwrap();
    let shared = Arc::clone(&fibonacci.shared);
    let seen = |_| {
        wait_until("the threads have slept three times", || shared.lateness().len() >= 3);
        true
    };
    let report = fibonacci.work(seen).unwrap();
    let sum: u64 = report.threads.iter().map(|t| t.iterations).sum();
    assert_eq!(report.iterations, sum);
    assert_eq!(report.iterations, report.sleeps * sequence::ROUND);
    let lateness = histogram::decode(&report.lateness).unwrap();
    assert_eq!(lateness.len(), report.sleeps);
    let worst = report.threads.iter().map(|t| t.worst_late_ns).max().unwrap();
    assert!(lateness.equivalent(lateness.max(), worst.max(1)));
    assert!(report.window_ns >= 10_000_000, "a slow thread sleeps 10 ms at least");
}

#[test]
fn threads_end_at_the_deadline_by_themselves() {
    let report = Fibonacci::set_up(&on_one_cpu(1)).unwrap().work(|_| false).unwrap();
    assert!(report.window_ns >= 1_000_000);
    let set_up = Fibonacci::set_up(&on_one_cpu(600_000)).unwrap();
    let shared = Arc::downgrade(&set_up.shared);
    drop(set_up);
    wait_until("the threads have ended", || shared.strong_count() == 0);
}

#[test]
fn every_group_is_joined_by_the_process() {
    let groups = [group("join-a"), group("join-b")];
    let mut args = on_one_cpu(1);
    args.join = groups.to_vec();
    drop(Fibonacci::set_up(&args).unwrap());
    for group in &groups {
        let pid = std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
        assert_eq!(pid, std::process::id().to_string());
        std::fs::remove_dir_all(group).unwrap();
    }
}

#[test]
fn a_group_that_cannot_be_joined_is_named() {
    let mut args = on_one_cpu(1);
    args.join = vec!["/nowhere/at/all".into()];
    let failure = Fibonacci::set_up(&args).unwrap_err();
    let start = "fibonacci: cannot join the group of /nowhere/at/all/cgroup.procs: ";
    assert!(failure.what.starts_with(start), "{}", failure.what);
    assert_eq!(failure.kind, FailureKind::Unusable);
}

proptest! {
    #[test]
    fn options_survive_the_command_line(
        fast: u32,
        fast_first: bool,
        sleep_us: u64,
        threads in proptest::option::of(any::<u32>()),
        duration_ms: u64,
        cpus in proptest::option::of(proptest::collection::vec(0u32..1024, 1..9)),
        join in proptest::collection::vec("/[-/a-z =]{0,9}", 0..3),
        parent in proptest::option::of(any::<u32>()),
    ) {
        let args = FibonacciArgs {
            fast,
            fast_first,
            sleep_us,
            threads,
            duration_ms,
            cpus: cpus.and_then(CpuList::new),
            join: join.into_iter().map(PathBuf::from).collect(),
            parent,
        };
        prop_assert_eq!(parse(&args.to_args()), args);
    }
}
