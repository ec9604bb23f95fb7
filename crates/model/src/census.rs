//! What the records of many machines say together.

use crate::fact::Amount;
use crate::state::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that this version writes and reads.
pub const SCHEMA: &str = "tailback/census/1";

/// The answers of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Census {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tailback that wrote it.
    pub version: String,
    /// When the census was taken (RFC 3339, UTC).
    pub taken: String,
    /// How much was read.
    pub read: Read,
    /// Hosts with a record that counts.
    pub hosts: u64,
    /// Hosts of the inventory without a record that counts; absent if there was no inventory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Hosts>,
    /// Hosts with a record that the inventory does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_in_inventory: Option<Hosts>,
    /// Kinds of hosts. Hosts of one kind agree in everything that `tailback host identify`
    /// prints.
    pub kinds: u64,
    /// What was read but does not count, or counts with a doubt.
    pub set_aside: Vec<SetAside>,
    /// The answers to each scenario for which any host has a record.
    pub scenarios: Vec<ScenarioCensus>,
    /// Groups of hosts with the same answers, the largest group first.
    pub groups: Vec<Group>,
    /// Hosts in further groups that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hosts_in_other_groups: u64,
    /// What changed since an earlier census.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How much was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Read {
    /// Files.
    pub files: u64,
    /// Full records, with their trials.
    pub records: u64,
    /// Brief records.
    pub briefs: u64,
    /// The earliest start of a study that counts (RFC 3339, UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The latest start of a study that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Versions of tailback that wrote the records that count, with the number of records of
    /// each.
    pub versions: BTreeMap<String, u64>,
}

/// Records that were read but do not count, or count with a doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetAside {
    /// Why.
    pub why: Why,
    /// How many records.
    pub count: u64,
    /// Some of these records.
    pub examples: Vec<Example>,
}

/// A record that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Example {
    /// Where the record is.
    #[serde(flatten)]
    pub place: RecordPlace,
    /// The host that it names, if that is the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// The other record of the same host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<RecordPlace>,
}

/// Why a record does not count, or counts with a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It names another host than its file does. It counts for neither host.
    OtherHost,
    /// Another file has a record of the same host too. The record in the host's own file counts;
    /// if there is none, the later record counts.
    TwoFiles,
    /// It is a copy of a study that was already read.
    Duplicate,
    /// The same host has a later study of the scenario.
    Superseded,
    /// Two answers of a study that began at the same moment on the same host. Neither counts as
    /// settled.
    TwoAnswers,
    /// Its verdict does not follow from its own counts. It counts as untrustworthy.
    Contradictory,
    /// Its date is in the future, or before the first tailback. It counts all the same.
    WrongClock,
    /// It is cut off.
    Truncated,
    /// It is not a record, or it is inconsistent.
    Damaged,
    /// It is larger than the largest record that is read.
    TooLarge,
    /// Its schema is newer than this version can read.
    Newer,
    /// This version does not know its scenario.
    UnknownScenario,
    /// It could not be read.
    Unreadable,
    /// It exceeds the number of answers that a census takes.
    TooMany,
    /// An archive has more entries than are read. The remaining entries are left out.
    TooManyEntries,
}

/// Where a record is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordPlace {
    /// The file. In an archive, a colon and the name in the archive follow.
    pub file: String,
    /// The line, from 1, if the file has one record on each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The answers of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioCensus {
    /// The scenario.
    pub scenario: String,
    /// Numbers of hosts by their answer.
    pub hosts: Counts,
    /// The share of affected hosts among those with a settled answer; absent if no answer is
    /// settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What distinguishes affected hosts from clear ones.
    pub apart: Telling,
    /// The hosts that lose most.
    pub worst: Vec<Worst>,
    /// Hosts whose answer differs from that of their kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
}

/// Numbers of hosts by their answer to one scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// The stall is there.
    pub affected: u64,
    /// The stall did not show, in a study in which it would have shown.
    pub clear: u64,
    /// The study was too short to decide.
    pub inconclusive: u64,
    /// The record proves nothing.
    pub untrustworthy: u64,
    /// Something that the study needs was missing.
    pub skipped: u64,
    /// Hosts that have records of other scenarios only.
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
    /// All other hosts of the fleet: their answer is not settled, or they were not measured.
    #[serde(default)]
    pub undecided: u64,
    /// The share of this fleet that is affected if no undecided host is affected.
    #[serde(default)]
    pub least: f64,
    /// The share of this fleet that is affected if every undecided host is affected.
    #[serde(default)]
    pub most: f64,
    /// Kinds of the hosts with a settled answer.
    pub kinds: u64,
    /// Owners of these hosts, if the inventory names owners. The interval then allows for owners
    /// too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<u64>,
    /// Upper limit of the correlation between hosts of one kind: 0 if they are independent, 1 if
    /// all hosts of a kind have the same answer.
    #[serde(default)]
    pub alike: f64,
    /// The number of independent hosts that would carry as much information as the hosts with a
    /// settled answer.
    pub effective: f64,
    /// Lower end of the interval for fleets like this one. Undecided hosts count as clear. Absent
    /// if all hosts are of one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval. Undecided hosts count as affected. Absent if all hosts are of
    /// one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// What distinguishes affected hosts from clear ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    /// These conditions together.
    Conditions(Box<Conditions>),
    /// No factor distinguishes them beyond chance.
    None {
        /// How often chance alone makes a factor stand out as much as the one that stands out
        /// most here.
        p_value: f64,
    },
    /// There are too few kinds of hosts for a test.
    TooFewKinds {
        /// How many there are with a settled answer.
        kinds: u64,
    },
    /// All hosts with a settled answer have the same answer.
    AllAlike,
}

/// Conditions that together distinguish affected hosts from clear ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// The conditions. Each was found among the hosts that meet the earlier ones.
    pub all: Vec<Condition>,
    /// Hosts that meet all conditions.
    pub inside: Share,
    /// All other hosts.
    pub outside: Share,
    /// Owners of the hosts with a settled answer, if the inventory names owners. Then each
    /// condition also stands out when whole owners change places. Absent if no owner is known:
    /// then hosts of one owner may share another cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<u64>,
}

/// A condition on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condition {
    /// The factor, and how it divides the hosts.
    #[serde(flatten)]
    pub cut: Cut,
    /// How often chance alone does as much, with all factors that were tried taken into account.
    pub p_value: f64,
    /// Other conditions that exactly the same hosts meet. This fleet cannot show which of them
    /// matters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Cut>,
}

/// A division of the hosts by one factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cut {
    /// The factor.
    pub factor: Factor,
    /// Which of the hosts, compared with the level.
    pub side: Side,
    /// The level of the factor.
    pub level: String,
}

/// Which hosts belong to a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Hosts of this level.
    Is,
    /// All other hosts.
    IsNot,
    /// Hosts of this level and above.
    AtLeast,
    /// Hosts below this level, and hosts whose level is not known.
    Below,
}

/// A factor that may distinguish hosts.
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
    /// Whether the machine runs under a hypervisor.
    Virtualised,
    /// Version of control groups.
    Cgroup,
    /// The name of the machine in its firmware: the instance type in some clouds.
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
    /// By how much its worst arm is worse than its control.
    pub shift: Amount,
    /// Its record.
    pub record: RecordPlace,
}

/// Hosts whose answer differs from that of nearly all other hosts of their kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Odd {
    /// How many hosts.
    pub count: u64,
    /// Settled hosts of these kinds times the studies' error rate: no limit of the wrong answers.
    pub allowed: f64,
    /// Some of these hosts.
    pub hosts: Vec<OddHost>,
}

/// A host whose answer differs from that of its kind.
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
    /// The hosts of the group.
    pub hosts: Hosts,
    /// Some of their records.
    pub records: Vec<RecordPlace>,
    /// The levels that all of them share, of the factors that may distinguish hosts.
    pub alike: BTreeMap<Factor, String>,
}

/// Some hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hosts {
    /// How many hosts.
    pub count: u64,
    /// Their names, with consecutive numbers folded into ranges.
    pub names: Vec<Run>,
    /// Hosts that are not named here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Hosts whose names differ by one number: `db001` to `db400`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The part before the number; the whole name if it has no number.
    pub before: String,
    /// The part after the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The least number of digits, filled with leading zeros; 0 for a name without a number.
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
    /// How many hosts the range names.
    pub fn len(&self) -> u64 {
        if self.digits == 0 { 1 } else { (self.to.saturating_sub(self.from)).saturating_add(1) }
    }

    /// Whether it names no host; it always names at least one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The names, as many as [`Run::len`] says.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let last = if self.digits == 0 { self.from } else { self.to.max(self.from) };
        (self.from..=last).map(|number| match self.digits {
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
    /// When the earlier census was taken.
    pub taken: String,
    /// Hosts that had no record in it.
    pub new: Hosts,
    /// Hosts that had a record in it and have none in this census.
    pub gone: Hosts,
    /// Each scenario in which a host's answer changed.
    pub scenarios: Vec<ScenarioSince>,
    /// Hosts of the earlier census that are not named in it, so they cannot be compared.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

/// What changed in one scenario, among hosts that both censuses name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioSince {
    /// The scenario.
    pub scenario: String,
    /// Hosts that were clear and are affected.
    pub became_affected: Hosts,
    /// Hosts that were affected and are clear.
    pub became_clear: Hosts,
    /// Hosts whose answer changed in another way.
    pub other: Hosts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_as_many_names_as_it_says() {
        let run = |digits, from, to| Run {
            before: "web".to_owned(),
            after: String::new(),
            digits,
            from,
            to,
        };
        let names = |run: &Run| run.names().collect::<Vec<String>>();
        assert_eq!(names(&run(3, 9, 10)), ["web009", "web010"]);
        // A damaged census may say anything.
        for (odd, name) in [(run(0, 0, u64::MAX), "web"), (run(1, 7, 3), "web7")] {
            assert_eq!((odd.len(), names(&odd)), (1, vec![name.to_owned()]));
        }
    }
}
