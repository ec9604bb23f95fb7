//! The machine a study ran on, and its state around each trial.

use serde::{Deserialize, Serialize};

/// What is known of the machine; a field that could not be read is absent.
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
    /// Preemption mode in force: none, voluntary, full, lazy.
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
    /// What the firmware says the machine is: the instance type in some clouds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Memory of the machine, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Control groups as found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupFacts>,
    /// Whether a hypervisor is underneath.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualised: Option<bool>,
    /// Name of the distribution (PRETTY_NAME of os-release).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Flags by which the kernel says that it is tainted (/proc/sys/kernel/tainted), before the
    /// first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<u64>,
    /// The guest that tailback made of it; absent on a machine that it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Whom the load runs as, but for readers of a file in /proc that only root may read; older
    /// records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_user: Option<LoadUser>,
    /// Whether another run could load the machine at the same time; absent in a guest, and older
    /// records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// The user of load generators and Erlang nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadUser {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Why it is this one.
    pub chosen: UserChoice,
}

/// Why the load runs as a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UserChoice {
    /// It is the caller: not root, or root that may not become another user.
    Caller,
    /// Root was called by sudo, and this is who called it.
    Sudo,
    /// The caller is root, and this is a system user.
    System,
}

/// Whether two runs could load one machine, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// No other run could: this one had the lock of the machine.
    Exclusive,
    /// There is no lock to be had: the kernel has none, or the caller may not write to /run.
    Unlocked,
    /// Others were let in on purpose (TAILBACK_SHARE_HOST).
    Shared,
}

/// A guest that tailback booted, and the host underneath.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guest {
    /// What runs its instructions: `kvm`, or `tcg`, which is emulation.
    pub accelerator: String,
    /// What its clock counts where it is emulated: `host`, the host's time, or `instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Version of QEMU.
    pub qemu: String,
    /// Name that its kernel was asked for by: `debian:6.12`, a path.
    pub kernel_name: String,
    /// SHA-256 of its kernel's image, in hexadecimal.
    pub kernel_sha256: String,
    /// How long it took to come up, in seconds.
    pub boot_s: f64,
    /// Kernel release of the host.
    pub host_kernel: String,
    /// CPUs that QEMU may use on the host.
    pub host_cpus: u32,
    /// The folder that was its root: `host` for that of the host; none where it had no files but
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// How the root of the host is named as that of a guest.
pub const ROOT_OF_HOST: &str = "host";

/// What it takes to start a guest like the one of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestOf {
    /// Name that its kernel was asked for by.
    pub kernel: String,
    /// Its CPUs.
    pub cpus: usize,
    /// The folder that was its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

impl Machine {
    /// The guest that this machine is; none where it is no guest of tailback.
    pub fn guest_of(&self) -> Option<GuestOf> {
        let guest = self.guest.as_ref()?;
        let (kernel, root) = (guest.kernel_name.clone(), guest.root.clone());
        Some(GuestOf { kernel, cpus: self.cpus.len().max(1), root })
    }
}

impl Guest {
    /// Whether its time is emulated: it stretches with what the host has to do, and sizes do not
    /// carry over to real machines.
    pub fn emulated(&self) -> bool {
        self.accelerator != "kvm"
    }
}

/// One CPU and its place in the machine.
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
    /// CPU quota of that group, in CPUs; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    /// Memory limit of that group, in bytes; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

/// What the machine did to a trial from outside; a field that could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// How long these figures were gathered, in milliseconds; older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ms: Option<f64>,
    /// Time that the hypervisor took from all CPUs together, in milliseconds (/proc/stat, 10 ms
    /// steps).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<f64>,
    /// The same for each CPU of which it took any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steal_by_cpu: Vec<CpuSteal>,
    /// Time in which the measured thread was ready to run and had no CPU, in milliseconds
    /// (/proc/PID/schedstat), over the measured window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ms: Option<f64>,
    /// Time in which a CPU quota around tailback itself held its threads off the CPU, in
    /// milliseconds (cpu.stat of its own group and of those above).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclosing_throttled_ms: Option<f64>,
    /// Flags by which the kernel says that it is tainted (/proc/sys/kernel/tainted), at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<u64>,
    /// Time in which some task waited for a CPU, in milliseconds (/proc/pressure/cpu).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_ms: Option<f64>,
    /// Time in which some task waited for memory, in milliseconds (/proc/pressure/memory).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_ms: Option<f64>,
    /// Time in which some task waited for I/O, in milliseconds (/proc/pressure/io).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_ms: Option<f64>,
    /// Lateness of a timer on the CPU that was measured; in older records only.
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

/// How late a periodic timer woke its thread on the CPU that was measured.
///
/// It sleeps on no lock, so whatever delays it is the machine and not the stall under study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerLateness {
    /// The CPU.
    pub cpu: u32,
    /// Wake-ups.
    pub wakeups: u64,
    /// Median lateness, in milliseconds.
    pub p50_ms: f64,
    /// Lateness that one wake-up in a hundred exceeded, in milliseconds.
    pub p99_ms: f64,
    /// Worst lateness, in milliseconds.
    pub max_ms: f64,
    /// Time lost to wake-ups over a millisecond late, in milliseconds a second.
    pub lost_ms_per_s: f64,
}
