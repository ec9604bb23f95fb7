//! `compat proc-vs-map`: one mapper with scanners and busy waiters.

use super::date;
use super::mapper::{first_line, last_line};
use super::setting::Setting;
use crate::exit::{Failure, NEED};
use crate::session::Session;
use host::Roots;
use model::Machine;
use os::pin::{Mask, Pinned};
use scenarios::LoadSpawner;
use scenarios::mmap_lock::{Event, RawTrial, SCENARIO, TrialSpec, run_load};
use std::fmt::Write as _;
use std::time::Duration;

/// If a mapper is late by more than this, a note says that the run waits for it.
const LATE: Duration = Duration::from_secs(1);

/// Runs the test once and prints the output of the original.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let machine = host::machine(&Roots::real());
    enough_cpus(&machine)?;
    session.out.print(&format!(" --- ./proc-vs-map.sh {}\n", args.join(" ")));
    let Some(setting) = Setting::parse(args)? else { return Ok(0) };
    let spec = setting.spec(&machine, os::random::number())?;
    session.out.print(&warnings(&setting));
    session.out.print(&format!("Starting {}-second test at {}.\n", setting.duration, date::now()));
    let before = mask();
    let _pinned = pinned(&spec)?;
    let pid = std::process::id();
    session.out.print(&format!("pid {pid}'s current affinity mask: {before}\n"));
    session.out.print(&format!("pid {pid}'s new affinity mask: {}\n", mask()));
    let interruption = session.interruption();
    let mut late = false;
    let raw = run_load(&spec, &LoadSpawner::default(), &|| interruption.noticed(), &mut |event| {
        tell(session, &spec, event, &mut late);
    })
    .map_err(|error| Failure::of(error, Some(SCENARIO.meta)))?;
    session.out.print(&lines(&setting, &raw)?);
    Ok(0)
}

/// Fails with a single CPU, like the original.
pub fn enough_cpus(machine: &Machine) -> Result<(), Failure> {
    let count = machine.allowed_cpus.len();
    if count >= 2 {
        return Ok(());
    }
    Err(Failure { line: format!("Need at least two CPUs, and ncpus = {count}"), code: NEED })
}

/// Keeps the tool on its CPU.
pub fn pinned(spec: &TrialSpec) -> Result<Pinned, Failure> {
    let cpu = spec.cpu_tool;
    Pinned::to(cpu).map_err(|error| Failure::usage(format!("--cpuscript {cpu}: {error}")))
}

fn warnings(setting: &Setting) -> String {
    let mut text = String::new();
    if setting.cpumapper == setting.cpubusytasks {
        let cpu = setting.cpumapper;
        let _ = writeln!(text, "Running ./mapper and the busy scripts on CPU {cpu}!!!");
        let _ = writeln!(text, "     This can result in false positives.");
    }
    if setting.cpubusytasks == setting.cpuscript {
        let cpu = setting.cpuscript;
        let _ = writeln!(text, "Running the main script and the busy scripts on CPU {cpu}!!!");
        let _ = writeln!(text, "     This can result in test hangs.");
    }
    text
}

fn tell(session: &Session, spec: &TrialSpec, event: Event, late: &mut bool) {
    match event {
        Event::Tick(tick) if !*late && tick.elapsed >= spec.duration + LATE => {
            *late = true;
            session.out.print("./mapper still running, so giving it another five seconds.\n");
        }
        _ => {}
    }
}

fn lines(setting: &Setting, raw: &RawTrial) -> Result<String, Failure> {
    let mut text = String::new();
    if raw.cut.hang {
        text.push_str("./mapper STILL running, so kill busy-wait PIDs.\n");
        let killed = raw.scanners.workers + raw.spinners.workers;
        let _ = writeln!(text, "Terminated: {killed} busy tasks");
    }
    let report = raw.report.as_ref().ok_or_else(|| {
        Failure::broken(format!(
            "mapper (pid {}) did not return, even after its load was stopped",
            raw.pid
        ))
    })?;
    text.push_str(&first_line(raw.pid, setting.duration, setting.region));
    text.push_str(&last_line(raw.region, setting.duration, report, setting.opavg));
    Ok(text)
}

/// The CPU affinity mask of this thread in hexadecimal, as taskset prints it.
fn mask() -> String {
    let Ok(mask) = Mask::current() else { return "unknown".to_owned() };
    let cpus = mask.cpus();
    let nibbles = cpus.last().map_or(0, |highest| highest / 4) + 1;
    let nibble = |index: u32| {
        cpus.iter().filter(|cpu| *cpu / 4 == index).map(|cpu| 1u8 << (cpu % 4)).sum::<u8>()
    };
    (0..nibbles).rev().map(|index| format!("{:x}", nibble(index))).collect()
}
