//! The function in which threads of a process spin, according to the symbols of its program.
//!
//! The memory map of a process would tell more, also about libraries, but reading it takes its
//! lock.

use crate::findings::LEAST_SAMPLES;
use crate::reader::{Answer, Readers, What};
use crate::tick::{Spot, Tick};
use host::process_files;
use host::roots::Roots;
use probe::live::{ThreadCounts, is_outside};
use std::collections::HashMap;

/// Most processes that are looked up in an interval.
const MOST: usize = 4;

/// Most places that are remembered.
const MOST_KNOWN: usize = 256;

/// Looks places up, and remembers them.
pub struct Spots {
    roots: Roots,
    /// By process, its start, and address.
    known: HashMap<(u32, u64, u64), Spot>,
}

impl Spots {
    /// For this machine.
    pub fn new(roots: &Roots) -> Self {
        Spots { roots: roots.clone(), known: HashMap::new() }
    }

    /// Names where the threads of a tick spun, for processes that spun often enough.
    pub fn name(&mut self, tick: &mut Tick, readers: &mut Readers) {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        for (pid, address) in wanted(tick) {
            let spot = self.spot(pid, address, readers);
            tick.spots.insert(pid, spot);
        }
    }

    fn spot(&mut self, pid: u32, address: u64, readers: &mut Readers) -> Spot {
        let unnamed = Spot { address, function: None };
        let Some(started) = process_files::started(&self.roots, pid) else { return unnamed };
        if let Some(known) = self.known.get(&(pid, started, address)) {
            return known.clone();
        }
        let Some(answer) = readers.ask(&self.roots, pid, What::InProgram(address)) else {
            return unnamed;
        };
        let function = match answer {
            Answer::Functions(names) => names.into_iter().next().flatten(),
            _ => None,
        };
        let spot = Spot { address, function };
        self.known.insert((pid, started, address), spot.clone());
        spot
    }
}

/// The processes in which most samples spun, and the address of the thread that spun most.
fn wanted(tick: &Tick) -> Vec<(u32, u64)> {
    let mut by_process: HashMap<u32, (u64, u64, u64)> = HashMap::new();
    let spun = |thread: &&ThreadCounts| thread.spins > 0 && thread.spin_at > 0;
    for thread in tick.threads.iter().filter(spun).filter(|thread| !is_outside(thread.pid)) {
        let (all, most, at) = by_process.entry(thread.pid).or_default();
        *all += thread.spins;
        if thread.spins > *most {
            (*most, *at) = (thread.spins, thread.spin_at);
        }
    }
    let enough = |(_, (all, _, _)): &(u32, (u64, u64, u64))| *all * 5 >= LEAST_SAMPLES;
    let mut all: Vec<_> = by_process.into_iter().filter(enough).collect();
    all.sort_by_key(|(pid, (spins, _, _))| (std::cmp::Reverse(*spins), *pid));
    all.truncate(MOST);
    all.into_iter().map(|(pid, (_, _, at))| (pid, at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{second, thread};

    #[test]
    fn a_function_of_this_very_program_is_found_by_its_address() {
        let here = a_function_of_this_very_program_is_found_by_its_address as fn() as usize as u64;
        let mut spots = Spots::new(&Roots::real());
        let mut name = |at| spots.spot(std::process::id(), at, &mut Readers::Here).function;
        let found = name(here + 1).unwrap();
        assert!(found.contains("a_function_of_this_very_program"), "{found}");
        assert_eq!(name(8), None);
    }

    #[test]
    fn only_processes_that_spin_enough_are_looked_up() {
        let mut tick = second();
        for (pid, spins) in [(1, 3), (2, 40), (3, 50)] {
            let mut one = thread(pid, 500, 0);
            (one.samples, one.spins, one.spin_at) = (50, spins, u64::from(pid) * 16);
            tick.threads.push(one);
        }
        assert_eq!(wanted(&tick), [(3, 48), (2, 32)]);
    }
}
