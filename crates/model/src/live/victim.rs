//! Programs that lost time, and where it went.

use super::program::Program;
use serde::{Deserialize, Serialize};

/// A program that lost time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Victim {
    /// Who.
    pub program: Program,
    /// CPU time that it got, of all its threads together.
    pub ran_ns: u64,
    /// Where its ready time went, of all its threads together.
    pub parts: Parts,
    /// Its waits for the lock of its memory map.
    #[serde(default, skip_serializing_if = "LockWaits::is_none")]
    pub lock: LockWaits,
    /// Its threads, those that lost most first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<VictimThread>,
}

impl Victim {
    /// Time that it lost: ready without a CPU, and waiting for a lock that another process held.
    pub fn lost_ns(&self) -> u64 {
        self.parts.ready_ns.saturating_add(self.lock.foreign_ns)
    }
}

/// A thread that lost time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VictimThread {
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// CPU time that it got.
    pub ran_ns: u64,
    /// Ready and without a CPU.
    pub ready_ns: u64,
    /// Of that: held by a quota.
    pub throttled_ns: u64,
    /// The worst single wait.
    pub worst_ns: u64,
    /// Waiting for the lock of its memory map while another process held it.
    pub foreign_ns: u64,
}

/// Where the time went in which threads were ready and did not run. All but [`Parts::worst_ns`] and
/// [`Parts::waits`] add up to [`Parts::ready_ns`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// All of it: the kernel's run delay.
    pub ready_ns: u64,
    /// How many waits.
    pub waits: u64,
    /// The worst of them.
    pub worst_ns: u64,
    /// The quota of its own group held it.
    pub own_quota_ns: u64,
    /// The quota of a group above held it, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<GroupPart>,
    /// A quota held it; whether its own or that of a group above is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub some_quota_ns: u64,
    /// Other programs ran on its CPU, the worst three by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourPart>,
    /// All others that did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_neighbours_ns: u64,
    /// Its own threads and processes ran on that CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_program_ns: u64,
    /// The hypervisor had the CPU: an estimate from the steal time of all CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hypervisor_ns: u64,
    /// Its CPU was idle: it was being woken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// Of unknown cause.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_told_apart_ns: u64,
}

impl Parts {
    /// Held by a quota, of its own group or of one above.
    pub fn quota_ns(&self) -> u64 {
        let ancestors = self.ancestors.iter().map(|part| part.ns);
        ancestors.fold(self.own_quota_ns.saturating_add(self.some_quota_ns), u64::saturating_add)
    }

    /// Behind other programs.
    pub fn neighbours_ns(&self) -> u64 {
        let named = self.neighbours.iter().map(|part| part.ns);
        named.fold(self.other_neighbours_ns, u64::saturating_add)
    }

    /// All parts together: [`Parts::ready_ns`] again.
    pub fn sum_ns(&self) -> u64 {
        [
            self.quota_ns(),
            self.neighbours_ns(),
            self.own_program_ns,
            self.hypervisor_ns,
            self.waking_ns,
            self.not_told_apart_ns,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// Time that the quota of a group held threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupPart {
    /// The group.
    pub group: String,
    /// For how long.
    pub ns: u64,
}

/// Time that another program ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourPart {
    /// Who.
    pub program: Program,
    /// For how long.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
}

/// Waits of a program for the lock of its memory map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockWaits {
    /// All of them.
    pub ns: u64,
    /// Of that: while another process held it.
    pub foreign_ns: u64,
    /// How many.
    pub waits: u64,
    /// The worst that another process had a part in.
    pub worst_ns: u64,
}

impl LockWaits {
    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        *self == LockWaits::default()
    }
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
