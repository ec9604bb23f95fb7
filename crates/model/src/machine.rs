//! The machine a study ran on, and its state around each trial.

use serde::{Deserialize, Serialize};

/// What is known about the machine; a field that could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Kernel build, as `uname -v` prints it.
    pub kernel_build: String,
    /// Architecture, as `uname -m` prints it.
    pub arch: String,
    /// Timer interrupts a second (CONFIG_HZ).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Active preemption mode: none, voluntary, full, lazy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Clock source in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// The CPUs that are online.
    pub cpus: Vec<Cpu>,
    /// Numbers of the CPUs that this process may use (affinity mask and cpuset).
    pub allowed_cpus: Vec<u32>,
    /// Name of the first CPU's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// The name of the machine in its firmware: the instance type in some clouds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Memory of the machine, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The control groups of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupFacts>,
    /// Whether the machine runs under a hypervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualised: Option<bool>,
    /// Name of the distribution (PRETTY_NAME of os-release).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Taint flags of the kernel before the first trial (/proc/sys/kernel/tainted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<u64>,
    /// The guest that tailback booted, if this machine is one; absent on any other machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// The user of the load. Only readers of a file in /proc that needs root run as root. Absent
    /// in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_user: Option<LoadUser>,
    /// Whether another run could load the machine at the same time; absent in a guest and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// The user of load generators and Erlang nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadUser {
    /// The uid of the user.
    pub uid: u32,
    /// The gid of the user.
    pub gid: u32,
    /// Why it is this user.
    pub chosen: UserChoice,
}

/// Why the load runs as this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UserChoice {
    /// It is the caller, who is not root, or is root and may not become another user.
    Caller,
    /// The caller is root through sudo, and this is the user who called sudo.
    Sudo,
    /// The caller is root, and this is a system user.
    System,
}

/// Whether two runs could load one machine, best case first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// No other run could: this run held the lock of the machine.
    Exclusive,
    /// No lock is available: the kernel has none, or the caller may not write to /run.
    Unlocked,
    /// Other runs were allowed on purpose (TAILBACK_SHARE_HOST).
    Shared,
}

/// A guest that tailback booted, and its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guest {
    /// What executes its instructions: `kvm`, or `tcg`, which is emulation.
    pub accelerator: String,
    /// What the clock of an emulated guest counts: `host` for the host's time, or `instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Version of QEMU.
    pub qemu: String,
    /// The name by which its kernel was requested, such as `debian:6.12` or a path.
    pub kernel_name: String,
    /// SHA-256 of its kernel's image, in hexadecimal.
    pub kernel_sha256: String,
    /// How long the guest took to boot, in seconds.
    pub boot_s: f64,
    /// Kernel release of the host.
    pub host_kernel: String,
    /// CPUs that QEMU may use on the host.
    pub host_cpus: u32,
    /// The folder that was its root: `host` for the host's root. Absent if the guest had only its
    /// own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// The name for the host's root as the root of a guest.
pub const ROOT_OF_HOST: &str = "host";

/// What is needed to start a guest like the one in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestOf {
    /// The name by which its kernel is requested.
    pub kernel: String,
    /// The number of its CPUs.
    pub cpus: usize,
    /// The folder that is its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

impl Machine {
    /// The guest that this machine is; `None` if it is not a guest of tailback.
    pub fn guest_of(&self) -> Option<GuestOf> {
        let guest = self.guest.as_ref()?;
        let (kernel, root) = (guest.kernel_name.clone(), guest.root.clone());
        Some(GuestOf { kernel, cpus: self.cpus.len().max(1), root })
    }
}

impl Guest {
    /// Whether the guest's time is emulated. Emulated time stretches with the work of the host,
    /// so sizes do not carry over to real machines.
    pub fn emulated(&self) -> bool {
        self.accelerator != "kvm"
    }
}

/// One CPU and its place in the topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// The physical core; threads of one core share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// The socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// The NUMA node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

/// Control groups of the machine and the limits that tailback itself runs under.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupFacts {
    /// `v1`, `v2` or `hybrid`.
    pub version: String,
    /// The group this process is in: of the cpu controller in v1, of the unified tree in v2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// CPU quota of that group, in CPUs; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    /// Memory limit of that group, in bytes; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

/// Disturbances of a trial by the machine; a field that could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// Over how long these figures were collected, in milliseconds; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ms: Option<f64>,
    /// Time that the hypervisor took from all CPUs together, in milliseconds (/proc/stat, in
    /// steps of 10 ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<f64>,
    /// The same for each CPU from which the hypervisor took time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steal_by_cpu: Vec<CpuSteal>,
    /// Time for which the measured thread was runnable but not on a CPU, in milliseconds
    /// (/proc/PID/schedstat), in the measured window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ms: Option<f64>,
    /// Time for which a CPU quota around tailback itself throttled its threads, in milliseconds
    /// (cpu.stat of its own group and of the groups above).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclosing_throttled_ms: Option<f64>,
    /// Taint flags of the kernel at the end (/proc/sys/kernel/tainted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<u64>,
    /// Time for which some task waited for a CPU, in milliseconds (/proc/pressure/cpu).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_ms: Option<f64>,
    /// Time for which some task waited for memory, in milliseconds (/proc/pressure/memory).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_ms: Option<f64>,
    /// Time for which some task waited for I/O, in milliseconds (/proc/pressure/io).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_ms: Option<f64>,
    /// Lateness of a timer on the measured CPU; only in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<TimerLateness>,
}

/// Time that the hypervisor took from one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSteal {
    /// The CPU.
    pub cpu: u32,
    /// In milliseconds.
    pub ms: f64,
}

/// How late a periodic timer woke its thread on the measured CPU.
///
/// The thread sleeps on no lock, so a delay comes from the machine and not from the stall under
/// study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerLateness {
    /// The CPU.
    pub cpu: u32,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Median lateness, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the lateness, in milliseconds.
    pub p99_ms: f64,
    /// Worst lateness, in milliseconds.
    pub max_ms: f64,
    /// Time lost to wake-ups that were more than a millisecond late, in milliseconds a second.
    pub lost_ms_per_s: f64,
}
