//! The controllers whose groups tailback makes.

use crate::group_controller::GroupController;

/// The settings that belong to a controller, and their values if nobody has set them: the first
/// word of the file, or all of its text. An empty value stands for an empty file.
pub(super) const fn settings(
    controller: GroupController,
) -> &'static [(&'static str, &'static str)] {
    match controller {
        GroupController::Cpu => &[
            ("cpu.max", "max"),
            ("cpu.max.burst", "0"),
            ("cpu.weight", "100"),
            ("cpu.idle", "0"),
            ("cpu.uclamp.min", "0.00"),
            ("cpu.uclamp.max", "max"),
        ],
        GroupController::Memory => &[
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
        // The kernel lists only disks that have a setting of their own.
        GroupController::Io => &[
            ("io.max", ""),
            ("io.latency", ""),
            ("io.weight", "default 100"),
            ("io.bfq.weight", "default 100"),
            ("io.prio.class", "no-change"),
        ],
    }
}
