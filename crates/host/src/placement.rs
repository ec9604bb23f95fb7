//! Chooses the CPUs for the measured thread, the load, and tailback itself.

use model::machine::Cpu;

/// From this number of cores on, the core of CPU 0 is avoided: it takes most interrupts.
const CORES_TO_SPARE_ONE: usize = 4;

/// A CPU for each part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The CPU of the measured thread.
    pub measured: u32,
    /// The CPU of the load; never the same as `measured`.
    pub load: u32,
    /// The CPU of tailback itself; the same as `measured` if there are only two.
    pub tool: u32,
}

/// Chooses among the allowed CPUs; None with fewer than two.
///
/// `measured` and `load` go to different cores if there are two. With four cores or more,
/// `measured` is not on the core of CPU 0. If possible, both share a package and a node, and
/// `load` is not on the core of CPU 0 either. The tool goes to a third core; else to a spare
/// thread of the load's core, or of the measured one; else it shares `measured`, since it would
/// seldom run on the load's CPU. The same input gives the same choice. A CPU that is not in
/// `cpus` counts as a core of its own.
pub fn choose(cpus: &[Cpu], allowed: &[u32]) -> Option<Placement> {
    let seats = seats(cpus, allowed);
    let busy = seat(cpus, 0);
    let spare_busy = cores(&seats) >= CORES_TO_SPARE_ONE;
    let on_busy = |seat: &Cpu| spare_busy && same_core(seat, &busy);
    let cost = |&(measured, load): &(&Cpu, &Cpu)| {
        (
            same_core(measured, load),
            on_busy(measured),
            !neighbours(measured, load),
            on_busy(load),
            measured.id,
            load.id,
        )
    };
    let pairs = seats
        .iter()
        .flat_map(|measured| seats.iter().map(move |load| (measured, load)))
        .filter(|(measured, load)| measured.id != load.id);
    let (measured, load) = pairs.min_by_key(cost)?;
    Some(Placement {
        measured: measured.id,
        load: load.id,
        tool: tool(&seats, measured, load).unwrap_or(measured.id),
    })
}

/// The allowed CPUs, in ascending order, with the known facts about each.
fn seats(cpus: &[Cpu], allowed: &[u32]) -> Vec<Cpu> {
    let mut ids = allowed.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| seat(cpus, id)).collect()
}

fn seat(cpus: &[Cpu], id: u32) -> Cpu {
    let unknown = || Cpu { id, core: None, package: None, node: None };
    cpus.iter().find(|cpu| cpu.id == id).cloned().unwrap_or_else(unknown)
}

fn cores(seats: &[Cpu]) -> usize {
    let first_of_core =
        |&(index, seat): &(usize, &Cpu)| !seats[..index].iter().any(|s| same_core(s, seat));
    seats.iter().enumerate().filter(first_of_core).take(CORES_TO_SPARE_ONE).count()
}

/// Whether two CPUs are threads of one core.
fn same_core(one: &Cpu, other: &Cpu) -> bool {
    one.id == other.id
        || one.core.is_some() && (one.core, one.package) == (other.core, other.package)
}

/// Whether two CPUs are in the same package and node, as far as is known.
fn neighbours(one: &Cpu, other: &Cpu) -> bool {
    (one.package, one.node) == (other.package, other.node)
}

fn tool(seats: &[Cpu], measured: &Cpu, load: &Cpu) -> Option<u32> {
    let spare = seats.iter().filter(|seat| seat.id != measured.id && seat.id != load.id);
    let cost = |seat: &&Cpu| {
        (same_core(seat, measured), same_core(seat, load), !neighbours(seat, measured), seat.id)
    };
    spare.min_by_key(cost).map(|seat| seat.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cpu(id: u32, core: u32, package: u32) -> Cpu {
        Cpu { id, core: Some(core), package: Some(package), node: Some(package) }
    }

    fn chosen(cpus: &[Cpu], allowed: &[u32]) -> Option<(u32, u32, u32)> {
        choose(cpus, allowed).map(|p| (p.measured, p.load, p.tool))
    }

    #[test]
    fn fewer_than_two_cpus_are_not_enough() {
        assert_eq!(chosen(&[], &[]), None);
        assert_eq!(chosen(&[cpu(0, 0, 0), cpu(1, 1, 0)], &[1, 1]), None);
    }

    #[test]
    fn on_two_cpus_the_tool_shares_the_measured_one() {
        assert_eq!(chosen(&[cpu(0, 0, 0), cpu(1, 1, 0)], &[0, 1]), Some((0, 1, 0)));
        assert_eq!(chosen(&[], &[4, 7]), Some((4, 7, 4)));
    }

    #[test]
    fn siblings_are_taken_only_for_want_of_a_core() {
        let two_cores = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 2, 0), cpu(3, 2, 0)];
        assert_eq!(chosen(&two_cores, &[0, 1, 2, 3]), Some((0, 2, 3)));
        assert_eq!(chosen(&two_cores, &[0, 1, 2]), Some((0, 2, 1)));
        assert_eq!(chosen(&two_cores, &[0, 1]), Some((0, 1, 0)));
    }

    #[test]
    fn cpu_0_is_left_to_its_interrupts_and_the_tool() {
        let four: Vec<Cpu> = (0..4).map(|id| cpu(id, id, 0)).collect();
        assert_eq!(chosen(&four, &[0, 1, 2, 3]), Some((1, 2, 0)));
        assert_eq!(chosen(&four, &[0, 1, 2]), Some((0, 1, 2)));
        let threads: Vec<Cpu> = (0..8).map(|id| cpu(id, id / 2 * 2, 0)).collect();
        assert_eq!(chosen(&threads, &[0, 1, 2, 3, 4, 5, 6, 7]), Some((2, 4, 0)));
    }

    #[test]
    fn measured_and_load_stay_in_one_package() {
        let cpus = [cpu(0, 0, 0), cpu(1, 1, 1), cpu(2, 2, 1)];
        assert_eq!(chosen(&cpus, &[0, 1, 2]), Some((1, 2, 0)));
    }

    #[test]
    fn equal_core_numbers_in_two_packages_are_two_cores() {
        let cpus = [cpu(0, 0, 0), cpu(1, 0, 1)];
        assert_eq!(chosen(&cpus, &[0, 1]), Some((0, 1, 0)));
        assert!(!same_core(&cpus[0], &cpus[1]));
    }

    fn machines() -> impl Strategy<Value = (Vec<Cpu>, Vec<u32>)> {
        let place = (any::<bool>(), 0u32..5, 0u32..3, any::<bool>());
        let machine = proptest::collection::vec((place, any::<bool>(), any::<bool>()), 0..14);
        machine.prop_map(|places| {
            let mut cpus = Vec::new();
            let mut allowed = Vec::new();
            for (id, ((known, core, package, node), listed, may)) in (0u32..).zip(places) {
                let core = known.then_some(core);
                if listed {
                    let node = node.then_some(package);
                    cpus.push(Cpu { id, core, package: Some(package), node });
                }
                if may {
                    allowed.push(id);
                }
            }
            (cpus, allowed)
        })
    }

    proptest! {
        #[test]
        fn a_choice_keeps_its_promises((cpus, allowed) in machines()) {
            let Some(placement) = choose(&cpus, &allowed) else {
                prop_assert!(allowed.len() < 2);
                return Ok(());
            };
            let Placement { measured, load, tool } = placement;
            prop_assert_ne!(measured, load);
            prop_assert!([measured, load, tool].iter().all(|id| allowed.contains(id)));
            prop_assert_ne!(tool, load);
            prop_assert_eq!(tool == measured, allowed.len() == 2);

            let seats = seats(&cpus, &allowed);
            let seat = |id: u32| seats.iter().find(|seat| seat.id == id).unwrap();
            let sibling_of = |id: u32| move |other: &&Cpu| same_core(other, seat(id));
            let one_core = seats.iter().all(|other| same_core(other, &seats[0]));
            prop_assert_eq!(same_core(seat(measured), seat(load)), one_core);

            let third_core = seats
                .iter()
                .any(|other| !sibling_of(measured)(&other) && !sibling_of(load)(&other));
            let apart = !same_core(seat(tool), seat(measured)) && !same_core(seat(tool), seat(load));
            prop_assert_eq!(apart, third_core);
            if cores(&seats) >= CORES_TO_SPARE_ONE {
                prop_assert!(!same_core(seat(measured), &super::seat(&cpus, 0)));
            }
        }

        #[test]
        fn the_order_of_the_input_does_not_matter((cpus, allowed) in machines()) {
            let reversed = |list: &[u32]| list.iter().rev().copied().collect::<Vec<_>>();
            let backwards: Vec<Cpu> = cpus.iter().rev().cloned().collect();
            prop_assert_eq!(choose(&cpus, &allowed), choose(&backwards, &reversed(&allowed)));
        }
    }
}
