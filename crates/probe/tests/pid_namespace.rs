//! In a PID namespace, the evidence comes from /proc and says why; `watch` translates PIDs.

#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use host::roots::Roots;
use model::not_seen::{EvidenceSource, NoPrograms, NotSeen};
use probe::live::{LiveProbe, is_outside};
use probe::{Role, Session, SessionOptions, Watched};
use std::process::Command;
use std::time::{Duration, Instant};

/// Set for the run of the same test inside the namespace.
const INSIDE: &str = "TAILBACK_TEST_INSIDE";

#[test]
fn a_live_look_knows_its_pids_and_evidence_falls_back_to_proc() {
    if std::env::var_os(INSIDE).is_some() {
        return look();
    }
    if !testing::root_or_skip() {
        return;
    }
    if !Session::start(&SessionOptions::new(&Roots::real())).is_traced() {
        return testing::skipped("no programs can be had here");
    }
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let ran = command.env(INSIDE, "1").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

fn look() {
    look_live();
    let mut session = Session::start(&SessionOptions::new(&Roots::real()));
    session.watch(vec![Watched::new(std::process::id(), "test", Role::Victim)]);
    session.release();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(100) {}
    session.stop();
    let evidence = session.finish();
    assert!(evidence.missing.contains(&NotSeen::NoPrograms(NoPrograms::PidNamespace)));
    assert_eq!(evidence.sources, [EvidenceSource::ThreadFiles]);
    assert!(evidence.threads.iter().any(|thread| thread.running_ns > 0), "{evidence:?}");
}

/// All threads with ids of the namespace belong to this process; ids from outside are marked.
fn look_live() {
    let mut probe = LiveProbe::start(&Roots::real()).unwrap();
    assert!(probe.seen().namespaced);
    let own = std::process::id();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let threads = probe.read().unwrap().threads;
    let inside: Vec<_> = threads.iter().filter(|thread| !is_outside(thread.pid)).collect();
    assert!(inside.iter().any(|thread| thread.pid == own), "{inside:?}");
    assert!(inside.iter().all(|thread| thread.pid == own && !is_outside(thread.tid)), "{inside:?}");
    let outside = threads.iter().filter(|thread| is_outside(thread.pid));
    assert!(outside.clone().count() > 0 && outside.clone().all(|thread| is_outside(thread.tid)));
}
