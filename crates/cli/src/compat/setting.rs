//! The options of `proc-vs-map`, checked against the CPUs of this machine.

use super::mapper::{DEFAULT_REGION, MOST_SECONDS, PAUSE};
use super::options::{Next, Options};
use crate::exit::Failure;
use model::Machine;
use scenarios::mmap_lock::{CpuLoad, TrialSpec};
use std::time::Duration;

/// Usage of `proc-vs-map`.
pub const USAGE: &str = "Usage: proc-vs-map optional arguments:
       --busyduration milliseconds (default 0, which spins always)
       --cpubusytasks CPU# (default 2)
       --cpumapper CPU# (default 0)
       --cpuscript CPU# (default 1)
       --duration seconds (default 10)
       --gb region size in gigabytes
       --help
       --mb region size in megabytes (default 128)
       --nbusycpus # of CPUs from --cpubusytasks up (default 1)
       --nbusytasks # of each kind on each of these CPUs (default 20)
       --opavg print the average beside the longest call
       --procfile file in /proc/PID (default smaps)
";

/// Most tasks of one kind on one CPU.
const MOST_TASKS: u64 = 10_000;

/// Nice value of the scanners.
const NICE: i32 = 15;

/// How long the scanners read before the busy waiters begin.
const LEAD: Duration = Duration::from_secs(1);

/// How much longer than its duration a mapper may run before its load is killed.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The settings of one run of `proc-vs-map`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub busyduration: u64,
    pub cpubusytasks: u64,
    pub cpumapper: u64,
    pub cpuscript: u64,
    pub duration: u64,
    pub region: u64,
    pub nbusycpus: u64,
    pub nbusytasks: u64,
    pub opavg: bool,
    pub procfile: String,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            busyduration: 0,
            cpubusytasks: 2,
            cpumapper: 0,
            cpuscript: 1,
            duration: 10,
            region: DEFAULT_REGION,
            nbusycpus: 1,
            nbusytasks: 20,
            opavg: false,
            procfile: "smaps".to_owned(),
        }
    }
}

impl Setting {
    /// Reads the options; None if the help was printed.
    pub fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let mut options = Options::new(args, USAGE);
        let mut setting = Setting::default();
        loop {
            let word = match options.next() {
                Next::End => return Ok(Some(setting)),
                Next::Help => return Ok(None),
                Next::Word(word) => word,
            };
            match word {
                "--busyduration" => setting.busyduration = options.number(word, 3_600_000)?,
                "--cpubusytasks" => setting.cpubusytasks = options.number(word, 1 << 20)?,
                "--cpumapper" => setting.cpumapper = options.number(word, 1 << 20)?,
                "--cpuscript" => setting.cpuscript = options.number(word, 1 << 20)?,
                "--duration" => setting.duration = options.number(word, MOST_SECONDS)?,
                "--gb" => setting.region = options.number(word, 1 << 17)? << 30,
                "--mb" => setting.region = options.number(word, 1 << 27)? << 20,
                "--nbusycpus" => setting.nbusycpus = options.number(word, 1 << 20)?,
                "--nbusytasks" => setting.nbusytasks = options.number(word, MOST_TASKS)?,
                "--opavg" => setting.opavg = true,
                "--procfile" => setting.procfile = procfile(&mut options)?,
                _ => return Err(options.unknown(word)),
            }
        }
    }

    /// The trial of this run on this machine.
    pub fn spec(&self, machine: &Machine, seed: u64) -> Result<TrialSpec, Failure> {
        let cpu = |option: &str, number: u64| {
            let cpu = u32::try_from(number).unwrap_or(u32::MAX);
            scenarios::cpus::check(cpu, machine).map_err(|why| {
                let why = report::prose::unusable_cpu(&why);
                Failure::usage(format!("{option} {number}: {why}; name a CPU with {option} CPU#"))
            })
        };
        let cpu_mapper = cpu("--cpumapper", self.cpumapper)?;
        let cpu_tool = cpu("--cpuscript", self.cpuscript)?;
        let mut cpu_loads = Vec::new();
        for index in 0..self.nbusycpus {
            cpu_loads.push(self.cpu_load(cpu("--cpubusytasks", self.cpubusytasks + index)?));
        }
        Ok(TrialSpec {
            procfile: self.procfile.clone(),
            lead: LEAD,
            duration: Duration::from_secs(self.duration),
            hang_after: PATIENCE,
            region_bytes: self.region,
            pause: PAUSE,
            seed,
            cpu_mapper,
            cpu_tool,
            cpu_loads,
            reader_groups: Vec::new(),
            twin: None,
        })
    }

    fn cpu_load(&self, cpu: u32) -> CpuLoad {
        let tasks = u32::try_from(self.nbusytasks).unwrap_or(u32::MAX);
        CpuLoad {
            cpu,
            scanners: tasks,
            spinners: tasks,
            nice: NICE,
            busyduration: Duration::from_millis(self.busyduration),
        }
    }
}

fn procfile(options: &mut Options) -> Result<String, Failure> {
    let file = options.text("--procfile")?;
    let there = std::path::Path::new("/proc/self").join(file).is_file();
    if file.contains('/') || !there {
        return Err(options.mistake(&format!("Error: --procfile {file} is not a /proc/PID file.")));
    }
    Ok(file.to_owned())
}
