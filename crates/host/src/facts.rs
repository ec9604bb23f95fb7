//! The facts about the machine that a record contains.

use crate::cgroup_facts;
use crate::kernel_config::KernelConfig;
use crate::preemption;
use crate::roots::{self, Roots};
use crate::text;
use crate::topology;
use model::Machine;
use std::ffi::CStr;
use std::path::Path;

/// Bytes of `/proc/cpuinfo` that are read: enough for the first CPU; all CPUs could be megabytes.
const FIRST_CPU: u64 = 16 << 10;

/// The result of `uname`; it comes from no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelName {
    /// Release, as `uname -r` prints it.
    pub release: String,
    /// Build, as `uname -v` prints it.
    pub build: String,
    /// Architecture, as `uname -m` prints it.
    pub arch: String,
}

impl KernelName {
    /// The kernel that this process runs on.
    pub fn running() -> Self {
        let name = rustix::system::uname();
        let word = |word: &CStr| text::tidy(&word.to_string_lossy()).unwrap_or_default();
        KernelName {
            release: word(name.release()),
            build: word(name.version()),
            arch: word(name.machine()),
        }
    }
}

/// All known facts about the machine; a fact that cannot be read is absent.
pub fn machine(roots: &Roots) -> Machine {
    machine_named(roots, KernelName::running())
}

/// The same facts, for a kernel with the given name.
pub fn machine_named(roots: &Roots, kernel: KernelName) -> Machine {
    let config = KernelConfig::read(roots, &kernel.release);
    let cpuinfo = roots::read_start(&roots.proc.join("cpuinfo"), FIRST_CPU).unwrap_or_default();
    let cpuinfo = String::from_utf8_lossy(&cpuinfo);
    let clock = roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
    Machine {
        hz: config.as_ref().and_then(hz),
        preemption: preemption::mode(roots, &kernel.build, config.as_ref()),
        clocksource: text::name_in(&clock),
        cpus: topology::cpus(roots),
        allowed_cpus: os::pin::allowed().unwrap_or_default(),
        cpu_model: cpu_model(&cpuinfo),
        product: product(roots),
        memory_bytes: os::memory::total(&roots.proc),
        cgroup: cgroup_facts::cgroup_facts(roots),
        virtualised: virtualised(roots, &cpuinfo),
        distribution: distribution(roots),
        tainted: crate::disturbance::tainted(roots),
        guest: None,
        load_user: None,
        hold: None,
        kernel: kernel.release,
        kernel_build: kernel.build,
        arch: kernel.arch,
    }
}

fn hz(config: &KernelConfig) -> Option<u32> {
    config.value("CONFIG_HZ")?.parse().ok().filter(|&hz| hz > 0)
}

/// The CPU model, by the keys that x86, MIPS and POWER use; ARM gives no model.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu model", "cpu"]
        .iter()
        .find_map(|key| text::colon_field(cpuinfo, key))
        .and_then(text::tidy)
}

/// Whether the machine runs on a hypervisor, if that is certain.
///
/// x86 has a CPU flag for it. Elsewhere a hypervisor may leave a trace, but a missing trace
/// proves nothing.
fn virtualised(roots: &Roots, cpuinfo: &str) -> Option<bool> {
    let flag = text::colon_field(cpuinfo, "flags")
        .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let traces = [
        roots.sys.join("hypervisor/type"),
        roots.sys.join("firmware/devicetree/base/hypervisor/compatible"),
    ];
    if traces.iter().any(|path| path.is_file()) { Some(true) } else { flag }
}

/// Longest product name that is kept, in characters.
const LONGEST_PRODUCT: usize = 120;

/// Vendor and model from the machine's firmware (DMI); its serial numbers are not read.
fn product(roots: &Roots) -> Option<String> {
    let dmi = roots.sys.join("class/dmi/id");
    let parts = ["sys_vendor", "product_name"].map(|name| text::name_in(&dmi.join(name)));
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let name: String = parts.join(" ").chars().take(LONGEST_PRODUCT).collect();
    Some(name).filter(|name| !name.is_empty())
}

fn distribution(roots: &Roots) -> Option<String> {
    let places = [roots.etc.join("os-release"), roots.resolve(Path::new("/usr/lib/os-release"))];
    let text = places.iter().find_map(|path| roots::read_text(path).ok())?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    text::tidy(&unquote(value.trim()))
}

/// A value of os-release without its quotes and backslashes, as a shell reads it.
fn unquote(value: &str) -> String {
    let single = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    if let Some(literal) = single {
        return literal.to_owned();
    }
    let double = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut escaped = false;
    let mut plain = String::new();
    for c in double.unwrap_or(value).chars() {
        escaped = c == '\\' && !escaped;
        if !escaped {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Tree;

    fn tree(files: &[(&str, &[u8])]) -> (Tree, Roots) {
        let tree = Tree::new(files);
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    fn kernel() -> KernelName {
        KernelName { release: "6.1.0".into(), build: "#1 SMP".into(), arch: "x86_64".into() }
    }

    #[test]
    fn facts_of_a_whole_tree() {
        let (_dir, roots) = tree(&[
            ("boot/config-6.1.0", b"CONFIG_HZ=250\nCONFIG_PREEMPT_VOLUNTARY=y\n"),
            (
                "proc/cpuinfo",
                b"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n",
            ),
            ("proc/meminfo", b"MemTotal:       1024 kB\nMemFree: 1 kB\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", b"tsc\n"),
            ("sys/devices/system/cpu/online", b"0-1\n"),
            ("sys/class/dmi/id/sys_vendor", b"Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", b"m5.large\n"),
            ("etc/os-release", b"NAME=x\nPRETTY_NAME=\"Debian \\\"12\\\"\"\n"),
        ]);
        let machine = machine_named(&roots, kernel());
        assert_eq!((machine.kernel.as_str(), machine.arch.as_str()), ("6.1.0", "x86_64"));
        assert_eq!(machine.hz, Some(250));
        assert_eq!(machine.preemption.as_deref(), Some("voluntary"));
        assert_eq!(machine.clocksource.as_deref(), Some("tsc"));
        assert_eq!(machine.cpus.len(), 2);
        assert_eq!(machine.cpu_model.as_deref(), Some("AMD EPYC"));
        assert_eq!(machine.product.as_deref(), Some("Amazon EC2 m5.large"));
        assert_eq!(machine.memory_bytes, Some(1 << 20));
        assert_eq!(machine.virtualised, Some(true));
        assert_eq!(machine.distribution.as_deref(), Some("Debian \"12\""));
        assert_eq!(machine.cgroup, None);
    }

    fn nothing_but_the_kernel() -> Machine {
        Machine {
            kernel: "6.1.0".into(),
            kernel_build: "#1 SMP".into(),
            arch: "x86_64".into(),
            allowed_cpus: os::pin::allowed().unwrap(),
            ..Machine::default()
        }
    }

    #[test]
    fn an_empty_tree_has_no_facts() {
        let (_dir, roots) = tree(&[]);
        assert_eq!(machine_named(&roots, kernel()), nothing_but_the_kernel());
    }

    #[test]
    fn garbage_has_no_facts() {
        let garbage: Vec<u8> = (0..4096u32).map(|i| (i * 7919 % 251 + 128) as u8).collect();
        let huge = vec![b'9'; 3 << 20];
        for content in [&garbage[..], &huge[..], b"=:=(\n:\n0-\n", b"\0"] {
            let (_dir, roots) = tree(&[
                ("boot/config-6.1.0", content),
                ("proc/config.gz", content),
                ("proc/cpuinfo", content),
                ("proc/meminfo", content),
                ("proc/cmdline", content),
                ("proc/self/cgroup", content),
                ("proc/self/mountinfo", content),
                ("sys/kernel/debug/sched/preempt", content),
                ("sys/devices/system/cpu/online", content),
                ("sys/devices/system/node/online", content),
                ("etc/os-release", content),
            ]);
            assert_eq!(machine_named(&roots, kernel()), nothing_but_the_kernel());
        }
    }

    #[test]
    fn absence_of_a_hypervisor_is_certain_on_x86_alone() {
        let (_dir, roots) = tree(&[]);
        assert_eq!(virtualised(&roots, "flags : fpu hypervisors\n"), Some(false));
        assert_eq!(virtualised(&roots, "Features : fp asimd\n"), None);
        let (_dir, xen) = tree(&[("sys/hypervisor/type", b"xen\n")]);
        assert_eq!(virtualised(&xen, "flags : fpu\n"), Some(true));
    }

    #[test]
    fn quotes_of_a_shell_are_taken_off() {
        assert_eq!(unquote("Alpine"), "Alpine");
        assert_eq!(unquote("'a \\ b'"), "a \\ b");
        assert_eq!(unquote("\"a \\\\ \\$b\""), "a \\ $b");
        assert_eq!(unquote("\""), "\"");
    }

    #[test]
    fn this_machine_has_a_kernel_and_cpus() {
        let machine = machine(&Roots::real());
        assert!(!machine.kernel.is_empty());
        assert!(!machine.allowed_cpus.is_empty());
        for cpu in &machine.allowed_cpus {
            assert!(machine.cpus.is_empty() || machine.cpus.iter().any(|online| online.id == *cpu));
        }
    }
}
