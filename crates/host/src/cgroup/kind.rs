//! The controllers whose groups tailback makes.

use model::group::Controller;

/// The settings that belong to a controller, and their values if nobody has set them.
pub(super) const fn settings(controller: Controller) -> &'static [(&'static str, &'static str)] {
    match controller {
        Controller::Cpu => &[
            ("cpu.max", "max"),
            ("cpu.max.burst", "0"),
            ("cpu.weight", "100"),
            ("cpu.idle", "0"),
            ("cpu.uclamp.min", "0.00"),
            ("cpu.uclamp.max", "max"),
        ],
        Controller::Memory => &[
            ("memory.high", "max"),
            ("memory.max", "max"),
            ("memory.low", "0"),
            ("memory.min", "0"),
            ("memory.swap.high", "max"),
            ("memory.swap.max", "max"),
            ("memory.zswap.max", "max"),
            ("memory.zswap.writeback", "1"),
            ("memory.oom.group", "0"),
        ],
    }
}
