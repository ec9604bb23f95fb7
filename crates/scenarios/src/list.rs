//! The list of all scenarios.

use crate::{AnyScenario, OwnGenerator};
use crate::{
    blocking_nif, busy_wait, cpu_quota, group_move, held_mutex, io_journal, mailbox_flood,
    memory_high, mmap_lock, preempted_holder, quota_blind,
};

/// Every scenario, in the order of `list` and `check`.
pub static ALL: &[&dyn AnyScenario] = &[
    &mmap_lock::SCENARIO,
    &cpu_quota::SCENARIO,
    &blocking_nif::SCENARIO,
    &mailbox_flood::SCENARIO,
    &busy_wait::SCENARIO,
    &preempted_holder::SCENARIO,
    &quota_blind::SCENARIO,
    &memory_high::SCENARIO,
    &held_mutex::SCENARIO,
    &group_move::SCENARIO,
    &io_journal::SCENARIO,
];

/// The scenarios that make ext4 file systems on loop devices.
const ON_LOOP_DEVICES: &[&str] = &["io-journal"];

/// Whether the scenario with this id makes ext4 file systems on loop devices. A guest for it has to
/// bring mkfs.ext4 and the driver of loop devices.
pub fn needs_loop_devices(id: &str) -> bool {
    ON_LOOP_DEVICES.contains(&id)
}

/// The scenario with this id.
pub fn find(id: &str) -> Option<&'static dyn AnyScenario> {
    ALL.iter().find(|scenario| scenario.meta().id == id).copied()
}

/// The load generators that belong to single scenarios.
pub fn generators() -> Vec<OwnGenerator> {
    ALL.iter().flat_map(|scenario| scenario.generators()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_declaration_holds_together() {
        let mut ids = BTreeSet::new();
        for scenario in ALL {
            let meta = scenario.meta();
            assert!(ids.insert(meta.id), "{} stands twice", meta.id);
            let judged = meta.measures.iter().any(|m| m.name == meta.judging.measure);
            assert!(judged, "{}: judged measure is not declared", meta.id);
            assert!(!meta.fixes.is_empty() && !meta.who.is_empty());
            assert!(find(meta.id).is_some());
        }
    }

    #[test]
    fn every_scenario_on_loop_devices_is_known() {
        for id in ON_LOOP_DEVICES {
            assert!(find(id).is_some(), "{id}");
        }
    }

    #[test]
    fn every_fix_has_a_name_of_its_own() {
        for meta in ALL.iter().map(|scenario| scenario.meta()) {
            let mut ids = BTreeSet::new();
            for fix in meta.fixes {
                assert!(ids.insert(fix.id), "{}: {} stands twice", meta.id, fix.id);
                assert_is_sentence(fix.what);
                assert!((fix.change)(&meta.defaults(false)).is_some(), "{}: {}", meta.id, fix.id);
            }
        }
    }

    /// Checks a text: it starts with a capital letter, ends with a full stop and has single
    /// spaces.
    fn assert_is_sentence(text: &str) {
        let capital = text.starts_with(|c: char| c.is_ascii_uppercase());
        assert!(capital && text.ends_with('.') && !text.contains("  "), "{text}");
    }
}
