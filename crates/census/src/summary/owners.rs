//! The owners of hosts, as the inventory names them.

use crate::fleet::Fleet;
use std::collections::BTreeMap;

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
    /// The owners that an inventory names; `None` where it names none. Hosts without one are taken
    /// for those of one more owner.
    pub(super) fn of_inventory(fleet: &Fleet, inventory: &[Listed]) -> Option<Self> {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut of = vec![0; fleet.hosts()];
        for listed in inventory {
            let Some(owner) = listed.owner.as_deref() else { continue };
            let next = 1 + numbers.len() as u32;
            let number = *numbers.entry(owner).or_insert(next);
            if let Some(place) = fleet.number_of(&listed.name).and_then(|n| of.get_mut(n as usize))
            {
                *place = number;
            }
        }
        (!numbers.is_empty()).then_some(Owners { of })
    }

    /// The owner of a host, by their numbers.
    pub(super) fn of(&self, host: u32) -> u32 {
        self.of.get(host as usize).copied().unwrap_or_default()
    }
}
