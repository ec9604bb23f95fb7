//! Parameters of a simulated fleet.

/// A simulated fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct World {
    /// The number of hosts.
    pub hosts: u32,
    /// The seed of every random choice.
    pub seed: u64,
    /// Whether hosts with kernel 6.1 and HZ 250 are affected.
    pub planted: bool,
    /// The share of settled answers that are wrong.
    pub noise: f64,
    /// The share of kinds that are affected for a hidden reason.
    pub peculiar: f64,
    /// The share of hosts whose record comes twice. Half as many also send an older record.
    pub duplicates: f64,
    /// The share of hosts whose clock is years ahead.
    pub wrong_clocks: f64,
    /// The share of hosts whose verdict contradicts their own counts.
    pub liars: f64,
    /// Lines that are not records, as a share of the number of hosts.
    pub hostile: f64,
}

impl World {
    /// A fleet of this size with a few cases of everything that can go wrong.
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
