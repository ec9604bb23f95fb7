//! Flags of `tailback vm`.

use clap::{Arg, ArgAction, Command, value_parser};
use model::units;

const HELP: &str = "K is a bzImage, a Debian kernel package, a folder of an unpacked one, \
    debian:SERIES (fetched with apt in lists of its own, and cached), or built:NAME (see make \
    kernels).\n\nWithout KVM the guest is emulated: its times stretch, and only differences between \
    the arms of a study count. A guest that does not come up, panics, hangs or takes too long ends \
    with exit code 4 and the last lines of its console.";

/// The command.
pub fn command() -> Command {
    machine(Command::new("vm").about("Run a command inside another kernel, in a guest of its own"))
        .after_help(HELP)
        .arg(
            Arg::new("kernel")
                .long("kernel")
                .value_name("K")
                .required(true)
                .help("The kernel: a file, a folder, debian:6.12, built:slices-expire"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .required(true)
                .num_args(1..)
                .last(true)
                .help("What to run, as in `-- run mmap-lock --quick`"),
        )
}

/// The flags of a guest's machine.
pub fn machine(command: Command) -> Command {
    command
        .arg(
            Arg::new("cpus")
                .long("cpus")
                .value_name("N")
                .value_parser(value_parser!(u32))
                .default_value("2")
                .hide_default_value(true)
                .help("CPUs of the guest [default: 2]"),
        )
        .arg(
            Arg::new("memory")
                .long("memory")
                .value_name("SIZE")
                .value_parser(|text: &str| units::parse_size(text))
                .default_value("1GiB")
                .hide_default_value(true)
                .help("Memory of the guest [default: 1GiB]"),
        )
        .arg(
            Arg::new("accel")
                .long("accel")
                .value_name("WORD")
                .value_parser(["auto", "kvm", "tcg"])
                .default_value("auto")
                .hide_default_value(true)
                .help("KVM, emulation, or KVM where a test shows that it works [default: auto]"),
        )
        .arg(
            Arg::new("clock")
                .long("clock")
                .value_name("WORD")
                .value_parser(["auto", "instructions", "host"])
                .default_value("auto")
                .hide_default_value(true)
                .help("What an emulated guest's clock counts: instructions, or the host's time [default: auto: instructions where the kernel is known to come up with that]"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("TIME")
                .value_parser(|text: &str| units::parse_duration(text))
                .help("End a guest that takes longer; what it has measured until then comes back [default: 15min, and the time that so many CPUs may take to come up]"),
        )
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("DIR")
                .help("Give the guest this folder as its root, `host` for this one; shared read-only, whatever its kernel is, and without the file systems mounted below it. Needs root, and virtiofs built in, as debian:6.12 has, or as a module of a Debian package"),
        )
        .arg(
            Arg::new("refresh")
                .long("refresh")
                .action(ArgAction::SetTrue)
                .help("Fetch debian:SERIES again even if it is cached"),
        )
}
