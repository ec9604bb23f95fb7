//! Microstate accounting: what the threads of a node did, by the VM's own clock.

use crate::calls::Call;
use beam::Term;
use beam::term::{self, atom};
use os::terminal;
use std::collections::BTreeMap;

/// The system flag that makes the VM count.
pub const FLAG: &str = "microstate_accounting";

/// Most kinds of threads, and most states, that are read. The VM has six kinds and seven states,
/// or some twenty states if it is built with more.
const MOST: usize = 32;

/// Most characters of their names.
const LONGEST: usize = 64;

/// The time that threads spent in each state since the VM began to count. The keys are the kind
/// of thread and the state, in the VM's words. Times are in the VM's own unit; only their ratio
/// is used.
pub type Micro = BTreeMap<String, BTreeMap<String, u64>>;

/// Asks for these times. They stand still while counting is switched off.
pub fn question() -> Call {
    Call::new("erlang", "statistics", vec![atom(FLAG)])
}

/// Switches the counting off.
pub fn switch_off() -> Call {
    Call::new("erlang", "system_flag", vec![atom(FLAG), atom("false")])
}

/// The sum of all times of all threads.
pub fn total(micro: &Micro) -> u64 {
    micro.values().flat_map(BTreeMap::values).fold(0, |all, time| all.saturating_add(*time))
}

/// Reads the answer to [`question`]; None if it is not one.
pub fn read(answer: &Term) -> Option<Micro> {
    let mut micro = Micro::new();
    for thread in term::as_list(answer).ok()?.iter() {
        let kind = term::field(thread, "type", term::as_atom).ok()?;
        let Ok(Term::Map(counters)) = term::field(thread, "counters", Ok) else { return None };
        let kind = name(kind);
        if micro.len() >= MOST && !micro.contains_key(&kind) {
            continue;
        }
        let states = micro.entry(kind).or_default();
        for (state, time) in &counters.map {
            let (Ok(state), Ok(time)) = (term::as_atom(state), term::as_u64(time)) else {
                continue;
            };
            let state = name(state);
            if states.len() < MOST || states.contains_key(&state) {
                let sum = states.entry(state).or_default();
                *sum = sum.saturating_add(time);
            }
        }
    }
    Some(micro)
}

fn name(text: &str) -> String {
    terminal::line(&text.chars().take(LONGEST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::term::{list, map, uint};

    fn thread(kind: &str, emulator: u64, sleep: u64) -> Term {
        let counters = map([("emulator", uint(emulator)), ("sleep", uint(sleep))]);
        map([("type", atom(kind)), ("id", uint(1)), ("counters", counters)])
    }

    #[test]
    fn threads_of_a_kind_are_added_up() {
        let threads = [thread("scheduler", 5, 1), thread("aux", 0, 9), thread("scheduler", 2, 3)];
        let micro = read(&list(threads.to_vec())).unwrap();
        assert_eq!(
            micro["scheduler"],
            BTreeMap::from([("emulator".into(), 7), ("sleep".into(), 4)])
        );
        assert_eq!((micro["aux"]["sleep"], total(&micro)), (9, 20));
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(read(&atom("undefined")), None);
        assert_eq!(read(&list(vec![atom("x")])), None);
        assert_eq!(read(&list(vec![thread("a", 1, 1), map([("type", atom("b"))])])), None);
        let many: Vec<Term> = (0..99).map(|n| thread(&format!("t{n}"), 1, u64::MAX)).collect();
        assert_eq!(read(&list(many)).unwrap().len(), MOST);
    }
}
