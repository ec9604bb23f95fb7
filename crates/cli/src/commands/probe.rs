//! `tailback probe calls`.

use crate::command::{Failure, Run, Session, below, commands_below, parse_some_time};
use crate::exit;
use crate::output;
use crate::signals::Interruption;
use host::Roots;
use probe::ProbeError;
use probe::calls::{CallTarget, Calls, Table, count};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const EXAMPLES: [&str; 2] = [
    "sudo tailback probe calls --pid 123 --lib libcrypto.so.3 --symbol MD5_Update",
    "sudo tailback probe calls --pid 123 --lib libc.so.6 --symbol write --size-arg 3",
];

commands_below! {
    /// Count calls of a library function in a running process
    #[command(after_help = below("", EXAMPLES))]
    Probe {
        Calls: CallFlags,
    }
}

/// Count the calls of a library function in a process, by CPU
#[derive(clap::Args)]
#[command(after_help = below("", EXAMPLES))]
pub struct CallFlags {
    /// The process
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
    /// The library, by its name in the maps of the process: libcrypto.so.3
    #[arg(long, value_name = "LIB")]
    lib: String,
    /// The function: MD5_Update
    #[arg(long, value_name = "SYMBOL")]
    symbol: String,
    /// Also add up argument N of each call as a size in bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=6))]
    size_arg: Option<u32>,
    /// Interval between tables
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_some_time)]
    every: Duration,
    /// Exit after N tables [default: when the process exits, or at ^C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Print each table as one line of JSON
    #[arg(long)]
    json: bool,
}

/// How often to check for an interruption.
const TICK: Duration = Duration::from_millis(50);

/// A megabyte, as the tables count it.
const MEGABYTE: f64 = (1 << 20) as f64;

impl Run for CallFlags {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let target = CallTarget {
            pid: self.pid,
            library: self.lib.clone(),
            symbol: self.symbol.clone(),
            size_argument: self.size_arg,
        };
        let most = self.count;
        let interruption = session.interruption();
        let mut interrupted = false;
        count(&Roots::real(), &target, &mut |calls| {
            output::note(&format!(
                "counting calls of {} in pid {}; Ctrl-C ends the count",
                target.symbol, target.pid
            ));
            let mut done = 0;
            while most.is_none_or(|most| done < most)
                && calls.is_alive()
                && !interrupted
                && session.out.is_of_use()
            {
                interrupted = !wait(self.every, interruption, calls);
                show(session, calls, &target, self.json);
                done += 1;
            }
            if !calls.is_alive() {
                output::note(&format!("pid {} has ended", target.pid));
            }
        })
        .map_err(failure)?;
        // Without --count, an interruption is the usual end, so it is no error.
        Ok(if interrupted && most.is_some() { exit::INTERRUPTED } else { 0 })
    }
}

/// Waits for `every`. Returns false if the user interrupts. The wait also ends when the process
/// ends.
fn wait(every: Duration, interruption: &Interruption, calls: &Calls) -> bool {
    let until = Instant::now() + every;
    while Instant::now() < until && calls.is_alive() {
        if interruption.noticed() {
            return false;
        }
        std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
    }
    true
}

fn show(session: &Session, calls: &mut Calls, target: &CallTarget, json: bool) {
    let gained = calls.gained();
    if json {
        let line = serde_json::json!({ "gained": gained, "total": calls.total() });
        session.out.json(&format!("{line}\n"));
    } else {
        session.out.print(&table(&gained, calls.total(), target.size_argument.is_some()));
    }
}

fn table(gained: &Table, total: &Table, sizes: bool) -> String {
    let mut text = String::from("   CPU        calls");
    text.push_str(if sizes { "        MiB\n" } else { "\n" });
    for (cpu, on) in &gained.cpus {
        let _ = write!(text, "{cpu:>6} {:>12}", on.calls);
        if sizes {
            let _ = write!(text, " {:>10.1}", on.bytes as f64 / MEGABYTE);
        }
        text.push('\n');
    }
    let sum = total.sum();
    let _ = write!(text, "Total calls: {}", sum.calls);
    if sizes {
        let _ = write!(text, "; total MiB: {:.1}", sum.bytes as f64 / MEGABYTE);
    }
    text.push_str("\n\n");
    text
}

fn failure(error: ProbeError) -> Failure {
    match error {
        ProbeError::NoPrograms(why) => Failure::need(report::prose::no_programs(&why)),
        error => Failure::usage(error.to_string()),
    }
}
