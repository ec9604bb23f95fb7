//! What the memory limit of a group did.

use model::evidence::{Evidence, Resource, Wait};
use model::explanation::MemoryCause;

/// The thread that it put to sleep and the process that filled the group; `None` if the group
/// never exceeded it.
pub(super) fn cause(evidence: &Evidence) -> Option<MemoryCause> {
    let memory = evidence.memory.as_ref()?;
    let held_up = memory.high_events.unwrap_or(0) > 0 || memory.kills.unwrap_or(0) > 0;
    let is_for_it = |wait: &&Wait| matches!(wait.resource, Resource::MemoryHigh { .. });
    // The longest wait is first.
    let longest = evidence.waits.iter().find(is_for_it);
    held_up.then(|| MemoryCause {
        memory: memory.clone(),
        longest: longest.map(|wait| (wait.waiter.clone(), wait.took_ns)),
    })
}
