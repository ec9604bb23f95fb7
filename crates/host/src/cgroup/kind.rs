//! The controllers whose groups tailback makes.

use model::group::Controller;

/// The settings that belong to a controller, and their values if nobody has set them.
pub(super) const fn settings(controller: Controller) -> &'static [(&'static str, &'static str)] {
    match controller {
        Controller::Cpu => &[("cpu.max", "max"), ("cpu.weight", "100"), ("cpu.idle", "0")],
        Controller::Memory => &[
            ("memory.high", "max"),
            ("memory.max", "max"),
            ("memory.low", "0"),
            ("memory.min", "0"),
            ("memory.swap.high", "max"),
            ("memory.swap.max", "max"),
            ("memory.oom.group", "0"),
        ],
    }
}
