//! The flags of `tailback watch`.

use clap::{Arg, ArgAction, Command, value_parser};
use model::units;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXIT_CODES: &str = "Exit codes:\n  0    nothing that was measured holds anybody up\n  1    a \
    finding\n  2    bad usage\n  3    nothing can be measured here\n  130  interrupted before the \
    first second was over";

/// `tailback watch`.
pub fn command() -> Command {
    let time = |text: &str| units::parse_duration(text);
    Command::new("watch")
        .about("Show which stall holds up this machine now, whom, and by whom; read-only")
        .long_about(
            "Show which stall holds up this machine now, whom, and by whom.\n\nLoads eBPF programs \
             while it runs; changes nothing else. These programs add up who was ready and did not \
             run. They need root, or CAP_BPF and CAP_PERFMON; without them it shows what /proc and \
             cpu.stat tell.",
        )
        .arg(
            Arg::new("pid")
                .long("pid")
                .value_name("PID")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(value_parser!(u32).range(1..))
                .help("Show what these processes lose [default: the whole machine]"),
        )
        .arg(
            Arg::new("cgroup")
                .long("cgroup")
                .value_name("PATH")
                .help("Show what the processes of this group and the groups below it lose: /system.slice"),
        )
        .arg(
            Arg::new("comm")
                .long("comm")
                .value_name("NAME")
                .help("Show what the processes of this name lose, as ps -o comm shows it"),
        )
        .arg(
            Arg::new("node")
                .long("node")
                .value_name("NAME")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Also look into these Erlang nodes: web@host, or web@host:PORT without epmd"),
        )
        .arg(
            Arg::new("cookie-file")
                .long("cookie-file")
                .value_name("FILE")
                .requires("node")
                .value_parser(value_parser!(PathBuf))
                .help("File with the cookie of these nodes [default: ~/.erlang.cookie, or that of Debian's RabbitMQ]"),
        )
        .arg(
            Arg::new("node-anywhere")
                .long("node-anywhere")
                .action(ArgAction::SetTrue)
                .requires("node")
                .help("Allow nodes on other machines, where it cannot be seen who gets the proof of the cookie"),
        )
        .arg(
            Arg::new("for")
                .long("for")
                .value_name("TIME")
                .value_parser(time)
                .help("Watch for TIME, print one report and exit: 30s"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print one JSON line per second covering the last 5 s. With --for, the final line covers the whole run"),
        )
        .arg(
            Arg::new("record")
                .long("record")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write a record at the end, for explain, report and export. It replaces an older record in FILE"),
        )
        .arg(
            Arg::new("ring")
                .long("ring")
                .value_name("SIZE")
                .value_parser(|text: &str| units::parse_size(text))
                .help("Keep the last intervals in SIZE of memory (64MiB). Write them when a finding begins, or on SIGUSR1: to --record FILE, or to the next free FILE-1, FILE-2"),
        )
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .help("Serve the figures as OpenMetrics at ADDRESS: 127.0.0.1:9100"),
        )
        .arg(
            Arg::new("listen-anywhere")
                .long("listen-anywhere")
                .action(ArgAction::SetTrue)
                .requires("listen")
                .help("Allow an address that other machines can reach"),
        )
        .arg(
            Arg::new("why")
                .long("why")
                .action(ArgAction::SetTrue)
                .help("Show every finding, every fix and every source"),
        )
        .after_help(EXIT_CODES)
}
