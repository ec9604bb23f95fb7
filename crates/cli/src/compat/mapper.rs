//! `compat mapper`.

use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;
use load::child::mapper::{Mapper, MapperArgs};
use load::live::LivePage;
use load::protocol::MapperReport;
use std::path::PathBuf;
use std::time::Duration;

/// Default size of the region, in bytes.
pub const DEFAULT_REGION: u64 = 128 << 20;

/// Pause between two calls, as in the original.
pub const PAUSE: Duration = Duration::from_micros(10);

/// Longest run, in seconds.
pub const MOST_SECONDS: u64 = 1_000_000;

const USAGE: &str = "Usage: mapper
\t--duration
\t\tDuration of test in seconds.
\t--gb
\t\tRegion size in gigabytes.
\t--mb
\t\tRegion size in megabytes (Default of 128).
\t--opavg
\t\tPrint the average beside the longest call.
\t--waitfile
\t\tDon't start test until this file is removed.
";

struct Wanted {
    duration: u64,
    region: Option<u64>,
    waitfile: Option<PathBuf>,
    opavg: bool,
}

/// Maps and unmaps in this process.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let Some(wanted) = parse(args)? else { return Ok(0) };
    let duration = Duration::from_secs(wanted.duration);
    let args = MapperArgs::new(wanted.region.unwrap_or(DEFAULT_REGION), duration, PAUSE);
    session.out.print(&first_line(std::process::id(), wanted.duration, args.region_bytes()));
    let mut mapper = Mapper::set_up(&args)?;
    if let Some(file) = &wanted.waitfile {
        while file.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let live = LivePage::create().map_err(|e| Failure::broken(format!("mapper: {e}")))?;
    let region = mapper.region();
    mapper.work(&args, &live)?;
    session.out.print(&last_line(region, wanted.duration, &mapper.report(&live), wanted.opavg));
    Ok(0)
}

/// The first line of a mapper.
pub fn first_line(pid: u32, duration: u64, region: u64) -> String {
    let pages = region / rustix::param::page_size() as u64;
    format!("./mapper PID: {pid} duration: {duration} region size (pages): {pages}\n")
}

/// The last line of a mapper.
pub fn last_line(region: u64, duration: u64, report: &MapperReport, opavg: bool) -> String {
    let (maps, unmaps) = (report.maps, report.unmaps);
    let opmax = report.worst_ns as f64 / 1e6;
    let mut line = format!(
        "./mapper: Map region: {region:#x} duration: {duration} nmaps: {maps} nunmaps: {unmaps} \
         opmax: {opmax:.3} ms"
    );
    if opavg {
        line.push_str(&format!(" opavg: {:.3} ms", average_ms(report)));
    }
    line.push('\n');
    line
}

/// Mean time of a call, in milliseconds.
pub fn average_ms(report: &MapperReport) -> f64 {
    report.sum_ns as f64 / (report.maps + report.unmaps).max(1) as f64 / 1e6
}

fn parse(args: &[String]) -> Result<Option<Wanted>, Failure> {
    let mut options = Options::new(args, USAGE);
    let mut wanted = Wanted { duration: 10, region: None, waitfile: None, opavg: false };
    loop {
        let word = match options.next() {
            Next::End => return Ok(Some(wanted)),
            Next::Help => return Ok(None),
            Next::Word(word) => word,
        };
        match word {
            "--duration" => wanted.duration = options.number(word, MOST_SECONDS)?,
            "--gb" | "--mb" if wanted.region.is_some() => {
                return Err(options.mistake("Only one of --gb and --mb may be specified"));
            }
            "--gb" => wanted.region = Some(options.number(word, 1 << 17)? << 30),
            "--mb" => wanted.region = Some(options.number(word, 1 << 27)? << 20),
            "--opavg" => wanted.opavg = true,
            "--waitfile" => wanted.waitfile = Some(options.text(word)?.into()),
            _ => return Err(options.mistake(&format!("Unrecognized argument: {word}"))),
        }
    }
}
