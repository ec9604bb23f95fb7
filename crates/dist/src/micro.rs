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

/// The time that threads spent in each state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Micro {
    /// By the kind of thread and the state, in the VM's words. Times are in the VM's own unit; only
    /// their ratio is used.
    pub times: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Micro {
    /// The time in each state since an earlier answer; nothing if a time went back: the counters
    /// were reset.
    pub fn since(&self, before: &Micro) -> Micro {
        let mut gained = self.clone();
        for (threads, states) in &before.times {
            let now = gained.times.entry(threads.clone()).or_default();
            for (state, time) in states {
                let now = now.entry(state.clone()).or_default();
                let Some(more) = now.checked_sub(*time) else { return Micro::default() };
                *now = more;
            }
        }
        gained
    }

    /// Adds these times. A node that sends other names each time does not make it grow without
    /// bound.
    pub fn add(&mut self, more: &Micro) {
        for (threads, states) in &more.times {
            let Some(times) = entry(&mut self.times, threads) else { continue };
            for (state, more) in states {
                if let Some(time) = entry(times, state) {
                    *time = time.saturating_add(*more);
                }
            }
        }
    }
}

/// The value of this key, if it is there or has room.
fn entry<'a, V: Default>(map: &'a mut BTreeMap<String, V>, key: &str) -> Option<&'a mut V> {
    if map.len() >= MOST && !map.contains_key(key) {
        return None;
    }
    Some(map.entry(key.to_owned()).or_default())
}

/// Asks for these times since the VM began to count. They stand still while counting is switched
/// off.
pub fn question() -> Call {
    Call::new("erlang", "statistics", vec![atom(FLAG)])
}

/// Switches the counting off.
pub fn switch_off() -> Call {
    Call::new("erlang", "system_flag", vec![atom(FLAG), atom("false")])
}

/// Reads the answer to [`question`]; None if it is not one.
pub fn read(answer: &Term) -> Option<Micro> {
    let mut micro = Micro::default();
    for thread in term::as_list(answer).ok()?.iter() {
        let kind = term::field(thread, "type", term::as_atom).ok()?;
        let Ok(Term::Map(counters)) = term::field(thread, "counters", Ok) else { return None };
        let Some(states) = entry(&mut micro.times, &name(kind)) else { continue };
        for (state, time) in &counters.map {
            let (Ok(state), Ok(time)) = (term::as_atom(state), term::as_u64(time)) else {
                continue;
            };
            if let Some(sum) = entry(states, &name(state)) {
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
pub(crate) mod tests {
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
            micro.times["scheduler"],
            BTreeMap::from([("emulator".into(), 7), ("sleep".into(), 4)])
        );
        assert_eq!(
            micro.times["aux"],
            BTreeMap::from([("emulator".into(), 0), ("sleep".into(), 9)])
        );
    }

    /// The answer of a node with one scheduler.
    pub(crate) fn answer(emulator: u64, sleep: u64) -> Term {
        list(vec![thread("scheduler", emulator, sleep)])
    }

    fn micro(emulator: u64, sleep: u64) -> Micro {
        read(&answer(emulator, sleep)).unwrap()
    }

    #[test]
    fn what_was_gained_between_two_answers_is_added_up() {
        let mut sum = Micro::default();
        for (before, now) in [((5, 1), (9, 1)), ((9, 4), (10, 6))] {
            sum.add(&micro(now.0, now.1).since(&micro(before.0, before.1)));
        }
        assert_eq!(sum, micro(5, 2));
        assert_eq!(micro(5, 2).since(&Micro::default()), micro(5, 2), "they began to be counted");
    }

    #[test]
    fn counters_that_were_reset_have_gained_nothing() {
        let none = Micro::default();
        assert_eq!(micro(90, 3).since(&micro(80, 4)), none);
        let aux = read(&list(vec![thread("aux", 100, 100)])).unwrap();
        assert_eq!(aux.since(&micro(1, 1)), none, "it has no scheduler");
    }

    #[test]
    fn a_node_that_sends_other_names_each_time_gets_no_more_memory() {
        let mut sum = Micro::default();
        for n in 0..99 {
            sum.add(&read(&list(vec![thread(&format!("t{n}"), 1, 1)])).unwrap());
        }
        assert_eq!(sum.times.len(), MOST);
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(read(&atom("undefined")), None);
        assert_eq!(read(&list(vec![atom("x")])), None);
        assert_eq!(read(&list(vec![thread("a", 1, 1), map([("type", atom("b"))])])), None);
        let many: Vec<Term> = (0..99).map(|n| thread(&format!("t{n}"), 1, u64::MAX)).collect();
        assert_eq!(read(&list(many)).unwrap().times.len(), MOST);
    }
}
