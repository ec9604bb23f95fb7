//! Tests that sample the threads of a real VM from outside.

use crate::common::{LONG, erlang, eval, eval_within};
use beam::{Class, Flags, NodeOptions, ThreadKind, ThreadSampler};
use std::path::Path;
use std::time::Duration;

#[test]
fn schedulers_are_known_and_a_busy_one_is_seen() {
    let Some(erlang) = erlang() else { return };
    let flags = Flags::parse("+S 2:2 +SDcpu 1:1 +SDio 3 +sbwt none +sbwtdcpu none +sbwtdio none");
    let options = NodeOptions { flags: flags.unwrap(), ..NodeOptions::default() };
    let mut node = erlang.node(options);
    let proc = Path::new("/proc");
    let sampler = ThreadSampler::start(proc, node.pid(), Duration::from_millis(10)).unwrap();
    // One scheduler multiplies for a second of its own CPU time; the other has nothing to do.
    let script = "X = 1 bsl 300000, {T, _} = {fun(F) -> F(F) end, 0},
        {B, _} = erlang:statistics(runtime), E = B + 1000,
        T(fun(F) -> X * X,
            case erlang:statistics(runtime) of {R, _} when R > E -> done; _ -> F(F) end end).";
    let done = eval_within(&mut node, script, LONG, &mut |_, _| {});
    // The bindings contain a fun, so the answer cannot be sent; the work was done anyway.
    assert!(done.is_err());
    eval(&mut node, "1.").unwrap();
    let report = sampler.finish();
    let count = |is: fn(&ThreadKind) -> bool| report.totals.iter().filter(|t| is(&t.kind)).count();
    assert_eq!(count(|kind| matches!(kind, ThreadKind::Scheduler(1 | 2))), 2);
    assert_eq!(count(|kind| matches!(kind, ThreadKind::DirtyCpu(1))), 1);
    assert_eq!(count(|kind| matches!(kind, ThreadKind::DirtyIo(1..=3))), 3);
    assert_eq!(report.series.len(), 6);
    assert!(report.series.iter().all(|series| series.classes.len() == report.times.len()));
    let schedulers = report.totals.iter().filter(|t| matches!(t.kind, ThreadKind::Scheduler(_)));
    let busiest = schedulers.max_by_key(|total| total.cpu_ns).unwrap();
    assert!(busiest.cpu_ns > 200_000_000, "{busiest:?}");
    assert!(busiest.shares.count(Class::Running) > 0);
    let dirty = report.totals.iter().find(|t| t.kind == ThreadKind::DirtyCpu(1)).unwrap();
    assert!(dirty.cpu_ns < busiest.cpu_ns / 2, "{dirty:?}");
    assert!(dirty.shares.share(Class::Futex) > 0.5, "{dirty:?}");
}

#[test]
fn the_end_of_the_vm_does_not_end_the_report() {
    let Some(erlang) = erlang() else { return };
    let node = erlang.node(NodeOptions::default());
    let every = Duration::from_millis(5);
    let sampler = ThreadSampler::start(Path::new("/proc"), node.pid(), every).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(node.stop(LONG));
    std::thread::sleep(Duration::from_millis(50));
    let report = sampler.finish();
    assert!(!report.series.is_empty(), "no scheduler was seen");
    assert!(report.series.iter().all(|series| series.classes.last() == Some(&Class::Gone)));
    assert!(report.totals.iter().all(|total| total.voluntary_switches.is_none()));
}
