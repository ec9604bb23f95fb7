//! Parts: their numbers, and the processes that belong to each.

use crate::event::Event;
use crate::watched::{Role, Watched};
use model::evidence::{BehindKind, Task};
use std::collections::HashMap;

/// Most parts that the kernel programs distinguish, beside the threads without a part.
const MOST: usize = 6;

/// The part number of an idle CPU.
const IDLE: u8 = 7;

/// The watched processes, by part.
#[derive(Debug, Default)]
pub struct Parts {
    names: Vec<String>,
    of: HashMap<u32, (u8, Role)>,
    crowded: u64,
}

impl Parts {
    /// Adds a process; returns the number of its part, or 0 if there are too many parts.
    pub fn add(&mut self, watched: &Watched) -> u8 {
        let at = self.names.iter().position(|name| *name == watched.part).or_else(|| {
            (self.names.len() < MOST).then(|| {
                self.names.push(watched.part.clone());
                self.names.len() - 1
            })
        });
        let number = at.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(0);
        self.of.insert(watched.pid, (number, watched.role));
        number
    }

    /// The name of a part; None for number 0.
    pub fn name(&self, number: u8) -> Option<&str> {
        if number == IDLE {
            return Some(crate::IDLE);
        }
        let index = usize::from(number).checked_sub(1)?;
        self.names.get(index).map(String::as_str)
    }

    /// What a part number stands for in the list of threads that ran.
    pub fn kind(&self, number: u8) -> BehindKind {
        match self.name(number) {
            _ if number == IDLE => BehindKind::Idle,
            Some(_) => BehindKind::Part,
            None => BehindKind::Others,
        }
    }

    /// What a name returned by [`Parts::call`] stands for.
    pub fn kind_of(&self, name: &str) -> BehindKind {
        match self.names.iter().any(|part| part == name) {
            true => BehindKind::Part,
            false => BehindKind::Name,
        }
    }

    /// The part of a process.
    pub fn part_of(&self, pid: u32) -> Option<&str> {
        self.of.get(&pid).and_then(|(number, _)| self.name(*number))
    }

    /// The role of a process in the evidence.
    pub fn role(&self, pid: u32) -> Option<Role> {
        self.of.get(&pid).map(|(_, role)| *role)
    }

    /// How many processes belong to a part.
    pub fn count(&self, number: u8) -> u32 {
        let of = self.of.values().filter(|(part, _)| number > 0 && *part == number).count();
        u32::try_from(of).unwrap_or(u32::MAX)
    }

    /// Counts a process that found no free slot.
    pub fn crowd(&mut self) {
        self.crowded += 1;
    }

    /// Processes that found no free slot.
    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    /// The name of a thread in the list of threads that ran: its part, otherwise its own name.
    pub fn call(&self, event: &Event) -> String {
        self.part_of(event.pid).map_or_else(|| event.name.clone(), str::to_owned)
    }

    /// The thread of an event.
    pub fn task(&self, event: &Event) -> Task {
        Task {
            pid: event.pid,
            tid: event.tid,
            name: event.name.clone(),
            part: self.part_of(event.pid).map(str::to_owned),
            nice: Some(event.nice),
        }
    }
}
