use super::*;
use std::fs;

/// A thread in a fake /proc.
fn thread(proc: &Path, tid: u32, name: &str, state: char, wchan: &str, cpu_ns: u64) {
    let folder = proc.join(format!("7/task/{tid}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
    fs::write(folder.join("stat"), format!("{tid} ({name}) {state} 1 7 7 0")).unwrap();
    fs::write(folder.join("wchan"), wchan).unwrap();
    fs::write(folder.join("schedstat"), format!("{cpu_ns} {} 3\n", cpu_ns / 2)).unwrap();
    let switches = "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
    fs::write(folder.join("status"), format!("Name:\t{name}\n{switches}")).unwrap();
}

#[test]
fn a_fake_process_is_watched_through_changes() {
    let proc = tempfile::tempdir().unwrap();
    thread(proc.path(), 8, "2_scheduler", 'S', "futex_do_wait", 1000);
    thread(proc.path(), 9, "1_scheduler", 'R', "0", 1000);
    thread(proc.path(), 10, "beam.smp", 'S', "do_select", 1000);
    let mut sampler = Sampler::new(proc.path().join("7/task"));
    sampler.sample();
    thread(proc.path(), 8, "2_scheduler", 'S', "hrtimer_nanosleep", 1500);
    fs::remove_dir_all(proc.path().join("7/task/9")).unwrap();
    thread(proc.path(), 11, "1_dirty_io_sche", 'D', "0", 1000);
    for _ in 0..SEARCH_EVERY {
        sampler.sample();
    }
    let report = sampler.finish();
    assert_eq!(report.samples, SEARCH_EVERY + 2);
    let kinds: Vec<_> = report.totals.iter().map(|total| total.kind).collect();
    use ThreadKind::{DirtyIo, Other, Scheduler};
    assert_eq!(kinds, [Scheduler(1), Scheduler(2), DirtyIo(1), Other]);
    let second = &report.totals[1];
    assert_eq!((second.cpu_ns, second.waited_ns, second.timeslices), (500, 250, 0));
    assert_eq!(second.voluntary_switches, Some(0));
    assert_eq!(second.shares.count(Class::Futex), 1);
    assert_eq!(second.shares.count(Class::Sleep), SEARCH_EVERY + 1);
    let first = &report.totals[0];
    assert_eq!((first.shares.samples(), first.voluntary_switches), (1, None));
    assert_eq!(report.series.len(), 3);
    assert!(report.series.iter().all(|series| series.classes.len() == report.times.len()));
    assert_eq!(report.series[0].classes[..2], [Class::Running, Class::Gone]);
    assert_eq!(report.series[2].classes.last(), Some(&Class::Disk));
}

#[test]
fn a_process_that_is_not_there_gives_an_empty_report() {
    let proc = tempfile::tempdir().unwrap();
    let sampler = ThreadSampler::start(proc.path(), 7, Duration::from_millis(1)).unwrap();
    let report = sampler.finish();
    assert!(report.totals.is_empty() && report.samples >= 1);
}

#[test]
fn a_working_thread_is_told_from_one_that_sleeps() {
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let start = |name: &str, act: fn()| {
        let (over, (ready, begun)) = (over.clone(), channel());
        let work = move || {
            ready.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                act();
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap();
        (thread, Path::new("/proc").join(begun.recv().unwrap()))
    };
    // One that wakes up often would also wait for a CPU often. Nobody waits for the end of this
    // one.
    let sleep = || std::thread::sleep(Duration::from_secs(10));
    let (_, sleeper) = start("sleeper", sleep);
    let (worker, _) = start("worker", std::hint::spin_loop);
    let until = Instant::now() + Duration::from_secs(100);
    while !fs::read_to_string(sleeper.join("stat")).unwrap().contains(") S ") {
        assert!(Instant::now() < until, "it does not sleep");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut sampler = Sampler::new(PathBuf::from("/proc/self/task"));
    for _ in 0..40 {
        sampler.sample();
        std::thread::sleep(Duration::from_millis(3));
    }
    let report = sampler.finish();
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    worker.join().unwrap();
    let named = |name| report.totals.iter().find(|total| total.name == name).unwrap();
    assert!(named("sleeper").shares.share(Class::Sleep) > 0.5, "{:?}", named("sleeper"));
    assert!(named("worker").shares.share(Class::Running) > 0.9, "{:?}", named("worker"));
}

#[test]
fn the_samplers_own_thread_ends_with_it() {
    let proc = tempfile::tempdir().unwrap();
    thread(proc.path(), 8, "1_scheduler", 'R', "0", 1000);
    let sampler = ThreadSampler::start(proc.path(), 7, Duration::ZERO).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let report = sampler.finish();
    assert!(report.samples >= 2 && report.series.len() == 1);
    drop(ThreadSampler::start(proc.path(), 7, Duration::from_secs(3600)).unwrap());
}
