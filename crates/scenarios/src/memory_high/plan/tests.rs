use super::*;
use crate::params::{Size, YesNo};
use host::Roots;
use model::group::BadQuota;
use model::{Machine, Sentence};
use testing::{CGROUP2, Tree};

/// A machine with cgroup v2, whose kernel accepts every limit, and `available_kib` of free memory.
fn tree(available_kib: u64, swaps: &str, limits: &[(&str, &str)]) -> (Tree, Roots) {
    let tree = Tree::new(&CGROUP2);
    tree.put("proc/meminfo", format!("MemAvailable: {available_kib} kB\n"));
    tree.put("proc/swaps", swaps);
    tree.put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    tree.put("sys/fs/cgroup/cgroup.subtree_control", "memory\n");
    tree.put("sys/fs/cgroup/cgroup.procs", "");
    limits.iter().for_each(|(file, text)| tree.put(&format!("sys/fs/cgroup/{file}"), text));
    let roots = Roots::at(tree.root());
    (tree, roots)
}

fn planned(
    params: &MemoryHighParams,
    roots: &Roots,
) -> Result<Arms<MemoryHighParams>, ScenarioError> {
    let machine = Machine::default();
    arms(params, &Host { roots, machine: &machine, otps: &crate::erlang::Otps::default() })
}

#[test]
fn the_control_differs_by_the_limit_alone() {
    let case = MemoryHighParams::default();
    let control = case.control();
    assert_eq!(control.limit, Size::mib(96));
    assert_eq!(control, MemoryHighParams { limit: Size::mib(96), ..case.clone() });
    // A limit that is already high enough stays. Then control and case are equal.
    let enough = MemoryHighParams { limit: Size::mib(200), ..case.clone() };
    assert_eq!(enough.control(), enough);
    // Three units of 64 MiB are kept.
    let units = MemoryHighParams { need: Size::mib(129), unit: Size::mib(64), ..case.clone() };
    assert_eq!(units.control().limit, Size::mib(256));
    let nothing = MemoryHighParams { unit: Size::bytes(0), ..case };
    assert_eq!(nothing.enough(), Size::mib(96), "such as in a record of somebody else");
}

#[test]
fn the_limits_are_those_of_the_settings() {
    let case = MemoryHighParams::default();
    let high = Some(32 << 20);
    assert_eq!(limits(&case), MemoryLimits { high, max: None, swap: false });
    let max = case.with(MemoryFix::MemoryMax);
    assert_eq!(limits(&max), MemoryLimits { high: None, max: high, swap: false });
    let swap = case.with(MemoryFix::Swap);
    assert_eq!(swap.swap, YesNo::Yes);
    assert_eq!(limits(&swap), MemoryLimits { high, max: None, swap: true });
}

#[test]
fn what_the_machine_has_no_room_for_is_refused() {
    let (_dir, roots) = tree(100 << 10, "", &[]);
    let refused = planned(&MemoryHighParams::default(), &roots).unwrap_err();
    let fact = MemoryHighFact::NoRoom { needed: 96, available: 100 };
    assert_eq!(refused, ScenarioError::unusable(fact));
    let (_dir, roots) = tree(1 << 20, "", &[("memory.max", "50331648\n")]);
    let refused = planned(&MemoryHighParams::default(), &roots).unwrap_err();
    let path = roots.sys.join("fs/cgroup/memory.max").display().to_string();
    let above = BadQuota::MemoryAbove { path, limit_bytes: 48 << 20, needed_bytes: 96 << 20 };
    assert_eq!(refused, ScenarioError::Unusable(Problem::Group(above.into())));
}

#[test]
fn a_limit_far_above_the_need_takes_no_memory() {
    let high = MemoryHighParams { limit: Size::tib(1), ..MemoryHighParams::default() };
    let (_dir, roots) = tree(1 << 20, "", &[("memory.max", "134217728\n")]);
    let machine = Machine::default();
    let otps = crate::erlang::Otps::default();
    let host = Host { roots: &roots, machine: &machine, otps: &otps };
    assert_eq!(check_room(&high, &home(&host).unwrap(), &host), Ok(()));
}

#[test]
fn two_units_have_to_fit() {
    let params = MemoryHighParams { unit: Size::mib(64), ..MemoryHighParams::default() };
    let fact = MemoryHighFact::FewUnits { need: "64MiB".into(), two: "128MiB".into() };
    assert_eq!(params.check().unwrap_err(), ScenarioError::unusable(fact));
}

#[test]
fn a_machine_with_v1_is_told_what_it_lacks_and_the_run_in_a_guest() {
    let (tree, roots) = tree(1 << 20, "", &[]);
    let mount = "30 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    tree.put("sys/fs/cgroup/memory/cgroup.procs", "");
    tree.put("proc/self/mountinfo", mount);
    tree.put("proc/self/cgroup", "9:memory:/\n0::/\n");
    let machine = Machine::default();
    let missing =
        missing(&Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() })
            .unwrap();
    assert_eq!(missing, lacking(MemoryHighFact::OfV1, MemoryHighFact::InAGuest));
    assert!(MemoryHighFact::InAGuest.sentence().ends_with("-- run memory-high"));
}

#[test]
fn swap_is_tried_only_where_there_is_some() {
    let heading = "Filename Type Size Used Priority\n";
    assert!(!is_switched_on("") && !is_switched_on(heading));
    assert!(is_switched_on(&format!("{heading}/dev/zram0 partition 65532 0 -2\n")));
    let (tree, roots) = tree(1 << 20, heading, &[]);
    let machine = Machine::default();
    let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
    assert_eq!(no_swap(&host, true), Some(MemoryHighFact::NoSwap));
    tree.put("proc/swaps", format!("{heading}/swap file 65532 0 -2\n"));
    assert_eq!(
        (no_swap(&host, false), no_swap(&host, true)),
        (Some(MemoryHighFact::NoSwapLimit), None)
    );
    assert!(MemoryHighFact::SwitchOn.sentence().contains("swapon"));
}

#[test]
fn nothing_is_killed_where_a_kill_panics_the_machine() {
    let (tree, roots) = tree(1 << 20, "", &[]);
    let machine = Machine::default();
    let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
    assert!(!a_kill_panics(&host), "no such file");
    for (setting, panics) in [("0\n", false), ("1\n", false), ("2\n", true)] {
        tree.put("proc/sys/vm/panic_on_oom", setting);
        assert_eq!(a_kill_panics(&host), panics, "{setting}");
    }
    let by_max = MemoryHighParams { by: By::Max, ..MemoryHighParams::default() };
    let need = lacking(MemoryHighFact::KillPanics, MemoryHighFact::WithoutPanic);
    assert_eq!(planned(&by_max, &roots).unwrap_err(), ScenarioError::Missing(need));
}

#[test]
fn a_hindered_fix_is_left_out_with_its_reason() {
    let (case, fix) = (MemoryHighParams::default(), MemoryFix::MemoryMax);
    let mut all = Arms::from(Vec::new());
    add_fix(&mut all, &case, fix, Some(MemoryHighFact::KillPanics));
    assert!(all.arms.is_empty());
    let why = WhyLeftOut::Scenario(MemoryHighFact::KillPanics.into());
    assert_eq!(all.left_out, [LeftOut { id: "memory-max".to_owned(), why }]);
    let mut all = Arms::from(Vec::new());
    add_fix(&mut all, &case, fix, None);
    add_fix(&mut all, &case.with(fix), fix, None);
    let ids: Vec<&str> = all.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!((ids, all.left_out.len()), (vec!["memory-max"], 0));
}
