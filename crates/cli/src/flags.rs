//! The command line, made from the declarations of the scenarios.

mod census;
mod common;
mod shown;

use clap::{Arg, ArgAction, Args as _, Command, Subcommand, value_parser};
use common::{brief, host_name, json, why};
use model::units;
use scenarios::AnyScenario;
use scenarios::busy_wait;
use std::path::PathBuf;

const ABOUT: &str = "Finds out why ready work stands still";

const LONG_ABOUT: &str = "Finds out why ready work stands still.\n\nReproduces a scheduling stall \
    in seconds, measures it, gives a verdict with an interval, and says what fixes it.";

const EXIT_CODES: &str = "Exit codes:\n  0    no stall\n  1    affected\n  2    bad usage or input\
    \n  3    a need is missing: CPUs, a privilege, room on the disk\n  4    inconclusive or \
    untrustworthy\n  130  interrupted; the partial record is kept";

/// The whole command line.
pub fn command() -> Command {
    Command::new("tailback")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list())
        .subcommand(check())
        .subcommand(run())
        .subcommand(study())
        .subcommand(identify())
        .subcommand(watch())
        .subcommand(judge())
        .subcommand(shown::report())
        .subcommand(shown::compare())
        .subcommand(shown::history())
        .subcommand(shown::export())
        .subcommand(census::command())
        .subcommand(explain())
        .subcommand(probe())
        .subcommand(restore())
        .subcommand(crate::commands::sim::flags::command())
        .subcommand(advise())
        .subcommand(erlang_app())
        .subcommand(crate::commands::vm::flags::command())
        .subcommand(crate::commands::matrix::flags::command())
        .subcommand(compat())
        .subcommand(completions())
        .subcommand(man())
        .subcommand(load())
        .subcommand(reader())
}

fn list() -> Command {
    Command::new("list")
        .about("Show the scenarios, what each needs, and whether this host can run it")
        .arg(json("Print the list as JSON"))
}

fn check() -> Command {
    let command = Command::new("check")
        .about("Run every scenario that this host can run, and show the verdicts")
        .long_about(
            "Run every scenario that this host can run, and show the verdicts. Several share two \
             minutes at most, so each takes its quick settings; one alone takes its own.",
        )
        .arg(json("Print the records alone, as a JSON array"))
        .arg(why())
        .arg(seed())
        .arg(quick())
        .arg(no_probe())
        .arg(scenario_filter("only", "Run these scenarios only"))
        .arg(scenario_filter("skip", "Leave these scenarios out"))
        .arg(otp("The OTP of the scenarios that run Erlang"))
        .arg(
            Arg::new("time")
                .long("time")
                .value_name("TIME")
                .value_parser(|text: &str| units::parse_duration(text))
                .help("Time budget of all studies together [default: 120s]"),
        )
        .arg(
            Arg::new("report")
                .long("report")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the page here [default: beside the records, in the state folder]"),
        )
        .after_help(EXIT_CODES);
    brief(command)
}

/// A brief record is of a watch that ends.
fn watch() -> Command {
    brief(crate::commands::watch::flags::command()).mut_arg("brief", |arg| arg.requires("for"))
}

fn identify() -> Command {
    Command::new("identify")
        .about("Show what groups this machine with others: kernel, HZ, CPUs, OTPs")
        .arg(json("Print it as JSON"))
        .args(host_name())
}

fn otp(what: &str) -> Arg {
    let forms = "debian:SUITE, an erl, or the folder of an installation";
    Arg::new("otp")
        .long("otp")
        .alias("erl")
        .value_name("OTP")
        .help(format!("{what}: {forms} [default: the erl on the PATH]"))
}

fn scenario_filter(name: &'static str, help: &'static str) -> Arg {
    let ids: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.meta().id).collect();
    Arg::new(name)
        .long(name)
        .help(help)
        .value_name("SCENARIO")
        .value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(ids)
}

fn run() -> Command {
    let scenarios = scenarios::ALL.iter().map(|scenario| run_scenario(*scenario));
    Command::new("run")
        .about("Run one scenario until its verdict is settled")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("SCENARIO")
        .subcommand_help_heading("Scenarios")
        .subcommands(scenarios)
        .after_help(EXIT_CODES)
}

fn run_scenario(scenario: &dyn AnyScenario) -> Command {
    let meta = scenario.meta();
    let command = scenario
        .flags(Command::new(meta.id))
        // Behind the flags, which bring words of their own for the command.
        .about(capitalised(meta.title))
        .long_about(format!("{}.\n\n{}", capitalised(meta.title), meta.about))
        .next_help_heading("Study")
        .arg(json("Print the record alone on standard output"))
        .arg(why())
        .arg(
            Arg::new("record")
                .long("record")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Keep the record here [default: a file of its own in the state folder]"),
        )
        .arg(
            Arg::new("samples")
                .long("samples")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .help("Run exactly N blocks, settled or not"),
        )
        .arg(
            Arg::new("at-least")
                .long("at-least")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .conflicts_with("samples")
                .help("Let no verdict end the study before N blocks [default: 6]"),
        )
        .arg(
            Arg::new("fresh")
                .long("fresh")
                .action(ArgAction::SetTrue)
                .help("Start a new study even where the last one of these settings is undecided"),
        )
        .arg(
            Arg::new("time")
                .long("time")
                .value_name("TIME")
                .value_parser(|text: &str| units::parse_duration(text))
                .help("Time budget: no new block starts after it, and a study without a verdict ends undecided [default: 60s, more where the blocks of a verdict take longer]"),
        )
        .arg(seed())
        .arg(quick())
        .arg(
            Arg::new("probe")
                .long("probe")
                .action(ArgAction::SetTrue)
                .conflicts_with("no-probe")
                .help("Run the trials with probes even where no stall was found"),
        )
        .arg(no_probe())
        .after_help(EXIT_CODES);
    brief(command)
}

fn study() -> Command {
    crate::commands::study::flags::command()
        .arg(json("Print the record alone on standard output"))
        .arg(why())
        .arg(seed().help(
            "Seed of every random choice [default: the file's, else the record's, else a new one]",
        ))
        .arg(quick().help("Take what the file says of a quick run: fewer levels and blocks"))
        .after_help(EXIT_CODES)
}

/// The record that a command reads.
fn record() -> Arg {
    Arg::new("file")
        .value_name("RECORD")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The record; - for standard input")
}

fn judge() -> Command {
    Command::new("judge")
        .about("Judge again, from a record alone")
        .arg(record())
        .arg(json("Print the judged record on standard output"))
        .arg(why())
        .after_help(EXIT_CODES)
}

fn explain() -> Command {
    Command::new("explain")
        .about("Say who held up whom, and what fixes it, from a record alone")
        .arg(record())
        .arg(
            Arg::new("arm")
                .long("arm")
                .value_name("ARM")
                .help("The arm to explain [default: the one that waited longest]"),
        )
        .arg(
            Arg::new("timeline")
                .long("timeline")
                .action(ArgAction::SetTrue)
                .help("Show the worst wait moment by moment"),
        )
        .arg(
            Arg::new("perfetto")
                .long("perfetto")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the worst waits as a trace for ui.perfetto.dev"),
        )
        .arg(json("Print the explanation as JSON: typed facts, with times in ns"))
        .arg(why().help("Show what the probes cost figure by figure"))
        .after_help(EXIT_CODES)
}

fn restore() -> Command {
    Command::new("restore")
        .about("Put back what a killed run left: CPU frequencies, control groups, controllers")
        .arg(
            Arg::new(crate::guard::WAIT)
                .long(crate::guard::WAIT)
                .value_name("PID")
                .value_parser(value_parser!(u32))
                .hide(true)
                .help("Wait first until standard input ends and this parent is gone"),
        )
}

fn probe() -> Command {
    Command::new("probe")
        .about("Look at a running process with eBPF")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(probe_calls())
}

fn probe_calls() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).required(true).help(help)
    };
    Command::new("calls")
        .about("Count the calls of a function of a library, by CPU")
        .arg(text("pid", "PID", "The process").value_parser(value_parser!(u32).range(1..)))
        .arg(text("lib", "LIB", "The library, as the process has it mapped: libcrypto.so.3"))
        .arg(text("symbol", "SYMBOL", "The function: MD5_Update"))
        .arg(
            Arg::new("size-arg")
                .long("size-arg")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=6))
                .help("Add up the N-th argument as a size in bytes"),
        )
        .arg(
            Arg::new("every")
                .long("every")
                .value_name("TIME")
                .value_parser(|text: &str| units::parse_duration(text))
                .default_value("5s")
                .hide_default_value(true)
                .help("Show a table so often [default: 5s]"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("End after N tables [default: until ^C, or the process ends]"),
        )
        .arg(json("Print each table as a line of JSON"))
}

/// The originals parse their own options, so that `--help` behind a name is the program's own.
fn compat() -> Command {
    let program = |(name, about): &(&'static str, &'static str)| {
        Command::new(*name).about(*about).disable_help_flag(true).arg(
            Arg::new("args")
                .value_name("ARGS")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("Its own options; --help prints them"),
        )
    };
    Command::new("compat")
        .about("The original test programs, with their options and their output")
        .after_help(crate::compat::HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("NAME")
        .subcommand_help_heading("Programs")
        .disable_help_subcommand(true)
        .subcommands(crate::compat::PROGRAMS.iter().map(program))
}

fn advise() -> Command {
    AnyScenario::flags(&busy_wait::SCENARIO, Command::new("advise"))
        .mut_args(of_advice)
        .about("Measure which emulator flags help an Erlang node under a CPU quota, and print them")
        .long_about(None::<&str>)
        .arg(json("Print the record alone on standard output"))
        .arg(
            Arg::new("record")
                .long("record")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Keep the record here [default: a file of its own in the state folder]"),
        )
        .arg(seed())
        .arg(quick())
        .after_help(
            "Prints ERL_FLAGS=\"...\" with the effect of each set of flags and its interval, or \
             that none is supported.\nExit codes: 0 measured, 2 bad usage, 3 a need is missing, 4 \
             no verdict, 130 interrupted",
        )
}

/// The parameters of `busy-wait` in words of their own; those that nobody needs here are not shown.
fn of_advice(arg: Arg) -> Arg {
    let arg = arg.help_heading(None::<&str>);
    match arg.get_id().as_str() {
        "quota" => arg
            .value_name("CPUS")
            .required(true)
            .default_value(None::<&str>)
            .help("The quota in CPUs, as 0.5"),
        "schedulers" => arg.long("cpus").help(
            "Schedulers that the node would have: the CPUs of its host [default: one a CPU here, \
             and 8 at least]",
        ),
        "otp" => arg.value_name("OTP").help(
            "The OTP: debian:SUITE, an erl, or the folder of an installation [default: the erl on \
             the PATH]",
        ),
        "load" => arg.help("What a request is [default: port]"),
        "rate" => arg.help(
            "Requests a second [default: a rate at which the node without busy waiting uses 60% of \
             the quota]",
        ),
        _ => arg.hide(true),
    }
}

fn erlang_app() -> Command {
    Command::new("erlang-app")
        .about("Write the compiled Erlang application to a folder, for a shell of one's own")
        .arg(
            Arg::new("folder")
                .value_name("FOLDER")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The folder: a new or empty one, or one that this command wrote before"),
        )
        .arg(otp("The OTP to compile it for"))
}

fn completions() -> Command {
    Command::new("completions").about("Write the completions of a shell to standard output").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(clap_complete::Shell))
            .help("The shell"),
    )
}

fn man() -> Command {
    Command::new("man").about("Write the man pages to a folder").arg(
        Arg::new("folder")
            .value_name("FOLDER")
            .required(true)
            .value_parser(value_parser!(PathBuf))
            .help("The folder; it is made where it is missing"),
    )
}

/// The load generators; hidden, since only tailback itself starts them.
fn load() -> Command {
    let command = load::LoadArgs::augment_args(Command::new("load").hide(true));
    load::LoadCommand::augment_subcommands(command)
        .subcommand_required(true)
        .about("Be a load generator")
}

/// The process that opens for `watch` what users wrote; hidden, since only `watch` starts it.
fn reader() -> Command {
    Command::new("reader").hide(true).about("Open files of processes, for watch")
}

fn seed() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("S")
        .value_parser(|text: &str| {
            text.parse::<u64>().map_err(|_| "it is not a whole number below 2^64".to_owned())
        })
        .help("Seed of every random choice [default: a new one, and printed]")
}

fn quick() -> Arg {
    Arg::new("quick")
        .long("quick")
        .action(ArgAction::SetTrue)
        .help("Fewer arms or shorter trials, where the scenario has quick settings")
}

fn no_probe() -> Arg {
    Arg::new("no-probe").long("no-probe").action(ArgAction::SetTrue).help(
        "Do not run the trials with probes, which tell who holds up whom where a stall was found",
    )
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
