//! The owners of hosts, from the inventory.

use crate::fleet::Fleet;
use std::collections::{BTreeMap, BTreeSet};

/// A host of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its owner: a team, a rack, or anything else that may have its own cause.
    pub owner: Option<String>,
}

/// The owner of each host.
pub(super) struct Owners {
    /// Owner numbers, indexed by the number of the host.
    of: Vec<u32>,
}

impl Owners {
    /// The owners in an inventory. None if fewer than two owners have hosts with records, since
    /// then the cause of an owner cannot be separated from other causes. Hosts without an owner
    /// count as one more owner. Numbers follow the names, so the order of lines does not matter.
    pub(super) fn of_inventory(fleet: &Fleet, inventory: &[Listed]) -> Option<Self> {
        let named = || inventory.iter().filter_map(|one| Some((one, one.owner.as_deref()?)));
        let names: BTreeSet<&str> = named().map(|(_, owner)| owner).collect();
        let numbers: BTreeMap<&str, u32> = names.into_iter().zip(1..).collect();
        let (mut of, mut seen) = (vec![0; fleet.hosts()], BTreeSet::new());
        for (listed, owner) in named() {
            let place = fleet.number_of(&listed.name).and_then(|n| of.get_mut(n as usize));
            if let (Some(place), Some(number)) = (place, numbers.get(owner)) {
                *place = *number;
                seen.insert(*number);
            }
        }
        (seen.len() > 1).then_some(Owners { of })
    }

    /// The owner number of a host.
    pub(super) fn of(&self, host: u32) -> u32 {
        self.of.get(host as usize).copied().unwrap_or_default()
    }
}
