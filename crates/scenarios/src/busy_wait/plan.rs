//! From knobs to arms and scripts.

use super::meta::{DEFAULT, FLAGS};
use crate::erlang::{self, Vm};
use crate::{Arms, Cell, Missing, ScenarioError, Site, quota};
use beam::Flags;
use host::cgroup::Bandwidth;
use model::{Arm, LeftOut, Role, Settings, Value};
use std::time::Duration;

/// What starting and ending a node costs beside the load, roughly, for the progress bar.
const SET_UP: Duration = Duration::from_millis(450);

/// Requests a second where nothing says how many: without a quota there is nothing to set them
/// against.
const USUAL_RATE: u64 = 5000;

/// Workers for each CPU of the quota, at least, and at most, where nobody says how many: each has a
/// program of its own where requests go through ports.
const WORKERS: (f64, f64, f64) = (64.0, 32.0, 1000.0);

/// What is run in a trial.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// What a request is.
    pub load: String,
    /// Requests a second.
    pub rate: u64,
    /// Processes that serve them.
    pub workers: u64,
    /// Processes that do background work.
    pub background: u64,
    /// The quota of the node's group; none where it runs free.
    pub bandwidth: Option<Bandwidth>,
    /// Whether strace counts calls of futex.
    pub strace: bool,
    /// How long the node rests before requests arrive.
    pub settle: Duration,
    /// How long requests arrive.
    pub duration: Duration,
}

/// The arms: the node with the flags that are tried, which is the control, and with the VM's
/// defaults, both under the quota; other flags that may fix it; and both without the quota as
/// baselines, where they are asked for.
///
/// Without `--quota` control and case are those without one; the review knows that this decides
/// nothing about a quota.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
    let settings = resolved(settings, site);
    let paths = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let [path] = paths.as_slice() else {
        return Err(ScenarioError::Unusable(
            "--erl: one OTP at a time; several make a study (tailback study --help)".to_owned(),
        ));
    };
    // Before anything is compiled or started: what needs a privilege, and takes no time.
    let bandwidth = bandwidth(&settings);
    if let Some(bandwidth) = &bandwidth {
        quota::try_out(site, bandwidth)?;
    }
    let vm = erlang::vm(path.as_deref())?;
    let plain = defaults(&settings);
    erlang::accepted(&vm, &emulator_flags(&plain)?)?;
    // Without the flags there is no control, and so nothing that could be said.
    takes(&vm, &settings).map_err(ScenarioError::Missing)?;
    let mut found = Arms::default();
    if bandwidth.is_none() {
        found.arms.push(control(&vm, "flags", &settings));
        found.arms.push(arm(&vm, "defaults", Role::Case, &plain));
        if erlang::between_semicolons(plain.text("fixes").unwrap_or_default()).next().is_some() {
            found.left_out.push(left_out("fixes", "other flags are tried under a quota alone"));
        }
        return Ok(found);
    }
    found.arms.push(control(&vm, "flags-quota", &settings));
    found.arms.push(arm(&vm, "defaults-quota", Role::Case, &plain));
    other_fixes(&plain, &vm, &mut found)?;
    if settings.text("free") == Some("yes") {
        for (id, settings) in [("flags", &settings), ("defaults", &plain)] {
            let free = with_quota(settings, "none");
            found.arms.push(arm(&vm, id, Role::Baseline, &free));
        }
    }
    Ok(found)
}

/// The node with the flags that are tried. What it changes of the VM's defaults is named, since that
/// is what a stall of the case is without.
fn control(vm: &Vm, id: &str, settings: &Settings) -> Arm {
    let change = Some(changed_flags(settings)).filter(|flags| flags.starts_with('+'));
    Arm { change, ..arm(vm, id, Role::Control, settings) }
}

/// Whether an OTP takes the flags of the knobs; else what would.
fn takes(vm: &Vm, settings: &Settings) -> Result<(), Missing> {
    let flags = emulator_flags(settings).map_err(|error| error.to_string());
    flags.and_then(|flags| vm.otp.accepts(&flags)).map_err(|why| Missing {
        what: format!("OTP {} refuses {}: {why}", vm.otp.release, changed_flags(settings)),
        grant: "name flags that it takes (--sbwt, --swt ..), or another OTP with --erl PATH"
            .to_owned(),
    })
}

/// For a study: a node with these very flags under this very quota. Its control is the same node
/// without busy waiting, under the same quota; where the flags say so already it is that case itself.
pub(super) fn cell(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let settings = resolved(settings, site);
    let paths = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let [path] = paths.as_slice() else {
        return Err(ScenarioError::Unusable(
            "erl: one OTP in a level; several are levels of a factor".to_owned(),
        ));
    };
    let vm = erlang::vm(path.as_deref())?;
    let quiet = without_spinning(&settings);
    for settings in [&settings, &quiet] {
        takes(&vm, settings).map_err(|missing| ScenarioError::Unusable(missing.what))?;
    }
    if let Some(bandwidth) = bandwidth(&settings) {
        quota::try_out(site, &bandwidth)?;
    }
    Ok(Cell {
        control: arm(&vm, "control", Role::Control, &quiet),
        case: arm(&vm, "case", Role::Case, &settings),
    })
}

/// The arms of the knob `fixes`: the VM's defaults and some flags each, under the quota.
fn other_fixes(plain: &Settings, vm: &Vm, found: &mut Arms) -> Result<(), ScenarioError> {
    let base = plain.text("flags").unwrap_or_default();
    for flags in erlang::between_semicolons(plain.text("fixes").unwrap_or_default()) {
        let mut settings = plain.clone();
        settings.set("flags", Value::Text(format!("{base} {flags}").trim().to_owned()));
        let id = format!("{}-quota", erlang::slug(flags));
        match vm.otp.accepts(&emulator_flags(&settings)?) {
            Ok(()) => {
                let mut fix = arm(vm, &id, Role::Fix, &settings);
                fix.change = Some(flags.to_owned());
                found.arms.push(fix);
            }
            Err(why) => {
                let why = format!("OTP {} refuses {flags}: {why}", vm.otp.release);
                found.left_out.push(left_out(&id, &why));
            }
        }
    }
    Ok(())
}

fn left_out(id: &str, why: &str) -> LeftOut {
    LeftOut { id: id.to_owned(), why: why.to_owned() }
}

fn arm(vm: &Vm, id: &str, role: Role, settings: &Settings) -> Arm {
    let mut settings = settings.clone();
    settings.set("erl", Value::Text(vm.otp.erl.display().to_string()));
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

/// Quota and period in the kernel's microseconds.
pub(super) fn bandwidth(settings: &Settings) -> Option<Bandwidth> {
    let cpus = settings.decimal("quota")?;
    let period_us = settings.duration("period")?.as_micros();
    let period_us = u64::try_from(period_us).unwrap_or(u64::MAX);
    // The kernel takes no quota below a millisecond.
    let quota_us = ((cpus * period_us as f64).round() as u64).max(1000);
    Some(Bandwidth { quota_us, period_us, burst_us: 0 })
}

/// The same settings without busy waiting of any scheduler.
pub(super) fn without_spinning(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for knob in ["sbwt", "sbwtdcpu", "sbwtdio"] {
        settings.set(knob, Value::Text("none".to_owned()));
    }
    settings
}

fn with_quota(settings: &Settings, quota: &str) -> Settings {
    let mut settings = settings.clone();
    settings.set("quota", Value::Text(quota.to_owned()));
    settings
}

/// The same settings with the VM's own flags.
fn defaults(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for (knob, _) in FLAGS {
        settings.set(knob, Value::Text(DEFAULT.to_owned()));
    }
    settings
}

fn resolved(settings: &Settings, site: &Site) -> Settings {
    let mut resolved = settings.clone();
    if settings.number("schedulers").is_none() {
        let cpus = i64::try_from(site.machine.allowed_cpus.len()).unwrap_or(8).max(8);
        resolved.set("schedulers", Value::Number(cpus));
    }
    if settings.number("workers").is_none() {
        let (of_cpu, least, most) = WORKERS;
        let wanted = settings.decimal("quota").unwrap_or_default() * of_cpu;
        resolved.set("workers", Value::Number(wanted.clamp(least, most).ceil() as i64));
    }
    resolved
}

/// The flags that the knobs change, ready to be pasted.
pub(super) fn changed_flags(settings: &Settings) -> String {
    let changed = FLAGS.iter().filter_map(|(knob, flag)| {
        let value = settings.text(knob).filter(|value| *value != DEFAULT && !value.is_empty())?;
        Some(format!("{flag} {value}"))
    });
    let words: Vec<String> = changed.collect();
    if words.is_empty() { "the VM's defaults".to_owned() } else { words.join(" ") }
}

/// The flags of an arm: schedulers, those of every arm, and those that the knobs change.
fn emulator_flags(settings: &Settings) -> Result<Flags, ScenarioError> {
    let schedulers = settings.number("schedulers").unwrap_or(8);
    let base = settings.text("flags").unwrap_or_default();
    let changed = match changed_flags(settings) {
        words if words.starts_with('+') => words,
        _ => String::new(),
    };
    erlang::flags(&format!("+S {schedulers}:{schedulers} {base} {changed}"))
}

/// Control and case of these settings, as [`cell`] makes them, without asking an OTP.
pub(super) fn sketch(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let settings = resolved(settings, site);
    emulator_flags(&settings)?;
    Ok(Cell::of_settings(without_spinning(&settings), settings))
}

/// What a trial of these settings runs.
pub(super) fn script(settings: &Settings) -> Result<Script, ScenarioError> {
    let number =
        |knob: &str| settings.number(knob).and_then(|n| u64::try_from(n).ok()).unwrap_or(1);
    let path = erlang::paths(settings.text("erl").unwrap_or("auto"));
    Ok(Script {
        vm: erlang::vm(path.first().and_then(Option::as_deref))?,
        flags: emulator_flags(settings)?,
        load: settings.text("load").unwrap_or("port").to_owned(),
        rate: settings.number("rate").and_then(|n| u64::try_from(n).ok()).unwrap_or(USUAL_RATE),
        workers: number("workers"),
        background: number("background"),
        bandwidth: bandwidth(settings),
        strace: settings.text("strace") == Some("yes"),
        settle: settle(settings),
        duration: settings.duration("duration").unwrap_or(Duration::from_secs(1)),
    })
}

/// Two periods of the quota, in every arm alike: starting the node and what its requests need uses up
/// quota, and the throttling that follows is none of the load's.
fn settle(settings: &Settings) -> Duration {
    settings.duration("period").unwrap_or_default() * 2
}

/// How long a trial takes, for the progress bar.
pub(super) fn expected(settings: &Settings) -> Duration {
    SET_UP + settle(settings) + settings.duration("duration").unwrap_or_default()
}
