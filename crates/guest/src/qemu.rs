//! QEMU: the installed version, and its command line.

use crate::accel::{Accel, Clock};
use crate::error::GuestError;
use host::tool::Tool;
use os::arch::Arch;
use std::time::Duration;

/// What differs between the machines of two architectures.
struct Board {
    /// The QEMU that has this machine, and help if it is not installed.
    program: &'static str,
    help: &'static str,
    /// The machine under KVM and under emulation.
    for_kvm: &'static str,
    emulated: &'static str,
    /// The CPU under emulation. Under KVM it is the host's.
    cpu: &'static str,
    /// Kernel parameters for the first serial port, as console and as early console, which shows
    /// more about a kernel that does not boot.
    console: &'static str,
    /// Additional parameters under emulation, so that many CPUs boot within seconds: no mitigations
    /// for CPU flaws that an emulated CPU does not have, and on x86 no calibration of delays and no
    /// checks of the clock.
    quick: &'static str,
    /// The device for the second serial port.
    data: (&'static str, &'static str),
}

const X86_64: Board = Board {
    program: "qemu-system-x86_64",
    help: "install it: apt-get install qemu-system-x86",
    for_kvm: "pc",
    emulated: "pc",
    cpu: "max",
    console: "console=ttyS0 earlyprintk=ttyS0",
    quick: "lpj=10000000 tsc=reliable no_timer_check mitigations=off",
    data: ("-serial", "chardev:data"),
};

/// Version 3 of the interrupt controller serves more than 8 CPUs; KVM has only that of the host.
/// An emulated CPU that signs pointers takes much longer to boot, so this one is older than that.
/// The machine has one serial port for a kernel, so the other is a card.
const AARCH64: Board = Board {
    program: "qemu-system-aarch64",
    help: "install it: apt-get install qemu-system-arm",
    for_kvm: "virt,gic-version=host",
    emulated: "virt,gic-version=3",
    cpu: "neoverse-n1",
    console: "console=ttyAMA0 earlycon",
    quick: "mitigations=off",
    data: ("-device", "pci-serial,chardev=data"),
};

fn board(arch: Arch) -> &'static Board {
    match arch {
        Arch::X86_64 => &X86_64,
        Arch::Aarch64 => &AARCH64,
    }
}

/// Kernel parameters for every machine. A panic restarts at once, and this ends QEMU.
const WORDS: &str = "panic=-1 oops=panic random.trust_cpu=on psi=1";

/// The QEMU of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// The architecture of its guests.
    pub arch: Arch,
    /// The program.
    pub program: String,
    /// Its version.
    pub version: String,
}

/// The machine for QEMU to run.
#[derive(Debug)]
pub(crate) struct QemuArgs<'a> {
    pub arch: Arch,
    pub accel: Accel,
    pub clock: Clock,
    pub cpus: u32,
    pub memory: u64,
    pub kernel_fd: i32,
    pub initramfs_fd: i32,
    pub console_fd: i32,
    pub data_fd: i32,
    pub control_fd: i32,
    pub root: Option<Root<'a>>,
}

/// A shared root file system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'a> {
    pub tag: &'a str,
    pub fd: i32,
}

impl Qemu {
    /// Finds the QEMU for guests of an architecture.
    ///
    /// # Errors
    /// If it is not installed; the message names the package.
    pub fn find(arch: Arch) -> Result<Self, GuestError> {
        let Board { program, help, .. } = board(arch);
        let program = (*program).to_owned();
        let mut tool = Tool::new(program.clone(), help);
        tool.arg("--version");
        let text = tool.run(Duration::from_secs(20), &|| false)?;
        let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
        Ok(Qemu { arch, program, version: version.unwrap_or("unknown").to_owned() })
    }

    /// QEMU with its arguments.
    pub(crate) fn tool(&self, args: &QemuArgs<'_>) -> Tool {
        let mut tool = Tool::new(self.program.clone(), board(self.arch).help);
        for word in arguments(args, &self.emulated_cpu()) {
            tool.arg(word);
        }
        tool
    }

    /// The CPU under emulation. QEMU 7.2 sets wrong flags after the instruction cmpxchg16b, which
    /// the kernel's memory allocator uses: 4 of 4 guests that wrote many files crashed within a
    /// minute, and none of 4 without the instruction. With QEMU 8 and later, which were not tried,
    /// the guest has it, because programs for x86-64-v2 need it.
    fn emulated_cpu(&self) -> String {
        let cpu = board(self.arch).cpu;
        let major = self.version.split('.').next().and_then(|major| major.parse().ok());
        let is_old = major.is_some_and(|major: u32| major < 8);
        let without = if self.arch == Arch::X86_64 && is_old { ",cx16=off" } else { "" };
        format!("{cpu}{without}")
    }
}

/// `emulated_cpu` is the CPU for a guest without KVM.
fn arguments(args: &QemuArgs<'_>, emulated_cpu: &str) -> Vec<String> {
    let mut all: Vec<String> =
        ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine"]
            .map(str::to_owned)
            .to_vec();
    let memory_mib = args.memory >> 20;
    let board = board(args.arch);
    let machine = if args.accel == Accel::Kvm { board.for_kvm } else { board.emulated };
    let memory = if args.root.is_some() { ",memory-backend=mem" } else { "" };
    all.push(format!("{machine}{memory}"));
    let words = format!("{} {WORDS}", board.console);
    let emulated = format!("{words} {}", board.quick);
    let (accel, cpu, cmdline) = match (args.accel, args.clock) {
        (Accel::Kvm, _) => ("kvm", "host", words),
        (Accel::Tcg, Clock::Host) => ("tcg,thread=multi", emulated_cpu, emulated),
        (Accel::Tcg, Clock::Instructions) => ("tcg,thread=single", emulated_cpu, emulated),
    };
    let mut pairs = vec![
        ("-accel", accel.to_owned()),
        ("-cpu", cpu.to_owned()),
        ("-smp", args.cpus.to_string()),
        ("-m", format!("{memory_mib}M")),
        ("-kernel", format!("/proc/self/fd/{}", args.kernel_fd)),
        ("-initrd", format!("/proc/self/fd/{}", args.initramfs_fd)),
        ("-append", cmdline),
        ("-chardev", format!("socket,id=console,fd={}", args.console_fd)),
        ("-serial", "chardev:console".to_owned()),
        ("-chardev", format!("socket,id=data,fd={}", args.data_fd)),
        (board.data.0, board.data.1.to_owned()),
        ("-chardev", format!("socket,id=control,fd={}", args.control_fd)),
        ("-mon", "chardev=control,mode=control".to_owned()),
        // A guest kernel cannot be trusted: QEMU may not start programs or gain privileges.
        ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny".to_owned()),
    ];
    if (args.accel, args.clock) == (Accel::Tcg, Clock::Instructions) {
        pairs.push(("-icount", "shift=0,sleep=off".to_owned()));
    }
    if let Some(root) = args.root {
        pairs.extend([
            ("-object", format!("memory-backend-memfd,id=mem,size={memory_mib}M,share=on")),
            ("-chardev", format!("socket,id=root,fd={}", root.fd)),
            ("-device", format!("vhost-user-fs-pci,chardev=root,tag={}", root.tag)),
        ]);
    }
    for (option, value) in pairs {
        all.extend([option.to_owned(), value]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

    fn args(accel: Accel) -> String {
        args_with(Arch::X86_64, accel, Clock::Host)
    }

    fn args_with(arch: Arch, accel: Accel, clock: Clock) -> String {
        let args = QemuArgs {
            arch,
            accel,
            clock,
            cpus: 4,
            memory: 512 << 20,
            kernel_fd: 11,
            initramfs_fd: 7,
            console_fd: 8,
            data_fd: 9,
            control_fd: 10,
            root: None,
        };
        arguments(&args, &emulated_cpu(arch, "9.2.0")).join(" ")
    }

    fn emulated_cpu(arch: Arch, version: &str) -> String {
        let qemu = Qemu { arch, program: "qemu".to_owned(), version: version.to_owned() };
        qemu.emulated_cpu()
    }

    #[test]
    fn an_instruction_that_old_versions_emulate_wrongly_is_off_there() {
        for (version, cpu) in [
            ("7.2.22", "max,cx16=off"),
            ("6.0", "max,cx16=off"),
            ("8.0.0", "max"),
            ("10.1.2", "max"),
            ("unknown", "max"),
        ] {
            assert_eq!(emulated_cpu(Arch::X86_64, version), cpu, "{version}");
        }
        assert_eq!(emulated_cpu(Arch::Aarch64, "7.2.22"), "neoverse-n1");
    }

    #[test]
    fn args_that_make_many_cpus_quick_belong_to_emulation() {
        assert!(args(Accel::Tcg).contains("-accel tcg,thread=multi -cpu max -smp 4 -m 512M"));
        assert!(args(Accel::Tcg).contains("lpj="));
        assert!(args(Accel::Kvm).contains("-accel kvm -cpu host"));
        assert!(!args(Accel::Kvm).contains("lpj="));
    }

    #[test]
    fn instructions_are_counted_where_they_are_emulated() {
        for arch in BOTH {
            let args = |accel, clock| args_with(arch, accel, clock);
            let counted = args(Accel::Tcg, Clock::Instructions);
            assert!(counted.contains("thread=single -cpu"), "{counted}");
            assert!(counted.contains("-icount shift=0,sleep=off"), "{counted}");
            assert!(!args(Accel::Kvm, Clock::Instructions).contains("icount"));
            assert!(!args(Accel::Tcg, Clock::Host).contains("icount"));
        }
    }

    #[test]
    fn a_panic_ends_the_machine() {
        for (arch, accel) in BOTH.into_iter().flat_map(|a| [(a, Accel::Kvm), (a, Accel::Tcg)]) {
            let args = args_with(arch, accel, Clock::Host);
            assert!(args.contains("-no-reboot") && args.contains("panic=-1"), "{args}");
        }
    }

    #[test]
    fn each_architecture_has_its_machine_and_its_ports() {
        let x86 = args(Accel::Tcg);
        assert!(x86.contains("-machine pc -accel tcg"), "{x86}");
        assert!(x86.contains("-append console=ttyS0 earlyprintk=ttyS0 panic=-1"), "{x86}");
        assert!(x86.contains("-serial chardev:console") && x86.contains("-serial chardev:data"));
        let arm = args_with(Arch::Aarch64, Accel::Tcg, Clock::Host);
        assert!(arm.contains("-machine virt,gic-version=3 -accel tcg,thread=multi"), "{arm}");
        assert!(arm.contains("-cpu neoverse-n1 -smp 4"), "{arm}");
        assert!(arm.contains("-append console=ttyAMA0 earlycon panic=-1"), "{arm}");
        assert!(arm.contains("-serial chardev:console"), "{arm}");
        assert!(arm.contains("-device pci-serial,chardev=data"), "{arm}");
        for word in ["ttyS0", "earlyprintk", "lpj=", "tsc="] {
            assert!(!arm.contains(word), "{word}: {arm}");
        }
        let kvm = args_with(Arch::Aarch64, Accel::Kvm, Clock::Host);
        assert!(kvm.contains("-machine virt,gic-version=host -accel kvm -cpu host"), "{kvm}");
    }
}
