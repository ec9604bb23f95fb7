//! The kinds of hosts of a simulated fleet.

use super::world::World;
use model::{Identity, identity};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Kernel series with their distribution and their relative frequency.
const KERNELS: [(&str, &str, u32); 6] = [
    ("4.19", "Debian GNU/Linux 10 (buster)", 1),
    ("5.10", "Debian GNU/Linux 11 (bullseye)", 4),
    ("5.15", "Ubuntu 22.04 LTS", 4),
    ("6.1", "Debian GNU/Linux 12 (bookworm)", 6),
    ("6.8", "Ubuntu 24.04 LTS", 3),
    ("6.12", "Debian GNU/Linux 13 (trixie)", 4),
];

/// Machines with their CPU, and whether they run under a hypervisor.
const MACHINES: [(&str, &str, bool); 6] = [
    ("Amazon EC2 m5.large", "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", true),
    ("Amazon EC2 m6i.xlarge", "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", true),
    ("Amazon EC2 c6a.4xlarge", "AMD EPYC 7R13 Processor", true),
    ("Google Google Compute Engine", "AMD EPYC 7B12", true),
    ("Dell Inc. PowerEdge R640", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", false),
    ("Supermicro AS-1114S", "AMD EPYC 7543P 32-Core Processor", false),
];

/// A kind of hosts.
#[derive(Debug, Clone)]
pub(super) struct SimulatedKind {
    pub(super) identity: Identity,
    /// The share of its hosts that is affected for a hidden reason.
    pub(super) rate: f64,
    /// The cumulative frequency of all kinds up to this one.
    up_to: f64,
}

impl SimulatedKind {
    /// Whether the kind has the planted cause.
    pub(super) fn has_cause(&self) -> bool {
        self.identity.series.as_deref() == Some("6.1") && self.identity.hz == Some(250)
    }
}

/// The kinds of a fleet of this size, with different frequencies.
pub(super) fn kinds(world: World, rng: &mut ChaCha8Rng) -> Vec<SimulatedKind> {
    let number = (2.0 * f64::from(world.hosts).sqrt()).clamp(12.0, 400.0) as u32;
    let mut up_to = 0.0;
    let mut kinds = Vec::new();
    for rank in 1..=number {
        up_to += 1.0 / f64::from(rank);
        let rate = match rng.random_bool(world.peculiar) {
            true => rng.random_range(0.2..1.0),
            false => 0.0,
        };
        kinds.push(SimulatedKind { identity: identity(rng), rate, up_to });
    }
    kinds
}

/// A random kind, with its frequency as the probability.
pub(super) fn pick<'a>(kinds: &'a [SimulatedKind], rng: &mut ChaCha8Rng) -> &'a SimulatedKind {
    let all = kinds.last().map_or(0.0, |last| last.up_to);
    let at = rng.random_range(0.0..all);
    let place = kinds.partition_point(|kind| kind.up_to <= at);
    &kinds[place.min(kinds.len() - 1)]
}

fn identity(rng: &mut ChaCha8Rng) -> Identity {
    let all: u32 = KERNELS.iter().map(|(_, _, weight)| weight).sum();
    let mut at = rng.random_range(0..all);
    let found = KERNELS.iter().find(|(_, _, weight)| {
        let here = at < *weight;
        at = at.saturating_sub(*weight);
        here
    });
    let (series, distribution, _) = found.copied().unwrap_or(KERNELS[0]);
    let (product, cpu, virtualised) = MACHINES[rng.random_range(0..MACHINES.len())];
    let hz = [250, 250, 250, 1000, 100][rng.random_range(0..5)];
    let preemption = match (hz, rng.random_bool(0.8)) {
        (1000, true) => "full",
        (_, true) => "voluntary",
        (_, false) => "none",
    };
    let old = matches!(series, "4.19" | "5.10");
    let cgroup = if old && rng.random_bool(0.7) { "hybrid" } else { "v2" };
    let kernel = format!("{series}.{}-cloud-amd64", 10 * rng.random_range(1..4));
    Identity {
        series: identity::series(&kernel),
        kernel,
        arch: "x86_64".to_owned(),
        hz: Some(hz),
        preemption: Some(preemption.to_owned()),
        cpus: 1 << rng.random_range(1..7),
        cpu_model: Some(cpu.to_owned()),
        product: Some(product.to_owned()),
        virtualised: Some(virtualised),
        cgroup: Some(cgroup.to_owned()),
        distribution: Some(distribution.to_owned()),
        otps: Vec::new(),
    }
}
