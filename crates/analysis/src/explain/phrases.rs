//! Words that the sentences share.

use model::evidence::Task;

/// A thread by its part or its name, with what tells it apart.
pub(super) fn call(task: &Task) -> String {
    // The threads of a VM have names that tell more than their part.
    let of_vm = |part: &&String| *part == "node" || part.ends_with("scheduler");
    let name = task.part.as_ref().filter(|part| !of_vm(part)).unwrap_or(&task.name);
    let detail = match task.nice {
        Some(nice) if nice != 0 => format!(" (nice {nice})"),
        _ => String::new(),
    };
    format!("{name} {}{detail}", task.tid)
}

/// A time in milliseconds as people read it.
pub(super) fn ms(ns: u64) -> String {
    format!("{} ms", model::estimate::number(ns as f64 / 1e6))
}
