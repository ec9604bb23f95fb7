//! Every answer that counts, one by one, for what hands a fleet to other programs.

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
    /// Its record says otherwise than its own counts, or another record of the same moment does.
    pub doubted: bool,
    /// When the study began, in seconds since 1970, by the clock of the host.
    pub started: i64,
    /// What the worst arm loses over its control, where the host is affected.
    pub shift: Option<(f64, Unit)>,
    /// What the host shares with others of its kind; `None` beyond the kinds that are told apart.
    pub kind: Option<&'a HostKind>,
    /// Number of the kind, the same in each census of the same records; `None` beyond those.
    pub kind_number: Option<u32>,
    /// Version of the tailback that wrote the record.
    pub version: &'a str,
    /// Whether the record is brief.
    pub brief: bool,
    /// Its file, and within an archive its name there behind a colon.
    pub file: &'a str,
    /// Its line, from 1, where the file has a record a line.
    pub line: Option<u32>,
    /// Where its trials are kept.
    pub trials: Option<Span>,
}

/// All answers of a fleet in the order of scenarios and the names of hosts.
#[derive(Debug)]
pub struct Verdicts<'a> {
    fleet: &'a Fleet,
    kinds: Vec<HostKind>,
    /// The place of each kind in their order: its number hangs on which thread was first.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All kinds of hosts, each at the place of its number.
    pub fn kinds(&self) -> &[HostKind] {
        &self.kinds
    }

    /// The answer at a place, from 0.
    pub fn get(&self, place: usize) -> Option<Verdict<'_>> {
        let (scenario, host) = *self.order.get(place)?;
        let row = self.fleet.rows.get(&(host, scenario))?;
        Some(self.verdict(host, scenario, row))
    }

    /// All of them, in their order.
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
