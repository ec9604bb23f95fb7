//! What the limit of memory of a group did.

use model::evidence::{Evidence, Resource, Wait};
use model::explanation::MemoryCause;

/// Whom it put to sleep, and who filled the group; none where the group was never above it.
pub(super) fn cause(evidence: &Evidence) -> Option<MemoryCause> {
    let memory = evidence.memory.as_ref()?;
    let held_up = memory.high_events.unwrap_or(0) > 0 || memory.kills.unwrap_or(0) > 0;
    let is_for_it = |wait: &&Wait| matches!(wait.resource, Resource::MemoryHigh { .. });
    // The longest comes first.
    let longest = evidence.waits.iter().find(is_for_it);
    held_up.then(|| MemoryCause {
        memory: memory.clone(),
        longest: longest.map(|wait| (wait.waiter.clone(), wait.took_ns)),
    })
}
