//! QEMU: the installed version, and its command line.

use crate::accel::{Accel, Clock};
use crate::error::GuestError;
use host::tool::Tool;
use std::time::Duration;

/// Help if QEMU is not installed.
const HELP: &str = "install it: apt-get install qemu-system-x86";

/// Kernel parameters for every accelerator.
///
/// A panic restarts at once, and this ends QEMU. An early console shows more about a kernel that
/// does not boot.
const WORDS: &str = "console=ttyS0 earlyprintk=ttyS0 panic=-1 oops=panic random.trust_cpu=on psi=1";

/// Additional parameters under emulation, so that many CPUs boot within seconds: no calibration
/// of delays, no checks of the clock, and no mitigations for CPU flaws that an emulated CPU does
/// not have.
const EMULATED: &str = "lpj=10000000 tsc=reliable no_timer_check mitigations=off";

/// The QEMU of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// The program.
    pub program: String,
    /// Its version.
    pub version: String,
}

/// The machine for QEMU to run.
#[derive(Debug)]
pub(crate) struct QemuArgs<'a> {
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
    /// Finds QEMU.
    ///
    /// # Errors
    /// If it is not installed; the message names the package.
    pub fn find() -> Result<Self, GuestError> {
        let program = "qemu-system-x86_64".to_owned();
        let mut tool = Tool::new(program.clone(), HELP);
        tool.arg("--version");
        let text = tool.run(Duration::from_secs(20), &|| false)?;
        let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
        Ok(Qemu { program, version: version.unwrap_or("unknown").to_owned() })
    }

    /// QEMU with its arguments.
    pub(crate) fn tool(&self, args: &QemuArgs<'_>) -> Tool {
        let mut tool = Tool::new(self.program.clone(), HELP);
        for word in arguments(args) {
            tool.arg(word);
        }
        tool
    }
}

fn arguments(args: &QemuArgs<'_>) -> Vec<String> {
    let mut all: Vec<String> =
        ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine"]
            .map(str::to_owned)
            .to_vec();
    let memory_mib = args.memory >> 20;
    let shared = args.root.is_some();
    all.push(if shared { "pc,memory-backend=mem".to_owned() } else { "pc".to_owned() });
    let emulated = format!("{WORDS} {EMULATED}");
    let (accel, cpu, cmdline) = match (args.accel, args.clock) {
        (Accel::Kvm, _) => ("kvm", "host", WORDS.to_owned()),
        (Accel::Tcg, Clock::Host) => ("tcg,thread=multi", "max", emulated),
        (Accel::Tcg, Clock::Instructions) => ("tcg,thread=single", "max", emulated),
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
        ("-serial", "chardev:data".to_owned()),
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

    fn args(accel: Accel) -> String {
        args_with(accel, Clock::Host)
    }

    fn args_with(accel: Accel, clock: Clock) -> String {
        arguments(&QemuArgs {
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
        })
        .join(" ")
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
        let counted = args_with(Accel::Tcg, Clock::Instructions);
        assert!(counted.contains("thread=single") && counted.contains("-icount shift=0,sleep=off"));
        assert!(!args_with(Accel::Kvm, Clock::Instructions).contains("icount"));
        assert!(!args(Accel::Tcg).contains("icount"));
    }

    #[test]
    fn a_panic_ends_the_machine() {
        for accel in [Accel::Kvm, Accel::Tcg] {
            assert!(args(accel).contains("-no-reboot") && args(accel).contains("panic=-1"));
        }
    }
}
