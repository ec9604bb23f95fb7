//! The one list of all scenarios.

use crate::{AnyScenario, OwnGenerator};
use crate::{
    blocking_nif, busy_wait, cpu_quota, mailbox_flood, memory_high, mmap_lock, preempted_holder,
    quota_blind,
};

/// Every scenario, in the order that `list` and `check` take.
pub const ALL: &[&dyn AnyScenario] = &[
    &mmap_lock::SCENARIO,
    &cpu_quota::SCENARIO,
    &blocking_nif::SCENARIO,
    &mailbox_flood::SCENARIO,
    &busy_wait::SCENARIO,
    &preempted_holder::SCENARIO,
    &quota_blind::SCENARIO,
    &memory_high::SCENARIO,
];

/// The scenario of that id.
pub fn find(id: &str) -> Option<&'static dyn AnyScenario> {
    ALL.iter().find(|scenario| scenario.meta().id == id).copied()
}

/// The load generators that scenarios bring themselves.
pub fn generators() -> Vec<OwnGenerator> {
    ALL.iter().flat_map(|scenario| scenario.generators()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::collections::BTreeSet;
    use std::path::Path;

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
    fn every_sentence_and_every_fix_has_a_name_of_its_own() {
        let templates = testing::templates();
        for meta in ALL.iter().map(|scenario| scenario.meta()) {
            let mut ids = BTreeSet::new();
            for sentence in meta.sentences {
                assert!(ids.insert(sentence.id), "{}: {} stands twice", meta.id, sentence.id);
                if !is_phrase(sentence.text) {
                    assert_is_sentence(sentence.text);
                }
                let parsed = templates.template_from_str(sentence.text);
                assert!(parsed.is_ok(), "{}: {}: {:?}", meta.id, sentence.id, parsed.err());
            }
            let mut ids = BTreeSet::new();
            for fix in meta.fixes {
                assert!(ids.insert(fix.id), "{}: {} stands twice", meta.id, fix.id);
                assert_is_sentence(fix.what);
                assert!((fix.change)(&meta.defaults(false)).is_some(), "{}: {}", meta.id, fix.id);
            }
        }
    }

    #[test]
    fn every_name_of_a_sentence_has_its_sentence() {
        for meta in ALL.iter().map(|scenario| scenario.meta()) {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
            let file = folder.join(meta.id.replace('-', "_")).join("sentences.rs");
            let text = std::fs::read_to_string(file).unwrap();
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("pub const "));
            for name in names.filter_map(|name| name.split('"').nth(1)) {
                assert!(meta.sentence(name).is_some(), "{}: {name}", meta.id);
            }
        }
    }

    /// Neither a capital at its start nor a full stop at its end. It may start with an option or a
    /// figure.
    fn is_phrase(text: &str) -> bool {
        let ended = text.ends_with('.') || text.ends_with(".{% endif %}");
        text.starts_with(|c: char| !c.is_ascii_uppercase()) && !ended
    }

    /// A capital, a name or a figure at its start, a full stop at its end, single spaces between.
    fn assert_is_sentence(text: &str) {
        let capital = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '{');
        let stop = text.ends_with('.') || text.ends_with(".{% endif %}");
        assert!(capital && stop && !text.contains("  "), "{text}");
    }
}
