//! What a simulated fleet is like.

/// A fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct World {
    /// Hosts.
    pub hosts: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether hosts with a kernel 6.1 and HZ 250 are affected.
    pub planted: bool,
    /// The share of settled answers that are wrong.
    pub noise: f64,
    /// The share of kinds that are affected for a reason that nobody wrote down.
    pub peculiar: f64,
    /// The share of hosts whose record comes twice; half as many send an older one too.
    pub duplicates: f64,
    /// The share of hosts whose clock is years ahead.
    pub wrong_clocks: f64,
    /// The share of hosts whose verdict is not what their counts give.
    pub liars: f64,
    /// Lines that are no record, as a share of the hosts.
    pub hostile: f64,
}

impl World {
    /// A fleet of this size with a little of everything that goes wrong.
    pub fn of(hosts: u32, seed: u64, planted: bool) -> Self {
        World {
            hosts,
            seed,
            planted,
            noise: 0.01,
            peculiar: 0.08,
            duplicates: 0.02,
            wrong_clocks: 0.005,
            liars: 0.002,
            hostile: 0.01,
        }
    }
}
