//! A fleet as far as it was read: a small struct for each host and scenario.

use crate::answer::Answer;
use crate::kinds::Kinds;
use crate::trials::Span;
use model::census::{Place, Read, SetAside, Why};
use model::{State, Unit};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Places that are named of each reason to set something aside, at most.
pub(crate) const MOST_EXAMPLES: usize = 20;

/// Answers of hosts to scenarios that are taken, at most: three gigabytes.
const MOST_ROWS: usize = 10_000_000;

/// Names of files that are kept, at most, in bytes; further ones have one name together.
const MOST_NAMES: usize = 1 << 30;

/// The name of files beyond that.
const OTHER_FILES: &str = "another file";

/// Versions of tailback that are told apart, at most.
const MOST_VERSIONS: usize = 32;

/// What stands in the place of further versions.
const OTHER_VERSIONS: &str = "others";

/// When tailback's first record could have been made, in seconds since 1970: 2026-01-01.
const FIRST_RECORD: i64 = 1_767_225_600;

/// By how much clocks may differ, in seconds.
const CLOCKS_DIFFER: i64 = 3600;

/// Where a record is, in little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Where {
    /// The file, by its number.
    pub source: u32,
    /// The line, from 1; 0 where the file is one record.
    pub line: u32,
}

/// The answer of one host to one scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) started: i64,
    /// The clock of its host may be right.
    right: bool,
    fingerprint: u64,
    pub(crate) kind: u32,
    pub(crate) place: Where,
    pub(crate) shift: f32,
    pub(crate) unit: Option<Unit>,
    state: State,
    /// Its verdict is not to be believed, or stands against another of the same moment.
    pub(crate) doubted: bool,
    version: u8,
    pub(crate) brief: bool,
}

impl Row {
    /// By which the later of two answers is told.
    pub(crate) fn moment(&self) -> (bool, i64) {
        (self.right, self.started)
    }

    /// The answer that counts.
    pub(crate) fn state(&self) -> State {
        let settled = matches!(self.state, State::Affected | State::NotAffected);
        if self.doubted && settled { State::Untrustworthy } else { self.state }
    }
}

/// Names of hosts by number, and numbers by name.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let (number, name) = (self.names.len() as u32, Arc::<str>::from(name));
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

/// What was read of a fleet so far.
#[derive(Debug)]
pub struct Fleet {
    /// The scenarios that count, by their number.
    pub(crate) scenarios: Vec<String>,
    pub(crate) kinds: Arc<Kinds>,
    hosts: Names,
    pub(crate) rows: HashMap<(u32, u8), Row>,
    /// Where the trials of an answer that counts are kept.
    pub(crate) trials: HashMap<(u32, u8), Span>,
    /// Records whose trials were wanted and could not be read.
    pub(crate) lost_trials: u64,
    sources: Vec<Box<str>>,
    /// Bytes of their names.
    names: usize,
    aside: BTreeMap<Why, (u64, Vec<Where>)>,
    versions: Vec<String>,
    files: u64,
    /// Now, in seconds since 1970.
    pub(crate) now: i64,
}

impl Fleet {
    /// A fleet of which nothing was read yet; `now` is in seconds since 1970.
    pub fn new(scenarios: &[&str], now: i64) -> Self {
        Fleet {
            scenarios: scenarios.iter().map(|name| (*name).to_owned()).collect(),
            kinds: Arc::default(),
            hosts: Names::default(),
            rows: HashMap::new(),
            trials: HashMap::new(),
            lost_trials: 0,
            sources: Vec::new(),
            names: 0,
            aside: BTreeMap::new(),
            versions: Vec::new(),
            files: 0,
            now,
        }
    }

    /// One more file, or entry of an archive; its number. An entry is no file of its own.
    pub(crate) fn source(&mut self, name: &str, is_file: bool) -> u32 {
        self.files += u64::from(is_file);
        self.names += name.len() + size_of::<Box<str>>();
        let is_known = self.sources.last().is_some_and(|last| **last == *OTHER_FILES);
        if self.names > MOST_NAMES && !is_known {
            self.sources.push(OTHER_FILES.into());
        } else if self.names <= MOST_NAMES {
            self.sources.push(name.into());
        }
        (self.sources.len() - 1) as u32
    }

    /// Takes in the record of a place; `host` is its host where it does not say, and `trials` where
    /// its trials are kept.
    pub(crate) fn take(&mut self, answer: Answer, host: &str, place: Where, trials: Option<Span>) {
        if self.rows.len() >= MOST_ROWS {
            return self.set_aside(Why::TooMany, 1, [place].into_iter());
        }
        if answer.contradictory {
            self.set_aside(Why::Contradictory, 1, [place].into_iter());
        }
        let right = (FIRST_RECORD..=self.now + CLOCKS_DIFFER).contains(&answer.started);
        if !right {
            self.set_aside(Why::WrongClock, 1, [place].into_iter());
        }
        let host = self.hosts.number(answer.host.as_deref().unwrap_or(host));
        let row = Row {
            started: answer.started,
            right,
            fingerprint: answer.fingerprint,
            kind: answer.kind,
            place,
            shift: answer.shift.map_or(f32::NAN, |(shift, _)| shift),
            unit: answer.shift.map(|(_, unit)| unit),
            state: answer.state,
            doubted: answer.contradictory,
            version: self.version(&answer.version),
            brief: answer.brief,
        };
        if self.answer(host, answer.scenario, row) {
            self.lost_trials += u64::from(answer.lost_trials);
            match trials {
                Some(span) => self.trials.insert((host, answer.scenario), span),
                None => self.trials.remove(&(host, answer.scenario)),
            };
        }
    }

    /// Takes an answer, and says whether it counts. The later answer of a host does, in any order
    /// of reading. One whose clock is right counts before one whose clock is wrong: else that
    /// would stand against all later ones once the clock is put right.
    fn answer(&mut self, host: u32, scenario: u8, row: Row) -> bool {
        let mut held = match self.rows.entry((host, scenario)) {
            Entry::Vacant(empty) => {
                empty.insert(row);
                return true;
            }
            Entry::Occupied(held) => held,
        };
        let other = held.get_mut();
        let later = row.moment() > other.moment();
        let (why, place) = if later {
            let place = other.place;
            *other = row;
            (Why::Superseded, place)
        } else if row.moment() < other.moment() {
            (Why::Superseded, row.place)
        } else if row.fingerprint == other.fingerprint {
            (Why::Duplicate, row.place)
        } else {
            other.doubted = true;
            (Why::TwoAnswers, row.place)
        };
        self.set_aside(why, 1, [place].into_iter());
        later
    }

    /// Counts what does not count, or counts with a doubt; `places` are some of it.
    pub(crate) fn set_aside(&mut self, why: Why, more: u64, places: impl Iterator<Item = Where>) {
        let (count, examples) = self.aside.entry(why).or_default();
        *count += more;
        examples.extend(places.take(MOST_EXAMPLES.saturating_sub(examples.len())));
    }

    fn version(&mut self, version: &str) -> u8 {
        let known = self.versions.iter().position(|known| known == version);
        let place = known.unwrap_or_else(|| {
            let version =
                if self.versions.len() < MOST_VERSIONS { version } else { OTHER_VERSIONS };
            if self.versions.len() <= MOST_VERSIONS {
                self.versions.push(version.to_owned());
            }
            self.versions.len() - 1
        });
        place as u8
    }

    /// Hosts with a record.
    pub(crate) fn hosts(&self) -> usize {
        self.hosts.names.len()
    }

    /// The name of a host.
    pub(crate) fn host(&self, number: u32) -> &str {
        self.hosts.names.get(number as usize).map_or("", |name| name)
    }

    /// The number of a host of this name.
    pub(crate) fn number_of(&self, name: &str) -> Option<u32> {
        self.hosts.numbers.get(name).copied()
    }

    /// The version of tailback that wrote an answer.
    pub(crate) fn version_of(&self, row: &Row) -> &str {
        self.versions.get(usize::from(row.version)).map_or("", |version| version)
    }

    /// The name of the file that a record is in.
    pub(crate) fn source_name(&self, place: Where) -> &str {
        self.sources.get(place.source as usize).map_or("", |name| name)
    }

    /// Records that count whose trials were wanted and could not be read.
    pub fn lost_trials(&self) -> u64 {
        self.lost_trials
    }

    /// Where a record is, with its name.
    pub(crate) fn place(&self, place: Where) -> Place {
        Place {
            file: self.source_name(place).to_owned(),
            line: (place.line > 0).then(|| u64::from(place.line)),
        }
    }

    /// What was read and does not count, or counts with a doubt.
    pub(crate) fn aside(&self) -> Vec<SetAside> {
        let each = self.aside.iter().map(|(why, (count, examples))| SetAside {
            why: *why,
            count: *count,
            examples: examples.iter().map(|place| self.place(*place)).collect(),
        });
        each.collect()
    }

    /// What was read and counts.
    pub(crate) fn read(&self) -> Read {
        let mut read = Read { files: self.files, ..Read::default() };
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for row in self.rows.values() {
            let count = if row.brief { &mut read.briefs } else { &mut read.records };
            *count += 1;
            let version = self.version_of(row);
            match read.versions.get_mut(version) {
                Some(count) => *count += 1,
                None => drop(read.versions.insert(version.to_owned(), 1)),
            }
            if row.right {
                (first, last) = (first.min(row.started), last.max(row.started));
            }
        }
        let time = |seconds: i64| Some(jiff::Timestamp::from_second(seconds).ok()?.to_string());
        if first <= last {
            (read.first, read.last) = (time(first), time(last));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn answer(host: &str, state: State, started: i64, seed: u64) -> Answer {
        Answer {
            host: Some(host.to_owned()),
            scenario: 0,
            state,
            contradictory: false,
            started: NOW - 1000 + started,
            fingerprint: seed,
            kind: 0,
            shift: None,
            version: "1".to_owned(),
            brief: true,
            trials: None,
            lost_trials: false,
        }
    }

    fn of(answers: &[Answer]) -> (Fleet, Vec<(Why, u64)>) {
        let mut fleet = Fleet::new(&["mmap-lock"], NOW);
        let source = fleet.source("a.jsonl", true);
        for (answer, line) in answers.iter().zip(1..) {
            fleet.take(answer.clone(), "", Where { source, line }, None);
        }
        let aside = fleet.aside().iter().map(|one| (one.why, one.count)).collect();
        (fleet, aside)
    }

    #[test]
    fn the_later_answer_counts_in_whatever_order() {
        let (old, new) =
            (answer("a", State::Affected, 1, 1), answer("a", State::NotAffected, 2, 2));
        for order in [[&old, &new], [&new, &old]] {
            let (fleet, aside) = of(&order.map(Clone::clone));
            assert_eq!(fleet.rows[&(0, 0)].state(), State::NotAffected);
            assert_eq!(aside, [(Why::Superseded, 1)]);
        }
    }

    #[test]
    fn a_clock_that_was_put_right_counts_before_a_wrong_one() {
        let (ahead, right) =
            (answer("a", State::Affected, 900_000, 1), answer("a", State::NotAffected, 2, 2));
        for order in [[&ahead, &right], [&right, &ahead]] {
            let (fleet, aside) = of(&order.map(Clone::clone));
            assert_eq!(fleet.rows[&(0, 0)].state(), State::NotAffected);
            assert_eq!(aside, [(Why::Superseded, 1), (Why::WrongClock, 1)]);
        }
    }

    #[test]
    fn copies_count_once_and_two_answers_prove_nothing() {
        let one = answer("a", State::Affected, 1, 1);
        let (fleet, aside) = of(&[one.clone(), one.clone()]);
        assert_eq!(
            (fleet.rows[&(0, 0)].state(), aside),
            (State::Affected, vec![(Why::Duplicate, 1)])
        );
        let (fleet, aside) = of(&[one, answer("a", State::NotAffected, 1, 2)]);
        assert_eq!(fleet.rows[&(0, 0)].state(), State::Untrustworthy);
        assert_eq!(aside, [(Why::TwoAnswers, 1)]);
    }

    #[test]
    fn a_wrong_clock_is_told_and_a_contradiction_is_not_believed() {
        let ahead = answer("a", State::Affected, 900_000, 1);
        let (fleet, aside) = of(&[ahead]);
        assert_eq!(
            (fleet.rows[&(0, 0)].state(), aside),
            (State::Affected, vec![(Why::WrongClock, 1)])
        );
        assert_eq!(fleet.read().first, None);
        let liar = Answer { contradictory: true, ..answer("a", State::NotAffected, 1, 1) };
        let (fleet, aside) = of(&[liar]);
        assert_eq!(fleet.rows[&(0, 0)].state(), State::Untrustworthy);
        assert_eq!(aside, [(Why::Contradictory, 1)]);
        assert_eq!(fleet.place(Where { source: 0, line: 1 }).line, Some(1));
    }
}
