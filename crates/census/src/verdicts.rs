//! Every answer that counts, one by one, for export to other programs.

use crate::fleet::Fleet;
use crate::kinds::HostKind;
use crate::row::Row;
use crate::trials::Span;
use model::{State, Unit};

/// The answer of one host to one scenario.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// The host.
    pub host: &'a str,
    /// The scenario.
    pub scenario: &'a str,
    /// The answer that counts.
    pub state: State,
    /// Whether the verdict contradicts the record's counts, or another record of the same moment.
    pub doubted: bool,
    /// Start of the study, in seconds since 1970, by the clock of the host.
    pub started: i64,
    /// How much more the worst arm loses than its control, if the host is affected.
    pub shift: Option<(f64, Unit)>,
    /// The properties that hosts of its kind share. None for kinds beyond the limit.
    pub kind: Option<&'a HostKind>,
    /// The number of the kind, the same in each census of the same records. None for kinds beyond
    /// the limit.
    pub kind_number: Option<u32>,
    /// Version of the tailback that wrote the record.
    pub version: &'a str,
    /// Whether it is a brief record.
    pub brief: bool,
    /// Its file. Within an archive, the entry's name follows after a colon.
    pub file: &'a str,
    /// Its line, from 1, if the file has one record per line.
    pub line: Option<u32>,
    /// The place of its trials.
    pub trials: Option<Span>,
}

/// All answers of a fleet, sorted by scenario and host name.
#[derive(Debug)]
pub struct Verdicts<'a> {
    fleet: &'a Fleet,
    kinds: Vec<HostKind>,
    /// The rank of each kind in their sorted order. Its number depends on the order in which
    /// threads found it.
    ranks: Vec<u32>,
    order: Vec<(u8, u32)>,
}

impl<'a> Verdicts<'a> {
    /// The answers of a fleet.
    pub fn of(fleet: &'a Fleet) -> Self {
        let mut by_name: Vec<u32> = (0u32..).take(fleet.hosts()).collect();
        by_name.sort_unstable_by(|a, b| fleet.host(*a).cmp(fleet.host(*b)));
        let mut ranks = vec![0u32; by_name.len()];
        by_name.into_iter().zip(0..).for_each(|(host, rank)| ranks[host as usize] = rank);
        let mut order: Vec<(u8, u32)> =
            fleet.rows.keys().map(|(host, scenario)| (*scenario, *host)).collect();
        order.sort_unstable_by_key(|(scenario, host)| (*scenario, ranks[*host as usize]));
        let all = fleet.kinds.all();
        let mut by_kind: Vec<(HostKind, usize)> = all.into_iter().zip(0..).collect();
        by_kind.sort_unstable();
        let mut ranks = vec![0; by_kind.len()];
        by_kind.iter().zip(0..).for_each(|((_, number), rank)| ranks[*number] = rank);
        let kinds = by_kind.into_iter().map(|(kind, _)| kind).collect();
        Verdicts { fleet, kinds, ranks, order }
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no answers.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All kinds of hosts, indexed by number.
    pub fn kinds(&self) -> &[HostKind] {
        &self.kinds
    }

    /// The answer at an index, from 0.
    pub fn get(&self, place: usize) -> Option<Verdict<'_>> {
        let (scenario, host) = *self.order.get(place)?;
        let row = self.fleet.rows.get(&(host, scenario))?;
        Some(self.verdict(host, scenario, row))
    }

    /// All answers, in order.
    pub fn iter(&self) -> impl Iterator<Item = Verdict<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    fn verdict(&self, host: u32, scenario: u8, row: &Row) -> Verdict<'_> {
        let fleet = self.fleet;
        let kind_number = self.ranks.get(row.kind as usize).copied();
        Verdict {
            host: fleet.host(host),
            scenario: fleet.scenarios.get(usize::from(scenario)).map_or("", |name| name),
            state: row.state(),
            doubted: row.doubted,
            started: row.started,
            shift: row.unit.map(|unit| (f64::from(row.shift), unit)),
            kind: kind_number.and_then(|number| self.kinds.get(number as usize)),
            kind_number,
            version: fleet.version_of(row),
            brief: row.brief,
            file: fleet.file_name(row.place),
            line: (row.place.line > 0).then_some(row.place.line),
            trials: fleet.trials.get(&(host, scenario)).copied(),
        }
    }
}
