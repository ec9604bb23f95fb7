//! `compat run-proc-vs-map`: the table for 0, 1, 10, 100 and 1000 busy tasks.

use super::mapper::average_ms;
use super::options::{Next, Options};
use super::proc_vs_map::{enough_cpus, pinned};
use super::setting::Setting;
use crate::exit::Failure;
use crate::session::Session;
use host::Roots;
use indicatif::ProgressBar;
use model::Machine;
use model::median::{ascending, median};
use scenarios::LoadSpawner;
use scenarios::mmap_lock::{RawTrial, SCENARIO, run_load};
use std::fmt::Write as _;

const USAGE: &str = "Usage: run-proc-vs-map optional arguments:
       --nsamples (default 7)
       --help
       --opavg
       --rawdata
       -- proc-vs-map options (no default)
";

/// The number of busy tasks in each row.
const BUSY: [u64; 5] = [0, 1, 10, 100, 1000];

/// The requested samples and output.
#[derive(Debug, Clone)]
struct Wanted {
    nsamples: u64,
    opavg: bool,
    rawdata: bool,
    setting: Setting,
}

/// The results of the samples of one row, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    busy: u64,
    max: Vec<f64>,
    average: Vec<f64>,
    hangs: u32,
}

/// Runs all samples and prints the table.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    session.out.print(&format!("Running ./run-proc-vs-map.sh {}\n", args.join(" ")));
    let machine = host::machine(&Roots::real());
    let Some(wanted) = parse(args)? else { return Ok(0) };
    enough_cpus(&machine)?;
    let mut rows: Vec<Row> = BUSY.map(|busy| Row { busy, ..Row::default() }).into();
    let done = measure(session, &wanted, &machine, &mut rows);
    // Results from before an interruption are printed too.
    if rows.iter().any(|row| !row.max.is_empty()) {
        session.out.print(&table(&wanted, &rows));
    }
    done.map(|()| 0)
}

fn parse(args: &[String]) -> Result<Option<Wanted>, Failure> {
    let mut options = Options::new(args, USAGE);
    let (mut nsamples, mut opavg, mut rawdata) = (7, false, false);
    let setting = loop {
        match options.next() {
            Next::End => break Some(Setting::default()),
            Next::Help => return Ok(None),
            Next::Word("--nsamples") => nsamples = options.number("--nsamples", 1_000_000)?,
            Next::Word("--opavg") => opavg = true,
            Next::Word("--rawdata") => rawdata = true,
            Next::Word("--") => break Setting::parse(options.rest())?,
            Next::Word(word) => return Err(options.unknown(word)),
        }
    };
    // Raw data exist only in the later form of the table, which shows averages.
    Ok(setting.map(|setting| Wanted {
        nsamples,
        opavg: opavg || rawdata || setting.opavg,
        rawdata,
        setting,
    }))
}

fn measure(
    session: &Session,
    wanted: &Wanted,
    machine: &Machine,
    rows: &mut [Row],
) -> Result<(), Failure> {
    let interruption = session.interruption();
    // All CPUs are checked before anything runs.
    let spec = wanted.setting.spec(machine, 0)?;
    let _pinned = pinned(&spec)?;
    let bar = ProgressBar::new(wanted.nsamples * BUSY.len() as u64);
    for _ in 0..wanted.nsamples {
        for row in rows.iter_mut() {
            bar.set_message(format!("{} busy", row.busy));
            let setting = Setting { nbusytasks: row.busy, ..wanted.setting.clone() };
            let spec = setting.spec(machine, os::random::number())?;
            let interrupted = || interruption.noticed();
            let raw = run_load(&spec, &LoadSpawner::default(), &interrupted, &mut |_| {})
                .map_err(|error| Failure::of(error, Some(SCENARIO.meta)))?;
            row.add(&raw);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

impl Row {
    fn add(&mut self, raw: &RawTrial) {
        let (worst_ns, average) = match &raw.report {
            Some(report) => (report.worst_ns, average_ms(report)),
            // A mapper that never came back, even without its load, leaves only its live page.
            None => {
                let picture = raw.picture.as_of(raw.cut.at_ns);
                (
                    picture.worst_ns,
                    picture.stalled_ns as f64 / picture.operations.max(1) as f64 / 1e6,
                )
            }
        };
        self.max.push(worst_ns as f64 / 1e6);
        self.average.push(average);
        self.hangs += u32::from(raw.cut.hang);
    }
}

fn table(wanted: &Wanted, rows: &[Row]) -> String {
    let mut text = String::new();
    if !wanted.rawdata {
        text.push_str(if wanted.opavg { AVERAGE_HEAD } else { WORST_HEAD });
    }
    for row in rows.iter().filter(|row| !row.max.is_empty()) {
        if wanted.rawdata {
            raw(&mut text, row);
        } else {
            summary(&mut text, row, wanted.opavg);
        }
    }
    text.push('\n');
    text
}

const WORST_HEAD: &str = "
\t Worst-case mmap()/munmap()
\t   latency (milliseconds)
\t --------------------------
#Busy    Median   Minimum   Maximum #Hangs
";

const AVERAGE_HEAD: &str = "
          Average mmap()/munmap()
           latency (milliseconds)
         --------------------------
#Busy    Median   Minimum   Maximum #Hangs
";

/// One row, made of the longest calls. In the later form, median and minimum are of the averages.
/// The maximum is always of the longest calls.
fn summary(text: &mut String, row: &Row, opavg: bool) {
    let max = ascending(row.max.iter().copied());
    let of = if opavg { ascending(row.average.iter().copied()) } else { max.clone() };
    let hangs = if row.hangs > 0 { format!("*{}", row.hangs) } else { String::new() };
    let _ = writeln!(
        text,
        "{:5} {:9.3} {:9.3} {:9.3} {hangs:>6}",
        row.busy,
        median(&of).unwrap_or(0.0),
        of.first().copied().unwrap_or(0.0),
        max.last().copied().unwrap_or(0.0),
    );
}

fn raw(text: &mut String, row: &Row) {
    let average = ascending(row.average.iter().copied());
    let max = ascending(row.max.iter().copied());
    let middle = median(&average).unwrap_or(0.0);
    text.push('\n');
    for (average, max) in average.iter().zip(&max) {
        let _ = writeln!(text, "{middle:9.3} {average:9.3} {max:9.3}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(opavg: bool, rawdata: bool) -> Wanted {
        Wanted { nsamples: 3, opavg, rawdata, setting: Setting::default() }
    }

    fn rows() -> Vec<Row> {
        let row = |busy, max: [f64; 3], hangs| Row {
            busy,
            max: max.into(),
            average: vec![0.005, 0.004, 0.007],
            hangs,
        };
        vec![row(0, [0.141, 0.097, 0.036], 0), row(1000, [8019.6, 12020.7, 4114.936], 2)]
    }

    #[test]
    fn the_table_of_longest_calls() {
        let expected = "
\t Worst-case mmap()/munmap()
\t   latency (milliseconds)
\t --------------------------
#Busy    Median   Minimum   Maximum #Hangs
    0     0.097     0.036     0.141       
 1000  8019.600  4114.936 12020.700     *2

";
        assert_eq!(table(&wanted(false, false), &rows()), expected);
    }

    #[test]
    fn the_table_of_averages() {
        let expected = "
          Average mmap()/munmap()
           latency (milliseconds)
         --------------------------
#Busy    Median   Minimum   Maximum #Hangs
    0     0.005     0.004     0.141       
 1000     0.005     0.004 12020.700     *2

";
        assert_eq!(table(&wanted(true, false), &rows()), expected);
    }

    #[test]
    fn raw_data_are_a_line_a_sample() {
        let text = table(&wanted(true, true), &rows()[..1]);
        assert_eq!(
            text,
            "\n    0.005     0.004     0.036\n    0.005     0.005     0.097\n    0.005     0.007     0.141\n\n"
        );
    }

    #[test]
    fn the_options_of_proc_vs_map_stand_behind_two_dashes() {
        let words = ["--nsamples", "3", "--", "--duration", "3"].map(str::to_owned);
        let wanted = parse(&words).unwrap().unwrap();
        assert_eq!((wanted.nsamples, wanted.setting.duration), (3, 3));
        assert!(parse(&["--what".to_owned()]).is_err());
        assert!(parse(&["--nsamples".to_owned(), "x".to_owned()]).is_err());
    }
}
