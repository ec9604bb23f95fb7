//! A reader holds a lock for a set time, while a known spinner preempts it. The evidence must
//! name both, and the time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod workload;

use host::roots::Roots;
use model::evidence::{ThreadEvidence, Wait};
use probe::{Role, Session, SessionOptions, Watched};
use std::time::Duration;
use workload::{SPIN, Worker, worker_main};

/// Largest relative error of the measured time.
const TOLERANCE: f64 = 0.05;

/// How long the workload runs; several spins fit in.
const RUN: Duration = Duration::from_millis(2500);

fn main() {
    if worker_main() {
        return;
    }
    let mut session = Session::start(&SessionOptions::new(&Roots::real()));
    if !session.is_traced() || workload::cpus().len() < 2 {
        let evidence = session.finish();
        // If the programs cannot be loaded, the evidence has to report that.
        assert!(!evidence.missing.is_empty(), "neither probes nor a word about them");
        testing::skipped(format_args!("not traced here, or a single CPU: {:?}", evidence.missing));
        return;
    }
    let cpus = workload::cpus();
    let victim = Worker::start("victim", cpus[0], None);
    let reader = Worker::start("reader", cpus[1], Some(victim.pid()));
    let spinner = Worker::start("spinner", cpus[1], None);
    session.watch(vec![
        Watched::new(victim.pid(), "mapper", Role::Victim),
        Watched::new(reader.pid(), "scanner", Role::Suspect),
        Watched::new(spinner.pid(), "hog", Role::Bystander),
    ]);
    session.release();
    std::thread::sleep(RUN);
    session.stop();
    let evidence = session.finish();
    drop((spinner, reader, victim.end()));

    assert_eq!(evidence.lost_events, 0, "{:?}", evidence.missing);
    let behind_hog = |wait: &Wait| {
        let behind = wait.holders.first().and_then(|holder| holder.behind.first());
        behind.filter(|behind| behind.name == "hog").map_or(0, |behind| behind.ns)
    };
    // A hypervisor that takes the CPU at the end of a spin makes that spin longer, but not every
    // spin.
    let spin = SPIN.as_nanos() as u64;
    let off = |wait: &&Wait| behind_hog(wait).abs_diff(spin);
    let wait = evidence.waits.iter().min_by_key(off).expect("no wait was seen");
    let holder = wait.holders.first().expect("nobody held");
    let reported = behind_hog(wait) as f64;
    let off = (reported - SPIN.as_nanos() as f64).abs() / SPIN.as_nanos() as f64;
    assert!(
        off <= TOLERANCE,
        "behind the hog: {reported} ns is not within 5% of {SPIN:?}: {wait:#?}"
    );
    assert_eq!(wait.waiter.part.as_deref(), Some("mapper"));
    assert_eq!((holder.task.part.as_deref(), holder.task.nice), (Some("scanner"), Some(10)));
    assert_eq!((holder.mode.as_str(), holder.cpu), ("read", Some(cpus[1])));
    assert_eq!(holder.behind[0].threads, 1);
    // Other threads may also run on that CPU. They make the wait longer, but do not reduce the
    // known part of it.
    assert!(holder.preempted_ns as f64 >= reported);
    let known = wait.covered_ns + wait.split.as_ref().map_or(0, |split| split.own_ns);
    assert!(known as f64 >= wait.took_ns as f64 * (1.0 - TOLERANCE), "{wait:#?}");
    assert!(known <= wait.took_ns);
    let part = |name: &str| {
        let of = |thread: &&ThreadEvidence| thread.task.part.as_deref() == Some(name);
        evidence.threads.iter().find(of).unwrap()
    };
    assert!(part("hog").running_ns as f64 >= reported, "{:?}", part("hog"));
    assert!(part("scanner").behind.iter().any(|behind| behind.name == "hog"));
    assert!(evidence.missing.is_empty(), "{:?}", evidence.missing);
    workload::nothing_is_left();
}
