//! The combined answer of the hosts of a fleet.

mod apart;
mod groups;
mod hosts;
mod levels;
mod odd;
mod owners;
mod scenario;
mod since;
mod worst;

use crate::fleet::Fleet;
use crate::names;
use hosts::Hosts;
use levels::Levels;
use model::Census;
use model::census::SCHEMA;
use owners::Owners;
use std::collections::HashSet;

pub use owners::Listed;
pub use since::{SinceError, previous};

/// Most runs of names in each list of hosts without an answer.
const MOST_RUNS: usize = 10_000;

/// The census of a fleet. `inventory` lists all hosts that should be there. `before` is an
/// earlier census.
///
/// The same fleet gives the same census.
pub fn census(
    fleet: &Fleet,
    inventory: Option<&[Listed]>,
    before: Option<&Census>,
    version: &str,
    taken: &str,
) -> Census {
    let kinds = fleet.kinds.all();
    let hosts = Hosts::of(fleet);
    let owners = inventory.and_then(|listed| Owners::of_inventory(fleet, listed));
    let inventory: Option<HashSet<&str>> =
        inventory.map(|listed| listed.iter().map(|one| one.name.as_str()).collect());
    let missing = inventory.as_ref().map(|named| {
        let missing = named.iter().copied().filter(|name| fleet.number_of(name).is_none());
        names::fold(missing, MOST_RUNS)
    });
    let foreign = inventory.as_ref().map(|named| {
        let all = (0..fleet.hosts() as u32).map(|host| fleet.host(host));
        names::fold(all.filter(|name| !named.contains(name)), MOST_RUNS)
    });
    let unreachable = missing.as_ref().map_or(0, |missing| missing.count);
    let counting: HashSet<u32> = fleet.rows.values().map(|row| row.kind).collect();
    let levels = Levels::of(&kinds, |kind| counting.contains(&kind));
    let (groups, hosts_in_other_groups) = groups::groups(fleet, &hosts, &levels);
    Census {
        schema: SCHEMA.to_owned(),
        version: version.to_owned(),
        taken: taken.to_owned(),
        read: fleet.read(),
        hosts: fleet.hosts() as u64,
        unreachable: missing,
        not_in_inventory: foreign.filter(|foreign| foreign.count > 0),
        kinds: hosts.kinds(),
        set_aside: fleet.aside(),
        scenarios: scenario::all(fleet, &hosts, &levels, owners.as_ref(), unreachable),
        since: before.map(|before| since::since(fleet, &hosts, before)),
        groups,
        hosts_in_other_groups,
    }
}
