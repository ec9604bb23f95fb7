//! The owners of hosts, as the inventory names them.

use crate::fleet::Fleet;
use std::collections::{BTreeMap, BTreeSet};

/// A host of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its owner: a team, a rack, or whatever else may have a cause of its own.
    pub owner: Option<String>,
}

/// The owner of each host.
pub(super) struct Owners {
    /// By the number of the host.
    of: Vec<u32>,
}

impl Owners {
    /// The owners that an inventory names; `None` where hosts of fewer than two of them have
    /// records: then nothing tells an owner's cause from another. Hosts without an owner are taken
    /// for those of one more. Numbers follow from the names, so the order of lines changes nothing.
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

    /// The owner of a host, by their numbers.
    pub(super) fn of(&self, host: u32) -> u32 {
        self.of.get(host as usize).copied().unwrap_or_default()
    }
}
