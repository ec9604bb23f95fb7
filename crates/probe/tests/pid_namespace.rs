//! In a PID namespace, whose PIDs programs in the kernel do not know, evidence comes from /proc,
//! and says why; a live look does without them too.

#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use host::roots::Roots;
use model::not_seen::{EvidenceSource, NoPrograms, NotSeen};
use probe::live::LiveProbe;
use probe::{Role, Session, SessionOptions, Watched};
use std::process::Command;
use std::time::{Duration, Instant};

/// Set for the same test inside the namespace.
const INSIDE: &str = "TAILBACK_TEST_INSIDE";

#[test]
fn evidence_falls_back_to_proc_and_says_why() {
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
    assert_eq!(LiveProbe::start(&Roots::real()).err(), Some(NoPrograms::PidNamespace));
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
