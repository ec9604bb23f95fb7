//! `compat fibtest`.

use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;
use load::child::fibonacci::{Fibonacci, FibonacciArgs, MOST_THREADS};
use load::protocol::FibonacciReport;
use std::fmt::Write as _;
use std::time::Duration;

/// The text of `--help`, which every unknown option prints too.
const USAGE: &str = "Usage: fibtest -t <threads>
Runs the fibonacci sequence on threads, each pinned to a CPU, for a set time, and prints how many
iterations all of them completed. Fast threads never pause; slow threads run 100 iterations and then
sleep for 10 ms.

Options
-v, Verbose prints total number of iterations per thread
-f <NUM>, number of fast threads (Default=1).
-t <NUM>, total number of threads (Default=Number of CPUs)
-s <NUM>, Sets the duration of the test (Default=5 seconds)
";

/// Runs the threads in this process.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let Some((args, verbose)) = parse(args)? else { return Ok(0) };
    let fibonacci = Fibonacci::set_up(&args)?;
    let report = fibonacci.work(|duration| {
        std::thread::sleep(duration);
        false
    });
    session.out.print(&lines(&report?, verbose));
    Ok(0)
}

/// The output of a run: with `verbose` one line per thread, then the sum.
fn lines(report: &FibonacciReport, verbose: bool) -> String {
    let mut text = String::new();
    if verbose {
        for thread in &report.threads {
            let _ = writeln!(text, "fib[{}] = {} ", thread.iterations, thread.value);
        }
    }
    text.push_str(&iterations(report.iterations));
    text
}

/// The line with the number of completed iterations, in millions.
pub fn iterations(count: u64) -> String {
    format!("Iterations Completed(M): {} \n", count / 1_000_000)
}

/// The threads, and whether each is printed. None if the help was printed.
fn parse(args: &[String]) -> Result<Option<(FibonacciArgs, bool)>, Failure> {
    let mut options = Options::new(args, USAGE);
    let mut wanted = FibonacciArgs::new(1, Duration::from_secs(5));
    wanted.threads = None;
    let mut verbose = false;
    loop {
        let word = match options.next() {
            Next::End => return Ok(Some((wanted, verbose))),
            Next::Help => return Ok(None),
            Next::Word(word) => word,
        };
        let most = u64::from(MOST_THREADS);
        let mut number = |most| options.number(word, most);
        match word {
            "-v" => verbose = true,
            "-f" => wanted.fast = small(number(most)?),
            "-t" => wanted.threads = Some(small(number(most)?)),
            "-s" => {
                let seconds = number(super::mapper::MOST_SECONDS)?;
                wanted.duration_ms = seconds.saturating_mul(1000);
            }
            _ => return Err(options.unknown(word)),
        }
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::protocol::FibonacciThread;

    #[test]
    fn the_lines_end_in_a_blank_as_the_original_has_them() {
        let thread = FibonacciThread { iterations: 7, value: 13, ..FibonacciThread::default() };
        let report = FibonacciReport {
            iterations: 1_573_999_999,
            threads: vec![thread],
            ..FibonacciReport::default()
        };
        assert_eq!(lines(&report, false), "Iterations Completed(M): 1573 \n");
        assert_eq!(lines(&report, true), "fib[7] = 13 \nIterations Completed(M): 1573 \n");
    }

    #[test]
    fn options_are_those_of_the_original() {
        let words = ["-v", "-f", "2", "-t", "8", "-s", "1"].map(str::to_owned);
        let (args, verbose) = parse(&words).unwrap().unwrap();
        assert_eq!((verbose, args.fast, args.threads), (true, 2, Some(8)));
        assert_eq!(args.duration(), Duration::from_secs(1));
        assert!(parse(&["-t".to_owned(), "x".to_owned()]).is_err());
        assert!(parse(&["-x".to_owned()]).is_err());
    }
}
