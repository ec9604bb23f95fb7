//! Flags of `tailback sim`.

use clap::{Arg, ArgAction, Command, value_parser};
use model::units;
use std::path::PathBuf;

/// The command.
pub fn command() -> Command {
    Command::new("sim")
        .about("Simulate a stall on a machine that is not at hand")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(cpu_quota())
        .subcommand(fleet())
}

fn fleet() -> Command {
    Command::new("fleet")
        .about("Brief records of many hosts, of which the truth is known: what tailback census makes of them")
        .long_about(
            "Brief records of many hosts, of which the truth is known, a line each on standard output: kinds \
             of unlike sizes, wrong answers, wrong clocks, duplicates, lines that are no record. The same \
             seed gives the same bytes.",
        )
        .arg(number("hosts", "N", "Hosts [default: 1000]"))
        .arg(number("seed", "S", "Seed of every random choice [default: 1]"))
        .arg(flag("plant", "Let hosts with a kernel 6.1 and HZ 250 be affected, which census has to find"))
}

fn cpu_quota() -> Command {
    Command::new("cpu-quota")
        .about("The kernel's CFS bandwidth controller: what a group with a CPU quota gets")
        .after_help(
            "How far the model can be trusted: docs/bandwidth.md. A trace is a request a line: when \
             it arrives and how much CPU time it takes, as in `1.5ms, 20us`; # begins a comment.",
        )
        .next_help_heading("Machine")
        .arg(number("cpus", "N", "CPUs of the machine [default: 64]"))
        .arg(text("kernel", "VERSION", "Rules of this kernel [default: the running one]"))
        .arg(number("hz", "N", "Scheduler ticks a second [default: 250]"))
        .arg(
            text("race", "WORD", "The distribution race [default: as the kernel]")
                .value_parser(["on", "off"]),
        )
        .arg(
            text("slices-expire", "WORD", "Slices that expire, as 4.18 to 5.3 have it [default: as the kernel]")
                .value_parser(["on", "off"]),
        )
        .next_help_heading("Group")
        .arg(time("quota", "CPU time in a period [default: 10ms]"))
        .arg(time("period", "Length of a period [default: 100ms]"))
        .arg(time("burst", "CPU time that may be carried over; with --find-quota the most of it [default: 0s]"))
        .arg(time("slice", "CPU time that a CPU takes at once [default: 5ms]"))
        .next_help_heading("Load")
        .arg(
            text("load", "WORD", "What the threads do [default: fibtest, or trace with --trace]")
                .value_parser(["fibtest", "arrivals", "periodic", "trace"]),
        )
        .arg(number("threads", "N", "Threads: of fibtest, or that serve requests [default: CPUs]"))
        .arg(number("fast", "N", "fibtest: threads that never sleep [default: 1]"))
        .arg(time("slow-burst", "fibtest: CPU time of a slow thread between two sleeps [default: 5us]"))
        .arg(
            flag("measure-wakeup", "fibtest: measure what a wake-up costs on this machine, which takes half a second, and take that for --slow-burst")
                .conflicts_with("slow-burst"),
        )
        .arg(time("sleep", "fibtest: how long a slow thread sleeps [default: 10ms]"))
        .arg(time("gap", "arrivals: mean time between two requests [default: 1ms]"))
        .arg(time("service", "arrivals: CPU time of a request [default: 200us]"))
        .arg(
            text("service-kind", "WORD", "arrivals: how service times spread [default: exponential]")
                .value_parser(["fixed", "exponential", "lognormal"]),
        )
        .arg(time("burst-gap", "arrivals: mean time between two bursts of requests [default: none]"))
        .arg(number("burst-size", "N", "arrivals: requests in a burst [default: 10]"))
        .arg(
            text("task", "PERIOD:COST:CPU", "periodic: a thread, as 100ms:5ms:0; may be repeated")
                .action(ArgAction::Append),
        )
        .arg(
            Arg::new("trace")
                .long("trace")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Requests from a file; - for standard input"),
        )
        .next_help_heading("Run")
        .arg(time("duration", "How long to simulate [default: 5s]"))
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("S")
                .value_parser(value_parser!(u64))
                .help("Seed of every random choice [default: 1]"),
        )
        .arg(flag("json", "Print one JSON object"))
        .next_help_heading("Planning")
        .arg(flag("find-quota", "Find the smallest quota for which a latency holds"))
        .arg(time("p50", "Target for half of the requests"))
        .arg(time("p90", "Target for 90% of the requests"))
        .arg(time("p99", "Target for 99% of the requests"))
        .arg(time("p999", "Target for 99.9% of the requests"))
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn number(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    text(name, value, help).value_parser(value_parser!(u32))
}

fn time(name: &'static str, help: &'static str) -> Arg {
    text(name, "TIME", help).value_parser(|text: &str| units::parse_duration(text))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
