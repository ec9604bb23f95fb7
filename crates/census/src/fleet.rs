//! The records of a fleet that were read so far, with a small struct for each host and scenario.

use crate::answer::Answer;
use crate::aside::Aside;
use crate::file_host::FileHost;
use crate::files::Files;
use crate::kinds::Kinds;
use crate::row::{Row, Said, Where};
use crate::texts::Names;
use crate::trials::Span;
use model::census::{Example, Read, RecordPlace, SetAside, Why};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Most answers of hosts to scenarios. This is the capacity of a hash table with four million
/// slots, before it doubles.
const MOST_ROWS: usize = 7 << 19;

/// Most bytes of host names.
const MOST_HOST_BYTES: usize = 128 << 20;

/// Most versions of tailback that are distinguished.
const MOST_VERSIONS: usize = 32;

/// The label for all further versions.
const OTHER_VERSIONS: &str = "others";

/// The earliest possible start of a record, in seconds since 1970: 2026-01-01.
const FIRST_RECORD: i64 = 1_767_225_600;

/// The largest acceptable difference between clocks, in seconds.
const CLOCKS_DIFFER: i64 = 3600;

/// The state of a fleet while it is read.
#[derive(Debug)]
pub struct Fleet {
    /// The scenarios of the census, by number.
    pub(crate) scenarios: Vec<String>,
    pub(crate) kinds: Arc<Kinds>,
    hosts: Names,
    pub(crate) rows: HashMap<(u32, u8), Row>,
    /// The places of the trials of answers that count.
    pub(crate) trials: HashMap<(u32, u8), Span>,
    /// Records whose trials were wanted but could not be read.
    pub(crate) lost_trials: u64,
    files: Files,
    aside: Aside,
    versions: Vec<String>,
    /// The current time, in seconds since 1970.
    pub(crate) now: i64,
}

impl Fleet {
    /// An empty fleet; `now` is in seconds since 1970.
    pub fn new(scenarios: &[&str], now: i64) -> Self {
        Fleet {
            scenarios: scenarios.iter().map(|name| (*name).to_owned()).collect(),
            kinds: Arc::default(),
            hosts: Names::default(),
            rows: HashMap::new(),
            trials: HashMap::new(),
            lost_trials: 0,
            files: Files::default(),
            aside: Aside::default(),
            versions: Vec::new(),
            now,
        }
    }

    /// Begins the next file, or the next entry of an archive. All further records belong to it.
    /// An entry does not count as a file.
    pub(crate) fn begin(&mut self, name: &str, is_file: bool) {
        self.files.begin(name, is_file);
    }

    /// Adds a record of the current file. `line` is its line, or 0 if it is the whole file.
    /// `file_host` is the host that the file is named after. `trials` is the place of the record's
    /// trials.
    pub(crate) fn add_record(
        &mut self,
        answer: Answer,
        file_host: &FileHost,
        line: u32,
        trials: Option<Span>,
    ) {
        let Some((host, by)) = file_host.host_of(answer.host.as_deref(), line) else {
            let example = Example { claims: answer.host, ..example(self.files.name(), line) };
            return self.aside.add(Why::OtherHost, 1, std::iter::once(example));
        };
        if !self.has_room(&host, answer.scenario) {
            return self.set_aside(Why::TooMany, 1, [line].into_iter());
        }
        if answer.contradictory {
            self.set_aside(Why::Contradictory, 1, [line].into_iter());
        }
        let right = (FIRST_RECORD..=self.now + CLOCKS_DIFFER).contains(&answer.started);
        if !right {
            self.set_aside(Why::WrongClock, 1, [line].into_iter());
        }
        let host = self.hosts.number(&host);
        let row = Row {
            started: answer.started,
            right,
            study: answer.study,
            blocks: answer.blocks,
            kind: answer.kind,
            place: Where { source: self.files.number(), line },
            shift: answer.shift.map_or(f32::NAN, |(shift, _)| shift),
            unit: answer.shift.map(|(_, unit)| unit),
            state: answer.state,
            doubted: answer.contradictory,
            said: Said::of(answer.state),
            version: self.version(&answer.version),
            brief: answer.brief,
            by,
        };
        if self.answer(host, answer.scenario, row) {
            self.lost_trials += u64::from(answer.lost_trials);
            match trials {
                Some(span) => self.trials.insert((host, answer.scenario), span),
                None => self.trials.remove(&(host, answer.scenario)),
            };
        }
    }

    /// Whether there is room for an answer. An answer that replaces another one always has room.
    fn has_room(&self, host: &str, scenario: u8) -> bool {
        let (rows, names) =
            (self.rows.len() < MOST_ROWS, self.hosts.bytes() + host.len() <= MOST_HOST_BYTES);
        let known = || self.hosts.find(host);
        let replaces = |number: u32| self.rows.contains_key(&(number, scenario));
        rows && names || known().is_some_and(|number| rows || replaces(number))
    }

    /// Adds an answer, and returns whether it counts. The result does not depend on the order of
    /// reading.
    fn answer(&mut self, host: u32, scenario: u8, row: Row) -> bool {
        let mut held = match self.rows.entry((host, scenario)) {
            Entry::Vacant(empty) => {
                empty.insert(row);
                return true;
            }
            Entry::Occupied(held) => held,
        };
        let counts = row.counts_before(held.get());
        let lesser = if counts { held.insert(row) } else { row };
        let greater = held.get_mut();
        let why = if lesser.is_copy_of(greater) {
            Why::Duplicate
        } else {
            lesser.why_superseded(greater)
        };
        if lesser.rank() == greater.rank() {
            greater.said = greater.said.and(lesser.said, lesser.study == greater.study);
        }
        greater.doubted |= greater.said.is_contradictory() || why == Why::TwoAnswers;
        let other = greater.place;
        let named = matches!(why, Why::TwoAnswers | Why::TwoFiles);
        let example = || Example {
            place: self.place(lesser.place),
            claims: named.then(|| self.host(host).to_owned()),
            other: named.then(|| self.place(other)),
        };
        let example = self.aside.wants(why).then(example);
        self.aside.add(why, 1, example.into_iter());
        counts
    }

    /// Counts records of the current file that do not count, or count with a doubt. `lines` are
    /// the lines of some of them.
    pub(crate) fn set_aside(&mut self, why: Why, more: u64, lines: impl Iterator<Item = u32>) {
        let name = self.files.name();
        self.aside.add(why, more, lines.map(|line| example(name, line)));
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

    /// The number of hosts with a record.
    pub(crate) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The name of a host.
    pub(crate) fn host(&self, number: u32) -> &str {
        self.hosts.get(number)
    }

    /// The number of the host with this name.
    pub(crate) fn number_of(&self, name: &str) -> Option<u32> {
        self.hosts.find(name)
    }

    /// The version of tailback that wrote an answer.
    pub(crate) fn version_of(&self, row: &Row) -> &str {
        self.versions.get(usize::from(row.version)).map_or("", |version| version)
    }

    /// The name of the file that a record is in.
    pub(crate) fn file_name(&self, place: Where) -> &str {
        self.files.name_of(place.source)
    }

    /// The number of records that count, but whose trials were wanted and could not be read.
    pub fn lost_trials(&self) -> u64 {
        self.lost_trials
    }

    /// The place of a record, with the name of its file.
    pub(crate) fn place(&self, place: Where) -> RecordPlace {
        named(self.file_name(place), place.line)
    }

    /// The records that do not count, or count with a doubt.
    pub(crate) fn aside(&self) -> Vec<SetAside> {
        self.aside.all()
    }

    /// A summary of the records that count.
    pub(crate) fn read(&self) -> Read {
        let mut read = Read { files: self.files.count(), ..Read::default() };
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

/// A line of a file; line 0 is the whole file.
fn named(file: &str, line: u32) -> RecordPlace {
    RecordPlace { file: file.to_owned(), line: (line > 0).then(|| u64::from(line)) }
}

fn example(file: &str, line: u32) -> Example {
    Example { place: named(file, line), claims: None, other: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_host::Given;
    use model::State;

    const NOW: i64 = 1_800_000_000;

    fn answer(host: &str, state: State, started: i64, study: u32) -> Answer {
        Answer {
            host: Some(host.to_owned()),
            scenario: 0,
            state,
            contradictory: false,
            started: NOW - 1000 + started,
            study,
            blocks: 8,
            kind: 0,
            shift: None,
            version: "1".to_owned(),
            brief: true,
            trials: None,
            lost_trials: false,
        }
    }

    /// A fleet of these answers. Each is in a file with this name, obtained in this way.
    fn in_files(answers: &[(&str, Given, Answer)]) -> (Fleet, Vec<(Why, u64)>) {
        let mut fleet = Fleet::new(&["mmap-lock"], NOW);
        for ((name, given, answer), line) in answers.iter().zip(1..) {
            if line == 1 || *name != fleet.files.name() {
                fleet.begin(name, true);
            }
            let host = name.trim_end_matches(".jsonl");
            fleet.add_record(answer.clone(), &FileHost::new(host, *given, None), line, None);
        }
        let aside = fleet.aside().iter().map(|one| (one.why, one.count)).collect();
        (fleet, aside)
    }

    fn of(answers: &[Answer]) -> (Fleet, Vec<(Why, u64)>) {
        let each = answers.iter().map(|answer| ("all.jsonl", Given::Named, answer.clone()));
        in_files(&each.collect::<Vec<_>>())
    }

    /// The states of host a and of host b.
    fn states(fleet: &Fleet) -> [Option<State>; 2] {
        ["a", "b"].map(|name| Some(fleet.rows[&(fleet.number_of(name)?, 0)].state()))
    }

    #[test]
    fn no_host_speaks_for_another_where_each_has_its_file() {
        use Given::Found;
        use State::{Affected, NotAffected};
        let sick = ("b.jsonl", Found, answer("b", Affected, 1, 1));
        let well = ("a.jsonl", Found, answer("a", NotAffected, 1, 2));
        let lie = ("a.jsonl", Found, answer("b", NotAffected, 2, 3));
        for order in [[&sick, &well, &lie], [&lie, &well, &sick]] {
            let (fleet, aside) = in_files(&order.map(Clone::clone));
            assert_eq!(states(&fleet), [Some(NotAffected), Some(Affected)]);
            assert_eq!(aside, [(Why::OtherHost, 1)]);
            let example = &fleet.aside()[0].examples[0];
            assert_eq!((&*example.place.file, example.claims.as_deref()), ("a.jsonl", Some("b")));
        }
        // Nor does it for a host without a file.
        let (fleet, aside) = in_files(&[well, lie]);
        assert_eq!((states(&fleet), fleet.hosts()), ([Some(NotAffected), None], 1));
        assert_eq!(aside, [(Why::OtherHost, 1)]);
    }

    #[test]
    fn of_files_that_are_named_a_host_s_own_counts_before_others() {
        use Given::Named;
        use State::{Affected, NotAffected};
        let sick = ("b.jsonl", Named, answer("b", Affected, 1, 1));
        let lie = ("a.jsonl", Named, answer("b", NotAffected, 2, 3));
        for order in [[&sick, &lie], [&lie, &sick]] {
            let (fleet, aside) = in_files(&order.map(Clone::clone));
            assert_eq!(states(&fleet), [None, Some(Affected)]);
            assert_eq!(aside, [(Why::TwoFiles, 1)]);
            let example = &fleet.aside()[0].examples[0];
            assert_eq!((&*example.place.file, example.claims.as_deref()), ("a.jsonl", Some("b")));
            assert_eq!(example.other.as_ref().unwrap().file, "b.jsonl");
        }
    }

    #[test]
    fn a_host_of_two_files_of_many_is_named() {
        use Given::Named;
        use State::{Affected, NotAffected};
        let one = ("monday.jsonl", Named, answer("b", Affected, 1, 1));
        let other = ("friday.jsonl", Named, answer("b", NotAffected, 2, 3));
        for order in [[&one, &other], [&other, &one]] {
            let (fleet, aside) = in_files(&order.map(Clone::clone));
            assert_eq!(states(&fleet), [None, Some(NotAffected)]);
            assert_eq!(aside, [(Why::TwoFiles, 1)]);
            let example = &fleet.aside()[0].examples[0];
            assert_eq!(example.place.file, "monday.jsonl");
            assert_eq!(example.other.as_ref().unwrap().file, "friday.jsonl");
        }
        // A folder has one file for each run of a host, and a duplicate is still recognised.
        let run = |answer| ("b.jsonl", Given::Found, answer);
        let runs = [run(answer("b", Affected, 1, 1)), run(answer("b", NotAffected, 2, 3))];
        assert_eq!(in_files(&runs).1, [(Why::Superseded, 1)]);
        let copy = ("friday.jsonl", Named, one.2.clone());
        assert_eq!(in_files(&[one, copy]).1, [(Why::Duplicate, 1)]);
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
    fn a_study_that_was_continued_counts_as_it_ended() {
        let of_study = |state, study, blocks| Answer { blocks, ..answer("a", state, 1, study) };
        let open = of_study(State::Inconclusive, 5, 6);
        let settled = of_study(State::Affected, 5, 12);
        // In the host's own file, named or found, and in two files of many hosts.
        let files = [
            ("a.jsonl", "a.jsonl", Given::Named),
            ("a.jsonl", "a.jsonl", Given::Found),
            ("monday.jsonl", "friday.jsonl", Given::Named),
        ];
        for (first, second, given) in files {
            for [one, other] in [[&open, &settled], [&settled, &open]] {
                let both = [(first, given, one.clone()), (second, given, other.clone())];
                let (fleet, aside) = in_files(&both);
                assert_eq!(fleet.rows[&(0, 0)].state(), State::Affected, "{first} {second}");
                assert_eq!(aside, [(Why::Superseded, 1)], "{first} {second}");
            }
        }
        // A settled study ends, so a longer one with another verdict is no continuation.
        let contrary = of_study(State::NotAffected, 5, 20);
        for order in [[&settled, &contrary], [&contrary, &settled]] {
            let (fleet, aside) = of(&order.map(Clone::clone));
            assert_eq!(fleet.rows[&(0, 0)].state(), State::Untrustworthy);
            assert_eq!(aside, [(Why::TwoAnswers, 1)]);
        }
        // Another study of the same moment is no continuation, in whatever order they are read.
        // Nor does a still longer record of the study settle which of two others is right.
        let rivals = [of_study(State::NotAffected, 4, 9), of_study(State::NotAffected, 6, 9)];
        let longest = of_study(State::NotAffected, 5, 30);
        let all = rivals.each_ref().map(|rival| [&open, &settled, rival]);
        for all in all.into_iter().chain([[&settled, &contrary, &longest]]) {
            let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
            for order in orders {
                let (fleet, _) = of(&order.map(|place: usize| all[place].clone()));
                assert_eq!(fleet.rows[&(0, 0)].state(), State::Untrustworthy, "{order:?}");
            }
        }
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

    #[test]
    fn hosts_of_endless_names_end() {
        let mut fleet = Fleet::new(&["mmap-lock"], NOW);
        fleet.begin("all.jsonl", true);
        let file_host = FileHost::new("all", Given::Named, None);
        let long = "x".repeat(1 << 20);
        let mut take = |number: u32, started| {
            let host = format!("{long}{number}");
            fleet.add_record(answer(&host, State::Affected, started, 1), &file_host, 1, None);
        };
        (0..200).for_each(|number| take(number, 1));
        // A known answer may still be replaced.
        take(0, 2);
        assert_eq!(fleet.hosts(), 127);
        let aside: Vec<(Why, u64)> = fleet.aside().iter().map(|one| (one.why, one.count)).collect();
        assert_eq!(aside, [(Why::Superseded, 1), (Why::TooMany, 73)]);
    }
}
