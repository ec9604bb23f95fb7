//! What the records of many machines say together.

use crate::fact::Amount;
use crate::state::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that this version writes and reads.
pub const SCHEMA: &str = "tailback/census/1";

/// A fleet's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Census {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tailback that wrote it.
    pub version: String,
    /// When it was taken (RFC 3339, UTC).
    pub taken: String,
    /// What was read.
    pub read: Read,
    /// Hosts with a record that counts.
    pub hosts: u64,
    /// Hosts of the inventory without one; absent where there was no inventory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Hosts>,
    /// Hosts with a record that the inventory does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_in_inventory: Option<Hosts>,
    /// Kinds of hosts: those of one kind share everything that `tailback host identify` prints.
    pub kinds: u64,
    /// What was read and does not count, or counts with a doubt.
    pub set_aside: Vec<SetAside>,
    /// Each scenario that any host has a record of.
    pub scenarios: Vec<ScenarioCensus>,
    /// Hosts with the same answers, the largest group first.
    pub groups: Vec<Group>,
    /// Hosts in further groups, which are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hosts_in_other_groups: u64,
    /// What changed since an earlier census.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Read {
    /// Files.
    pub files: u64,
    /// Records with their trials.
    pub records: u64,
    /// Brief records.
    pub briefs: u64,
    /// The earliest start of a study that counts (RFC 3339, UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Versions of tailback that wrote what counts, and how many records of each.
    pub versions: BTreeMap<String, u64>,
}

/// What was read and does not count, or counts with a doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetAside {
    /// Why.
    pub why: Why,
    /// How many.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<Example>,
}

/// A record that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Example {
    /// Where it is.
    #[serde(flatten)]
    pub place: RecordPlace,
    /// The host that it says it is of, where that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// The other record of that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<RecordPlace>,
}

/// Why something does not count, or counts with a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Its file speaks for another host; it counts for neither.
    OtherHost,
    /// Another file has a record of the host too; that of the host's own file counts, else the
    /// later one.
    TwoFiles,
    /// The same study once more.
    Duplicate,
    /// The host has a later study of the scenario.
    Superseded,
    /// Another answer of a study that began at the same moment on the same host; neither counts as
    /// settled.
    TwoAnswers,
    /// Its verdict is not what its own counts give; it counts as untrustworthy.
    Contradictory,
    /// It is dated later than now, or before tailback was there; it counts.
    WrongClock,
    /// It ends before it is whole.
    Truncated,
    /// It is no record, or one that does not hold together.
    Damaged,
    /// It is larger than any record that is read.
    TooLarge,
    /// A schema that is newer than this version reads.
    Newer,
    /// A scenario that this version does not know.
    UnknownScenario,
    /// It could not be read.
    Unreadable,
    /// It is beyond the answers that a census takes.
    TooMany,
    /// An archive has more entries than are read; the others are left out.
    TooManyEntries,
}

/// Where a record is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordPlace {
    /// Its file, and within an archive its name there behind a colon.
    pub file: String,
    /// Its line, from 1, where the file has a record a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The answers of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioCensus {
    /// The scenario.
    pub scenario: String,
    /// Hosts by their answer.
    pub hosts: Counts,
    /// Of the hosts with a settled answer, those that are affected; absent where no answer is
    /// settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What tells affected hosts from clear ones.
    pub apart: Telling,
    /// The hosts that lose most.
    pub worst: Vec<Worst>,
    /// Hosts whose answer is not that of their kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
}

/// Hosts by their answer to one scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// The stall is there.
    pub affected: u64,
    /// It did not show where it would have shown.
    pub clear: u64,
    /// Neither is settled.
    pub inconclusive: u64,
    /// The record proves nothing.
    pub untrustworthy: u64,
    /// A need was missing.
    pub skipped: u64,
    /// Hosts with records, of other scenarios alone.
    pub not_measured: u64,
    /// Hosts of the inventory without any record.
    pub unreachable: u64,
}

impl Counts {
    /// Hosts without a settled answer, whatever the reason.
    pub fn undecided(&self) -> u64 {
        self.inconclusive + self.untrustworthy + self.skipped + self.not_measured + self.unreachable
    }
}

/// A share of hosts: bounds for this fleet, and an interval for fleets like it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Hosts that are affected.
    pub affected: u64,
    /// Hosts with a settled answer.
    pub of: u64,
    /// All other hosts of the fleet: their answer is not settled, or nobody measured them.
    #[serde(default)]
    pub undecided: u64,
    /// The share of this fleet that is affected if no undecided host is.
    #[serde(default)]
    pub least: f64,
    /// The share of this fleet that is affected if every undecided host is.
    #[serde(default)]
    pub most: f64,
    /// Kinds of the hosts with a settled answer.
    pub kinds: u64,
    /// Their owners, where the inventory names owners; the interval then allows for them too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<u64>,
    /// Upper limit of the correlation of hosts of a kind: 0 where they are independent, 1 where
    /// all of a kind answer alike.
    #[serde(default)]
    pub alike: f64,
    /// So many independent hosts would say as much as those with a settled answer.
    pub effective: f64,
    /// Lower end of the interval for fleets like this one, with undecided hosts as clear; absent
    /// where all hosts are of one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval, with undecided hosts as affected; absent where all hosts are of
    /// one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// What tells affected hosts from clear ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    /// These conditions together.
    Conditions(Box<Conditions>),
    /// No factor does so beyond chance.
    None {
        /// How often chance does as much as the one that stands out most.
        p_value: f64,
    },
    /// There are too few kinds of hosts for a test.
    TooFewKinds {
        /// How many there are with a settled answer.
        kinds: u64,
    },
    /// All hosts with a settled answer have the same.
    AllAlike,
}

/// Conditions that together tell affected hosts from clear ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Each of them, found within the hosts that fulfil those before it.
    pub all: Vec<Condition>,
    /// Hosts that fulfil them all.
    pub inside: Share,
    /// All other hosts.
    pub outside: Share,
    /// Owners of the hosts with a settled answer, where the inventory names owners: each condition
    /// also stands out when whole owners change places. Absent where no owner is known: hosts of
    /// one owner may then share another cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<u64>,
}

/// A condition on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condition {
    /// What it is on, and how.
    #[serde(flatten)]
    pub cut: Cut,
    /// How often chance does as much, allowing for all that was looked at.
    pub p_value: f64,
    /// Other conditions that the very same hosts fulfil: which of them matters cannot be told here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Cut>,
}

/// One side of the hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cut {
    /// What differs.
    pub factor: Factor,
    /// Which side.
    pub side: Side,
    /// The level.
    pub level: String,
}

/// Which hosts are on a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Those of this level.
    Is,
    /// All others.
    IsNot,
    /// Those of this level and above.
    AtLeast,
    /// Those below it, and those of which it is not known.
    Below,
}

/// What may tell hosts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// The first two numbers of the kernel's release.
    KernelSeries,
    /// Timer interrupts a second.
    Hz,
    /// Preemption mode.
    Preemption,
    /// Version of the OTP that the study ran.
    Otp,
    /// Whether a hypervisor is underneath.
    Virtualised,
    /// Version of control groups.
    Cgroup,
    /// What the firmware says the machine is: the instance type in some clouds.
    Product,
    /// Model of the CPU.
    CpuModel,
    /// Number of CPUs.
    Cpus,
    /// The distribution.
    Distribution,
    /// The kernel's release.
    Kernel,
    /// The architecture.
    Arch,
}

/// A host that loses much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// The host.
    pub host: String,
    /// What its worst arm loses over its control.
    pub shift: Amount,
    /// Its record.
    pub record: RecordPlace,
}

/// Hosts whose answer is not that of nearly all others of their kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Odd {
    /// How many.
    pub count: u64,
    /// So many wrong answers the error rate of the studies allows for at most.
    pub allowed: f64,
    /// Some of them.
    pub hosts: Vec<OddHost>,
}

/// A host whose answer is not that of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OddHost {
    /// The host.
    pub host: String,
    /// Its answer.
    pub state: State,
    /// Hosts of its kind with the other answer.
    pub others: u64,
    /// Its record.
    pub record: RecordPlace,
}

/// Hosts with the same answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The answer to each scenario that was measured.
    pub answers: BTreeMap<String, State>,
    /// Its hosts.
    pub hosts: Hosts,
    /// Some of their records.
    pub records: Vec<RecordPlace>,
    /// What all of them have alike, of what may tell hosts apart.
    pub alike: BTreeMap<Factor, String>,
}

/// Some hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hosts {
    /// How many.
    pub count: u64,
    /// Their names, folded.
    pub names: Vec<Run>,
    /// Hosts that are not named here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Hosts whose names differ by one number: `db001` to `db400`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// What stands before the number; the whole name where it has none.
    pub before: String,
    /// What stands behind it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// Digits of the number at least, with zeros in front; 0 for a name without a number.
    #[serde(default, skip_serializing_if = "no_digits")]
    pub digits: u8,
    /// The first number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: u64,
    /// The last number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub to: u64,
}

fn no_digits(digits: &u8) -> bool {
    *digits == 0
}

impl Run {
    /// How many hosts it names.
    pub fn len(&self) -> u64 {
        if self.digits == 0 { 1 } else { (self.to.saturating_sub(self.from)).saturating_add(1) }
    }

    /// Whether it names none; it always names one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (self.from..=self.to).map(|number| match self.digits {
            0 => self.before.clone(),
            digits => {
                let digits = usize::from(digits);
                format!("{}{number:0digits$}{}", self.before, self.after)
            }
        })
    }
}

/// What changed since an earlier census.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Since {
    /// When that was taken.
    pub taken: String,
    /// Hosts that had no record then.
    pub new: Hosts,
    /// Hosts that have none now.
    pub gone: Hosts,
    /// Each scenario in which a host's answer changed.
    pub scenarios: Vec<ScenarioSince>,
    /// Hosts of that census that it did not name, so that nothing can be said of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

/// What changed in one scenario, among hosts that both censuses name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioSince {
    /// The scenario.
    pub scenario: String,
    /// Hosts that are affected and were clear.
    pub became_affected: Hosts,
    /// Hosts that are clear and were affected.
    pub became_clear: Hosts,
    /// Hosts whose answer changed otherwise.
    pub other: Hosts,
}
