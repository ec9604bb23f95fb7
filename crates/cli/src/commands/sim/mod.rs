//! `tailback sim`: simulations of the bandwidth controller and of fleets.

use crate::command::{below, commands_below};

mod cpu_quota;
mod fleet;
mod load;
mod render;
mod times;

commands_below! {
    /// Simulate a CPU quota, or a fleet of hosts
    #[command(after_help = below("", [
        "tailback sim cpu-quota --cpus 64 --quota 10ms",
        "tailback sim fleet | tailback census -",
    ]))]
    Sim {
        CpuQuota: cpu_quota::CpuQuota,
        Fleet: fleet::SimFleet,
    }
}
